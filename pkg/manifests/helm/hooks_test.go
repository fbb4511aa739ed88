// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package helm_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/component-operator/runtime/internal/generating"
	"github.com/component-operator/runtime/pkg/manifests/helm"
)

const (
	once      = "once"
	onChanges = "on-object-or-component-change"
	recreate  = "recreate"
)

func TestHooks(t *testing.T) {
	t.Parallel()
	// The states that matter to hooks: the first revision, a later one of an installation that has not succeeded
	// yet, and an upgrade.
	first, retried, upgrade := state{1, false}, state{2, false}, state{3, true}
	// As soon as the first revision is complete, nothing may change: the component has not changed.
	completed := state{1, true}
	hook := func(reconcilePolicy, applyOrder string) map[string]string {
		return map[string]string{"reconcile-policy": reconcilePolicy, "apply-order": applyOrder, "update-policy": recreate}
	}
	tests := []struct {
		reason   string
		hook     string
		more     []string
		expected map[state]map[string]string // no entry: the object is left out
	}{
		{"pre-install runs once, and stays; a corrected installation runs it again", "pre-install", nil, map[state]map[string]string{
			first: hook(once, "-101"), retried: hook(onChanges, "-101"), upgrade: hook(once, "-101"),
		}},
		{"post-upgrade runs on upgrades only", "post-upgrade", nil, map[state]map[string]string{upgrade: hook(onChanges, "101")}},
		{"pre-install and pre-upgrade; a corrected installation runs it again", "pre-install,pre-upgrade", nil, map[state]map[string]string{
			first: hook(once, "-101"), retried: hook(onChanges, "-101"), upgrade: hook(onChanges, "-101"),
		}},
		{"before and after the same event means before", "pre-install, post-install", nil, map[state]map[string]string{
			first: hook(once, "-101"), retried: hook(onChanges, "-101"), upgrade: hook(once, "-101"),
		}},
		{"highest weight", "post-upgrade", []string{"helm.sh/hook-weight", " 100 "}, map[state]map[string]string{upgrade: hook(onChanges, "201")}},
		{"a pre hook goes after the last pre hook", "pre-upgrade", []string{"helm.sh/hook-delete-policy", "hook-succeeded"}, map[state]map[string]string{
			upgrade: {"reconcile-policy": onChanges, "apply-order": "-101", "purge-order": "-1"},
		}},
		{"a post hook goes after the last post hook", "post-upgrade", []string{"helm.sh/hook-delete-policy", "hook-succeeded"}, map[state]map[string]string{
			upgrade: {"reconcile-policy": onChanges, "apply-order": "101", "purge-order": "201"},
		}},
		{"a hook that is needed before now and after then goes with its event", "pre-install,post-upgrade", []string{"helm.sh/hook-delete-policy", "hook-succeeded"}, map[state]map[string]string{
			first:   {"reconcile-policy": once, "apply-order": "-101", "purge-order": "-1"},
			retried: {"reconcile-policy": onChanges, "apply-order": "-101", "purge-order": "-1"},
			upgrade: {"reconcile-policy": onChanges, "apply-order": "101", "purge-order": "201"},
		}},
		{"a hook that goes when it fails", "post-upgrade", []string{"helm.sh/hook-delete-policy", "before-hook-creation,hook-failed"}, map[state]map[string]string{
			upgrade: {"reconcile-policy": onChanges, "apply-order": "101", "update-policy": recreate, "purge-on-failure": "true"},
		}},
		{"tests are left out", "test", nil, nil},
		{"definitions for Helm 2 are left out", "crd-install", nil, nil},
	}
	for _, tt := range tests {
		t.Run(tt.reason, func(t *testing.T) {
			t.Parallel()
			fsys := chartWith(map[string]string{"templates/a.yaml": objectWith(append([]string{"helm.sh/hook", tt.hook}, tt.more...)...)})
			got := map[state]map[string]string{}
			for _, s := range []state{first, retried, upgrade, completed} {
				objects, err := generate(t, fsys, s)
				if err != nil {
					t.Fatal(err)
				}
				for _, object := range objects {
					got[s] = mapped(object)
					if object.GetAnnotations()["helm.sh/hook"] != tt.hook {
						t.Error("Helm's annotation has gone")
					}
				}
			}
			want := tt.expected
			if want == nil {
				want = map[state]map[string]string{}
			}
			if diff := cmp.Diff(got[first], got[completed]); diff != "" {
				t.Errorf("the completion of the installation changes the annotations (-before +after):\n%s", diff)
			}
			delete(got, completed)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("unexpected annotations (-want +got):\n%s", diff)
			}
		})
	}
}

func TestAnnotationsThatAreRefused(t *testing.T) {
	t.Parallel()
	tests := []struct {
		reason      string
		annotations []string
		want        string
	}{
		{"unknown hook", []string{"helm.sh/hook", "pre-install, sometimes"}, `annotation helm.sh/hook: invalid value "pre-install, sometimes": "sometimes" is not known; must be one of: pre-install, post-install, pre-upgrade, post-upgrade, pre-delete, post-delete, pre-rollback, post-rollback, test`},
		{"unknown delete policy", []string{"helm.sh/hook", "pre-install", "helm.sh/hook-delete-policy", "never"}, `"never" is not known; must be one of: before-hook-creation, hook-succeeded, hook-failed`},
		{"owner id", []string{prefix + "owner-id", "x"}, `annotation demo.example.io/owner-id is reserved for the reconciler`},
		{"clash with the order", []string{"helm.sh/hook", "pre-install", prefix + "apply-order", "5"}, `annotation demo.example.io/apply-order has value "5", but Helm's annotations of the object demand "-101"`},
	}
	for _, tt := range tests {
		t.Run(tt.reason, func(t *testing.T) {
			t.Parallel()
			fsys := chartWith(map[string]string{"templates/a.yaml": "# nothing\n---\n" + objectWith(tt.annotations...)})
			_, err := generate(t, fsys, state{1, false})
			if err == nil {
				t.Fatal("it was accepted")
			}
			for _, part := range []string{"rendering chart demo: Job shop/job (demo/templates/a.yaml, document 2): ", tt.want} {
				if !strings.Contains(err.Error(), part) {
					t.Errorf("got error %q, which lacks %q", err, part)
				}
			}
		})
	}
	t.Run("owner label", func(t *testing.T) {
		t.Parallel()
		fsys := chartWith(map[string]string{"templates/a.yaml": objectWith() + "  labels: {" + prefix + "owner-id: x}\n"})
		if _, err := generate(t, fsys, state{1, false}); err == nil || !strings.Contains(err.Error(), "label demo.example.io/owner-id is reserved") {
			t.Errorf("got error %v", err)
		}
	})
}

