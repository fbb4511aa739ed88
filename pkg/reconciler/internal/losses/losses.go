// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package losses

import (
	"github.com/component-operator/runtime/pkg/inventory"
	"github.com/component-operator/runtime/pkg/reconciler/internal/decisions"
	"github.com/component-operator/runtime/pkg/reconciler/internal/memory"
	"github.com/component-operator/runtime/pkg/reconciler/internal/server"
)

// Losses finds out what would be lost with dependents: instances of the types that they define, the content of namespaces, the data of claims. It
// changes nothing.
type Losses struct {
	Server *server.Server
	Owner  decisions.Owner
	// Configured are the additional types that are named by who runs the reconciler.
	Configured []inventory.TypeInfo
	Memory     memory.Owner
	Items      []*inventory.Item // of the owner
	// Remaining returns the items that are still to be recorded.
	Remaining func() []*inventory.Item
}
