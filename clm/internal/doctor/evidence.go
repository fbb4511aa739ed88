// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"context"
	"errors"
	"slices"

	"github.com/component-operator/runtime/clm/internal/releases"
)

// evidenceNamespaces are the namespaces in which marks of a release count as evidence. Any user can set marks, which are labels, annotations and a field
// manager. In other namespaces they prove nothing: the release has no objects there, and its users may have no permissions there.
type evidenceNamespaces map[string]bool

// has reports whether marks in a namespace count. Marks on cluster-scoped objects do: only users with permissions in the whole cluster can set them.
func (t evidenceNamespaces) has(namespace string) bool { return namespace == "" || t[namespace] }

// evidenceNamespacesOf returns the namespace of a release, those of its dependents, those of the objects of its current revision, and the trusted ones.
func evidenceNamespacesOf(ctx context.Context, records *releases.Store, release *releases.Release, trusted []string) (evidenceNamespaces, error) {
	found := evidenceNamespaces{}
	for _, namespace := range append(namespacesOf(release), trusted...) {
		found[namespace] = true
	}
	current := release.Current()
	if current == nil {
		return found, nil
	}
	content, err := records.Content(ctx, release, current.Number)
	var damaged *releases.DamagedError
	if err != nil && !errors.As(err, &damaged) {
		return nil, err
	}
	for _, object := range content.Manifest {
		if namespace := object.GetNamespace(); namespace != "" {
			found[namespace] = true
		}
	}
	return found, nil
}

// namespacesOf returns the namespaces that a release is in; sorted.
func namespacesOf(release *releases.Release) []string {
	namespaces := []string{release.Namespace}
	for _, item := range release.Inventory {
		if item.Namespace != "" {
			namespaces = append(namespaces, item.Namespace)
		}
	}
	slices.Sort(namespaces)
	return slices.Compact(namespaces)
}
