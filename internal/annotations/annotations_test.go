// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package annotations_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/component-operator/runtime/internal/annotations"
	"github.com/component-operator/runtime/pkg/types"
)

func TestSuffixes(t *testing.T) {
	t.Parallel()
	want := []string{
		"adoption-policy", "apply-hook", "apply-order", "await", "crd-upgrade-policy", "delete-order", "delete-policy", "delete-propagation", "deletion-hook", "drift-policy", "fail-when", "ignore-fields", "kept-versions", "missing-type-policy", "prune-policy",
		"purge-on-failure", "purge-order", "ready-timeout", "ready-timeout-policy", "ready-when", "reapply-interval", "reconcile-policy", "recreate-if-immutable", "release-hook", "status-hint", "update-policy", "versioned",
	}
	if diff := cmp.Diff(want, annotations.Suffixes()); diff != "" {
		t.Errorf("what manifests may carry (-want +got):\n%s", diff)
	}
}

func TestCheck(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ reason, suffix, value, want string }{
		{"kebab case", types.AnnotationKeySuffixAdoptionPolicy, "if-unowned", ""},
		{"camel case", types.AnnotationKeySuffixUpdatePolicy, "SsaMerge", ""},
		{"the deprecated value", types.AnnotationKeySuffixDeletePolicy, "default", ""},
		{"not deprecated here", types.AnnotationKeySuffixDriftPolicy, "default", `invalid value "default"; must be one of: correct, report, ignore`},
		{"a value of another policy", types.AnnotationKeySuffixReconcilePolicy, "never", `invalid value "never"; must be one of: on-object-change, on-object-or-component-change, once`},
		{"an order", types.AnnotationKeySuffixApplyOrder, "-7", ""},
		{"too great an order", types.AnnotationKeySuffixPurgeOrder, "32768", `invalid value "32768"; must be an integer from -32768 to 32767`},
		{"a duration", types.AnnotationKeySuffixReapplyInterval, "90s", ""},
		{"a timeout", types.AnnotationKeySuffixReadyTimeout, "10m", ""},
		{"a timeout that is not a valid duration", types.AnnotationKeySuffixReadyTimeout, "-1s", `invalid value "-1s"; must be a duration of at least 1s, such as 90s, 30m or 2h`},
		{"what a timeout does", types.AnnotationKeySuffixReadyTimeoutPolicy, "ignore", `invalid value "ignore"; must be one of: fail, continue`},
		{"a propagation policy in the spelling of Kubernetes", types.AnnotationKeySuffixDeletePropagation, "Foreground", ""},
		{"no propagation policy", types.AnnotationKeySuffixDeletePropagation, "none", `invalid value "none"; must be one of: background, foreground, orphan`},
		{"not awaited", types.AnnotationKeySuffixAwait, "Never", ""},
		{"no way of waiting", types.AnnotationKeySuffixAwait, "no", `invalid value "no"; must be one of: always, never`},
		{"no unit", types.AnnotationKeySuffixReapplyInterval, "90", `invalid value "90"; must be a duration of at least 1s, such as 90s, 30m or 2h`},
		{"a hint", types.AnnotationKeySuffixStatusHint, "conditions=A;B", ""},
		{"no hint", types.AnnotationKeySuffixStatusHint, "x", `unknown status hint "x"; must be one of: has-observed-generation, has-ready-condition, run-to-completion, conditions=<condition>[;<condition>…]`},
		{"a release hook", types.AnnotationKeySuffixReleaseHook, "PreRollback", ""},
		{"no release hook", types.AnnotationKeySuffixReleaseHook, "pre-upgrade", `invalid value "pre-upgrade"; must be one of: test, pre-rollback, post-rollback`},
		{"a number of versions", types.AnnotationKeySuffixKeptVersions, "100", ""},
		{"no version", types.AnnotationKeySuffixKeptVersions, "0", `invalid value "0"; must be an integer from 1 to 100`},
		{"written by the reconciler", types.AnnotationKeySuffixOwnerId, "x", `unknown annotation "owner-id"; must be one of: ` + strings.Join(annotations.Suffixes(), ", ")},
	} {
		got := ""
		if err := annotations.Check(tc.suffix, tc.value); err != nil {
			got = err.Error()
		}
		if diff := cmp.Diff(tc.want, got); diff != "" {
			t.Errorf("%s: %s=%s (-want +got):\n%s", tc.reason, tc.suffix, tc.value, diff)
		}
	}
}

func TestSpelling(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"": "", "a": "a", "A": "a", "once": "once", "Once": "once", "IfUnowned": "if-unowned", "ifUnowned": "if-unowned", "if-unowned": "if-unowned",
		"If-Unowned": "if-unowned", "SsaMerge": "ssa-merge", "SSAMerge": "ssa-merge", "ssa_merge": "ssa_merge", "OnObjectOrComponentChange": "on-object-or-component-change",
		"ÄhÖ": "äh-ö", "-A": "-a", "a-": "a-",
	} {
		if got := annotations.Kebab(text); got != want {
			t.Errorf("Kebab(%q): got %q, want %q", text, got, want)
		}
	}
	for text, want := range map[string]string{
		"": "", "once": "Once", "if-unowned": "IfUnowned", "on-object-or-component-change": "OnObjectOrComponentChange", "äh-ö": "ÄhÖ", "a--b-": "AB",
	} {
		if got := annotations.Camel(text); got != want {
			t.Errorf("Camel(%q): got %q, want %q", text, got, want)
		}
	}
}

func FuzzCheck(f *testing.F) {
	for i := range annotations.Suffixes() {
		for _, seed := range []string{"", "IfUnowned", "default", "-32768", "1h", "conditions=A;B", "\x00", "ÄÖ", "=;,"} {
			f.Add(uint(i), seed)
		}
	}
	f.Fuzz(func(t *testing.T, index uint, value string) {
		suffixes := annotations.Suffixes()
		suffix := suffixes[index%uint(len(suffixes))]
		err := annotations.Check(suffix, value)
		if err != nil && !strings.Contains(err.Error(), "must be ") {
			t.Errorf("%s=%q: unclear error %v", suffix, value, err)
		}
		if policy, parseErr := annotations.Policy(suffix, value); err == nil && parseErr == nil && policy != "" {
			if again, err := annotations.Policy(suffix, annotations.Camel(policy)); err != nil || again != policy {
				t.Errorf("%s=%q: %q is not canonical: %q, %v", suffix, value, policy, again, err)
			}
		}
	})
}
