// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package reconciler_test

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/internal/testenv"
	"github.com/component-operator/runtime/pkg/reconciler"
)

// TestHoldersAreNotRecreated has objects with content that would be lost if they were recreated, of others or of dependents.
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
		patch := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`))
		if err := w.client.Patch(w.Context(), live, patch); client.IgnoreNotFound(err) != nil {
			w.Fatal(err)
		}
	}
}

// TestRefusedFields names what helps whenever the API server says, in whatever words, that a field cannot be changed, and recreates the objects then.
func TestRefusedFields(t *testing.T) {
	t.Parallel()
	for name, manifest := range map[string]string{
		"Pod":     "{apiVersion: v1, kind: Pod, metadata: {name: a, annotations: {ANNOTATION}}, spec: {containers: [{name: main, image: a, env: [{name: A, value: CONTENT}]}]}}",
		"Service": "{apiVersion: v1, kind: Service, metadata: {name: a, annotations: {ANNOTATION}}, spec: {clusterIP: CONTENT, ports: [{port: 80}]}}",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			render := func(annotation, content string) string {
				return strings.NewReplacer("ANNOTATION", annotation, "CONTENT", content).Replace(manifest)
			}
			const before, after = `""`, "None"
			if _, err := w.apply(render("", before)); err != nil {
				t.Fatal(err)
			}
			uid := w.uidOf(manifest)
			_, err := w.apply(render("", after))
			w.expectRefusal(err, name+" NS/a: rejected by the API server: ", `; to recreate the object, set the annotation PREFIX/recreate-if-immutable: "true"`)
			if strings.Contains(err.Error(), "\n;") {
				t.Errorf("want what helps to follow the difference, got %v", err)
			}
			const recreate = `PREFIX/recreate-if-immutable: "true"`
			w.settle(render(recreate, after), func(reconciler.Result) (bool, string) {
				return w.uidOf(manifest) != uid && w.uidOf(manifest) != "", "the object is still the former one"
			})
			w.mustDelete()
		})
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
	if _, err := w.apply(manifest("", "1", "a")); err != nil {
		t.Fatal(err)
	}
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
