// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package reconciler_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	apitypes "k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/internal/testenv"
	"github.com/component-operator/runtime/pkg/reconciler"
)

// TestHoldersAreNotRecreated has objects with content that would be lost if they were recreated, of others or of
// dependents.
func TestHoldersAreNotRecreated(t *testing.T) {
	t.Parallel()
	const refusal = ": cannot be recreated, because it holds "
	const claim = "apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: a, annotations: {ANNOTATIONS}}\nspec: {volumeName: VOLUME, storageClassName: \"\", accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}\n"
	const volume = "apiVersion: v1\nkind: PersistentVolume\nmetadata: {name: NS, annotations: {ANNOTATIONS}}\nspec: {claimRef: {namespace: NS, name: CLAIM}, capacity: {storage: 1Gi}, accessModes: [ReadWriteOnce], storageClassName: \"\", hostPath: {path: /none}}\n"
	namespace := strings.ReplaceAll(ownNamespace, "NS-own", "NS-own, annotations: {ANNOTATIONS}")
	for name, tc := range map[string]struct {
		reason, before, content, want string
	}{
		"Namespace": {"it holds something", namespace, "apiVersion: v1\nkind: Secret\nmetadata: {name: theirs, namespace: NS-own}\n", "Namespace NS-own" + refusal + "Secret NS-own/theirs, which would be destroyed"},
		"Dependent": {"what it holds would be destroyed in any case", namespace, "apiVersion: v1\nkind: Secret\nmetadata: {name: theirs, namespace: NS-own, labels: {PREFIX/owner-id: other}}\n", "Namespace NS-own" + refusal + "Secret NS-own/theirs"},
		"Claim":     {"it was bound", strings.ReplaceAll(claim, "VOLUME", "NS"), "", "PersistentVolumeClaim NS/a" + refusal + "data, in PersistentVolume NS, which would be destroyed"},
		"Volume":    {"it was claimed", strings.ReplaceAll(volume, "CLAIM", "a"), "", "PersistentVolume NS" + refusal + "the data of PersistentVolumeClaim NS/a, which would be destroyed"},
		"Empty":     {"there is nothing to be lost", namespace, "", ""},
		"Unbound":   {"there is nothing to be lost", strings.ReplaceAll(claim, "volumeName: VOLUME, ", ""), "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			before := strings.ReplaceAll(tc.before, "ANNOTATIONS", "")
			t.Cleanup(func() {
				for _, object := range testenv.Objects(t, w.expand(before)) {
					_ = w.client.Delete(context(t), object)
				}
			})
			w.createAnywhere(before)
			if tc.content != "" {
				w.create(tc.content)
			}
			uid := w.uidOf(before)
			manifest := strings.ReplaceAll(tc.before, "ANNOTATIONS", "PREFIX/update-policy: recreate, PREFIX/delete-policy: orphan")
			change := w.plan(manifest, compare).Changes[0]
			if !change.Recreate || tc.want == "" && change.Refusal != "" || !strings.HasPrefix(change.Object.String()+": "+change.Refusal, w.expand(tc.want)) {
				t.Errorf("%s: planned: %v, refusal: %q", tc.reason, change.Recreate, change.Refusal)
			}
			if tc.want == "" {
				testenv.Eventually(t, func() (bool, string) {
					_, err := w.engine.Apply(t.Context(), w.request(manifest))
					if err != nil {
						return false, err.Error()
					}
					w.unprotect(before)
					now := w.uidOf(before)
					return now != "" && now != uid, "it is not recreated"
				})
				return
			}
			_, err := w.engine.Apply(t.Context(), w.request(manifest))
			w.expectRefusal(err, tc.want)
			if now := w.uidOf(before); now != uid {
				t.Errorf("%s: it was recreated", tc.reason)
			}
		})
	}
}

