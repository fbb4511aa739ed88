// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package run

import (
	"github.com/component-operator/runtime/pkg/inventory"
	"github.com/component-operator/runtime/pkg/reconciler/internal/decide"
)

// SettleKept decides about redundant objects what can be decided before any of them is looked at: it plans the end of
// kept objects that stay no longer, and notes which objects stay, so that nothing that contains them is deleted before
// their turn comes.
func (c *Call) SettleKept(redundant []*inventory.Item) {
	isStaying := map[*inventory.Item]bool{}
	// The container of an object that stays may itself be in a container.
	for more := true; more; {
		more = false
		for _, item := range redundant {
			if !isStaying[item] && c.isKept(item) {
				isStaying[item], more = true, true
				c.Losses.Stay(item)
			}
		}
	}
	for _, item := range redundant {
		if item.Phase == inventory.PhaseKept && !isStaying[item] {
			c.Losses.Leave(item)
			decide.EndKeeping(item)
		}
	}
}

// isKept reports whether a redundant object stays, as far as the observer knows it.
func (c *Call) isKept(item *inventory.Item) bool {
	if item.Phase == inventory.PhaseDeleting || item.DeletePolicy == inventory.DeletePolicyOrphan {
		return false
	}
	seen, _ := c.Server.Observer.Get(item.GroupVersionKind(), item.Namespace, item.Name)
	return c.Prune(item, seen) == inventory.PrunePolicyKeep
}
