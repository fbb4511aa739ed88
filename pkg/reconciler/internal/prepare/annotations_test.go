// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package prepare

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/component-operator/runtime/internal/manifest"
	"github.com/component-operator/runtime/pkg/inventory"
	"github.com/component-operator/runtime/pkg/types"
)

const testPrefix = "op.example.com/"

func annotated(annotations map[string]string) *unstructured.Unstructured {
	object := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apps/v1", "kind": "Deployment", "metadata": map[string]any{"name": "web", "namespace": "demo"},
	}}
	prefixed := map[string]string{}
	for suffix, value := range annotations {
		prefixed[testPrefix+suffix] = value
	}
	object.SetAnnotations(prefixed)
	return object
}

// otherPolicies differ from the defaults in every field, so that a field that is not set is noticed.
func otherPolicies() inventory.Policies {
	return inventory.Policies{
		Adoption: inventory.AdoptionPolicyNever, Reconcile: inventory.ReconcilePolicyOnce, Update: inventory.UpdatePolicySsaOverride, Delete: inventory.DeletePolicyOrphanOnDelete,
		Prune: inventory.PrunePolicyKeep, PruneAt: inventory.PruneAtWaves, Drift: inventory.DriftPolicyIgnore, MissingNamespaces: inventory.MissingNamespacesPolicyDoNotCreate, DeleteOrder: inventory.DeleteOrderExplicit,
		DeletePropagation: metav1.DeletePropagationForeground, ReapplyInterval: time.Minute,
	}
}

func otherEffective() Effective {
	return Effective{
		Adoption: inventory.AdoptionPolicyNever, Reconcile: inventory.ReconcilePolicyOnce, Update: inventory.UpdatePolicySsaOverride, Delete: inventory.DeletePolicyOrphanOnDelete,
		Drift: inventory.DriftPolicyIgnore, DeletePropagation: metav1.DeletePropagationForeground, ReapplyInterval: time.Minute,
	}
}

