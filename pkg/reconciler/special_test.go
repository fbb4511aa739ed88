// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package reconciler_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/internal/digest"
	"github.com/component-operator/runtime/internal/testenv"
	"github.com/component-operator/runtime/pkg/reconciler"
)

func TestUnknownFieldsAreLeftOutAndNamed(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	result := w.mustApply("apiVersion: v1\nkind: Service\nmetadata: {name: a}\nspec: {colour: blue, ports: [{port: 80, nose: long}]}\n")
	for _, field := range []string{".spec.colour", `.spec.ports[port=80,protocol="TCP"].nose`} {
		if got := notices(result.Notes); !strings.Contains(got, field) {
			t.Errorf("expected %s to be named, got %q", field, got)
		}
	}
	if w.get("v1", "Service", "a") == nil {
		t.Error("expected the Service to exist")
	}
}

func TestSecretsAndTypedObjects(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: "a", Namespace: w.namespace},
		Data:       map[string][]byte{"kept": []byte("data"), "both": []byte("data")},
		StringData: map[string]string{"both": "text"},
	}
	before := secret.DeepCopy()
	if _, err := w.applyObjects([]client.Object{secret}); err != nil {
		t.Fatal(err)
	}
	if diff := diffObjects(before, secret); diff != "" {
		t.Errorf("the input must not change (-want +got):\n%s", diff)
	}
	if diff := diffData(map[string]any{"kept": "ZGF0YQ==", "both": "dGV4dA=="}, w.get("v1", "Secret", "a")); diff != "" {
		t.Errorf("data (-want +got):\n%s", diff)
	}
	w.patch(w.get("v1", "Secret", "a"), `{"stringData":{"both":"other"}}`)
	testenv.Eventually(t, func() (bool, string) {
		result, err := w.applyObjects([]client.Object{secret})
		return err == nil && len(result.Actions) > 0, "want the change of the value to be noticed"
	})
}

// TestDefaultsAreNoAdmission applies typed objects, which have zero values where the manifest of a user has nothing.
func TestDefaultsAreNoAdmission(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	meta := metav1.ObjectMeta{Name: "a", Namespace: w.namespace}
	template := corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"a": "b"}}, Spec: corev1.PodSpec{Containers: []corev1.Container{{
		Name: "a", Image: "example.com/none", LivenessProbe: &corev1.Probe{ProbeHandler: corev1.ProbeHandler{GRPC: &corev1.GRPCAction{Port: 80}}},
	}}}}
	result, err := w.applyObjects([]client.Object{
		&corev1.Service{ObjectMeta: meta, Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 80}}}},
		&appsv1.Deployment{ObjectMeta: meta, Spec: appsv1.DeploymentSpec{Replicas: new(int32), Selector: &metav1.LabelSelector{MatchLabels: template.Labels}, Template: template}},
		&networkingv1.NetworkPolicy{ObjectMeta: meta, Spec: networkingv1.NetworkPolicySpec{Ingress: []networkingv1.NetworkPolicyIngressRule{{Ports: []networkingv1.NetworkPolicyPort{{}}}}}},
	})
	if err != nil || len(result.Actions) == 0 {
		t.Fatalf("got %v, error %v", actions(result), err)
	}
	if got := notices(result.Notes); got != "" {
		t.Errorf("want no notes, got %s", got)
	}
}

func TestClaimThatWaitsForItsConsumerDoesNotHoldTheWave(t *testing.T) {
	t.Parallel()
	const manifests = `
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: {name: NS-class}
provisioner: example.com/none
volumeBindingMode: MODE
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: a, annotations: {PREFIX/apply-order: "1"}}
spec: {storageClassName: NS-class, accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: after, annotations: {PREFIX/apply-order: "2"}}
`
	w := newWorld(t)
	w.settle(strings.ReplaceAll(manifests, "MODE", "WaitForFirstConsumer"), func(result reconciler.Result) (bool, string) {
		return result.Done, notices(result.Waits)
	})
	w.rest(strings.ReplaceAll(manifests, "MODE", "WaitForFirstConsumer"))
	w.requests.Reset()
	w.mustApply(strings.ReplaceAll(manifests, "MODE", "WaitForFirstConsumer"))
	if n := w.requests.Count(func(testenv.Request) bool { return true }); n != 0 {
		t.Errorf("expected rest, got %s", w.requests)
	}
	w.mustDelete()

	w = newWorld(t)
	w.expectPendingClaim(strings.ReplaceAll(manifests, "MODE", "Immediate"))
	w.mustDelete()
}

