// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package plans

import (
	"maps"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/component-operator/runtime/pkg/reconciler/internal/calls"
	"github.com/component-operator/runtime/pkg/reconciler/internal/contents"
	"github.com/component-operator/runtime/pkg/reconciler/internal/desired"
	"github.com/component-operator/runtime/pkg/reconciler/internal/kinds"
)

// preview shows what a decision would make of an object: by dry runs or, where they are not possible, from the manifest and the
// definition of the type.
type preview struct {
	call *calls.Call

	createsNamespaces bool
	leftAlone         bool // also compare drift that is not corrected

	// The fields below do not change during concurrent work.
	namespaces  map[string]bool // namespaces that Apply would create
	definitions definitions     // schemas that Apply would create or change
	objects     []*desired.Object

	mutex   sync.Mutex
	missing map[string]bool // namespaces that Apply would create although no object declares them
}

// lacks notes a namespace that Apply would create because an object needs it.
func (p *preview) lacks(namespace string) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	p.missing[namespace] = true
}

// missingNamespaces returns the namespaces that Apply would create although no object declares them; sorted.
func (p *preview) missingNamespaces() []string {
	missing := slices.Sorted(maps.Keys(p.missing))
	return slices.DeleteFunc(missing, func(name string) bool {
		return slices.ContainsFunc(p.objects, func(t *desired.Object) bool { return kinds.IsNamespace(t.Key.GroupKind) && t.Key.Name == name })
	})
}

// definitions are the schemas of types, by version.
type definitions map[schema.GroupKind]map[string]contents.OpenSchema

// isLocal reports whether a dry run is not possible, because Apply would create the namespace of the object, or create or change
// its type.
func (p *preview) isLocal(t *desired.Object) bool {
	return p.namespaces[t.Key.Namespace] || p.definitions[t.Key.GroupKind] != nil
}

// isProvided reports whether other objects of the request define the type of an object.
func (p *preview) isProvided(t *desired.Object) bool {
	return p.definitions[t.Key.GroupKind] != nil || t.Instance && !t.AwaitsType
}
