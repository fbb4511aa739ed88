// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package resources_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/component-operator/runtime/pkg/resources"
	"github.com/component-operator/runtime/pkg/types"
)

// TestSpecOfKeepsNumbers: whole numbers keep their digits, also where the type of a field does not say what it is.
func TestSpecOfKeepsNumbers(t *testing.T) {
	t.Parallel()
	type free struct {
		Values map[string]any `json:"values"`
	}
	want := map[string]any{"large": int64(9007199254740993), "list": []any{int64(1), 1.5}}
	got, err := resources.SpecOf[free](resources.Input{Parameters: types.UnstructurableMap{"values": want}})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got.Values); diff != "" {
		t.Errorf("unexpected values (-want +got):\n%s", diff)
	}
}
