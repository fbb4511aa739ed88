// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package plans

import (
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/component-operator/runtime/pkg/reconciler/internal/calls"
	"github.com/component-operator/runtime/pkg/reconciler/internal/contents"
	"github.com/component-operator/runtime/pkg/reconciler/internal/targets"
)

// preview shows what would become of an object: by dry runs or, where the server cannot say it, by what the manifest and the definition of the type say.
type preview struct {
	*calls.Call

	createsNamespaces bool
	leftAlone         bool // compare also what is left alone

	// What follows does not change while objects are looked at side by side.
	namespaces  map[string]bool // that do not exist yet, and are among the objects
	definitions definitions     // of types that the server does not know as they will be
}

// definitions are the schemas of types, by version.
type definitions map[schema.GroupKind]map[string]contents.OpenSchema

// isLocal reports whether the server cannot say what would become of an object, because its namespace or the definition of its type
// changes with the same request.
func (p *preview) isLocal(t *targets.Target) bool {
	return p.namespaces[t.Key.Namespace] || p.definitions[t.Key.GroupKind] != nil
}

// provided reports whether the type of an object comes with other objects of the request.
func (p *preview) provided(t *targets.Target) bool {
	return p.definitions[t.Key.GroupKind] != nil || t.Instance
}
