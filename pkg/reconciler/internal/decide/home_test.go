// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package decide

import (
	"testing"

	"github.com/component-operator/runtime/pkg/inventory"
)

// TestEndingOfHome says that nobody waits for the end of the namespace in which the owner lives.
func TestEndingOfHome(t *testing.T) {
	t.Parallel()
	namespace := func(i *inventory.Item) {
		i.TypeVersionInfo, i.Name, i.DeletePolicy = inventory.TypeVersionInfo{Version: "v1", Kind: "Namespace"}, "shop", inventory.DeletePolicyOrphan
	}
	for _, tc := range []struct {
		reason string
		home   []string
		seen   Situation
		want   Ending
	}{
		{"another namespace is awaited", nil, present(seenAs(deleting)), AwaitEnd},
		{"its own is orphaned", []string{"shop"}, present(seenAs(deleting)), Orphan},
		{"that of another owner is left alone", []string{"shop"}, present(seenAs(deleting, owner(themLabel))), Gone},
		{"it has gone", []string{"shop"}, Situation{Owner: usLabel, Proven: true}, Gone},
	} {
		o := Owner{Home: tc.home}
		if got, _ := o.Ending(recorded(inventory.PhaseScheduledForDeletion, namespace), tc.seen, Deletion{Orphan: true}); got != tc.want {
			t.Errorf("%s: got %d", tc.reason, got)
		}
	}
}