// TestClaimIsNotRecreatedForLackOfARecord has the server refuse a change that would require recreating the object.
func TestClaimIsNotRecreatedForLackOfARecord(t *testing.T) {
	t.Parallel()
	const claim = "apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: a, annotations: {PREFIX/update-policy: recreate}}\n" +
		"spec: {volumeName: NS, storageClassName: \"\", accessModes: [MODE], resources: {requests: {storage: 1Gi}}}\n"
	const want = "PersistentVolumeClaim NS/a: cannot be recreated, because it holds data, in PersistentVolume NS"
	w := newWorld(t)
	before, after := strings.ReplaceAll(claim, "MODE", "ReadWriteOnce"), strings.ReplaceAll(claim, "MODE", "ReadOnlyMany")
	if _, err := w.engine.Apply(t.Context(), w.request(before)); err != nil {
		t.Fatal(err)
	}
	uid := w.uidOf(strings.ReplaceAll(before, "name: a,", "name: a, namespace: NS,"))
	w.rebuild(reconciler.RebuildRequest{Objects: objects(w, before)})
	_, err := w.engine.Apply(t.Context(), w.request(after))
	w.expectRefusal(err, want)
	if change := w.plan(after, compare).Changes[0]; !change.Recreate || !strings.HasPrefix(change.Object.String()+": "+change.Refusal, w.expand(want)) {
		t.Errorf("planned: %v, refusal: %q", change.Recreate, change.Refusal)
	}
	if now := w.get("v1", "PersistentVolumeClaim", "a"); string(now.GetUID()) != uid || now.GetDeletionTimestamp() != nil {
		t.Error("the claim was recreated")
	}
}

// createAnywhere creates objects, of which those in a namespace go into that of the world.
func (w *world) createAnywhere(manifests string) {
	w.Helper()
	for _, object := range testenv.Objects(w, w.expand(manifests)) {
		if object.GetKind() == "PersistentVolumeClaim" {
			object.SetNamespace(w.namespace)
		}
		w.createAs(object, "somebody")
	}
}

// uidOf returns the UID of the object of a manifest; empty if there is none.
func (w *world) uidOf(manifest string) string {
	w.Helper()
	object := testenv.Objects(w, w.expand(manifest))[0]
	live := w.get(object.GetAPIVersion(), object.GetKind(), object.GetName())
	if live == nil {
		return ""
	}
	return string(live.GetUID())
}

