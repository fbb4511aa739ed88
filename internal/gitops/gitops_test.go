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
		{"all phases", "PostDelete,PreDelete,SyncFail,PostSync,Sync,PreSync", "", true, []Phase{PreSync, Sync, PostSync, SyncFail, PreDelete, PostDelete}},
		{"skipped", "Skip", "", false, nil},
		{"skip beside a phase has no meaning", "Skip,PreSync", "", true, []Phase{PreSync}},
		{"Helm's hooks", "", "pre-install", true, []Phase{PreSync}},
		{"case and blanks do not matter to Helm", "", " Post-Install , post-upgrade", true, []Phase{PostSync}},
		{"Helm's hooks of deletions", "", "pre-delete,post-delete", true, []Phase{PreDelete, PostDelete}},
		{"a definition of Helm 2 is no hook", "", "crd-install", false, []Phase{Sync}},
		{"tests and rollbacks are not applied", "", "test", false, nil},
		{"tests and rollbacks are not applied", "", "pre-rollback,post-rollback,test-success", false, nil},
		{"Argo CD wins", "PostSync", "pre-install", true, []Phase{PostSync}},
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
		{"propagation", "PrunePropagationPolicy=background", Options{PrunePropagationPolicy: Background}, nil},
		{"what is always so", "ServerSideApply=true,ApplyOutOfSyncOnly=true,ClientSideApplyMigration=true,RespectIgnoreDifferences=true", Options{}, nil},
		{"the opposite of what is always so", "ApplyOutOfSyncOnly=false", Options{}, []string{"ApplyOutOfSyncOnly=false has no effect, because it is always true"}},
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

// TestErrors name the annotation, the value, and what is allowed.
func TestErrors(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ reason, key, value, want string }{
		{"a misspelt phase", HookAnnotation, "Presync", `annotation argocd.argoproj.io/hook: invalid value "Presync": "Presync" is not known; must be one of: PostDelete, PostSync, `},
		{"an unknown hook of Helm", HelmHookAnnotation, "pre-instal", `annotation helm.sh/hook: invalid value "pre-instal": "pre-instal" is not known; must be one of: crd-install, `},
		{"no number", SyncWaveAnnotation, "first", `annotation argocd.argoproj.io/sync-wave: invalid value "first"; must be an integer from -9999 to 9999`},
		{"too late", SyncWaveAnnotation, "10000", "integer from -9999 to 9999"},
		{"no weight", HelmHookWeightAnnotation, "heavy", `annotation helm.sh/hook-weight: invalid value "heavy"; must be an integer from -9999 to 9999`},
		{"an unknown policy", HookDeletePolicyAnnotation, "Never", `annotation argocd.argoproj.io/hook-delete-policy: invalid value "Never": "Never" is not known; must be one of: BeforeHookCreation, HookFailed, HookSucceeded`},
		{"an option without a value", SyncOptionsAnnotation, "Prune", `annotation argocd.argoproj.io/sync-options: Prune: invalid value ""; must be one of: true, false, confirm`},
		{"an option of another case", SyncOptionsAnnotation, "Replace=True", `Replace: invalid value "True"; must be one of: false, true`},
		{"what is not possible", SyncOptionsAnnotation, "ServerSideApply=false", `ServerSideApply: value "false" is not supported, because objects are always applied by the server`},
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
