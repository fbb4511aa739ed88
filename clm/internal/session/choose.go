// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package session

import (
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/component-operator/runtime/clm/internal/inspect"
	"github.com/component-operator/runtime/clm/internal/releases"
	"github.com/component-operator/runtime/pkg/reconciler"
)

// Choose returns a function that tells whether a pod, or the dependent that it belongs to, is among the named objects:
// KIND[.GROUP]/[NAMESPACE/]NAME. Without names it is nil, which stands for all. That a release has no such dependent is a RefusedError; pods
// come and go.
func (s *Session) Choose(release *releases.Release, texts []string) (func(dependent, pod inspect.Object) bool, error) {
	if len(texts) == 0 {
		return nil, nil
	}
	chosen := make([]choice, len(texts))
	for i, text := range texts {
		c := choice{}
		var err error
		if c.reference, err = parseReference(text); err != nil {
			return nil, err
		}
		if c.kinds, err = s.kindsNamed(c.reference); err != nil {
			return nil, err
		}
		isDependent := slices.ContainsFunc(release.Inventory, func(item *reconciler.InventoryItem) bool {
			return c.denotes(item.GroupVersionKind().GroupKind(), item.Namespace, item.Name)
		})
		if !isDependent && !c.kinds[schema.GroupKind{Kind: "Pod"}] {
			return nil, refused("release %s has no object %s among its dependents; all of them: clm tree %s -n %s", release, text, release.Name, release.Namespace)
		}
		chosen[i] = c
	}
	denoted := func(object inspect.Object) bool {
		kind := schema.FromAPIVersionAndKind(object.APIVersion, object.Kind).GroupKind()
		return slices.ContainsFunc(chosen, func(c choice) bool { return c.denotes(kind, object.Namespace, object.Name) })
	}
	return func(dependent, pod inspect.Object) bool { return denoted(dependent) || denoted(pod) }, nil
}

// choice is a reference with the types that it may mean.
type choice struct {
	reference
	kinds map[schema.GroupKind]bool
}

func (c choice) denotes(kind schema.GroupKind, namespace, name string) bool {
	return name == c.name && (c.namespace == "" || namespace == c.namespace) && (c.isNameOf(kind.Kind, kind.Group) || c.kinds[kind])
}
