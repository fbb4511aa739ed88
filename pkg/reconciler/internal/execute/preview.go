// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package execute

import (
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/component-operator/runtime/pkg/inventory"
	"github.com/component-operator/runtime/pkg/reconciler/internal/prepare"
)

// Preview shows what a decision would make of an object: by dry runs or, where they are not possible, from the manifest
// and the definition of the type. It is safe for concurrent use for different objects.
type Preview struct {
	// CreatesNamespaces means that Apply would create missing namespaces.
	CreatesNamespaces bool
	// LeftAlone also compares dependents whose drift is not corrected because of their drift policies.
	LeftAlone bool

	x       *Executor
	itemOf  func(*prepare.Object) *inventory.Item
	objects []*prepare.Object

	// The fields below do not change during concurrent work.
	namespaces map[string]bool           // namespaces that Apply would create
	types      map[schema.GroupKind]bool // types that Apply would create or change

	missing sync.Map // namespaces that Apply would create because objects need them
}

// NewPreview returns the preview of a call that applies the objects, which have items. The server of the executor must
// make dry runs only.
func NewPreview(x *Executor, objects []*prepare.Object, itemOf func(*prepare.Object) *inventory.Item) *Preview {
	return &Preview{x: x, itemOf: itemOf, objects: objects, namespaces: map[string]bool{}, types: map[schema.GroupKind]bool{}}
}

// NoteNamespace notes whether Apply would create a namespace.
func (p *Preview) NoteNamespace(name string, created bool) { p.namespaces[name] = created }

// IsNewNamespace reports whether Apply would create a namespace.
func (p *Preview) IsNewNamespace(name string) bool { return p.namespaces[name] }

// NoteDefinition notes that Apply would create or change the definition of types.
func (p *Preview) NoteDefinition(t *prepare.Object) {
	for _, managed := range t.ManagedTypes {
		p.types[schema.GroupKind{Group: managed.Group, Kind: managed.Kind}] = true
	}
}

// MissingNamespaces returns the namespaces that Apply would create although no object declares them; sorted.
func (p *Preview) MissingNamespaces() []string {
	var missing []string
	p.missing.Range(func(key, _ any) bool {
		name, _ := key.(string)
		if !slices.ContainsFunc(p.objects, func(t *prepare.Object) bool { return prepare.IsNamespace(t.Key.GroupKind) && t.Key.Name == name }) {
			missing = append(missing, name)
		}
		return true
	})
	slices.Sort(missing)
	return missing
}

// IsLocal reports whether a dry run is not possible, because Apply would create the namespace of the object, or create
// or change its type.
func (p *Preview) IsLocal(t *prepare.Object) bool {
	return p.namespaces[t.Key.Namespace] || p.types[t.Key.GroupKind]
}

// isProvided reports whether other objects of the request define the type of an object.
func (p *Preview) isProvided(t *prepare.Object) bool {
	return p.types[t.Key.GroupKind] || t.Instance && !t.AwaitsType
}
