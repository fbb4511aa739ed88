// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package editors_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// row is a row of a table: an edit, and what it makes of a value. The key of the row says what the row is for.
type row[T, E any] struct {
	start T
	edit  func(e E)
	want  T
}

// check applies the edits of a table. Each edit is applied a second time, which must change nothing.
func check[T, E any](t *testing.T, construct func(*T) E, rows map[string]row[T, E]) {
	t.Helper()
	for reason, tc := range rows {
		t.Run(reason, func(t *testing.T) {
			value := tc.start
			editor := construct(&value)
			tc.edit(editor)
			if diff := cmp.Diff(tc.want, value); diff != "" {
				t.Errorf("unexpected result (-want +got)\n%s", diff)
			}
			tc.edit(editor)
			if diff := cmp.Diff(tc.want, value); diff != "" {
				t.Errorf("the second call changed something (-want +got)\n%s", diff)
			}
		})
	}
}

// expectError checks that an error says everything that is wanted.
func expectError(t *testing.T, err error, wanted ...string) {
	t.Helper()
	if err == nil {
		t.Errorf("expected an error that says %q", wanted)
		return
	}
	for _, text := range wanted {
		if !strings.Contains(err.Error(), text) {
			t.Errorf("expected an error that says %q, got %q", text, err)
		}
	}
}
