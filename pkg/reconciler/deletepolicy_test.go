// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package reconciler_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/component-operator/runtime/internal/annotations"
)

const deletePolicied = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: late, annotations: {PREFIX/delete-policy: POLICY, PREFIX/apply-order: \"1\"}}\n"

// TestDeletePolicyThatIsNotAppliedYet changes the policy of an object that cannot be written yet, because an earlier wave is not
// ready. The object is deleted only if both policies say so.
func TestDeletePolicyThatIsNotAppliedYet(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		applied, declared string
		vanishes          bool // instead of the owner being deleted
		stays             bool
	}{
		{"orphan", "delete", false, true},
		{"delete", "orphan", false, true},
		{"orphan-on-delete", "delete", false, true},
		{"orphan-on-apply", "delete", false, false},
		{"orphan-on-apply", "orphan-on-delete", false, true},
		{"delete", "delete", false, false},
		{"orphan", "delete", true, true},
		{"delete", "orphan-on-apply", true, true},
		{"orphan-on-delete", "delete", true, false},
	} {
		t.Run(fmt.Sprintf("%s-%s-%v", tc.applied, tc.declared, tc.vanishes), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.mustApply(strings.ReplaceAll(deletePolicied, "POLICY", tc.applied))
			for range 2 { // it is remembered by the record, not by the pass
				result, err := w.apply(unready + "---\n" + strings.ReplaceAll(deletePolicied, "POLICY", tc.declared))
				if err != nil || result.Done {
					t.Fatalf("expected to wait for another object, got %v", err)
				}
			}
			if got := w.configMap("late").GetAnnotations()[prefix+"/delete-policy"]; got != tc.applied {
				t.Fatalf("the new policy is applied: %s", got)
			}
			if tc.vanishes {
				w.mustApply(remaining)
			} else {
				w.mustDelete()
			}
			if there := w.configMap("late") != nil; there != tc.stays {
				t.Errorf("expected it to stay: %v; it is there: %v", tc.stays, there)
			}
		})
	}
}

// TestDeathWhileTheDeletePolicyChanges ends the process before and after it has applied another policy. A later deletion of the
// owner knows only the record, and must not delete an object that its own policy protects.
func TestDeathWhileTheDeletePolicyChanges(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string][2]string{"Protected": {"delete", "orphan"}, "Given": {"orphan", "delete"}} {
		for survived := range 2 {
			t.Run(fmt.Sprint(name, survived), func(t *testing.T) {
				t.Parallel()
				w := newWorld(t)
				w.mustApply(strings.ReplaceAll(deletePolicied, "POLICY", tc[0]))
				mortal := w.mortal(survived)
				if _, err := mortal.engine.Apply(t.Context(), mortal.request(strings.ReplaceAll(deletePolicied, "POLICY", tc[1]))); (err == nil) != (survived == 1) {
					t.Fatalf("expected to die before the write only, got %v", err)
				}
				if got := w.configMap("late").GetAnnotations()[prefix+"/delete-policy"]; got != tc[survived] {
					t.Fatalf("expected the policy %s, got %s", tc[survived], got)
				}
				w.mustDelete()
				if w.configMap("late") == nil {
					t.Error("what one of the policies protects is deleted")
				}
			})
		}
	}
}

// TestDeletePolicyThatIsApplied takes effect at once.
func TestDeletePolicyThatIsApplied(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		from, to string
		saves    int // before the write, because the record must not protect less than the object
		stays    bool
	}{
		{"orphan", "delete", 0, false},
		{"delete", "orphan", 1, true},
		{"orphan-on-apply", "orphan-on-delete", 1, true},
	} {
		t.Run(tc.from+"-"+tc.to, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.mustApply(strings.ReplaceAll(deletePolicied, "POLICY", tc.from))
			saves := w.saves
			changed := strings.ReplaceAll(deletePolicied, "POLICY", tc.to)
			if result, err := w.apply(changed); err != nil || !result.Done {
				t.Fatal(err)
			}
			if got := w.saves - saves; got != tc.saves {
				t.Errorf("expected %d saves besides the one of the caller, got %d", tc.saves, got)
			}
			if got := annotations.Kebab(string(w.owner.Inventory[0].DeletePolicy)); got != tc.to {
				t.Errorf("expected the record to have the policy at once, got %s", got)
			}
			saves = w.saves
			w.mustApply(changed)
			if w.saves != saves {
				t.Error("it is recorded again and again")
			}
			w.mustDelete()
			if there := w.configMap("late") != nil; there != tc.stays {
				t.Errorf("expected it to stay: %v; it is there: %v", tc.stays, there)
			}
		})
	}
}
