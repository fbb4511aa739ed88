// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package reconciler_test

import (
	"errors"
	"net/http"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	apitypes "k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/internal/testenv"
	"github.com/component-operator/runtime/pkg/behaviors"
	"github.com/component-operator/runtime/pkg/reconciler"
	"github.com/component-operator/runtime/pkg/status"
)

// reader generates a late ConfigMap with the host that a Secret of others has, and one in a later step.
func reader(w *world) []client.Object {
	var host string
	read := behaviors.Read{
		GroupVersionKind: schema.GroupVersionKind{Version: "v1", Kind: "Secret"},
		NamespacedName:   apitypes.NamespacedName{Namespace: w.namespace, Name: "database"},
		Take: func(secret *unstructured.Unstructured) error {
			if secret == nil {
				return errors.New("does not exist")
			}
			var found bool
			if host, found, _ = unstructured.NestedString(secret.Object, "data", "host"); !found {
				return errors.New("has no host")
			}
			return nil
		},
	}
	complete := behaviors.Complete(func(manifest *unstructured.Unstructured) error {
		return unstructured.SetNestedField(manifest.Object, host, "data", "value")
	})
	objects := objects(w, configMapsNamed("client", "later"))
	return []client.Object{behaviors.Attach(objects[0], behaviors.Reads{read}, complete), behaviors.Attach(objects[1], behaviors.AtStep(1))}
}

func (w *world) secret(data map[string]string) *corev1.Secret {
	return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "database"}, StringData: data}
}

// reads returns how often the Secret was read.
func (w *world) reads() int {
	return w.requests.Count(func(r testenv.Request) bool {
		return r.Method == http.MethodGet && strings.HasSuffix(r.Path, "/secrets/database")
	})
}

// TestObjectsOfOthersAreRead completes a manifest with data of an object that is not a dependent. That object is missing at first, then lacks the data, has them, changes
// and is deleted. Each change arrives as an event, costs one read, and is planned before. The process is restarted in the middle.
func TestObjectsOfOthersAreRead(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	generate := func() []client.Object { return reader(w) }
	settle := func(want string) {
		t.Helper()
		w.settleObjects(generate, waitsFor(w.expand(want)))
	}
	settle("Secret database: does not exist; later objects wait for it")
	if w.configMap("later") != nil || w.reads() != 0 {
		t.Errorf("want nothing to be applied, and no read, got %d reads", w.reads())
	}
	if err := w.client.Create(t.Context(), w.secret(map[string]string{"port": "1"})); err != nil {
		t.Fatal(err)
	}
	settle("Secret database: its data cannot be used: has no host; later objects wait for it")
	w = w.heir()
	settle("Secret database: its data cannot be used: has no host; later objects wait for it")
	w.patch(w.get("v1", "Secret", "database"), `{"data":{"host":"YQ=="}}`)
	w.settleObjects(generate, done)
	w.expectInventory("ConfigMap client Ready Current", "ConfigMap later Ready Current")

	reads := w.reads()
	for range 3 {
		if _, err := w.engine.Apply(t.Context(), reconciler.ApplyRequest{Owner: w.owner, Objects: reader(w), Digest: w.digest}); err != nil {
			t.Fatal(err)
		}
	}
	if w.reads() != reads {
		t.Error("an object that has not changed was read again")
	}

	w.patch(w.get("v1", "Secret", "database"), `{"data":{"host":"Yg=="}}`)
	w.settleObjects(generate, func(reconciler.Result) (bool, string) {
		return diffData(map[string]any{"value": "Yg=="}, w.configMap("client")) == "", "the change is not known"
	})
	if w.reads() != reads+1 {
		t.Errorf("want one read for the change, got %d", w.reads()-reads)
	}
	// What was written stays when the object goes, and drift of later steps is corrected.
	w.remove(w.get("v1", "Secret", "database"))
	settle("Secret database: does not exist; later objects wait for it")
	w.expectInventory("ConfigMap client Ready Current", "ConfigMap later Ready Current")
	w.mustDelete()
}

// TestHandingOver: an object that was a dependent, and is only read from now on, is orphaned, not deleted.
func TestHandingOver(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	own := func() []client.Object {
		return append(reader(w)[1:], objects(w, "apiVersion: v1\nkind: Secret\nmetadata: {name: database}\nstringData: {host: a}\n")...)
	}
	w.settleObjects(own, done)
	uid := w.get("v1", "Secret", "database").GetUID()
	w = w.heir()
	w.settleObjects(func() []client.Object { return reader(w) }, done)
	w.expectInventory("ConfigMap client Ready Current", "ConfigMap later Ready Current")
	if secret := w.get("v1", "Secret", "database"); secret.GetUID() != uid || len(secret.GetLabels()) > 0 {
		t.Errorf("the Secret must stay, without an owner: %v", secret.Object["metadata"])
	}
	if diff := diffData(map[string]any{"value": "YQ=="}, w.configMap("client")); diff != "" {
		t.Error(diff)
	}
	w.mustDelete()
	if w.get("v1", "Secret", "database").GetUID() != uid {
		t.Error("the Secret has gone with the owner")
	}
}

