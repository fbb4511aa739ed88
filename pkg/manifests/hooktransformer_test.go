// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package manifests_test

import (
	"context"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/component-operator/runtime/pkg/generator"
	"github.com/component-operator/runtime/pkg/manifests"
)

// hookContext is that of a component in its second revision, which is installed.
func hookContext(t *testing.T) context.Context {
	return generator.NewContext(t.Context(), generator.Surroundings{ReconcilerName: "shop.example.io", ComponentRevision: 2, Installed: true})
}

// hookObject returns an object with annotations, which are given as YAML without the prefixes argocd.argoproj.io and
// shop.example.io.
func hookObject(t *testing.T, kind, name, annotations string) *unstructured.Unstructured {
	t.Helper()
	given := map[string]string{}
	if err := yaml.UnmarshalStrict([]byte("{"+annotations+"}"), &given); err != nil {
		t.Fatal(err)
	}
	object := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": kind, "metadata": map[string]any{}}}
	if kind == "Job" {
		object.SetAPIVersion("batch/v1")
	}
	object.SetName(name)
	if base, ok := strings.CutSuffix(name, "*"); ok {
		object.SetName("")
		object.SetGenerateName(base)
	}
	whole := map[string]string{}
	for key, value := range given {
		if strings.Contains(key, "/") {
			whole[key] = value
			continue
		}
		whole["argocd.argoproj.io/"+key] = value
	}
	object.SetAnnotations(whole)
	return object
}

// ours describes an object by its name and the annotations of the reconciler.
func ours(object client.Object) string {
	text := object.GetName()
	annotations := object.GetAnnotations()
	for _, key := range slices.Sorted(maps.Keys(annotations)) {
		if suffix, ok := strings.CutPrefix(key, "shop.example.io/"); ok {
			text += " " + suffix + "=" + annotations[key]
		}
	}
	return text
}

