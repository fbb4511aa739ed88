// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package losses

import (
	"github.com/component-operator/runtime/pkg/inventory"
	"github.com/component-operator/runtime/pkg/reconciler/internal/decisions"
	"github.com/component-operator/runtime/pkg/reconciler/internal/memory"
	"github.com/component-operator/runtime/pkg/reconciler/internal/server"
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
}