// expectPendingClaim makes passes until the class of a claim was looked at, and some more: the claim holds its wave.
func (w *world) expectPendingClaim(manifests string) {
	w.Helper()
	w.requests.Reset()
	asked := func() bool {
		return w.requests.Count(func(r testenv.Request) bool {
			return r.Resource == "storageclasses" && r.Method == http.MethodGet && !r.IsWatch()
		}) > 0
	}
	pass := func() {
		w.Helper()
		result, err := w.apply(manifests)
		if err != nil || result.Done || !strings.Contains(notices(result.Waits), "PersistentVolumeClaim a") {
			w.Fatalf("expected to wait for the claim, got %v, %q, %v", result.Done, notices(result.Waits), err)
		}
	}
	testenv.Eventually(w, func() (bool, string) {
		pass()
		return asked(), "the class was not looked at"
	})
	for range 3 {
		pass()
	}
}

// TestReplacedClaimIsReadAgain has others replace a claim by one that does not wait for a consumer. What is known
// about the first claim must not count for the second.
func TestReplacedClaimIsReadAgain(t *testing.T) {
	t.Parallel()
	const manifests = `
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: {name: NS-class}
provisioner: example.com/none
volumeBindingMode: WaitForFirstConsumer
---
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: {name: NS-immediate}
provisioner: example.com/none
volumeBindingMode: Immediate
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: a, annotations: {PREFIX/apply-order: "1", PREFIX/drift-policy: ignore}}
spec: {storageClassName: NS-class, accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}
`
	w := newWorld(t)
	w.settle(manifests, func(result reconciler.Result) (bool, string) { return result.Done, notices(result.Waits) })
	claim := w.get("v1", "PersistentVolumeClaim", "a")
	other := claim.DeepCopy()
	other.Object["metadata"] = map[string]any{"name": "a", "namespace": w.namespace}
	other.SetLabels(claim.GetLabels())
	other.SetAnnotations(map[string]string{prefix + "/owner-id": claim.GetAnnotations()[prefix+"/owner-id"]})
	other.Object["spec"] = map[string]any{
		"storageClassName": w.namespace + "-immediate", "accessModes": []any{"ReadWriteOnce"},
		"resources": map[string]any{"requests": map[string]any{"storage": "1Gi"}},
	}
	delete(other.Object, "status")
	w.remove(claim)
	var created *unstructured.Unstructured
	testenv.Eventually(t, func() (bool, string) {
		created = other.DeepCopy()
		if err := w.client.Create(t.Context(), created); err != nil {
			return false, err.Error() // the old one is not gone yet
		}
		return true, ""
	})
	testenv.Eventually(t, func() (bool, string) {
		seen, _ := w.steady.Observer.Get(created.GroupVersionKind(), w.namespace, "a")
		return seen.UID == created.GetUID(), "the new claim was not seen"
	})
	w.expectPendingClaim(manifests)
	w.mustDelete()
}

func TestFailingWebhookIsAwaited(t *testing.T) {
	t.Parallel()
	const webhook = `
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata: {name: NS-hook}
webhooks:
- name: hook.example.com
  admissionReviewVersions: [v1]
  sideEffects: None
  timeoutSeconds: 1
  failurePolicy: Fail
  namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: NS}}
  rules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE, UPDATE], resources: [configmaps]}]
  clientConfig: {service: {namespace: NS, name: nobody}}
`
	const manifest = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n---\napiVersion: v1\nkind: Service\nmetadata: {name: b}\nspec: {ports: [{port: 80}]}\n"
	w := newWorld(t)
	w.create(webhook)
	hook := w.get("admissionregistration.k8s.io/v1", "ValidatingWebhookConfiguration", "NS-hook")
	t.Cleanup(func() { _ = w.client.Delete(context(t), hook) })
	testenv.Eventually(t, func() (bool, string) {
		result, err := w.apply(manifest)
		if err != nil {
			return false, err.Error()
		}
		if result.Done {
			w.mustDelete()
			return false, "the webhook is not effective yet"
		}
		return strings.Contains(notices(result.Waits), `ConfigMap a: failed calling webhook "hook.example.com"`) && result.RequeueAfter > 0, notices(result.Waits)
	})
	w.expectInventory("ConfigMap a ScheduledForApplication InProgress", "Service b Ready Current")
	w.remove(hook)
	w.mustApply(manifest)
}

