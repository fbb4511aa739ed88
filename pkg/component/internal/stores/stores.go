// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package stores

import (
	"context"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apitypes "k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/internal/chunks"
	"github.com/component-operator/runtime/internal/digest"
	"github.com/component-operator/runtime/pkg/types"
)

// Placed is what is kept beside a component, by namespace: one content has the same name everywhere.
type Placed map[string]chunks.Handles

// Add adds what is kept, wherever that is.
func (p Placed) Add(handles chunks.Handles) {
	for name, handle := range handles {
		if p[handle.Namespace] == nil {
			p[handle.Namespace] = chunks.Handles{}
		}
		p[handle.Namespace][name] = handle
	}
}

// Drop leaves out what is kept under a name in a namespace.
func (p Placed) Drop(namespace string, names []string) {
	for _, name := range names {
		delete(p[namespace], name)
	}
}

// Stores are the places of one component.
type Stores struct {
	// Component is the key of the component, OwnerID the id by which its dependents know it.
	Component apitypes.NamespacedName
	OwnerID   string
	// Reconciler is the name of the reconciler, FieldOwner its field manager.
	Reconciler string
	FieldOwner string
	// StateNamespace is for cluster-scoped components; may be empty.
	StateNamespace string
	Client         client.Client
	// Live reads from the server.
	Live client.Reader
}

// Namespace returns where things are kept; empty if the component is cluster-scoped and there is no state namespace.
func (s *Stores) Namespace() string {
	if s.Component.Namespace != "" {
		return s.Component.Namespace
	}
	return s.StateNamespace
}

// In returns the store of a kind in a namespace.
func (s *Stores) In(kind chunks.Kind, namespace string) *chunks.Store {
	label := digest.OwnerLabel(s.OwnerID)
	prefix := "inventory-"
	if kind == chunks.Secret {
		prefix = "deletion-hooks-"
	}
	return chunks.NewStore(chunks.Options{
		Kind:        kind,
		Client:      s.Client,
		Reader:      s.Live,
		Namespace:   namespace,
		Prefix:      prefix + label[:20],
		Labels:      map[string]string{s.Reconciler + "/" + types.LabelKeySuffixInventoryOwnerId: label},
		Annotations: map[string]string{s.Reconciler + "/" + types.AnnotationKeySuffixOwnerId: s.OwnerID},
		ClaimKey:    s.Reconciler + "/" + types.AnnotationKeySuffixClaimedAt,
		// The finalizer of components may lack the part after the slash, which the server demands here.
		Finalizer:  s.Reconciler + "/inventory",
		FieldOwner: s.FieldOwner,
	})
}

// List finds everything of a kind that is kept beside the component, in the namespace where it is kept now, and in the recorded
// ones (empty if there is none), which may differ for cluster-scoped components.
func (s *Stores) List(ctx context.Context, kind chunks.Kind, recorded ...string) (Placed, error) {
	namespaces := map[string]bool{s.Namespace(): true}
	for _, namespace := range recorded {
		namespaces[namespace] = true
	}
	delete(namespaces, "")
	found := Placed{}
	for namespace := range namespaces {
		handles, err := s.In(kind, namespace).List(ctx)
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

// Remove removes what was found, and reports whether all of it is gone.
func (s *Stores) Remove(ctx context.Context, kind chunks.Kind, found Placed) (complete bool, err error) {
	complete = true
	for namespace, handles := range found {
		gone, err := s.In(kind, namespace).Remove(ctx, handles)
		if err != nil {
			return false, err
		}
		complete = complete && gone
	}
	return complete, nil
}