func TestParse(t *testing.T) {
	t.Parallel()
	order := func(value int) *int { return &value }
	for _, tc := range []struct {
		reason, suffix string
		values         []string
		change         func(*Effective)
	}{
		{"nothing is said: the policies of the owner apply", "unrelated", []string{"", "x"}, func(*Effective) {}},
		{"all spellings", types.AnnotationKeySuffixAdoptionPolicy, []string{"never", "Never"}, func(b *Effective) { b.Adoption = inventory.AdoptionPolicyNever }},
		{"all spellings", types.AnnotationKeySuffixAdoptionPolicy, []string{"if-unowned", "ifUnowned", "IfUnowned"}, func(b *Effective) { b.Adoption = inventory.AdoptionPolicyIfUnowned }},
		{"all spellings", types.AnnotationKeySuffixAdoptionPolicy, []string{"always", "Always"}, func(b *Effective) { b.Adoption = inventory.AdoptionPolicyAlways }},
		{"all spellings", types.AnnotationKeySuffixReconcilePolicy, []string{"on-object-change", "onObjectChange", "OnObjectChange"}, func(b *Effective) { b.Reconcile = inventory.ReconcilePolicyOnObjectChange }},
		{"all spellings", types.AnnotationKeySuffixReconcilePolicy, []string{"on-object-or-component-change", "onObjectOrComponentChange", "OnObjectOrComponentChange"}, func(b *Effective) { b.Reconcile = inventory.ReconcilePolicyOnObjectOrComponentChange }},
		{"all spellings", types.AnnotationKeySuffixReconcilePolicy, []string{"once", "Once"}, func(b *Effective) { b.Reconcile = inventory.ReconcilePolicyOnce }},
		{"the deprecated value is like none", types.AnnotationKeySuffixUpdatePolicy, []string{"default"}, func(*Effective) {}},
		{"all spellings", types.AnnotationKeySuffixUpdatePolicy, []string{"recreate", "Recreate"}, func(b *Effective) { b.Update = inventory.UpdatePolicyRecreate }},
		{"all spellings", types.AnnotationKeySuffixUpdatePolicy, []string{"replace", "Replace"}, func(b *Effective) { b.Update = inventory.UpdatePolicyReplace }},
		{"all spellings", types.AnnotationKeySuffixUpdatePolicy, []string{"ssa-merge", "ssaMerge", "SsaMerge"}, func(b *Effective) { b.Update = inventory.UpdatePolicySsaMerge }},
		{"all spellings", types.AnnotationKeySuffixUpdatePolicy, []string{"ssa-override", "ssaOverride", "SsaOverride"}, func(b *Effective) { b.Update = inventory.UpdatePolicySsaOverride }},
		{"the deprecated value is like none", types.AnnotationKeySuffixDeletePolicy, []string{"default"}, func(*Effective) {}},
		{"all spellings", types.AnnotationKeySuffixDeletePolicy, []string{"delete", "Delete"}, func(b *Effective) { b.Delete = inventory.DeletePolicyDelete }},
		{"all spellings", types.AnnotationKeySuffixDeletePolicy, []string{"orphan", "Orphan"}, func(b *Effective) { b.Delete = inventory.DeletePolicyOrphan }},
		{"all spellings", types.AnnotationKeySuffixDeletePolicy, []string{"orphan-on-apply", "orphanOnApply", "OrphanOnApply"}, func(b *Effective) { b.Delete = inventory.DeletePolicyOrphanOnApply }},
		{"all spellings", types.AnnotationKeySuffixDeletePolicy, []string{"orphan-on-delete", "orphanOnDelete", "OrphanOnDelete"}, func(b *Effective) { b.Delete = inventory.DeletePolicyOrphanOnDelete }},
		{"all spellings", types.AnnotationKeySuffixDeletePolicy, []string{"confirm-on-delete", "confirmOnDelete", "ConfirmOnDelete"}, func(b *Effective) { b.Delete = inventory.DeletePolicyConfirmOnDelete }},
		{"all spellings", types.AnnotationKeySuffixDriftPolicy, []string{"correct", "Correct"}, func(b *Effective) { b.Drift = inventory.DriftPolicyCorrect }},
		{"all spellings", types.AnnotationKeySuffixDriftPolicy, []string{"report", "Report"}, func(b *Effective) { b.Drift = inventory.DriftPolicyReport }},
		{"all spellings", types.AnnotationKeySuffixDriftPolicy, []string{"ignore", "Ignore"}, func(b *Effective) { b.Drift = inventory.DriftPolicyIgnore }},
		{"the smallest", types.AnnotationKeySuffixApplyOrder, []string{"-32768"}, func(b *Effective) { b.ApplyOrder = -32768 }},
		{"the greatest", types.AnnotationKeySuffixApplyOrder, []string{"32767", "+32767"}, func(b *Effective) { b.ApplyOrder = 32767 }},
		{"the smallest", types.AnnotationKeySuffixDeleteOrder, []string{"-32768"}, func(b *Effective) { b.DeleteOrder = -32768 }},
		{"the greatest", types.AnnotationKeySuffixDeleteOrder, []string{"32767"}, func(b *Effective) { b.DeleteOrder = 32767 }},
		{"the default is not recorded", types.AnnotationKeySuffixDeletePropagation, []string{"background", "Background"}, func(b *Effective) { b.DeletePropagation = "" }},
		{"all spellings", types.AnnotationKeySuffixPrunePolicy, []string{"delete", "Delete"}, func(b *Effective) { b.Prune = inventory.PrunePolicyDelete }},
		{"all spellings", types.AnnotationKeySuffixPrunePolicy, []string{"keep", "Keep"}, func(b *Effective) { b.Prune = inventory.PrunePolicyKeep }},
		{"all spellings", types.AnnotationKeySuffixPrunePolicy, []string{"confirm", "Confirm"}, func(b *Effective) { b.Prune = inventory.PrunePolicyConfirm }},
		{"all spellings", types.AnnotationKeySuffixDeletePropagation, []string{"foreground", "Foreground"}, func(b *Effective) { b.DeletePropagation = metav1.DeletePropagationForeground }},
		{"all spellings", types.AnnotationKeySuffixDeletePropagation, []string{"orphan", "Orphan"}, func(b *Effective) { b.DeletePropagation = metav1.DeletePropagationOrphan }},
		{"zero is an order, not none", types.AnnotationKeySuffixPurgeOrder, []string{"0"}, func(b *Effective) { b.PurgeOrder = order(0) }},
		{"negative", types.AnnotationKeySuffixPurgeOrder, []string{"-5"}, func(b *Effective) { b.PurgeOrder = order(-5) }},
		{"durations of Go", types.AnnotationKeySuffixReapplyInterval, []string{"90m", "1h30m", "5400s", "1.5h"}, func(b *Effective) { b.ReapplyInterval = 90 * time.Minute }},
		{"hints are only checked", types.AnnotationKeySuffixStatusHint, []string{"", "has-observed-generation", "hasReadyCondition", "conditions=A;B, has-ready-condition"}, func(*Effective) {}},
	} {
		for _, value := range tc.values {
			want := otherEffective()
			tc.change(&want)
			got, problems := Parse(testPrefix, annotated(map[string]string{tc.suffix: value}), otherPolicies())
			if len(problems) > 0 {
				t.Errorf("%s=%q (%s): unexpected problems: %v", tc.suffix, value, tc.reason, problems)
			}
			if diff := cmp.Diff(want, got, cmp.AllowUnexported(Effective{})); diff != "" {
				t.Errorf("%s=%q (%s) (-want +got):\n%s", tc.suffix, value, tc.reason, diff)
			}
		}
	}
}