// TestReadsForSuspendedForms: a suspended form gets the data of objects that others own, whichever object reads them.
func TestReadsForSuspendedForms(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	var host string
	generate := func() []client.Object {
		host = ""
		list := objects(w, configMapsNamed("carrier", "client"))
		carrier := behaviors.Attach(list[0], behaviors.Reads{{
			GroupVersionKind: schema.GroupVersionKind{Version: "v1", Kind: "Secret"},
			NamespacedName:   apitypes.NamespacedName{Namespace: w.namespace, Name: "database"},
			Take: func(secret *unstructured.Unstructured) (err error) {
				host, _, err = unstructured.NestedString(secret.Object, "data", "host")
				return err
			},
		}})
		complete := func(manifest *unstructured.Unstructured) error {
			if host == "" {
				return errors.New("there is no host")
			}
			return unstructured.SetNestedField(manifest.Object, host, "data", "value")
		}
		suspend := behaviors.Suspend(func(manifest *unstructured.Unstructured) error {
			return unstructured.SetNestedField(manifest.Object, "true", "data", "suspended")
		})
		return []client.Object{carrier, behaviors.Attach(list[1], behaviors.AtStep(1), behaviors.Complete(complete), suspend)}
	}
	if err := w.client.Create(t.Context(), w.secret(map[string]string{"host": "a"})); err != nil {
		t.Fatal(err)
	}
	w.settleObjects(generate, done)
	w.suspendedObjects(generate)
	if diff := diffData(map[string]any{"value": "YQ==", "suspended": "true"}, w.configMap("client")); diff != "" {
		t.Error(diff)
	}
	w.settleObjects(generate, done)
	w.mustDelete()
}

// TestObjectsOfUnknownTypesAreRead as if they did not exist, until their type is served.
func TestObjectsOfUnknownTypesAreRead(t *testing.T) {
	t.Parallel()
	ty := newTyped(t)
	var size int64
	generate := func() []client.Object {
		return []client.Object{behaviors.Attach(objects(ty.world, configMapsNamed("client"))[0], behaviors.Reads{{
			GroupVersionKind: schema.GroupVersionKind{Group: ty.group, Version: "v1", Kind: "Widget"},
			NamespacedName:   apitypes.NamespacedName{Namespace: ty.namespace, Name: "theirs"},
			Take: func(widget *unstructured.Unstructured) error {
				if widget == nil {
					return errors.New("does not exist")
				}
				size, _, _ = unstructured.NestedInt64(widget.Object, "spec", "size")
				return nil
			},
		}})}
	}
	ty.settleObjects(generate, waitsFor("Widget theirs: does not exist; later objects wait for it"))
	ty.create(ty.expand(customType))
	testenv.Eventually(t, func() (bool, string) {
		err := ty.client.Create(t.Context(), testenv.Object(t, ty.world.expand(ty.expand(strings.ReplaceAll(widget, "{name: NAME}", "{name: theirs, namespace: NS}")))))
		return err == nil, "the type is not served"
	})
	ty.settleObjects(generate, done)
	if size != 1 {
		t.Errorf("want the content to be read, got size %d", size)
	}
}