// TestHooksOfArgoCD translates each annotation.
func TestHooksOfArgoCD(t *testing.T) {
	t.Parallel()
	// What hooks have that are applied with the other objects, and, in alphabetical order, those of them that are
	// deleted before they run again.
	const again, fresh = " prune-policy=delete reconcile-policy=on-object-or-component-change",
		" delete-propagation=foreground prune-policy=delete reconcile-policy=on-object-or-component-change update-policy=recreate"
	for _, tc := range []struct {
		reason, kind, name, annotations string
		want                            []string
	}{
		{"a wave", "ConfigMap", "a", `sync-wave: "3"`, []string{"a apply-order=3 delete-order=-3"}},
		{"PreSync", "Job", "a", `hook: PreSync, sync-wave: "2"`, []string{"a apply-order=-19998 delete-order=19998" + fresh}},
		{"PostSync", "Job", "a", `hook: PostSync, sync-wave: "-2"`, []string{"a apply-hook=post-apply apply-order=-2" + fresh}},
		{"SyncFail", "Job", "a", `hook: SyncFail, sync-wave: "2"`, []string{"a apply-hook=on-failure apply-order=2" + fresh}},
		{"a Namespace is there for others", "Namespace", "a", `hook: "PostSync,SyncFail", sync-wave: "2"`, []string{"a apply-order=2 delete-order=-2" + again}},
		{"what others use is updated", "ServiceAccount", "a", `hook: PreSync`, []string{"a apply-order=-20000 delete-order=20000" + again}},
		{"one's own update policy", "Job", "a", `hook: PreSync, shop.example.io/update-policy: ssa-merge`, []string{"a apply-order=-20000 delete-order=20000" + again + " update-policy=ssa-merge"}},
		{"a hook that is replaced by force runs again, whatever its policies", "Job", "a", `hook: PreSync, hook-delete-policy: HookFailed, sync-options: "Replace=true,Force=true"`, []string{
			"a apply-order=-20000 delete-order=20000 delete-propagation=foreground prune-policy=delete purge-on-failure=true " +
				"reconcile-policy=on-object-or-component-change recreate-if-immutable=true update-policy=recreate",
		}},
		{"all phases", "Job", "a", `hook: "PreDelete,SyncFail,PostSync,Sync", hook-delete-policy: HookFailed`, []string{
			"a apply-order=0 delete-order=0 prune-policy=delete purge-on-failure=true reconcile-policy=on-object-or-component-change",
			"a-postsync apply-hook=post-apply apply-order=0 prune-policy=delete purge-on-failure=true reconcile-policy=on-object-or-component-change",
			"a-syncfail apply-hook=on-failure apply-order=0 prune-policy=delete purge-on-failure=true reconcile-policy=on-object-or-component-change",
			"a apply-order=0 deletion-hook=pre-delete update-policy=recreate",
		}},
		{"what others use serves several phases", "ConfigMap", "a", `hook: "PreDelete,SyncFail,PostSync", hook-delete-policy: HookSucceeded`, []string{
			"a apply-order=0 delete-order=0" + again, "a apply-order=0 deletion-hook=pre-delete update-policy=recreate",
		}},
		{"what other hooks use goes with the last of them", "ServiceAccount", "a", `hook: PreSync, hook-delete-policy: HookSucceeded`, []string{
			"a apply-order=-20000 delete-order=20000 prune-policy=delete purge-order=-10001 reconcile-policy=on-object-or-component-change",
		}},
		{"skipped", "Job", "a", `hook: Skip`, nil},
		{"a pod has to end", "Pod", "a", `hook: Sync, hook-delete-policy: HookFailed`, []string{
			"a apply-order=0 delete-order=0 prune-policy=delete purge-on-failure=true reconcile-policy=on-object-or-component-change status-hint=run-to-completion",
		}},
		{"a name for each phase", "Job", "run-*", `hook: "PreSync,PostSync", hook-delete-policy: HookSucceeded`, []string{
			"run-27843ac0c0 apply-order=-20000 delete-order=20000 prune-policy=delete purge-order=-20000 reconcile-policy=on-object-or-component-change",
			"run-984101b8e4 apply-hook=post-apply apply-order=0 prune-policy=delete purge-order=0 reconcile-policy=on-object-or-component-change",
		}},
		{"options", "ConfigMap", "a", `sync-options: "Prune=false,Delete=false,Replace=true,Force=true,SkipDryRunOnMissingResource=true,PrunePropagationPolicy=orphan"`, []string{
			"a delete-policy=orphan-on-delete delete-propagation=orphan missing-type-policy=wait prune-policy=keep recreate-if-immutable=true update-policy=replace",
		}},
		{"what Helm leaves behind", "PersistentVolumeClaim", "a", `helm.sh/resource-policy: keep, sync-wave: "1", sync-options: Delete=false, shop.example.io/delete-policy: orphan`, []string{
			"a apply-order=1 delete-order=-1 delete-policy=orphan",
		}},
		{"Helm's hook beside a wave and options", "Job", "a", `helm.sh/hook: post-install, sync-wave: "1", sync-options: Prune=false, shop.example.io/apply-order: "101"`, []string{
			"a apply-order=101 prune-policy=keep",
		}},
		{"what a chart has made of Helm's hook gives way", "Job", "a", `hook: PreSync, helm.sh/hook: post-install, shop.example.io/apply-order: "101", shop.example.io/reconcile-policy: once`, []string{
			"a apply-order=-20000 delete-order=20000" + fresh,
		}},
	} {
		t.Run(tc.reason, func(t *testing.T) {
			t.Parallel()
			transformer, err := manifests.NewHookTransformer(manifests.HookToolArgoCD)
			if err != nil {
				t.Fatal(err)
			}
			object := hookObject(t, tc.kind, tc.name, tc.annotations)
			before := object.DeepCopy()
			objects, err := transformer.TransformObjectsContext(hookContext(t), "default", "shop", []client.Object{object})
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, each := range objects {
				got = append(got, ours(each))
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(before, object); diff != "" {
				t.Errorf("the given object has changed:\n%s", diff)
			}
		})
	}
}

// TestHooksOfCharts come once, although the generator of a chart makes an object for each of Helm's events.
func TestHooksOfCharts(t *testing.T) {
	t.Parallel()
	transformer, err := manifests.NewHookTransformer(manifests.HookToolArgoCD, manifests.HookToolHelm)
	if err != nil {
		t.Fatal(err)
	}
	var given []client.Object
	for _, made := range []string{`shop.example.io/apply-order: "-101"`, `shop.example.io/deletion-hook: pre-delete`} {
		given = append(given, hookObject(t, "Job", "a", `hook: Sync, helm.sh/hook: "pre-install,pre-delete", `+made))
	}
	objects, err := transformer.TransformObjectsContext(hookContext(t), "default", "shop", given)
	if err != nil {
		t.Fatal(err)
	}
	const want = "a apply-order=0 delete-order=0 delete-propagation=foreground prune-policy=delete reconcile-policy=on-object-or-component-change update-policy=recreate"
	if len(objects) != 1 || ours(objects[0]) != want {
		t.Errorf("got %v, want one object %s", objects, want)
	}
}

// TestHooksOfHelm are read in manifests as they are in charts.
func TestHooksOfHelm(t *testing.T) {
	t.Parallel()
	transformer, err := manifests.NewHookTransformer(manifests.HookToolHelm)
	if err != nil {
		t.Fatal(err)
	}
	typed := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "typed", Annotations: map[string]string{"helm.sh/hook": "pre-upgrade"}}}
	objects, err := transformer.TransformObjectsContext(hookContext(t), "default", "shop", []client.Object{
		hookObject(t, "Job", "a", `helm.sh/hook: "post-upgrade,pre-delete", helm.sh/hook-weight: "5"`),
		hookObject(t, "Job", "b", `helm.sh/hook: post-rollback`),
		hookObject(t, "ConfigMap", "c", `helm.sh/resource-policy: keep, sync-wave: "3"`),
		typed,
	})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, object := range objects {
		got = append(got, ours(object))
	}
	want := []string{
		"a apply-order=106 reconcile-policy=on-object-or-component-change update-policy=recreate",
		"a adoption-policy=if-unowned apply-order=5 deletion-hook=pre-delete update-policy=recreate",
		"c delete-policy=orphan",
		"typed apply-order=-101 reconcile-policy=on-object-or-component-change status-hint=run-to-completion update-policy=recreate",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if len(typed.Annotations) != 1 {
		t.Errorf("the given object has changed: %v", typed.Annotations)
	}
}

