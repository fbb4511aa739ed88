// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package losses

import (
	"github.com/component-operator/runtime/pkg/inventory"
	"github.com/component-operator/runtime/pkg/reconciler/internal/decisions"
	"github.com/component-operator/runtime/pkg/reconciler/internal/memory"
	"github.com/component-operator/runtime/pkg/reconciler/internal/server"
	"github.com/component-operator/runtime/pkg/types"
)

// Losses finds out what the deletion of an owner's dependents would destroy.
type Losses struct {
	Server *server.Server
	Owner  decisions.Owner
	// Configured are the additional managed types of the reconciler's options.
	Configured []inventory.TypeInfo
	Memory     memory.Owner
	Items      []*inventory.Item // of the owner
	// Remaining returns the items that are still recorded.
	Remaining func() []*inventory.Item

	staying map[types.ObjectID]bool
}

// Stay tells that redundant objects are not deleted although others are, so that what contains them must not be deleted either.
func (l *Losses) Stay(items []*inventory.Item) {
	l.staying = make(map[types.ObjectID]bool, len(items))
	for _, item := range items {
		l.staying[types.IDOf(item)] = true
	}
}

// stays reports whether a recorded object is redundant and stays.
func (l *Losses) stays(item *inventory.Item) bool {
	return item.Phase == inventory.PhaseKept || l.staying[types.IDOf(item)]
}