func TestAnnotationsThatAreKept(t *testing.T) {
	t.Parallel()
	tests := []struct {
		reason      string
		annotations []string
		want        map[string]string
	}{
		{"all others of the reconciler", []string{prefix + "apply-order", "-3", prefix + "delete-policy", "orphan-on-delete", prefix + "own", "x"}, map[string]string{"apply-order": "-3", "delete-policy": "orphan-on-delete", "own": "x"}},
		{"resource policy", []string{"helm.sh/resource-policy", "keep"}, map[string]string{"delete-policy": "orphan"}},
		{"resource policy that is stated twice", []string{"helm.sh/resource-policy", "keep", prefix + "delete-policy", "Orphan"}, map[string]string{"delete-policy": "Orphan"}},
		{"a hook with more annotations", []string{"helm.sh/hook", "pre-install", prefix + "delete-order", "4", prefix + "apply-order", "-101", prefix + "reconcile-policy", "Once"}, map[string]string{
			"delete-order": "4", "apply-order": "-101", "reconcile-policy": "Once", "update-policy": "recreate",
		}},
	}
	for _, tt := range tests {
		t.Run(tt.reason, func(t *testing.T) {
			t.Parallel()
			objects, err := generate(t, chartWith(map[string]string{"templates/a.yaml": objectWith(tt.annotations...)}), state{1, false})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, mapped(objects[0])); diff != "" {
				t.Errorf("unexpected annotations (-want +got):\n%s", diff)
			}
			for i := 0; i < len(tt.annotations); i += 2 {
				if got := objects[0].GetAnnotations()[tt.annotations[i]]; got != tt.annotations[i+1] {
					t.Errorf("annotation %s was changed to %q", tt.annotations[i], got)
				}
			}
		})
	}
}

// TestHooksOfDeletionsAndReleases: those of releases are there only if a command line asks for them.
func TestHooksOfDeletionsAndReleases(t *testing.T) {
	t.Parallel()
	deletion := func(hook, applyOrder string) map[string]string {
		return map[string]string{"deletion-hook": hook, "apply-order": applyOrder, "update-policy": recreate, "adoption-policy": "if-unowned"}
	}
	release := func(value, applyOrder string) map[string]string {
		return map[string]string{"release-hook": value, "apply-order": applyOrder, "reconcile-policy": onChanges, "update-policy": recreate}
	}
	install := map[string]string{"apply-order": "101", "reconcile-policy": once, "update-policy": recreate}
	for _, test := range []struct {
		reason, hook string
		release      bool
		more         []string
		want         []map[string]string
	}{
		{"weights are the waves", "post-delete", false, []string{"helm.sh/hook-weight", "-7"}, []map[string]string{deletion("post-delete", "-7")}},
		{"what is there already goes only if the chart says so", "pre-delete", false, []string{"helm.sh/hook-delete-policy", "hook-succeeded,hook-failed"}, []map[string]string{
			{"deletion-hook": "pre-delete", "apply-order": "0", "update-policy": recreate},
		}},
		{"one object, three times", "post-install, pre-delete, post-delete", false, nil, []map[string]string{install, deletion("pre-delete", "0"), deletion("post-delete", "0")}},
		{"after a rollback", "post-rollback", true, nil, []map[string]string{release("post-rollback", "101")}},
		{"tests come after everything else, by weight", "test", true, []string{"helm.sh/hook-weight", "-3"}, []map[string]string{release("test", "98")}},
		{"delete policies have their usual meaning", "test", true, []string{"helm.sh/hook-delete-policy", "hook-succeeded, hook-failed"}, []map[string]string{
			{"release-hook": "test", "apply-order": "101", "reconcile-policy": onChanges, "purge-order": "201", "purge-on-failure": "true"},
		}},
		{"one object, for everything", "post-install, pre-delete, pre-rollback, test", true, nil, []map[string]string{
			install, deletion("pre-delete", "0"), release("pre-rollback", "-101"), release("test", "101"),
		}},
	} {
		fsys := chartWith(map[string]string{"templates/a.yaml": objectWith(append([]string{"helm.sh/hook", test.hook}, test.more...)...)})
		generator, err := helm.New(fsys, ".", helm.Options{})
		if err != nil {
			t.Fatal(err)
		}
		objects, err := generator.Generate(generating.ReleaseHooks.With(state{1, false}.context(t.Context()), test.release), "shop", "web", nil)
		if err != nil {
			t.Errorf("%s: %s", test.reason, err)
			continue
		}
		var got []map[string]string
		for _, object := range unwrap(t, objects) {
			got = append(got, mapped(object))
		}
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s: unexpected annotations (-want +got):\n%s", test.reason, diff)
		}
	}
}
