// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	apitypes "k8s.io/apimachinery/pkg/types"
)

func TestMergePatch(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		reason  string
		content map[string]any
		want    string
	}{
		{"there is no metadata", map[string]any{"data": 1}, `{"data":1,"metadata":{"resourceVersion":"7","uid":"u"}}`},
		{"there is metadata", map[string]any{"metadata": map[string]any{"finalizers": []string{}}}, `{"metadata":{"finalizers":[],"resourceVersion":"7","uid":"u"}}`},
		{"the content has a guard of its own", map[string]any{"metadata": map[string]any{"uid": "x"}}, `{"metadata":{"resourceVersion":"7","uid":"u"}}`},
	} {
		patch, err := MergePatch("u", "7", test.content)
		if err != nil {
			t.Fatal(err)
		}
		got, err := patch.Data(nil)
		if err != nil {
			t.Fatal(err)
		}
		if patch.Type() != apitypes.MergePatchType || string(got) != test.want {
			t.Errorf("%s: want %s, got %s %s", test.reason, test.want, patch.Type(), got)
		}
	}
	content := map[string]any{"metadata": map[string]any{}}
	if _, err := MergePatch("u", "7", content); err != nil || len(content["metadata"].(map[string]any)) > 0 {
		t.Errorf("want the content to stay as it is (-want +got):\n%s", cmp.Diff(map[string]any{"metadata": map[string]any{}}, content))
	}
	if _, err := MergePatch("u", "7", map[string]any{"data": func() {}}); err == nil {
		t.Error("want content that cannot be encoded to be an error")
	}
}