// unprotect does what the controllers of volumes do for an object that is being deleted.
func (w *world) unprotect(manifest string) {
	w.Helper()
	object := testenv.Objects(w, w.expand(manifest))[0]
	if live := w.get(object.GetAPIVersion(), object.GetKind(), object.GetName()); live != nil && live.GetDeletionTimestamp() != nil && len(live.GetFinalizers()) > 0 {
		patch := client.RawPatch(apitypes.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`))
		if err := w.client.Patch(w.Context(), live, patch); client.IgnoreNotFound(err) != nil {
			w.Fatal(err)
		}
	}
}

// TestRecreationIfImmutable recreates an object only if it cannot be updated in place.
func TestRecreationIfImmutable(t *testing.T) {
	t.Parallel()
	const job = `
apiVersion: batch/v1
kind: Job
metadata: {name: a, annotations: {ANNOTATION}}
spec:
  parallelism: COUNT
  suspend: true
  template: {spec: {restartPolicy: Never, containers: [{name: main, image: IMAGE}]}}
`
	manifest := func(annotation, count, image string) string {
		return strings.NewReplacer("ANNOTATION", annotation, "COUNT", count, "IMAGE", image).Replace(job)
	}
	w := newWorld(t)
	w.once(manifest("", "1", "a"))
	uid := w.get("batch/v1", "Job", "a").GetUID()
	_, err := w.apply(manifest("", "1", "b"))
	w.expectRefusal(err, "Job NS/a: rejected by the API server: ", `; to recreate the object, set the annotation PREFIX/recreate-if-immutable: "true"`)
	if _, err := w.apply(manifest(`PREFIX/recreate-if-immutable: "true"`, "2", "a")); err != nil || w.get("batch/v1", "Job", "a").GetUID() != uid {
		t.Errorf("want the Job to be updated in place, got %v", err)
	}
	w.settle(manifest(`PREFIX/recreate-if-immutable: "true"`, "2", "b"), func(reconciler.Result) (bool, string) {
		job := w.get("batch/v1", "Job", "a")
		return job != nil && job.GetUID() != uid, "the Job is still the former one"
	})
	w.mustDelete()
}

const (
	workload = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: a, annotations: {ANNOTATIONS}}
spec:
  replicas: 0
  selector: {matchLabels: {app: SELECTOR}}
  template: {metadata: {labels: {app: SELECTOR}}, spec: {containers: [{name: NAME, image: x}]}}
`
	task = `
apiVersion: batch/v1
kind: Job
metadata: {name: a, annotations: {PREFIX/update-policy: recreate}}
spec: {suspend: true, template: {spec: {restartPolicy: RESTART, containers: [{name: main, image: x}]}}}
`
	endpoint = `
apiVersion: v1
kind: Service
metadata: {name: a, annotations: {PREFIX/recreate-if-immutable: "true"}}
spec: {SPEC ports: [{name: http, port: 80}]}
`
)

func replaced(text string, pairs ...string) string {
	return strings.NewReplacer(pairs...).Replace(text)
}

// TestWhatCannotBeCreatedIsNotDeleted has objects that would have to be recreated, whose manifests the API server does
// not accept.
func TestWhatCannotBeCreatedIsNotDeleted(t *testing.T) {
	t.Parallel()
	const ifImmutable = `PREFIX/recreate-if-immutable: "true"`
	for name, tc := range map[string]struct {
		kind, before, after string
		// policy is a ValidatingAdmissionPolicy's expression for creations.
		policy string
		want   []string
	}{
		"Immutable": {
			"apps/v1 Deployment", replaced(workload, "ANNOTATIONS", ifImmutable, "SELECTOR", "a", "NAME", "main"), replaced(workload, "ANNOTATIONS", ifImmutable, "SELECTOR", "b", "NAME", "Not_Valid"), "",
			[]string{"Deployment NS/a: rejected by the API server: it has to be recreated, which would fail", "Not_Valid"},
		},
		"Recreate": {
			"batch/v1 Job", replaced(task, "RESTART", "Never"), replaced(task, "RESTART", "Always"), "",
			[]string{"Job NS/a: rejected by the API server: it has to be recreated, which would fail", "restartPolicy"},
		},
		"Denied": {
			"batch/v1 Job", replaced(task, "RESTART", "Never"), replaced(task, "RESTART", "OnFailure"), `object.spec.template.spec.restartPolicy == "Never"`,
			[]string{"it has to be recreated, which would fail", "denied request"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.once(tc.before)
			version, kind, _ := strings.Cut(tc.kind, " ")
			uid := w.get(version, kind, "a").GetUID()
			if tc.policy != "" {
				w.denyCreations(tc.policy)
			}
			change := w.plan(tc.after, compare).Changes[0]
			_, err := w.apply(tc.after)
			if err == nil {
				t.Fatal("it is accepted")
			}
			for _, text := range tc.want {
				if text = w.expand(text); !strings.Contains(err.Error(), text) {
					t.Errorf("expected the error to contain %q, got %q", text, err)
				}
			}
			if change.Refusal == "" || change.Recreate && change.Verb == "" {
				t.Errorf("planned: %+v", change)
			}
			if live := w.get(version, kind, "a"); live == nil || live.GetUID() != uid || live.GetDeletionTimestamp() != nil {
				t.Errorf("it is deleted: %v", live)
			}
		})
	}
}

// denyCreations has the API server deny Jobs in the namespace that do not fit, when they are created.
func (w *world) denyCreations(expression string) {
	w.Helper()
	w.create(strings.ReplaceAll(`
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: NS-creations}
spec:
  matchConstraints: {resourceRules: [{apiGroups: [batch], apiVersions: [v1], operations: [CREATE], resources: [jobs]}]}
  validations: [{expression: 'EXPRESSION'}]
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: NS-creations}
spec: {policyName: NS-creations, validationActions: [Deny], matchResources: {namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: NS}}}}
`, "EXPRESSION", expression))
	w.Cleanup(func() {
		for _, kind := range []string{"ValidatingAdmissionPolicyBinding", "ValidatingAdmissionPolicy"} {
			object := &unstructured.Unstructured{}
			object.SetAPIVersion("admissionregistration.k8s.io/v1")
			object.SetKind(kind)
			object.SetName(w.namespace + "-creations")
			_ = w.client.Delete(context(w), object)
		}
	})
	probe := testenv.Object(w, w.expand(replaced(task, "RESTART", "OnFailure", "name: a", "name: probe, namespace: NS")))
	testenv.Eventually(w, func() (bool, string) {
		err := w.client.Create(w.Context(), probe.DeepCopy(), client.DryRunAll)
		return err != nil && strings.Contains(err.Error(), "denied request"), "the policy is not in force"
	})
}

// TestWhatCannotBeUpdatedIsRecreated has changes that the API server accepts only for a new object, in whatever words
// it says so.
func TestWhatCannotBeUpdatedIsRecreated(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct{ before, after string }{
		"Headless": {replaced(endpoint, "SPEC", ""), replaced(endpoint, "SPEC", "clusterIP: None,")},
		"NodePort": {
			replaced(endpoint, "SPEC", "type: LoadBalancer, loadBalancerClass: example.com/a,", "port: 80", "port: 80, nodePort: 30917"),
			replaced(endpoint, "SPEC", "type: LoadBalancer, loadBalancerClass: example.com/b,", "port: 80", "port: 80, nodePort: 30917"),
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.once(tc.before)
			object := objects(w, tc.before)[0].(*unstructured.Unstructured)
			uid := w.get(object.GetAPIVersion(), object.GetKind(), "a").GetUID()
			if change := w.plan(tc.after, compare).Changes[0]; !change.Recreate || change.Refusal != "" {
				t.Errorf("planned: %+v", change)
			}
			w.settle(tc.after, func(reconciler.Result) (bool, string) {
				live := w.get(object.GetAPIVersion(), object.GetKind(), "a")
				return live != nil && live.GetUID() != uid, "it is still the former one"
			})
		})
	}
}

// TestObjectsAreReplaced has manifests that the API server accepts, but not together with what others or the server
// itself have set.
func TestObjectsAreReplaced(t *testing.T) {
	t.Parallel()
	const service = "apiVersion: v1\nkind: Service\nmetadata: {name: a}\nspec: {type: ClusterIP, ports: [{name: http, port: 80, targetPort: TARGET}]}\n"
	pod := func(more string) string {
		return replaced(workload, "ANNOTATIONS", "", "SELECTOR", "a", "name: NAME, image: x", "name: main, image: x"+more)
	}
	for name, tc := range map[string]struct {
		before, after string
		// patch is what another client changes.
		patch     string
		want, not string
	}{
		"Port": {replaced(service, "TARGET", "1"), replaced(service, "TARGET", "2"), `{"spec":{"ports":[{"name":"http","port":83,"targetPort":1}]}}`, `"port":80`, `"port":83`},
		"Value": {
			pod(""), pod(", env: [{name: PASSWORD, valueFrom: {secretKeyRef: {name: s, key: k}}}]"),
			`{"spec":{"template":{"spec":{"containers":[{"name":"main","image":"x","env":[{"name":"PASSWORD","value":"x"}]}]}}}}`, `"valueFrom"`, `"value":"x"`,
		},
		"Strategy": {pod(""), pod("") + "  strategy: {type: Recreate}\n", `{"metadata":{"labels":{"x":"y"}}}`, `"type":"Recreate"`, "rollingUpdate"},
		"Volume": {
			replaced(pod(""), "spec: {containers", "spec: {volumes: [{name: v}], containers"), replaced(pod(""), "spec: {containers", "spec: {volumes: [{name: v, configMap: {name: c}}], containers"),
			`{"metadata":{"finalizers":["example.com/keep"]}}`, `"configMap"`, "emptyDir",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.once(tc.before)
			object := objects(w, tc.before)[0].(*unstructured.Unstructured)
			live := func() *unstructured.Unstructured {
				return w.get(object.GetAPIVersion(), object.GetKind(), object.GetName())
			}
			uid := live().GetUID()
			changed := live()
			if err := w.client.Patch(t.Context(), changed, client.RawPatch(apitypes.MergePatchType, []byte(tc.patch)), client.FieldOwner("somebody")); err != nil {
				t.Fatal(err)
			}
			w.noteChange(changed, false)
			testenv.Eventually(t, func() (bool, string) {
				change := w.plan(tc.after, compare).Changes[0]
				return !change.Recreate && change.Refusal == "" && change.Verb != "", fmt.Sprintf("planned: %+v", change)
			})
			w.settle(tc.after, func(reconciler.Result) (bool, string) {
				spec, _ := json.Marshal(live().Object["spec"])
				return strings.Contains(string(spec), tc.want) && !strings.Contains(string(spec), tc.not), "it is not replaced: " + string(spec)
			})
			if live().GetUID() != uid {
				t.Error("it was recreated")
			}
			if strings.Contains(tc.patch, "finalizers") && len(live().GetFinalizers()) == 0 {
				t.Error("the finalizer of another client is gone")
			}
			before := len(w.writes())
			w.settle(tc.after, func(result reconciler.Result) (bool, string) { return true, "" })
			if after := w.writes(); len(after) > before {
				t.Errorf("written again: %v", after[before:])
			}
			w.patch(live(), `{"metadata":{"finalizers":null}}`)
			w.mustDelete()
		})
	}
}