func TestTerminatingNamespaceIsAwaited(t *testing.T) {
	t.Parallel()
	const held = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: held, namespace: NS-x, finalizers: [example.com/hold]}\n"
	const manifest = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: NS-x}\n"
	w := newWorld(t)
	w.create("apiVersion: v1\nkind: Namespace\nmetadata: {name: NS-x}\n")
	w.create(held)
	w.remove(w.get("v1", "Namespace", "NS-x"))
	result, err := w.apply(manifest)
	if err != nil {
		t.Fatal(err)
	}
	if got := notices(result.Waits); got != "ConfigMap a: its namespace is being deleted" {
		t.Errorf("got %q", got)
	}
	held1 := testenv.Objects(t, w.expand(held))[0]
	w.patch(held1, `{"metadata":{"finalizers":null}}`)
	testenv.Eventually(t, func() (bool, string) {
		result, err := w.apply(manifest)
		return err == nil && result.Done, notices(result.Waits)
	})
	w.mustDelete()
	w.remove(w.get("v1", "Namespace", "NS-x"))
}

// TestTakeoverFromAncestor starts from an object and a record as the predecessor of this SDK leaves them.
func TestTakeoverFromAncestor(t *testing.T) {
	t.Parallel()
	for _, update := range []string{"replace", "recreate", "ssa-override", "ssa-merge"} {
		t.Run(update, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			manifest := "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, annotations: {PREFIX/update-policy: " + update + "}}\ndata: {kept: x}\n"
			object := testenv.Objects(t, w.expand("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: NS, labels: {PREFIX/owner-id: "+
				digest.OwnerLabel(w.owner.ID)+"}, annotations: {PREFIX/owner-id: "+w.owner.ID+", PREFIX/digest: abc}}\ndata: {kept: x, dropped: x}\n"))[0]
			if err := w.client.Create(t.Context(), object, client.FieldOwner(prefix)); err != nil {
				t.Fatal(err)
			}
			w.owner.Inventory = []*reconciler.InventoryItem{{
				TypeVersionInfo: reconciler.TypeVersionInfo{Version: "v1", Kind: "ConfigMap"},
				NameInfo:        reconciler.NameInfo{Namespace: w.namespace, Name: "a"},
				AdoptionPolicy:  reconciler.AdoptionPolicyIfUnowned,
				ReconcilePolicy: reconciler.ReconcilePolicyOnObjectChange,
				UpdatePolicy:    reconciler.UpdatePolicyReplace,
				DeletePolicy:    reconciler.DeletePolicyDelete,
				Digest:          "abc",
				Phase:           reconciler.PhaseReady,
				Status:          "Current",
				LastAppliedAt:   &metav1.Time{Time: time.Now()},
			}}
			result := w.mustApply(manifest)
			w.expectActions(result, "Updated ConfigMap a")
			after := w.configMap("a")
			if after.GetUID() != object.GetUID() {
				t.Error("a takeover must not recreate anything")
			}
			if diff := diffData(map[string]any{"kept": "x"}, after); diff != "" {
				t.Errorf("what the manifest does not declare any more goes (-want +got):\n%s", diff)
			}
			w.rest(manifest)
			w.requests.Reset()
			w.expectActions(w.mustApply(manifest))
			if writes := w.writes(); len(writes) > 0 {
				t.Errorf("expected rest, got %v", writes)
			}
		})
	}
}

func TestCompletedRecordOfAncestorIsNotRunAgain(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.owner.Inventory = []*reconciler.InventoryItem{{
		TypeVersionInfo: reconciler.TypeVersionInfo{Version: "v1", Kind: "ConfigMap"},
		NameInfo:        reconciler.NameInfo{Namespace: w.namespace, Name: "a"},
		Digest:          "abc", Phase: reconciler.PhaseCompleted, LastAppliedAt: &metav1.Time{Time: time.Now()},
	}}
	w.expectActions(w.mustApply("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, annotations: {PREFIX/purge-order: \"0\"}}\n"))
	w.expectInventory("ConfigMap a Completed ")
}
