// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package executor

import (
	"sync"

	"github.com/component-operator/runtime/internal/finalizers"
	"github.com/component-operator/runtime/pkg/reconciler/internal/decisions"
	"github.com/component-operator/runtime/pkg/reconciler/internal/report"
	"github.com/component-operator/runtime/pkg/reconciler/internal/server"
	"github.com/component-operator/runtime/pkg/reconciler/internal/targets"
)

// Executor makes the requests that change dependents, each of them one request, guarded by what was decided upon. Those of a server that makes dry runs
// change nothing. It is safe for concurrent use about different dependents.
type Executor struct {
	Server    *server.Server
	Owner     decisions.Owner
	Manifests *targets.Manifests // nil if nothing is to be applied
	Report    *report.Report
	// Finalizers are put on dependents that define types.
	Finalizers finalizers.Set
	// Reclaimed are prefixes of the names of field managers whose additions inventory.UpdatePolicySsaOverride removes.
	Reclaimed []string
	// CreateNamespaces has namespaces created that are missing.
	CreateNamespaces bool

	mu         sync.Mutex       // guards what follows
	namespaces map[string]error // outcome of creating missing namespaces
}
