// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package generic

import (
	"strconv"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/component-operator/runtime/internal/annotations"
	"github.com/component-operator/runtime/pkg/inventory"
	"github.com/component-operator/runtime/pkg/types"
)

// Policies say how the reconciler treats an object. An empty field leaves the decision to the component.
type Policies struct {
	// Adoption says what happens if the object already exists.
	Adoption inventory.AdoptionPolicy
	// Reconcile says which changes cause the object to be applied again.
	Reconcile inventory.ReconcilePolicy
	// Update says how the object is updated.
	Update inventory.UpdatePolicy
	// Delete says what happens to the object when it is not declared any more, or when the component is deleted.
	Delete inventory.DeletePolicy
	// Prune says what happens to the object when it is not declared any more.
	Prune inventory.PrunePolicy
	// Drift says what happens if others change the object.
	Drift inventory.DriftPolicy
	// DeletePropagation says what happens to the objects that the object owns when it is deleted.
	DeletePropagation metav1.DeletionPropagation
	// ReapplyInterval is how long the object goes without being applied again, if others may have changed it unnoticed.
	ReapplyInterval time.Duration
	// ReadyTimeout is how long the object may take to become ready after it was written; then it counts as failed.
	ReadyTimeout time.Duration
}

// annotations returns the policies as annotations have them, by the part of the key that follows the name of the
// reconciler.
func (p Policies) annotations() map[string]string {
	given := map[string]string{}
	if p == (Policies{}) {
		return given
	}
	values := map[string]string{
		types.AnnotationKeySuffixAdoptionPolicy:    string(p.Adoption),
		types.AnnotationKeySuffixReconcilePolicy:   string(p.Reconcile),
		types.AnnotationKeySuffixUpdatePolicy:      string(p.Update),
		types.AnnotationKeySuffixDeletePolicy:      string(p.Delete),
		types.AnnotationKeySuffixPrunePolicy:       string(p.Prune),
		types.AnnotationKeySuffixDriftPolicy:       string(p.Drift),
		types.AnnotationKeySuffixDeletePropagation: string(p.DeletePropagation),
	}
	for suffix, value := range values {
		if value != "" {
			given[suffix] = annotations.Kebab(value)
		}
	}
	for suffix, value := range map[string]time.Duration{
		types.AnnotationKeySuffixReapplyInterval: p.ReapplyInterval, types.AnnotationKeySuffixReadyTimeout: p.ReadyTimeout,
	} {
		if value != 0 {
			given[suffix] = value.String()
		}
	}
	return given
}

// WithPolicies sets the policies of the object.
func (b *Builder[T, P, M, F, S]) WithPolicies(policies Policies) *Builder[T, P, M, F, S] {
	b.policies = policies
	return b
}

// Unowned leaves the object in the cluster when the component is deleted, and deletes it when it is not declared any
// more. It overrides Policies.Delete.
func (b *Builder[T, P, M, F, S]) Unowned() *Builder[T, P, M, F, S] {
	return b.set(types.AnnotationKeySuffixDeletePolicy, types.DeletePolicyOrphanOnDelete)
}

// WithApplyOrder sets the wave in which the object is applied; see types.AnnotationKeySuffixApplyOrder. Defaults to 0.
func (b *Builder[T, P, M, F, S]) WithApplyOrder(order int) *Builder[T, P, M, F, S] {
	return b.set(types.AnnotationKeySuffixApplyOrder, strconv.Itoa(order))
}

// WithDeleteOrder sets the wave in which the object is deleted. Defaults to the reverse of the order in which the
// resources of the component are applied.
func (b *Builder[T, P, M, F, S]) WithDeleteOrder(order int) *Builder[T, P, M, F, S] {
	return b.set(types.AnnotationKeySuffixDeleteOrder, strconv.Itoa(order))
}

// WithPurgeOrder sets the wave at whose end the object is deleted again; see types.AnnotationKeySuffixPurgeOrder.
// Defaults to never.
func (b *Builder[T, P, M, F, S]) WithPurgeOrder(order int) *Builder[T, P, M, F, S] {
	return b.set(types.AnnotationKeySuffixPurgeOrder, strconv.Itoa(order))
}

func (b *Builder[T, P, M, F, S]) set(suffix, value string) *Builder[T, P, M, F, S] {
	if b.annotations == nil {
		b.annotations = map[string]string{}
	}
	b.annotations[suffix] = value
	return b
}