// TestLiftedObjects: Namespaces and definitions come no later than what needs them, and go no earlier.
func TestLiftedObjects(t *testing.T) {
	t.Parallel()
	transformer, err := manifests.NewHookTransformer(manifests.HookToolArgoCD)
	if err != nil {
		t.Fatal(err)
	}
	definition := hookObject(t, "CustomResourceDefinition", "tabs.example.io", `sync-wave: "1"`)
	definition.SetAPIVersion("apiextensions.k8s.io/v1")
	definition.Object["spec"] = map[string]any{"group": "example.io", "names": map[string]any{"kind": "Tab"}}
	tab := hookObject(t, "Tab", "tab", `hook: PreSync`)
	tab.SetAPIVersion("example.io/v1")
	tab.SetNamespace("other")
	objects, err := transformer.TransformObjectsContext(hookContext(t), "default", "shop", []client.Object{
		hookObject(t, "Namespace", "other", `sync-wave: "7", shop.example.io/delete-order: "25000"`),
		hookObject(t, "Namespace", "default", ``),
		hookObject(t, "Namespace", "unused", `sync-wave: "7"`),
		definition, tab,
		hookObject(t, "ConfigMap", "early", `sync-wave: "-4"`),
		hookObject(t, "Job", "cleanup", `hook: PreDelete, sync-wave: "-9"`),
	})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, object := range objects {
		got = append(got, ours(object))
	}
	want := []string{
		"other apply-order=-20000 delete-order=25000", "default apply-order=-4 delete-order=4", "unused apply-order=7 delete-order=-7",
		"tabs.example.io apply-order=-20000 delete-order=20000",
		"tab apply-order=-20000 delete-order=20000 delete-propagation=foreground prune-policy=delete reconcile-policy=on-object-or-component-change update-policy=recreate",
		"early apply-order=-4 delete-order=4",
		"cleanup adoption-policy=if-unowned apply-order=-9 deletion-hook=pre-delete update-policy=recreate",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
