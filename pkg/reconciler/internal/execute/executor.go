// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package execute

import (
	"sync"

	"github.com/component-operator/runtime/internal/annotations"
	"github.com/component-operator/runtime/pkg/reconciler/internal/decide"
	"github.com/component-operator/runtime/pkg/reconciler/internal/prepare"
)

// Executor makes the requests that change dependents. It is safe for concurrent use for different dependents.
type Executor struct {
	Server    *Server
	Owner     decide.Owner
	Manifests *prepare.Manifests // nil if the call applies nothing
	Report    *decide.Reporter
	// Finalizers are put on dependents that define types, and on those whose outcome has to be recorded.
	Finalizers annotations.Finalizers
	// Retains means that dependents keep our finalizer until their outcome is recorded.
	Retains bool
	// Reclaimed are prefixes of the names of field managers whose additions UpdatePolicySsaOverride removes.
	Reclaimed []string
	// ReclaimedNames are names of further such field managers.
	ReclaimedNames []string
	// CreateNamespaces creates missing namespaces.
	CreateNamespaces bool

	namespaces sync.Map // functions that create missing namespaces, and return the outcome, by name
}
