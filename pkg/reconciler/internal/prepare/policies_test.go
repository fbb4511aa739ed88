// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package prepare

import (
	"testing"

	"github.com/component-operator/runtime/pkg/inventory"
)

// TestOrphanPolicies says which policies release an object, and when.
func TestOrphanPolicies(t *testing.T) {
	t.Parallel()
	policies := map[inventory.DeletePolicy][2]bool{ // on apply, on delete
		inventory.DeletePolicyDelete:         {false, false},
		inventory.DeletePolicyOrphan:         {true, true},
		inventory.DeletePolicyOrphanOnApply:  {true, false},
		inventory.DeletePolicyOrphanOnDelete: {false, true},
	}
	for policy, want := range policies {
		for other, its := range policies {
			if got := policies[Join(policy, other)]; got != [2]bool{want[0] || its[0], want[1] || its[1]} {
				t.Errorf("%s or %s: got %v", policy, other, got)
			}
		}
		if got := [2]bool{IsOrphanedOnApply(policy), IsOrphanedOnDelete(policy)}; got != want {
			t.Errorf("%s: got %v, want %v", policy, got, want)
		}
		for i, orphaned := range []func(inventory.DeletePolicy) bool{IsOrphanedOnApply, IsOrphanedOnDelete} {
			final := Final(policy, orphaned)
			if got := [2]bool{IsOrphanedOnApply(final), IsOrphanedOnDelete(final)}; got != [2]bool{want[i], want[i]} {
				t.Errorf("%s: expected what was decided once to hold in both cases, got %v", policy, got)
			}
		}
	}
}

// TestApprovalPolicy says what becomes of the policy that demands approval.
func TestApprovalPolicy(t *testing.T) {
	t.Parallel()
	const confirm = inventory.DeletePolicyConfirmOnDelete
	for other, want := range map[inventory.DeletePolicy]inventory.DeletePolicy{
		inventory.DeletePolicyDelete: confirm, confirm: confirm, inventory.DeletePolicyOrphan: inventory.DeletePolicyOrphan,
		inventory.DeletePolicyOrphanOnDelete: inventory.DeletePolicyOrphanOnDelete,
		inventory.DeletePolicyOrphanOnApply:  inventory.DeletePolicyOrphan, // there is no policy that protects it in both cases otherwise
	} {
		if got := [2]inventory.DeletePolicy{Join(confirm, other), Join(other, confirm)}; got != [2]inventory.DeletePolicy{want, want} {
			t.Errorf("%s: got %v, want %s", other, got, want)
		}
	}
	for _, orphaned := range []func(inventory.DeletePolicy) bool{IsOrphanedOnApply, IsOrphanedOnDelete} {
		if got := Final(confirm, orphaned); got != confirm || orphaned(confirm) {
			t.Errorf("expected the demand to outlast the manifest, got %s", got)
		}
	}
}
