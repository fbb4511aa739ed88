// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package component

import (
	"context"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/component-operator/runtime/internal/chunks"
)

// placed is what is kept beside a component, by namespace: one content has the same name everywhere.
type placed map[string]chunks.Handles

// add adds what is kept, wherever that is.
func (p placed) add(handles chunks.Handles) {
	for name, handle := range handles {
		if p[handle.Namespace] == nil {
			p[handle.Namespace] = chunks.Handles{}
		}
		p[handle.Namespace][name] = handle
	}
}

// drop leaves out what is kept under a name in a namespace.
func (p placed) drop(namespace string, names []string) {
	for _, name := range names {
		delete(p[namespace], name)
	}
}

// listPlaced finds everything of a kind that is kept beside a component, in the namespace where it is kept now, and in the recorded
// ones (empty if there is none), which may differ for cluster-scoped components.
func (w *worker) listPlaced(ctx context.Context, s *scope, kind chunks.Kind, recorded ...string) (placed, error) {
	namespaces := map[string]bool{s.key.Namespace: true}
	for _, namespace := range recorded {
		namespaces[namespace] = true
	}
	if s.key.Namespace == "" {
		namespaces[w.options.StateNamespace] = true
	}
	delete(namespaces, "")
	found := placed{}
	for namespace := range namespaces {
		handles, err := w.recordStore(s, kind, namespace).List(ctx)
		if apierrors.IsForbidden(err) && !slices.Contains(recorded, namespace) {
			// What must not be listed was hardly written.
			continue
		}
		if err != nil {
			return nil, err
		}
		if len(handles) > 0 {
			found[namespace] = handles
		}
	}
	return found, nil
}

// removePlaced removes what was found, and reports whether all of it is gone.
func (w *worker) removePlaced(ctx context.Context, s *scope, kind chunks.Kind, found placed) (complete bool, err error) {
	complete = true
	for namespace, handles := range found {
		gone, err := w.recordStore(s, kind, namespace).Remove(ctx, handles)
		if err != nil {
			return false, err
		}
		complete = complete && gone
	}
	return complete, nil
}
