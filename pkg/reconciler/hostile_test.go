// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package reconciler_test

import (
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/internal/testenv"
	"github.com/component-operator/runtime/pkg/reconciler"
)

func TestDeclaredEmptyStructsKeepOthersOut(t *testing.T) {
	t.Parallel()
	const manifest = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: a}
spec:
  replicas: 0
  selector: {matchLabels: {app: a}}
  template:
    metadata: {labels: {app: a}}
    spec:
      containers: [{name: main, image: example.com/none, securityContext: {}}]
      volumes: [{name: scratch, emptyDir: {}}]
`
	w := newWorld(t)
	w.settle(manifest, func(result reconciler.Result) (bool, string) { return result.Done, notices(result.Waits) })
	// A strategic merge patch, as kubectl makes it, hits the items by name.
	deployment := w.get("apps/v1", "Deployment", "a")
	patch := `{"spec":{"template":{"spec":{"containers":[{"name":"main","securityContext":{"privileged":true}}],"volumes":[{"name":"scratch","emptyDir":{"medium":"Memory"}}]}}}}`
	if err := w.client.Patch(t.Context(), deployment, client.RawPatch("application/strategic-merge-patch+json", []byte(patch)), client.FieldOwner("somebody")); err != nil {
		t.Fatal(err)
	}
	w.settle(manifest, func(result reconciler.Result) (bool, string) {
		return len(result.Actions) > 0, "want drift to be corrected"
	})
	spec, _, _ := unstructured.NestedMap(w.get("apps/v1", "Deployment", "a").Object, "spec", "template", "spec")
	container, _ := spec["containers"].([]any)[0].(map[string]any)
	if security, _ := container["securityContext"].(map[string]any); len(security) > 0 {
		t.Errorf("expected an empty security context, got %v", security)
	}
	volume, _ := spec["volumes"].([]any)[0].(map[string]any)
	if medium, _, _ := unstructured.NestedString(volume, "emptyDir", "medium"); medium != "" {
		t.Errorf("expected the default medium, got %q", medium)
	}
	w.rest(manifest)
	w.requests.Reset()
	w.mustApply(manifest)
	if writes := w.writes(); len(writes) > 0 {
		t.Errorf("expected rest, got %v", writes)
	}
}

func TestTwoOwnersThatAdoptAlwaysAreSlowedDown(t *testing.T) {
	t.Parallel()
	const manifest = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, annotations: {PREFIX/adoption-policy: always}}\n"
	// For the engines, no time passes, however long the fight takes.
	withClock := withOptions(func(o *reconciler.Options) { o.Clock = clocktesting.NewFakePassiveClock(time.Now()) })
	w := newWorld(t, withClock)
	other := newWorld(t, withClock)
	other.owner.ID, other.owner.Namespace, other.namespace = "other", w.namespace, w.namespace
	adoptions := 0
	for range 10 {
		for _, owner := range []*world{w, other} {
			result, err := owner.apply(manifest)
			if err != nil {
				t.Fatal(err)
			}
			adoptions += len(result.Actions)
			owner.pause()
		}
	}
	if adoptions > 12 {
		t.Errorf("expected the fight to slow down, got %d adoptions", adoptions)
	}
}

// pause lets events arrive.
func (w *world) pause() {
	select {
	case <-w.woken:
	case <-time.After(100 * time.Millisecond):
	}
}

func TestDriftIsCorrectedBesideAFailingObject(t *testing.T) {
	t.Parallel()
	const service = "apiVersion: v1\nkind: Service\nmetadata: {name: a}\nspec: {selector: {a: b}, ports: [{port: 80}]}\n"
	const failing = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: bad}\ndata: {INVALID}\n"
	w := newWorld(t)
	w.mustApply(service)
	w.rest(service)
	w.patch(w.get("v1", "Service", "a"), `{"spec":{"selector":{"a":"hacked"}}}`)
	w.awaitEvent()
	broken := service + "---\n" + strings.ReplaceAll(failing, "INVALID", `"not a key": x`)
	result, err := w.apply(broken)
	w.expectRefusal(err, "ConfigMap NS/bad: rejected by the API server")
	w.expectActions(result, "Corrected Service a")
}

func TestUnlabelledObjectWhoseManifestChanges(t *testing.T) {
	t.Parallel()
	const manifest = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, annotations: {PREFIX/adoption-policy: never}}\ndata: {a: VALUE}\n"
	w := newWorld(t)
	w.mustApply(manifest)
	w.patch(w.configMap("a"), `{"metadata":{"labels":{"PREFIX/owner-id":null}}}`)
	w.mustApply(strings.ReplaceAll(manifest, "VALUE", "changed"))
	if diff := diffData(map[string]any{"a": "changed"}, w.configMap("a")); diff != "" {
		t.Error(diff)
	}
}

func TestReportedRecreationIsLeftAlone(t *testing.T) {
	t.Parallel()
	const manifest = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, annotations: {PREFIX/drift-policy: report}}\ndata: {a: b}\n"
	w := newWorld(t)
	w.mustApply(manifest)
	w.remove(w.configMap("a"))
	w.create("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {a: theirs}\n")
	testenv.Eventually(t, func() (bool, string) {
		result, err := w.apply(manifest)
		return err == nil && strings.Contains(notices(result.Drift), "ConfigMap a: was recreated or adopted by another client"), notices(result.Drift)
	})
	if diff := diffData(map[string]any{"a": "theirs"}, w.configMap("a")); diff != "" {
		t.Error(diff)
	}
}

func TestOddInputsAreTakenOrRefused(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	object := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "Service", "metadata": map[string]any{"name": "a", "labels": map[string]string{"a": "b"}},
		"spec": map[string]any{"ports": []map[string]any{{"port": 80}}, "externalIPs": []string{"10.1.2.3"}},
	}}
	if _, err := w.applyObjects([]client.Object{object}); err != nil {
		t.Error(err)
	}
	var missing *unstructured.Unstructured
	for _, bad := range []client.Object{nil, missing, &unstructured.Unstructured{}, &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "Service", "metadata": map[string]any{"name": "a"}, "spec": map[string]any{"ports": make(chan int)},
	}}} {
		_, err := w.applyObjects([]client.Object{bad})
		w.expectRefusal(err)
	}
}

func TestEmptySecretIsThereToBeFilled(t *testing.T) {
	t.Parallel()
	const manifest = "apiVersion: v1\nkind: Secret\nmetadata: {name: a}\nDATA\n"
	empty, full := strings.ReplaceAll(manifest, "DATA", ""), strings.ReplaceAll(manifest, "DATA", "stringData: {own: x}")
	w := newWorld(t)
	w.mustApply(empty)
	w.rest(empty)
	w.patch(w.get("v1", "Secret", "a"), `{"data":{"tls.crt":"eA=="}}`)
	w.awaitEvent()
	w.expectActions(w.mustApply(empty))
	if diff := diffData(map[string]any{"tls.crt": "eA=="}, w.get("v1", "Secret", "a")); diff != "" {
		t.Error(diff)
	}
	w.mustApply(full)
	if diff := diffData(map[string]any{"own": "eA=="}, w.get("v1", "Secret", "a")); diff != "" {
		t.Errorf("a manifest with content excludes others (-want +got):\n%s", diff)
	}
}

func TestWhatStaysMustNotGoWithItsNamespaceOrType(t *testing.T) {
	t.Parallel()
	ty := newTyped(t)
	_, err := ty.apply(`
apiVersion: v1
kind: Namespace
metadata: {name: NS-own}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: in, namespace: NS-own, annotations: {PREFIX/delete-policy: orphan-on-delete}}
`)
	ty.expectRefusal(err, "ConfigMap NS-own/in: delete policy orphan-on-delete is not allowed; the object would be deleted with Namespace NS-own")
	_, err = ty.apply(ty.expand(customType + "---" + strings.Replace(widget, "{name: NAME}", "{name: own, annotations: {PREFIX/delete-policy: orphan}}", 1)))
	ty.expectRefusal(err, "delete policy orphan is not allowed; the object would be deleted with CustomResourceDefinition")
}
