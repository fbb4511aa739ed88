// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package gitops

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// TestPhases has the cases of Argo CD's own tests of phases and hooks, and what differs from them.
func TestPhases(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		reason, argo, helm string
		hook               bool
		want               []Phase
	}{
		{"an object without annotations", "", "", false, []Phase{Sync}},
		{"an empty value is none", " , ", "", false, []Phase{Sync}},
		{"one phase", "PreSync", "", true, []Phase{PreSync}},
		{"a hook of the phase of regular objects is a hook", "Sync", "", true, []Phase{Sync}},
		{"several phases, in their order", "PostSync, PreSync", "", true, []Phase{PreSync, PostSync}},
		{"repetitions count once", "PreSync,PreSync", "", true, []Phase{PreSync}},
		{"all phases", "PostDelete,PreDelete,SyncFail,PostSync,Sync,PreSync", "", true, []Phase{PreSync, Sync, PostSync, SyncFail, PreDelete, PostDelete}},
		{"skipped", "Skip", "", false, nil},
		{"skipped twice", "Skip,Skip", "", false, nil},
		{"skip beside a phase has no meaning", "Skip,PreSync", "", true, []Phase{PreSync}},
		{"Helm's hooks", "", "pre-install", true, []Phase{PreSync}},
		{"two of Helm's hooks are one phase", "", "pre-install,pre-upgrade", true, []Phase{PreSync}},
		{"case and blanks do not matter to Helm", "", " Post-Install , post-upgrade", true, []Phase{PostSync}},
		{"Helm's hooks of deletions", "", "pre-delete,post-delete", true, []Phase{PreDelete, PostDelete}},
		{"a definition of Helm 2 is no hook", "", "crd-install", false, []Phase{Sync}},
		{"beside a hook, it has no meaning", "", "crd-install,pre-install", true, []Phase{PreSync}},
		{"tests and rollbacks are not applied", "", "test", false, nil},
		{"tests and rollbacks are not applied", "", "pre-rollback,post-rollback,test-success", false, nil},
		{"Argo CD wins", "PostSync", "pre-install", true, []Phase{PostSync}},
		{"Argo CD wins with Skip as well", "Skip", "pre-install", false, nil},
	} {
		t.Run(tc.reason, func(t *testing.T) {
			t.Parallel()
			got, err := Read(map[string]string{HookAnnotation: tc.argo, HelmHookAnnotation: tc.helm})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, got.Phases, cmpopts.EquateEmpty()); diff != "" || got.Hook != tc.hook {
				t.Errorf("got a hook: %t, want %t; phases (-want +got):\n%s", got.Hook, tc.hook, diff)
			}
		})
	}
}

// TestWaves has the cases of Argo CD's own test of waves, and what differs from them.
func TestWaves(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		reason, wave, weight string
		want                 int
	}{
		{"the default", "", "", 0},
		{"a wave", "1", "", 1},
		{"a negative one", "-1", "", -1},
		{"with a sign", "+3", "", 3},
		{"blanks do not count", " 3 ", "", 3},
		{"Helm's weight", "", "5", 5},
		{"Argo CD wins", "1", "5", 1},
		{"the last one", "9999", "", 9999},
		{"the first one", "-9999", "", -9999},
	} {
		t.Run(tc.reason, func(t *testing.T) {
			t.Parallel()
			got, err := Read(map[string]string{SyncWaveAnnotation: tc.wave, HelmHookWeightAnnotation: tc.weight})
			if err != nil || got.Wave != tc.want {
				t.Errorf("got %d, %v, want %d", got.Wave, err, tc.want)
			}
		})
	}
}

// TestDeletePolicies has the cases of Argo CD's own test of delete policies, and what differs from them.
func TestDeletePolicies(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		reason, argo, helm string
		want               []DeletePolicy
	}{
		{"the default", "", "", []DeletePolicy{BeforeHookCreation}},
		{"each", "HookSucceeded", "", []DeletePolicy{HookSucceeded}},
		{"each", "HookFailed", "", []DeletePolicy{HookFailed}},
		{"each", "BeforeHookCreation", "", []DeletePolicy{BeforeHookCreation}},
		{"several", "HookSucceeded, HookFailed,HookSucceeded", "", []DeletePolicy{HookSucceeded, HookFailed}},
		{"Helm's", "", "hook-succeeded, Hook-Failed,before-hook-creation", []DeletePolicy{HookSucceeded, HookFailed, BeforeHookCreation}},
		{"Argo CD wins", "HookFailed", "hook-succeeded", []DeletePolicy{HookFailed}},
	} {
		t.Run(tc.reason, func(t *testing.T) {
			t.Parallel()
			got, err := Read(map[string]string{HookAnnotation: "PreSync", HookDeletePolicyAnnotation: tc.argo, HelmHookDeletePolicyAnnotation: tc.helm})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, got.DeletePolicies); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
	if got, err := Read(map[string]string{HookDeletePolicyAnnotation: "Whenever"}); err != nil || got.DeletePolicies != nil {
		t.Errorf("a policy of what is no hook has no meaning; got %v, %v", got.DeletePolicies, err)
	}
}

func TestOptions(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		reason, text string
		want         Options
		notes        []string
	}{
		{"none", "", Options{}, nil},
		{"one", "Prune=false", Options{Prune: False}, nil},
		{"several, with blanks", " Prune = confirm ,, Delete=false ", Options{Prune: Confirm, Delete: False}, nil},
		{"the first one of several counts", "Replace=true,Replace=false", Options{Replace: True}, nil},
		{"the opposite of a switch", "Force=false,Validate=true,Prune=true", Options{Force: False, Prune: True, Validate: True}, nil},
		{"propagation", "PrunePropagationPolicy=background", Options{PrunePropagationPolicy: Background}, nil},
		{
			"the others", "PruneLast=true",
			Options{PruneLast: True},
			nil,
		},
		{"what is always so", "ServerSideApply=true,ApplyOutOfSyncOnly=true,ClientSideApplyMigration=true,RespectIgnoreDifferences=true", Options{}, nil},
		{"the opposite of what is always so", "ApplyOutOfSyncOnly=false", Options{}, []string{"ApplyOutOfSyncOnly=false has no effect, because it is always true"}},
		{"a type that others define", "SkipDryRunOnMissingResource=true", Options{SkipDryRunOnMissingResource: True}, nil},
		{"what has no effect", "Validate=false", Options{Validate: False}, []string{
			"Validate=false has no effect: fields that the API server does not know",
		}},
		{"what is for whole applications", "FailOnSharedResource=true,CreateNamespace=true", Options{}, []string{
			"CreateNamespace has no effect, because it is for whole applications", "FailOnSharedResource has no effect",
		}},
		{"what is not known", "Prune=false,Prun=false,Fast", Options{Prune: False}, []string{"Prun has no effect; known options are: ApplyOutOfSyncOnly, ", "Fast has no effect"}},
	} {
		t.Run(tc.reason, func(t *testing.T) {
			t.Parallel()
			got, err := Read(map[string]string{SyncOptionsAnnotation: tc.text})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, got.Options); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if len(got.Notes) != len(tc.notes) {
				t.Fatalf("notes %q, want %q", got.Notes, tc.notes)
			}
			for i, note := range tc.notes {
				if !strings.Contains(got.Notes[i], SyncOptionsAnnotation+": "+note) {
					t.Errorf("note %q, want %q", got.Notes[i], note)
				}
			}
		})
	}
}