// TestReplacingKeepsTheScale has a client scale a Deployment, as autoscalers do, whose strategy is changed then.
func TestReplacingKeepsTheScale(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	before := replaced(workload, "ANNOTATIONS", "", "  replicas: 0\n", "", "SELECTOR", "a", "NAME", "main")
	w.once(before)
	live := w.get("apps/v1", "Deployment", "a")
	scale := &autoscalingv1.Scale{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "a"}, Spec: autoscalingv1.ScaleSpec{Replicas: 5}}
	if err := w.client.SubResource("scale").Update(t.Context(), live, client.WithSubResourceBody(scale), client.FieldOwner("scaler")); err != nil {
		t.Fatal(err)
	}
	w.settle(before+"  strategy: {type: Recreate}\n", func(reconciler.Result) (bool, string) {
		kind, _, _ := unstructured.NestedString(w.get("apps/v1", "Deployment", "a").Object, "spec", "strategy", "type")
		return kind == "Recreate", "the strategy is " + kind
	})
	if replicas, _, _ := unstructured.NestedInt64(w.get("apps/v1", "Deployment", "a").Object, "spec", "replicas"); replicas != 5 {
		t.Errorf("it has %d replicas", replicas)
	}
}

// TestReplacingRespectsOwnership has fields of others that do not go with the manifest, and that the update policy
// keeps or removes.
func TestReplacingRespectsOwnership(t *testing.T) {
	t.Parallel()
	const service = "apiVersion: v1\nkind: Service\nmetadata: {name: a, annotations: {PREFIX/update-policy: POLICY}}\nspec: {type: ClusterIP, ports: [{name: http, port: 80, targetPort: TARGET}]}\n"
	for _, tc := range []struct {
		policy, manager string
		refused         bool
	}{
		{"ssa-override", "kubectl-edit", false}, {"ssa-override", "somebody", true}, {"ssa-merge", "kubectl-edit", true}, {"replace", "somebody", false},
	} {
		t.Run(tc.policy+"/"+tc.manager, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			before, after := replaced(service, "POLICY", tc.policy, "TARGET", "1"), replaced(service, "POLICY", tc.policy, "TARGET", "2")
			w.once(before)
			w.patchAs(w.get("v1", "Service", "a"), `{"metadata":{"annotations":{"theirs":"x"}},"spec":{"ports":[{"name":"http","port":83,"targetPort":1}]}}`, tc.manager)
			_, err := w.apply(after)
			ports, _, _ := unstructured.NestedSlice(w.get("v1", "Service", "a").Object, "spec", "ports")
			if !tc.refused {
				if err != nil || len(ports) != 1 || ports[0].(map[string]any)["port"] != int64(80) {
					t.Errorf("got ports %v and error %v", ports, err)
				}
				return
			}
			w.expectRefusal(err, "Duplicate value", "the fields .spec.ports", "which others have set, do not go with the manifest: remove them, or use the update policy replace")
			if ports[0].(map[string]any)["port"] != int64(83) || w.get("v1", "Service", "a").GetAnnotations()["theirs"] == "" {
				t.Errorf("fields of others were changed: %v", ports)
			}
		})
	}
}

