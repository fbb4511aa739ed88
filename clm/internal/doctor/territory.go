// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"context"
	"errors"
	"slices"

	"github.com/component-operator/runtime/clm/internal/releases"
)

// territory are the namespaces in which marks of a release count as evidence. Marks are labels, annotations and a field manager, which anybody can
// write on objects of his own. Elsewhere they prove nothing: the release has nothing to do with that namespace, and whoever works on it may not even
// have rights there.
type territory map[string]bool

// has reports whether marks in a namespace count. Objects without a namespace are made by those who may do so in the whole cluster.
func (t territory) has(namespace string) bool { return namespace == "" || t[namespace] }

// territoryOf returns the namespaces of a release: its own one, those of its dependents, and those of the objects of its current revision; and what
// else is trusted.
func territoryOf(ctx context.Context, records *releases.Store, release *releases.Release, trusted []string) (territory, error) {
	found := territory{}
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