// TestWholeOptions are read where they belong to no object.
func TestWholeOptions(t *testing.T) {
	t.Parallel()
	got, notes, err := ReadOptions("--sync-options", "FailOnSharedResource=true,CreateNamespace=true")
	if diff := cmp.Diff(Options{FailOnSharedResource: True, CreateNamespace: True}, got); err != nil || len(notes) > 0 || diff != "" {
		t.Errorf("notes %q, error %v, options (-want +got):\n%s", notes, err, diff)
	}
}

// TestOptionDefaults: an option that is given wins over its default.
func TestOptionDefaults(t *testing.T) {
	t.Parallel()
	own := Options{Prune: Confirm, Replace: True}
	for option, want := range map[Option]string{Prune: Confirm, Replace: True, Delete: True, Force: False, PrunePropagationPolicy: Foreground} {
		if got := own.Get(option); got != want {
			t.Errorf("%s: got %q, want %q", option, got, want)
		}
	}
}

// TestErrors name the annotation, the value, and what is allowed.
func TestErrors(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ reason, key, value, want string }{
		{"a misspelt phase", HookAnnotation, "Presync", `annotation argocd.argoproj.io/hook: invalid value "Presync": "Presync" is not known; must be one of: PreSync, Sync, `},
		{"one of two", HookAnnotation, "PreSync,Garbage", `"Garbage" is not known; must be one of: PreSync, Sync, PostSync, SyncFail, PreDelete, PostDelete, Skip`},
		{"an unknown hook of Helm", HelmHookAnnotation, "pre-instal", `annotation helm.sh/hook: invalid value "pre-instal": "pre-instal" is not known; must be one of: crd-install, `},
		{"no number", SyncWaveAnnotation, "first", `annotation argocd.argoproj.io/sync-wave: invalid value "first"; must be an integer from -9999 to 9999`},
		{"half a number", SyncWaveAnnotation, "1.5", "integer from -9999 to 9999"},
		{"too late", SyncWaveAnnotation, "10000", "integer from -9999 to 9999"},
		{"too early", SyncWaveAnnotation, "-10000", "integer from -9999 to 9999"},
		{"no weight", HelmHookWeightAnnotation, "heavy", `annotation helm.sh/hook-weight: invalid value "heavy"; must be an integer from -9999 to 9999`},
		{"an unknown policy", HookDeletePolicyAnnotation, "Never", `annotation argocd.argoproj.io/hook-delete-policy: invalid value "Never": "Never" is not known; must be one of: BeforeHookCreation, HookFailed, HookSucceeded`},
		{"an unknown policy of Helm", HelmHookDeletePolicyAnnotation, "never", "must be one of: before-hook-creation, hook-failed, hook-succeeded"},
		{"an option without a value", SyncOptionsAnnotation, "Prune", `annotation argocd.argoproj.io/sync-options: Prune: invalid value ""; must be one of: true, false, confirm`},
		{"an option of another case", SyncOptionsAnnotation, "Replace=True", `Replace: invalid value "True"; must be one of: false, true`},
		{"what is not possible", SyncOptionsAnnotation, "ServerSideApply=false", `ServerSideApply: value "false" is not supported, because objects are always applied by the server`},
		{"nor is this", SyncOptionsAnnotation, "ServerSideApply=no", `ServerSideApply: invalid value "no"; must be true`},
	} {
		t.Run(tc.reason, func(t *testing.T) {
			t.Parallel()
			annotations := map[string]string{tc.key: tc.value}
			if strings.HasSuffix(tc.key, "policy") {
				annotations[HookAnnotation] = "PreSync"
			}
			got, err := Read(annotations)
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got %+v, %v, want an error with %q", got, err, tc.want)
			}
		})
	}
}