// TestDeathInARemedy ends the process before each write of an update that the API server rejects at first.
func TestDeathInARemedy(t *testing.T) {
	t.Parallel()
	const service = "apiVersion: v1\nkind: Service\nmetadata: {name: a}\nspec: {type: ClusterIP, ports: [{name: http, port: 80, targetPort: TARGET}]}\n"
	for name, tc := range map[string]struct {
		before, after, patch string
		recreated            bool
	}{
		"Replaced":  {replaced(service, "TARGET", "1"), replaced(service, "TARGET", "2"), `{"spec":{"ports":[{"name":"http","port":83,"targetPort":1}]}}`, false},
		"Recreated": {replaced(endpoint, "SPEC", ""), replaced(endpoint, "SPEC", "clusterIP: None,"), `{}`, true},
	} {
		for survived := range 5 {
			t.Run(fmt.Sprint(name, survived), func(t *testing.T) {
				t.Parallel()
				w := newWorld(t)
				w.mustApply(tc.before)
				uid := w.get("v1", "Service", "a").GetUID()
				w.patch(w.get("v1", "Service", "a"), tc.patch)
				mortal := w.restart(func(s *setup) { s.config, _ = testenv.Dying(s.config, survived) })
				_, _ = mortal.engine.Apply(t.Context(), mortal.request(tc.after))
				successor := w.restart()
				successor.owner.Inventory = mortal.owner.Inventory
				successor.mustApply(tc.after)
				live := w.get("v1", "Service", "a")
				ports, _, _ := unstructured.NestedSlice(live.Object, "spec", "ports")
				if len(ports) != 1 || ports[0].(map[string]any)["port"] != int64(80) || (live.GetUID() != uid) != tc.recreated {
					t.Errorf("recreated: %t, ports %v", live.GetUID() != uid, ports)
				}
				successor.mustDelete()
			})
		}
	}
}

