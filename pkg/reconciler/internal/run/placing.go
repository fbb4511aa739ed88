// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package run

import (
	"context"

	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/component-operator/runtime/pkg/cluster"
	"github.com/component-operator/runtime/pkg/reconciler/internal/prepare"
)

// unplaced returns the objects without a namespace whose type turns out to be namespaced, because it was not served
// when they were prepared, or because its definition is going to change the scope. They must be prepared again.
func (l *live) unplaced(ctx context.Context, members []*prepare.Object) []*prepare.Object {
	var unplaced []*prepare.Object
	for _, t := range members {
		if t.Key.Namespace != "" || !l.namespaced(t) {
			continue
		}
		// The client's knowledge may be outdated. If the server does not answer, the write will fail, too.
		if err := cluster.RenewTypes(ctx, l.call.Server.Client.RESTMapper(), t.Key.Group); err != nil || !l.namespaced(t) {
			continue
		}
		unplaced = append(unplaced, t)
		l.call.Report.Awaits(l.call.Ledger.Of(t), "its type is namespaced in the cluster, and was not known to be")
		l.call.Retry(l.call.Ledger.Of(t))
	}
	return unplaced
}

// namespaced reports whether the client considers the type of an object namespaced.
func (l *live) namespaced(t *prepare.Object) bool {
	mapping, err := l.call.Server.Client.RESTMapper().RESTMapping(t.Key.GroupKind, t.GVK().Version)
	return err == nil && mapping.Scope.Name() == meta.RESTScopeNameNamespace
}
