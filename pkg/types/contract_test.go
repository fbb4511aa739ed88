// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package types_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	apitypes "k8s.io/apimachinery/pkg/types"

	"github.com/component-operator/runtime/pkg/types"
)

// What follows does not compile if a signature changes that existing operators rely on.
var (
	_ func(types.RetriableError) error                 = types.RetriableError.Cause
	_ func(types.RetriableError) string                = types.RetriableError.Error
	_ func(types.RetriableError) *time.Duration        = types.RetriableError.RetryAfter
	_ func(types.RetriableError) error                 = types.RetriableError.Unwrap
	_ func(types.SelectorFunc[int], int) bool          = types.SelectorFunc[int].Matches
	_ func(types.UnstructurableMap) map[string]any     = types.UnstructurableMap.ToUnstructured
	_ func(string, string) types.NameKey               = types.NameKeyFromNamespaceAndName
	_ func(apitypes.NamespacedName) types.NameKey      = types.NameKeyFromNamespacedName
	_ func(types.NameKey) string                       = types.NameKeyToString
	_ func(error, *time.Duration) types.RetriableError = types.NewRetriableError
	_ func(types.ObjectKey) string                     = types.ObjectKeyToString
	_ func(string, string, string) types.TypeKey       = types.TypeKeyFromGroupAndVersionAndKind
	_ func(schema.GroupVersionKind) types.TypeKey      = types.TypeKeyFromGroupVersionKind
	_ func(types.TypeKey) string                       = types.TypeKeyToString
	_ types.Selector[int]                              = types.SelectorFunc[int](func(int) bool { return true })
	_ types.Unstructurable                             = types.UnstructurableMap(map[string]any{})
	_ error                                            = types.RetriableError{}
	_ interface {
		types.TypeKey
		types.NameKey
	} = types.ObjectKey(nil)
)

// An interface that gains a method is not satisfied by existing operators any more.
var (
	_ types.Unstructurable = (interface{ ToUnstructured() map[string]any })(nil)
	_ types.SchemeBuilder  = (interface {
		AddToScheme(scheme *runtime.Scheme) error
	})(nil)
	_ types.Selector[int] = (interface{ Matches(object int) bool })(nil)
	_ types.TypeKey       = (interface{ GetObjectKind() schema.ObjectKind })(nil)
	_ types.NameKey       = (interface {
		GetNamespace() string
		GetName() string
	})(nil)
	_ types.ObjectKey = (interface {
		types.TypeKey
		types.NameKey
	})(nil)
)

// TestConstantsOfTheContract pins values that are stored in clusters and in manifests.
func TestConstantsOfTheContract(t *testing.T) {
	t.Parallel()
	got := []string{
		types.AdoptionPolicyAlways, types.AdoptionPolicyIfUnowned, types.AdoptionPolicyNever,
		types.AnnotationKeySuffixAdoptionPolicy, types.AnnotationKeySuffixApplyOrder, types.AnnotationKeySuffixDeleteOrder,
		types.AnnotationKeySuffixDeletePolicy, types.AnnotationKeySuffixDigest, types.AnnotationKeySuffixDisableEvents,
		types.AnnotationKeySuffixOwnerId, types.AnnotationKeySuffixPurgeOrder, types.AnnotationKeySuffixReapplyInterval,
		types.AnnotationKeySuffixReconcilePolicy, types.AnnotationKeySuffixStatusHint, types.AnnotationKeySuffixUpdatePolicy,
		types.DeletePolicyDefault, types.DeletePolicyDelete, types.DeletePolicyOrphan, types.DeletePolicyOrphanOnApply, types.DeletePolicyOrphanOnDelete,
		types.LabelKeySuffixOwnerId,
		types.ReconcilePolicyOnObjectChange, types.ReconcilePolicyOnObjectOrComponentChange, types.ReconcilePolicyOnce,
		types.StatusHintConditions, types.StatusHintHasObservedGeneration, types.StatusHintHasReadyCondition,
		types.UpdatePolicyDefault, types.UpdatePolicyRecreate, types.UpdatePolicyReplace, types.UpdatePolicySsaMerge, types.UpdatePolicySsaOverride,
	}
	want := []string{
		"always", "if-unowned", "never",
		"adoption-policy", "apply-order", "delete-order",
		"delete-policy", "digest", "disable-events",
		"owner-id", "purge-order", "reapply-interval",
		"reconcile-policy", "status-hint", "update-policy",
		"default", "delete", "orphan", "orphan-on-apply", "orphan-on-delete",
		"owner-id",
		"on-object-change", "on-object-or-component-change", "once",
		"conditions", "has-observed-generation", "has-ready-condition",
		"default", "recreate", "replace", "ssa-merge", "ssa-override",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("constants (-want +got):\n%s", diff)
	}
}