const database = `
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: db, annotations: {PREFIX/update-policy: recreate}}
spec:
  serviceName: SERVICE
  replicas: 1
  persistentVolumeClaimRetentionPolicy: {whenDeleted: DELETED, whenScaled: Retain}
  selector: {matchLabels: {app: db}}
  template:
    metadata: {labels: {app: db}}
    spec: {containers: [{name: main, image: db, volumeMounts: [{name: data, mountPath: /data}]}]}
  volumeClaimTemplates:
  - metadata: {name: data}
    spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}
`

const ownsData = ": cannot be recreated, because it may hold the data of "

// TestStatefulSetIsNotRecreatedWithItsClaims runs the real controllers: the StatefulSet controller becomes the owner of
// the claims, and garbage collection would delete them.
func TestStatefulSetIsNotRecreatedWithItsClaims(t *testing.T) {
	t.Parallel()
	manifest := strings.ReplaceAll(database, "DELETED", "Delete")
	changed := strings.ReplaceAll(manifest, "SERVICE", "two")
	for name, adopted := range map[string]bool{"Own": false, "Adopted": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			before := strings.ReplaceAll(manifest, "SERVICE", "one")
			if adopted {
				w.create(before)
			} else if _, err := w.apply(before); err != nil {
				t.Fatal(err)
			}
			testenv.Eventually(t, func() (bool, string) {
				claim := w.get("v1", "PersistentVolumeClaim", "data-db-0")
				return claim != nil && len(claim.GetOwnerReferences()) == 1, "the controller has not made the claim its own"
			})
			w.bind("data-db-0")
			uid := w.get("v1", "PersistentVolumeClaim", "data-db-0").GetUID()
			const want = "StatefulSet NS/db" + ownsData + "PersistentVolumeClaim NS/data-db-0, which would be destroyed; use another update policy, remove the annotation recreate-if-immutable, or first set spec.persistentVolumeClaimRetentionPolicy.whenDeleted"
			_, err := w.engine.Apply(t.Context(), w.request(changed))
			w.expectRefusal(err, want)
			if change := w.plan(changed, compare).Changes[0]; !change.Recreate || !strings.HasPrefix(change.Object.String()+": "+change.Refusal, w.expand(want)) {
				t.Errorf("planned: %v, refusal: %q", change.Recreate, change.Refusal)
			}
			w.patch(w.get("apps/v1", "StatefulSet", "db"), `{"spec":{"persistentVolumeClaimRetentionPolicy":{"whenDeleted":"Retain"}}}`)
			testenv.Eventually(t, func() (bool, string) {
				_, err := w.engine.Apply(t.Context(), w.request(changed))
				live := w.get("apps/v1", "StatefulSet", "db")
				if live == nil {
					return false, fmt.Sprint(err)
				}
				service, _, _ := unstructured.NestedString(live.Object, "spec", "serviceName")
				return service == "two", fmt.Sprint(err)
			})
			if claim := w.get("v1", "PersistentVolumeClaim", "data-db-0"); claim == nil || claim.GetUID() != uid || claim.GetDeletionTimestamp() != nil {
				t.Error("the claim with the data is gone")
			}
		})
	}
}