// TestAwaitedReads waits until an object of others is ready, without holding back anything of the same stage. The object is missing, not ready, failed, and ready; the process is
// restarted in the middle, and what is optional may be missing.
func TestAwaitedReads(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	optional := false
	generate := func() []client.Object {
		list := objects(w, strings.ReplaceAll(configMapsNamed("beside", "after"), "{name: after}", `{name: after, annotations: {PREFIX/apply-order: "1"}}`))
		return []client.Object{behaviors.Attach(list[0], behaviors.Reads{{
			GroupVersionKind: schema.GroupVersionKind{Version: "v1", Kind: "Secret"},
			NamespacedName:   apitypes.NamespacedName{Namespace: w.namespace, Name: "database"},
			Take:             func(*unstructured.Unstructured) error { return nil },
			Judge:            byPhase{},
			Optional:         optional,
		}}), list[1]}
	}
	settle := func(want string) {
		t.Helper()
		result := w.settleObjects(generate, waitsFor(w.expand(want)))
		if w.configMap("beside") == nil || w.configMap("after") != nil || result.Done {
			t.Errorf("%s: want only the first wave to be applied", want)
		}
	}
	settle("Secret database: does not exist")
	if err := w.client.Create(t.Context(), w.secret(map[string]string{"phase": "starting"})); err != nil {
		t.Fatal(err)
	}
	settle("Secret database: not started")
	w = w.heir()
	settle("Secret database: not started")
	w.patch(w.get("v1", "Secret", "database"), `{"data":{"phase":"YnJva2Vu"}}`)
	settle("Secret database: broken")
	result, err := w.applyObjects(generate())
	if err != nil || len(result.Failures) != 1 || result.Failures[0].Message != "broken" {
		t.Errorf("want a failure, got %v, %v", result.Failures, err)
	}
	w.patch(w.get("v1", "Secret", "database"), `{"data":{"phase":"cmVhZHk="}}`)
	w.settleObjects(generate, done)
	w.expectInventory("ConfigMap after Ready Current", "ConfigMap beside Ready Current")
	w.remove(w.get("v1", "Secret", "database"))
	w.settleObjects(generate, waitsFor(w.expand("Secret database: does not exist")))
	optional = true
	w.settleObjects(generate, done)
	w.mustDelete()
}

// byPhase judges a Secret by its data.
type byPhase struct{}

func (byPhase) Rules() string { return "by phase" }

func (byPhase) Judge(secret *unstructured.Unstructured) status.Result {
	phase, _, _ := unstructured.NestedString(secret.Object, "data", "phase")
	switch phase {
	case "cmVhZHk=":
		return status.Result{Status: status.CurrentStatus}
	case "YnJva2Vu":
		return status.Result{Status: status.FailedStatus, Message: "broken"}
	default:
		return status.Result{Status: status.InProgressStatus, Message: "not started"}
	}
}

// TestForbiddenReads names the object that the identity must not read.
func TestForbiddenReads(t *testing.T) {
	t.Parallel()
	w := newWorld(t, answering("/secrets/database", http.StatusForbidden, metav1.StatusReasonForbidden))
	if err := w.client.Create(t.Context(), w.secret(map[string]string{"host": "a"})); err != nil {
		t.Fatal(err)
	}
	result, err := w.applyObjects(reader(w))
	if err != nil {
		t.Fatal(err)
	}
	if got := notices(result.Waits); !strings.HasPrefix(got, w.expand("Secret database: cannot be read: ")) || result.RequeueAfter == 0 {
		t.Errorf("unexpected wait %q, repeated after %s", got, result.RequeueAfter)
	}
}

// TestReadsBeforeManifests: all reads of a step come before its manifests are completed and its guards are asked, whichever object reads. So says the plan.
func TestReadsBeforeManifests(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	if err := w.client.Create(t.Context(), w.secret(map[string]string{"host": "a"})); err != nil {
		t.Fatal(err)
	}
	var host string
	generate := func() []client.Object {
		list := objects(w, configMapsNamed("a", "b"))
		user := behaviors.Attach(list[0], behaviors.Guard(func() (string, error) {
			if host == "" {
				return "there is no host", nil
			}
			return "", nil
		}), behaviors.Complete(func(manifest *unstructured.Unstructured) error {
			return unstructured.SetNestedField(manifest.Object, host, "data", "value")
		}))
		carrier := behaviors.Attach(list[1], behaviors.Reset(func() { host = "" }), behaviors.Reads{{
			GroupVersionKind: schema.GroupVersionKind{Version: "v1", Kind: "Secret"},
			NamespacedName:   apitypes.NamespacedName{Namespace: w.namespace, Name: "database"},
			Take: func(secret *unstructured.Unstructured) error {
				host, _, _ = unstructured.NestedString(secret.Object, "data", "host")
				return nil
			},
		}})
		return []client.Object{user, carrier}
	}
	w.settleObjects(generate, done)
	if diff := diffData(map[string]any{"value": "YQ=="}, w.configMap("a")); diff != "" {
		t.Error(diff)
	}
	w.mustDelete()
}

