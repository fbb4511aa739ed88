// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package records

import (
	"context"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apitypes "k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/internal/chunks"
	"github.com/component-operator/runtime/internal/digest"
	"github.com/component-operator/runtime/internal/finalizers"
	"github.com/component-operator/runtime/pkg/types"
)

// Placed are objects beside a component, by namespace. Equal contents have the same name in every namespace.
type Placed map[string]chunks.Handles

// Add adds objects under their own namespaces.
func (p Placed) Add(handles chunks.Handles) {
	for name, handle := range handles {
		if p[handle.Namespace] == nil {
			p[handle.Namespace] = chunks.Handles{}
		}
		p[handle.Namespace][name] = handle
	}
}

// Drop removes names from those of a namespace.
func (p Placed) Drop(namespace string, names []string) {
	for _, name := range names {
		delete(p[namespace], name)
	}
}

// Stores give access to the ConfigMaps and Secrets of one component.
type Stores struct {
	// Component is the key of the component, OwnerID the owner ID on its dependents.
	Component apitypes.NamespacedName
	OwnerID   string
	// Reconciler is the name of the reconciler, FieldOwner the field manager of all writes.
	Reconciler string
	FieldOwner string
	// StateNamespace has the objects of cluster-scoped components; may be empty. FormerStateNamespaces may have earlier
	// ones.
	StateNamespace        string
	FormerStateNamespaces []string
	Client                client.Client
	// Live reads from the server, not from a cache.
	Live client.Reader
}

// Namespace returns the namespace for new objects; empty for a cluster-scoped component without a state namespace.
func (s *Stores) Namespace() string {
	if s.Component.Namespace != "" {
		return s.Component.Namespace
	}
	return s.StateNamespace
}

// Trusts reports whether objects of the component may be in a namespace. What a status says is not enough: whoever may
// write it must not make the operator read or delete objects elsewhere.
func (s *Stores) Trusts(namespace string) bool {
	return namespace != "" && (namespace == s.Namespace() || s.Component.Namespace == "" && slices.Contains(s.FormerStateNamespaces, namespace))
}

// Trusted returns a namespace that a status names; empty if it is not trusted.
func (s *Stores) Trusted(namespace string) string {
	if !s.Trusts(namespace) {
		return ""
	}
	return namespace
}

// CheckNamespace returns an error if the namespace that a field of the status names is not trusted.
func (s *Stores) CheckNamespace(field, namespace string) error {
	switch {
	case s.Trusts(namespace):
		return nil
	case s.Component.Namespace != "":
		return fmt.Errorf("%s is %q; must be %q, the namespace of the component", field, namespace, s.Component.Namespace)
	default:
		return fmt.Errorf("%s is %q; must be %q, the operator's StateNamespace, or one of its FormerStateNamespaces", field, namespace, s.StateNamespace)
	}
}

// In returns the store for objects of a kind in a namespace.
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
		Finalizer:   finalizers.Inventory(s.Reconciler),
		FieldOwner:  s.FieldOwner,
	})
}

// List finds all objects of a kind that belong to the component, in its present namespace and in the recorded ones. They differ if the operator's
// state namespace has changed. Names that are empty or not trusted are ignored.
func (s *Stores) List(ctx context.Context, kind chunks.Kind, recorded ...string) (Placed, error) {
	namespaces := map[string]bool{s.Namespace(): true}
	for _, namespace := range recorded {
		namespaces[s.Trusted(namespace)] = true
	}
	delete(namespaces, "")
	found := Placed{}
	for namespace := range namespaces {
		handles, err := s.In(kind, namespace).List(ctx)
		if apierrors.IsForbidden(err) && !slices.Contains(recorded, namespace) {
			// An operator that may not list a namespace has hardly written there.
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

// Remove deletes the objects, and reports whether all of them are gone.
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