// TestOwnersOfClaimsAreNotRecreated has claims that are owned in all possible ways.
func TestOwnersOfClaimsAreNotRecreated(t *testing.T) {
	t.Parallel()
	const owned = "ownerReferences: [{apiVersion: API, kind: KIND, name: a, uid: UID}]"
	const claim = "apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: data, OWNERS}\nspec: {VOLUME, storageClassName: \"\", accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}\n"
	const between = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: between, ownerReferences: [{apiVersion: API, kind: KIND, name: a, uid: UID}]}\n"
	const widgets, configMaps = "apiVersion: GROUP/v1\nkind: Widget\nmetadata: {name: a, annotations: {PREFIX/update-policy: recreate}}\nspec: {size: VALUE}\n",
		"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, annotations: {PREFIX/update-policy: recreate}}\ndata: {value: \"VALUE\"}\n"
	empty := strings.NewReplacer("name: db", "name: a", "replicas: 1", "replicas: 0", "SERVICE", "sVALUE").Replace(database)
	bound := strings.ReplaceAll(claim, "VOLUME", "volumeName: none")
	direct := strings.ReplaceAll(bound, "OWNERS", owned)
	indirect := strings.ReplaceAll(bound, "OWNERS", "ownerReferences: [{apiVersion: v1, kind: ConfigMap, name: between, uid: BETWEEN}]")
	ephemeral := strings.ReplaceAll(bound, "OWNERS", "ownerReferences: [{apiVersion: v1, kind: Pod, name: a, uid: BETWEEN, controller: true}]")
	const none = ""
	for name, tc := range map[string]struct {
		manifest, between, claim string
		denied                   string // a path that must not be requested
		want                     string // empty if it is recreated
	}{
		"Direct":              {widgets, none, direct, none, ownsData + "PersistentVolumeClaim NS/data, which would be destroyed; use another update policy, remove the annotation recreate-if-immutable, or remove its owner references from the claims"},
		"Unbound":             {widgets, none, strings.ReplaceAll(strings.ReplaceAll(claim, "VOLUME, ", ""), "OWNERS", owned), none, none},
		"Indirect":            {widgets, between, indirect, none, ownsData + "PersistentVolumeClaim NS/data"},
		"Ephemeral":           {widgets, strings.ReplaceAll(strings.ReplaceAll(between, "name: between", "name: a"), "ConfigMap", "Pod\nspec: {containers: [{name: c, image: c}]}"), ephemeral, none, none},
		"ClaimsMustNotBeRead": {widgets, none, direct, "/persistentvolumeclaims", ": cannot be recreated, because it may own claims whose data would be destroyed, and reading PersistentVolumeClaims in namespace NS is forbidden; use another update policy, remove the annotation recreate-if-immutable, or grant the permission"},
		"StatefulSetDeletes":  {strings.ReplaceAll(empty, "DELETED", "Delete"), none, none, "/persistentvolumeclaims", ": cannot be recreated, because it may own claims whose data would be destroyed, and reading PersistentVolumeClaims in namespace NS is forbidden"},
		"StatefulSetRetains":  {strings.ReplaceAll(empty, "DELETED", "Retain"), none, none, "/persistentvolumeclaims", none},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var options []option
			if tc.denied != "" {
				options = append(options, answering(tc.denied, http.StatusForbidden, metav1.StatusReasonForbidden))
			}
			ty := newTyped(t, options...)
			object := testenv.Objects(t, ty.expand(ty.world.expand(tc.manifest)))[0]
			api, kind := object.GetAPIVersion(), object.GetKind()
			if kind == "Widget" {
				ty.create(ty.expand(customType))
			}
			ty.applyUntilDone(ty.expand(strings.ReplaceAll(tc.manifest, "VALUE", "1")))
			uid := string(ty.get(api, kind, "a").GetUID())
			references := strings.NewReplacer("API", api, "KIND", kind, "UID", uid)
			via := ""
			if tc.between != "" {
				ty.create(references.Replace(tc.between))
				via = ty.uidOf(tc.between)
			}
			if tc.claim != "" {
				ty.create(strings.ReplaceAll(references.Replace(tc.claim), "BETWEEN", via))
			}
			changed := ty.expand(strings.ReplaceAll(tc.manifest, "VALUE", "2"))
			if tc.want == "" {
				ty.applyUntilDone(changed)
			} else {
				_, err := ty.engine.Apply(t.Context(), ty.request(changed))
				ty.expectRefusal(err, tc.want)
			}
			if anew := string(ty.get(api, kind, "a").GetUID()) != uid; anew != (tc.want == "") {
				t.Errorf("recreated: %v", anew)
			}
		})
	}
}

// applyUntilDone makes passes, without plans, until the result is done. New types become known only after a while.
func (w *world) applyUntilDone(manifests string) {
	w.Helper()
	testenv.Eventually(w, func() (bool, string) {
		result, err := w.engine.Apply(w.Context(), w.request(manifests))
		w.owner.Inventory = result.Inventory
		return err == nil && result.Done, fmt.Sprint(err, notices(result.Waits))
	})
}

// bind does what the controller of volumes does for a claim, without a volume.
func (w *world) bind(name string) {
	w.Helper()
	w.patch(w.get("v1", "PersistentVolumeClaim", name), `{"spec":{"volumeName":"none"}}`)
}