func TestParseRefusesBadValues(t *testing.T) {
	t.Parallel()
	const orders = "integer from -32768 to 32767"
	const durations = "duration of at least 1s, such as 90s, 30m or 2h"
	for _, tc := range []struct {
		suffix  string
		values  []string
		allowed string
	}{
		{types.AnnotationKeySuffixAdoptionPolicy, []string{"", " ", "alway", "if_unowned", "always ", "if-unowned,always", "default"}, "never, if-unowned, always"},
		{types.AnnotationKeySuffixReconcilePolicy, []string{"", "twice", "on-change", "true"}, "on-object-change, on-object-or-component-change, once"},
		{types.AnnotationKeySuffixUpdatePolicy, []string{"", "ssa", "merge", "server-side-apply"}, "recreate, replace, ssa-merge, ssa-override"},
		{types.AnnotationKeySuffixDeletePolicy, []string{"", "keep", "orphan-on", "orphan-on-delete-and-apply"}, "delete, orphan, orphan-on-apply, orphan-on-delete"},
		{types.AnnotationKeySuffixPrunePolicy, []string{"", "default", "orphan"}, "delete, keep, confirm"},
		{types.AnnotationKeySuffixDeletePropagation, []string{"", "none", "orphan-dependents"}, "background, foreground, orphan"},
		{types.AnnotationKeySuffixDriftPolicy, []string{"", "none", "corrected"}, "correct, report, ignore"},
		{types.AnnotationKeySuffixApplyOrder, []string{"", "x", "1.0", "1e3", "0x10", "1_000", " 1", "-32769", "32768", "9223372036854775808"}, orders},
		{types.AnnotationKeySuffixPurgeOrder, []string{"", "never", "32768"}, orders},
		{types.AnnotationKeySuffixDeleteOrder, []string{"", "-32769", "--1"}, orders},
		{types.AnnotationKeySuffixReapplyInterval, []string{"", "0", "0s", "-1m", "999ms", "60", "1d", "1h ", "10000000000h"}, durations},
		{types.AnnotationKeySuffixStatusHint, []string{"nonsense", ",", "has-observed-generation=true", "conditions", "conditions="}, "has-observed-generation"},
	} {
		for _, value := range tc.values {
			_, problems := Parse(testPrefix, annotated(map[string]string{tc.suffix: value}), otherPolicies())
			if len(problems) != 1 {
				t.Errorf("%s=%q: expected one problem, got %q", tc.suffix, value, problems)
				continue
			}
			// The value of a hint is quoted in part only.
			for _, want := range []string{"Deployment demo/web: ", "annotation " + testPrefix + tc.suffix, "must be ", tc.allowed} {
				if !strings.Contains(problems[0], want) {
					t.Errorf("%s=%q: expected %q in %q", tc.suffix, value, want, problems[0])
				}
			}
			if tc.suffix != types.AnnotationKeySuffixStatusHint && !strings.Contains(problems[0], `"`+value+`"`) {
				t.Errorf("%s=%q: the value is not named in %q", tc.suffix, value, problems[0])
			}
		}
	}
}

// TestParseRefusesHooks: they would be applied at the wrong time. Versions would not be made at all.
func TestParseRefusesHooks(t *testing.T) {
	t.Parallel()
	for suffix, want := range map[string]string{
		types.AnnotationKeySuffixDeletionHook: "deletion hooks must be taken out before dependents are applied",
		types.AnnotationKeySuffixReleaseHook:  "release hooks must be taken out before dependents are applied",
		types.AnnotationKeySuffixVersioned:    "only ConfigMaps and Secrets of releases of clm have versions",
		types.AnnotationKeySuffixKeptVersions: "only ConfigMaps and Secrets of releases of clm have versions",
	} {
		_, problems := Parse(testPrefix, annotated(map[string]string{suffix: "test"}), otherPolicies())
		if len(problems) != 1 || !strings.Contains(problems[0], want) {
			t.Errorf("%s: got %q, want one problem with %q", suffix, problems, want)
		}
	}
}