// TestReadsAfterTheStep hold nothing back, and are awaited.
func TestReadsAfterTheStep(t *testing.T) {
	t.Parallel()
	for reason, tc := range map[string]struct {
		setup     option
		namespace string
		exists    bool
		want      string
	}{
		"missing":   {want: "Secret database: does not exist"},
		"no data":   {want: "Secret database: its data cannot be used: has no host", exists: true},
		"forbidden": {want: "Secret database: cannot be read: ", exists: true, setup: answering("/secrets/database", http.StatusForbidden, metav1.StatusReasonForbidden)},
		"misplaced": {want: "Secret database: cannot be read: its type is namespaced, and no namespace is given", namespace: "none"},
	} {
		t.Run(reason, func(t *testing.T) {
			t.Parallel()
			var options []option
			if tc.setup != nil {
				options = append(options, tc.setup)
			}
			w := newWorld(t, options...)
			if tc.exists {
				if err := w.client.Create(t.Context(), w.secret(map[string]string{"port": "a"})); err != nil {
					t.Fatal(err)
				}
			}
			place := apitypes.NamespacedName{Namespace: w.namespace, Name: "database"}
			if tc.namespace != "" {
				place.Namespace = ""
			}
			generate := func() []client.Object {
				list := objects(w, configMapsNamed("carrier", "later"))
				return []client.Object{behaviors.Attach(list[0], behaviors.Reads{{
					GroupVersionKind: schema.GroupVersionKind{Version: "v1", Kind: "Secret"}, NamespacedName: place, After: true, Judge: byPhase{},
					Take: func(secret *unstructured.Unstructured) error {
						if secret == nil {
							return nil
						}
						return errors.New("has no host")
					},
				}}), behaviors.Attach(list[1], behaviors.AtStep(1))}
			}
			w.settleObjects(generate, func(result reconciler.Result) (bool, string) {
				got := notices(result.Waits)
				return strings.Contains(got, tc.want) && !result.Done, got
			})
			if w.configMap("carrier") == nil || w.configMap("later") == nil {
				t.Error("something is held back")
			}
			w.mustDelete()
		})
	}
}

// TestBadReads are refused, or named, with the object and what is wrong.
func TestBadReads(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	take := func(*unstructured.Unstructured) error { return nil }
	pod, node := schema.GroupVersionKind{Version: "v1", Kind: "Pod"}, schema.GroupVersionKind{Version: "v1", Kind: "Node"}
	attached := func(read behaviors.Read) []client.Object {
		return []client.Object{behaviors.Attach(objects(w, configMapsNamed("a"))[0], behaviors.Reads{read})}
	}
	for _, bad := range []behaviors.Read{
		{GroupVersionKind: pod, NamespacedName: apitypes.NamespacedName{Name: "b"}},
		{GroupVersionKind: pod, Take: take},
		{NamespacedName: apitypes.NamespacedName{Name: "b"}, Take: take},
	} {
		_, err := w.applyObjects(attached(bad))
		w.expectRefusal(err, "ConfigMap NS/a: read 0 (", "): version, kind, name and Take are required")
	}
	for want, bad := range map[string]behaviors.Read{
		"its type is namespaced, and no namespace is given": {GroupVersionKind: pod, NamespacedName: apitypes.NamespacedName{Name: "b"}, Take: take},
		"its type is cluster-scoped, and a namespace is given": {
			GroupVersionKind: node, NamespacedName: apitypes.NamespacedName{Namespace: w.namespace, Name: "b"}, Take: take,
		},
	} {
		result, err := w.applyObjects(attached(bad))
		if err != nil || !strings.Contains(notices(result.Waits), "b: cannot be read: "+want) {
			t.Errorf("%s: got %q, %v", want, notices(result.Waits), err)
		}
	}
}

// TestSharedReads: two dependents read one object. The owner is deleted as usual.
func TestSharedReads(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	if err := w.client.Create(t.Context(), w.secret(map[string]string{"host": "a"})); err != nil {
		t.Fatal(err)
	}
	taken := 0
	read := behaviors.Read{
		GroupVersionKind: schema.GroupVersionKind{Version: "v1", Kind: "Secret"},
		NamespacedName:   apitypes.NamespacedName{Namespace: w.namespace, Name: "database"},
		Take:             func(*unstructured.Unstructured) error { taken++; return nil },
	}
	generate := func() []client.Object {
		list := objects(w, configMapsNamed("a", "b"))
		return []client.Object{behaviors.Attach(list[0], behaviors.Reads{read}), behaviors.Attach(list[1], behaviors.Reads{read, read})}
	}
	w.settleObjects(generate, done)
	if taken == 0 || w.reads() != 1 {
		t.Errorf("want the object to be read once, got %d reads", w.reads())
	}
	w.mustDelete()
}

// TestDependentsAreNotRead: data of a dependent are extracted.
func TestDependentsAreNotRead(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	list := objects(w, configMapsNamed("a", "b"))
	_, err := w.applyObjects([]client.Object{behaviors.Attach(list[0], behaviors.Reads{{
		GroupVersionKind: schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}, NamespacedName: apitypes.NamespacedName{Namespace: w.namespace, Name: "b"},
		Take: func(*unstructured.Unstructured) error { return nil },
	}}), list[1]})
	w.expectRefusal(err, "ConfigMap NS/a: reads ConfigMap NS/b, which is also a dependent; extract its data instead")
}
