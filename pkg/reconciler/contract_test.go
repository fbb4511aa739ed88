// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package reconciler_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/component-operator/runtime/pkg/reconciler"
	"github.com/component-operator/runtime/pkg/types"
)

// What follows does not compile if a signature changes that existing operators rely on.
var (
	_ func(*reconciler.InventoryItem) schema.ObjectKind        = (*reconciler.InventoryItem).GetObjectKind
	_ func(*reconciler.InventoryItem, schema.GroupVersionKind) = (*reconciler.InventoryItem).SetGroupVersionKind
	_ func(reconciler.InventoryItem) string                    = reconciler.InventoryItem.GetName
	_ func(reconciler.InventoryItem) string                    = reconciler.InventoryItem.GetNamespace
	_ func(reconciler.InventoryItem) schema.GroupVersionKind   = reconciler.InventoryItem.GroupVersionKind
	_ func(reconciler.InventoryItem, types.ObjectKey) bool     = reconciler.InventoryItem.Matches
	_ func(reconciler.InventoryItem) string                    = reconciler.InventoryItem.String
	_ types.ObjectKey                                          = &reconciler.InventoryItem{}
)

// copied is what generated code of API types calls.
type copied[T any] interface {
	*T
	DeepCopy() *T
	DeepCopyInto(out *T)
}

func mustBeCopied[T any, P copied[T]]() struct{} { return struct{}{} }

var _ = []struct{}{
	mustBeCopied[reconciler.InventoryItem](), mustBeCopied[reconciler.TypeInfo](),
	mustBeCopied[reconciler.TypeVersionInfo](), mustBeCopied[reconciler.NameInfo](),
}

// textsOf converts constants, so that their types are checked as well.
func textsOf[T ~string](values ...T) []string {
	texts := make([]string, len(values))
	for i, value := range values {
		texts[i] = string(value)
	}
	return texts
}

// TestConstantsOfTheContract pins values that are stored in clusters.
func TestConstantsOfTheContract(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name      string
		want, got []string
	}{
		{
			"adoption policies",
			[]string{"Always", "IfUnowned", "Never"},
			textsOf[reconciler.AdoptionPolicy](reconciler.AdoptionPolicyAlways, reconciler.AdoptionPolicyIfUnowned, reconciler.AdoptionPolicyNever),
		},
		{
			"delete policies",
			[]string{"Delete", "Orphan", "OrphanOnApply", "OrphanOnDelete"},
			textsOf[reconciler.DeletePolicy](reconciler.DeletePolicyDelete, reconciler.DeletePolicyOrphan,
				reconciler.DeletePolicyOrphanOnApply, reconciler.DeletePolicyOrphanOnDelete),
		},
		{
			"policies for missing namespaces",
			[]string{"Create", "DoNotCreate"},
			textsOf[reconciler.MissingNamespacesPolicy](reconciler.MissingNamespacesPolicyCreate, reconciler.MissingNamespacesPolicyDoNotCreate),
		},
		{
			"phases",
			[]string{
				"Completed", "Completing", "Creating", "Deleting", "Ready", "ScheduledForApplication", "ScheduledForCompletion",
				"ScheduledForDeletion", "Updating",
			},
			textsOf[reconciler.Phase](reconciler.PhaseCompleted, reconciler.PhaseCompleting, reconciler.PhaseCreating, reconciler.PhaseDeleting,
				reconciler.PhaseReady, reconciler.PhaseScheduledForApplication, reconciler.PhaseScheduledForCompletion,
				reconciler.PhaseScheduledForDeletion, reconciler.PhaseUpdating),
		},
		{
			"reconcile policies",
			[]string{"OnObjectChange", "OnObjectOrComponentChange", "Once"},
			textsOf[reconciler.ReconcilePolicy](reconciler.ReconcilePolicyOnObjectChange, reconciler.ReconcilePolicyOnObjectOrComponentChange,
				reconciler.ReconcilePolicyOnce),
		},
		{
			"update policies",
			[]string{"Recreate", "Replace", "SsaMerge", "SsaOverride"},
			textsOf[reconciler.UpdatePolicy](reconciler.UpdatePolicyRecreate, reconciler.UpdatePolicyReplace, reconciler.UpdatePolicySsaMerge,
				reconciler.UpdatePolicySsaOverride),
		},
	} {
		if diff := cmp.Diff(tt.want, tt.got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
}
