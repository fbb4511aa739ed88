// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package sync

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/component-operator/runtime/internal/gitops"
)

func taskObject(apiVersion, kind, called string, annotations map[string]string) *unstructured.Unstructured {
	result := &unstructured.Unstructured{Object: map[string]any{"apiVersion": apiVersion, "kind": kind}}
	result.SetName(called)
	if base, isGenerated := strings.CutSuffix(called, "*"); isGenerated {
		result.SetName("")
		result.SetGenerateName(base)
	}
	result.SetAnnotations(annotations)
	return result
}

// TestTasks lists what becomes of objects: phase, wave and kind, and the policies of the engine.
func TestTasks(t *testing.T) {
	t.Parallel()
	const (
		hook   = gitops.HookAnnotation
		policy = gitops.HookDeletePolicyAnnotation
		wave   = gitops.SyncWaveAnnotation
		option = gitops.SyncOptionsAnnotation
	)
	type all = map[string]string
	for _, tc := range []struct {
		reason, kind, called string
		annotations          all
		force                bool
		want                 []string
	}{
		{"an object", "v1/ConfigMap", "a", nil, false, []string{"Sync 0 a"}},
		{"a wave", "v1/ConfigMap", "a", all{wave: "-3"}, false, []string{"Sync -3 a: apply-order=-3 delete-order=3"}},
		{"the weight of Helm", "v1/ConfigMap", "a", all{"helm.sh/hook-weight": "4"}, false, []string{"Sync 4 a: apply-order=4 delete-order=-4"}},
		{"the wave wins", "v1/ConfigMap", "a", all{wave: "2", "helm.sh/hook-weight": "4"}, false, []string{"Sync 2 a: apply-order=2 delete-order=-2"}},
		{"Sync", "v1/ConfigMap", "a", all{hook: "Sync"}, false, []string{
			"hook Sync 0 a: apply-order=0 delete-order=0 prune-policy=delete reconcile-policy=on-object-or-component-change",
		}},
		{"PreSync", "batch/v1/Job", "a", all{hook: "PreSync", wave: "1", policy: "HookSucceeded"}, false, []string{
			"hook PreSync 1 a: apply-order=-19999 delete-order=19999 prune-policy=delete purge-order=-19999 reconcile-policy=on-object-or-component-change",
		}},
		{"PostSync", "batch/v1/Job", "a", all{hook: "PostSync", policy: "HookFailed"}, false, []string{
			"hook PostSync 0 a: apply-hook=post-apply apply-order=0 prune-policy=delete purge-on-failure=true reconcile-policy=on-object-or-component-change",
		}},
		{"SyncFail", "batch/v1/Job", "a", all{hook: "SyncFail"}, false, []string{
			"hook SyncFail 0 a: apply-hook=on-failure apply-order=0 delete-propagation=foreground prune-policy=delete reconcile-policy=on-object-or-component-change update-policy=recreate",
		}},
		{"two phases with one name", "batch/v1/Job", "a", all{hook: "PreSync,PostSync", policy: "HookFailed"}, false, []string{
			"hook PreSync 0 a: apply-order=-20000 delete-order=20000 prune-policy=delete purge-on-failure=true reconcile-policy=on-object-or-component-change",
			"hook PostSync 0 a-postsync: apply-hook=post-apply apply-order=0 prune-policy=delete purge-on-failure=true reconcile-policy=on-object-or-component-change",
		}},
		{"a phase of deletions beside others", "batch/v1/Job", "a", all{hook: "Sync,PostDelete", policy: "HookFailed"}, false, []string{
			"hook Sync 0 a: apply-order=0 delete-order=0 prune-policy=delete purge-on-failure=true reconcile-policy=on-object-or-component-change",
		}},
		{"only phases of deletions", "batch/v1/Job", "a", all{hook: "PreDelete,PostDelete"}, false, nil},
		{"Skip", "v1/ConfigMap", "a", all{hook: "Skip"}, false, nil},
		{"hooks of Helm in one phase", "batch/v1/Job", "a", all{"helm.sh/hook": "pre-install,pre-upgrade", "helm.sh/hook-delete-policy": "hook-failed", "helm.sh/hook-weight": "7"}, false, []string{
			"hook PreSync 7 a: apply-order=-19993 delete-order=19993 prune-policy=delete purge-on-failure=true reconcile-policy=on-object-or-component-change",
		}},
		{"a Helm hook that no operation runs", "batch/v1/Job", "a", all{"helm.sh/hook": "test,pre-rollback,post-delete"}, false, nil},
		{"a definition of Helm", "v1/ConfigMap", "a", all{"helm.sh/hook": "crd-install"}, false, []string{"Sync 0 a"}},
		{"both tools", "batch/v1/Job", "a", all{hook: "PostSync", policy: "HookFailed", "helm.sh/hook": "pre-install", "helm.sh/hook-delete-policy": "hook-succeeded"}, false, []string{
			"hook PostSync 0 a: apply-hook=post-apply apply-order=0 prune-policy=delete purge-on-failure=true reconcile-policy=on-object-or-component-change",
		}},
		{"kept by Helm", "v1/ConfigMap", "a", all{"helm.sh/resource-policy": "keep"}, false, []string{"Sync 0 a: prune-policy=keep"}},
		{"options", "v1/ConfigMap", "a", all{option: "Prune=false,Replace=true,Validate=false"}, false, []string{"Sync 0 a lenient: prune-policy=keep update-policy=replace"}},
		{"force", "v1/ConfigMap", "a", nil, true, []string{"Sync 0 a: recreate-if-immutable=true"}},
		{"force on what others are in", "v1/Namespace", "a", nil, true, []string{"Sync 0 a"}},
		{"force on a definition", "apiextensions.k8s.io/v1/CustomResourceDefinition", "a", nil, true, []string{"Sync 0 a"}},
	} {
		t.Run(tc.reason, func(t *testing.T) {
			t.Parallel()
			i := strings.LastIndex(tc.kind, "/")
			given := taskObject(tc.kind[:i], tc.kind[i+1:], tc.called, tc.annotations)
			list, err := tasksOf(t.Context(), []*unstructured.Unstructured{given}, taskOptions{"n", "one", tc.force})
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, task := range list {
				got = append(got, taskText(task))
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(taskObject(tc.kind[:i], tc.kind[i+1:], tc.called, tc.annotations).Object, given.Object); diff != "" {
				t.Errorf("the object has changed:\n%s", diff)
			}
		})
	}
}

func taskText(task syncTask) string {
	text := fmt.Sprintf("%s %d %s", task.Phase, task.Wave, task.Object.GetName())
	if task.Hook {
		text = "hook " + text
	}
	if task.Lenient {
		text += " lenient"
	}
	var policies []string
	given := task.Object.GetAnnotations()
	for _, key := range slices.Sorted(maps.Keys(given)) {
		if suffix, ours := strings.CutPrefix(key, Name+"/"); ours {
			policies = append(policies, suffix+"="+given[key])
		}
	}
	if len(policies) > 0 {
		text += ": " + strings.Join(policies, " ")
	}
	return text
}

// TestGeneratedNames are the same in one operation, and differ between phases and operations.
func TestGeneratedNames(t *testing.T) {
	t.Parallel()
	names := func(operation string) []string {
		given := taskObject("batch/v1", "Job", "gen-*", map[string]string{gitops.HookAnnotation: "PreSync,PostSync"})
		list, err := tasksOf(t.Context(), []*unstructured.Unstructured{given}, taskOptions{"n", operation, false})
		if err != nil {
			t.Fatal(err)
		}
		return []string{list[0].Object.GetName(), list[1].Object.GetName()}
	}
	one, again, two := names("one"), names("one"), names("two")
	all := slices.Compact(slices.Sorted(slices.Values(slices.Concat(one, two))))
	if len(all) != 4 || !slices.Equal(one, again) || !strings.HasPrefix(one[0], "gen-") {
		t.Errorf("got %v, %v and %v", one, again, two)
	}
}

// TestLift moves what others need.
func TestLift(t *testing.T) {
	t.Parallel()
	list, err := tasksOf(t.Context(), []*unstructured.Unstructured{
		taskObject("v1", "Namespace", "n", map[string]string{gitops.SyncWaveAnnotation: "2"}),
		taskObject("batch/v1", "Job", "a", map[string]string{gitops.HookAnnotation: "PreSync", gitops.SyncWaveAnnotation: "-1"}),
	}, taskOptions{"n", "one", false})
	if err != nil {
		t.Fatal(err)
	}
	if list[0].Phase != gitops.PreSync || list[0].Wave != -1 || list[0].Hook {
		t.Errorf("got %s", taskText(list[0]))
	}
}

// TestProblems names all objects.
func TestProblems(t *testing.T) {
	t.Parallel()
	_, err := tasksOf(t.Context(), []*unstructured.Unstructured{
		taskObject("v1", "ConfigMap", "a", map[string]string{gitops.SyncWaveAnnotation: "soon"}), taskObject("v1", "ConfigMap", "b", map[string]string{gitops.HookAnnotation: "Sometime"}),
		taskObject("v1", "ConfigMap", "c-*", nil), taskObject("v1", "ConfigMap", "", nil),
	}, taskOptions{"n", "one", false})
	for _, part := range []string{"ConfigMap a: ", "soon", "ConfigMap b: ", "Sometime", "ConfigMap c-: metadata.name", "ConfigMap: metadata.name"} {
		if err == nil || !strings.Contains(err.Error(), part) {
			t.Errorf("%q is missing in %v", part, err)
		}
	}
}
