// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package records

import (
	"cmp"
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/component-operator/runtime/internal/annotations"
	"github.com/component-operator/runtime/internal/chunks"
	"github.com/component-operator/runtime/internal/manifest"
	"github.com/component-operator/runtime/pkg/component/internal/resource"
	"github.com/component-operator/runtime/pkg/types"
)

// Stores give access to the ConfigMaps and Secrets of one component.
type Stores struct {
	Handle *resource.Handle
	// StateNamespace has the objects of cluster-scoped components; may be empty.
	StateNamespace string
}

// Namespace returns the namespace of the objects; empty for a cluster-scoped component without a state namespace.
func (s *Stores) Namespace() string {
	return cmp.Or(s.Handle.Key.Namespace, s.StateNamespace)
}

// Trusts reports whether objects of the component may be in the namespace that a status names. The status alone is not
// enough: a user who may write it must not make the operator read or delete objects elsewhere.
func (s *Stores) Trusts(namespace string) bool {
	return namespace != "" && namespace == s.Namespace()
}

// CheckNamespace returns an error if the namespace that a field of the status names is not trusted.
func (s *Stores) CheckNamespace(field, namespace string) error {
	switch {
	case s.Trusts(namespace):
		return nil
	case s.Handle.Key.Namespace != "":
		return fmt.Errorf("%s is %q; must be %q, the namespace of the component", field, namespace, s.Handle.Key.Namespace)
	default:
		return fmt.Errorf("%s is %q; must be %q, the operator's StateNamespace", field, namespace, s.StateNamespace)
	}
}

// Of returns the store for objects of a kind.
func (s *Stores) Of(kind chunks.Kind) *chunks.Store {
	label := manifest.OwnerLabel(s.Handle.OwnerID)
	prefix := "inventory-"
	if kind == chunks.Secret {
		prefix = "deletion-hooks-"
	}
	return chunks.NewStore(chunks.Options{
		Kind:        kind,
		Client:      s.Handle.Writer(),
		Reader:      s.Handle.Live(),
		Namespace:   s.Namespace(),
		Prefix:      prefix + label[:20],
		Labels:      map[string]string{s.Handle.Reconciler + "/" + types.LabelKeySuffixInventoryOwnerId: label},
		Annotations: map[string]string{s.Handle.Reconciler + "/" + types.AnnotationKeySuffixOwnerId: s.Handle.OwnerID},
		ClaimKey:    s.Handle.Reconciler + "/" + types.AnnotationKeySuffixClaimedAt,
		Finalizer:   annotations.InventoryFinalizer(s.Handle.Reconciler),
		FieldOwner:  s.Handle.FieldOwner(),
	})
}

// List finds all objects of a kind that belong to the component. Without the permission to list them, there are none,
// unless the status names their namespace.
func (s *Stores) List(ctx context.Context, kind chunks.Kind, recorded string) (chunks.Handles, error) {
	if s.Namespace() == "" {
		return nil, nil
	}
	found, err := s.Of(kind).List(ctx)
	if apierrors.IsForbidden(err) && !s.Trusts(recorded) {
		// An operator that may not list a namespace has hardly written there.
		return nil, nil
	}
	return found, err
}