func TestPolicies(t *testing.T) {
	t.Parallel()
	t.Run("Defaults", func(t *testing.T) {
		t.Parallel()
		want := inventory.Policies{
			Adoption: inventory.AdoptionPolicyIfUnowned, Reconcile: inventory.ReconcilePolicyOnObjectChange, Update: inventory.UpdatePolicyReplace, Delete: inventory.DeletePolicyDelete,
			Prune: inventory.PrunePolicyDelete, PruneAt: inventory.PruneAtEnd, Drift: inventory.DriftPolicyCorrect, MissingNamespaces: inventory.MissingNamespacesPolicyCreate,
			DeleteOrder: inventory.DeleteOrderExplicit, DeletePropagation: metav1.DeletePropagationBackground, ReapplyInterval: time.Hour,
		}
		if diff := cmp.Diff(want, manifest.Or(inventory.Policies{}, Defaults())); diff != "" {
			t.Errorf("documented defaults (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff(otherPolicies(), manifest.Or(otherPolicies(), Defaults())); diff != "" {
			t.Errorf("what is set wins (-want +got):\n%s", diff)
		}
	})
	t.Run("Spelling", func(t *testing.T) {
		t.Parallel()
		kebabs := inventory.Policies{
			Adoption: "never", Reconcile: "once", Update: "ssa-override", Delete: "orphan-on-delete", Prune: "keep", PruneAt: "waves", Drift: "ignore", MissingNamespaces: "do-not-create",
			DeleteOrder: "explicit", DeletePropagation: "foreground", ReapplyInterval: time.Minute,
		}
		got, err := Validate(kebabs)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(otherPolicies(), got); diff != "" {
			t.Errorf("canonical spelling (-want +got):\n%s", diff)
		}
	})
	t.Run("Bad", func(t *testing.T) {
		t.Parallel()
		_, err := Validate(inventory.Policies{
			Adoption: "x1", Reconcile: "x2", Update: "x3", Delete: "x4", Drift: "x5", MissingNamespaces: "x6", DeletePropagation: "x7", ReapplyInterval: -1,
		})
		if err == nil {
			t.Fatal("expected an error")
		}
		for _, want := range []string{
			`adoption policy: invalid value "x1"; must be one of: never`, `"x2"`, `"x3"`, `"x4"`, `"x5"`, `missing namespaces policy: invalid value "x6"; must be one of: do-not-create, create`,
			`delete propagation: invalid value "x7"; must be one of: background, foreground, orphan`, "reapply interval",
		} {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("expected %q in %q", want, err)
			}
		}
	})
}

// TestReversedDeleteOrder derives delete orders from apply orders, unless an annotation says otherwise.
func TestReversedDeleteOrder(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		order   inventory.DeleteOrder
		values  map[string]string
		ordered int
	}{
		{inventory.DeleteOrderExplicit, map[string]string{types.AnnotationKeySuffixApplyOrder: "3"}, 0},
		{inventory.DeleteOrderReversed, map[string]string{types.AnnotationKeySuffixApplyOrder: "3"}, -3},
		{inventory.DeleteOrderReversed, nil, 0},
		{inventory.DeleteOrderReversed, map[string]string{types.AnnotationKeySuffixApplyOrder: "-32768"}, types.MaxOrder},
		{inventory.DeleteOrderReversed, map[string]string{types.AnnotationKeySuffixApplyOrder: "3", types.AnnotationKeySuffixDeleteOrder: "0"}, 0},
		{inventory.DeleteOrderReversed, map[string]string{types.AnnotationKeySuffixApplyOrder: "3", types.AnnotationKeySuffixDeleteOrder: "5"}, 5},
	} {
		got, problems := Parse(testPrefix, annotated(test.values), inventory.Policies{DeleteOrder: test.order, ReapplyInterval: time.Hour})
		if len(problems) > 0 || got.DeleteOrder != test.ordered {
			t.Errorf("%s, %v: got %d, %v, want %d", test.order, test.values, got.DeleteOrder, problems, test.ordered)
		}
	}
	if _, err := Validate(inventory.Policies{DeleteOrder: "backwards"}); err == nil || !strings.Contains(err.Error(), `delete order: invalid value "backwards"; must be one of: explicit, reversed`) {
		t.Errorf("unexpected error %v", err)
	}
}
