// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package fieldset_test

import (
	"context"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/internal/fieldset"
	"github.com/component-operator/runtime/internal/testenv"
)

const us = "us"

// subject is one object on a real API server, applied by us.
type subject struct {
	testing.TB
	client   client.Client
	manifest *unstructured.Unstructured
	live     *unstructured.Unstructured
}

// newSubject applies the manifest into a namespace of its own; NAME stands for a unique name.
func newSubject(t testing.TB, manifest string) *subject {
	t.Helper()
	s := &subject{TB: t, client: testenv.Client(t)}
	s.manifest = testenv.Object(t, strings.ReplaceAll(manifest, "NAME", testenv.UniqueName(t)))
	namespaced, err := s.client.IsObjectNamespaced(s.manifest)
	if err != nil {
		t.Fatal(err)
	}
	if namespaced {
		s.manifest.SetNamespace(testenv.Namespace(t))
	} else {
		t.Cleanup(func() { _ = s.client.Delete(context.WithoutCancel(t.Context()), s.manifest) })
	}
	return s
}

// release takes off the finalizers at the end, so that the namespace can go.
func (s *subject) release() {
	object := s.live.DeepCopy()
	body := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`))
	if err := s.client.Patch(context.WithoutCancel(s.Context()), object, body); client.IgnoreNotFound(err) != nil {
		s.Error(err)
	}
}

// apply applies the manifest and returns the response.
func (s *subject) apply() *unstructured.Unstructured {
	s.Helper()
	if s.live == nil {
		s.Cleanup(s.release)
	}
	s.live = s.applyAs(us, s.manifest)
	return s.live
}

func (s *subject) applyAs(manager string, object *unstructured.Unstructured) *unstructured.Unstructured {
	s.Helper()
	response := object.DeepCopy()
	if err := s.client.Apply(s.Context(), client.ApplyConfigurationFromUnstructured(response), client.ForceOwnership, client.FieldOwner(manager)); err != nil {
		s.Fatal(err)
	}
	return response
}

// them applies a partial manifest as another client.
func (s *subject) them(fragment string) {
	s.Helper()
	object := testenv.Object(s, "apiVersion: "+s.manifest.GetAPIVersion()+"\nkind: "+s.manifest.GetKind()+"\n"+fragment)
	object.SetNamespace(s.manifest.GetNamespace())
	object.SetName(s.manifest.GetName())
	s.applyAs("them", object)
}

// patch changes the object as another client.
func (s *subject) patch(kind types.PatchType, body string) {
	s.Helper()
	if err := s.client.Patch(s.Context(), s.live.DeepCopy(), client.RawPatch(kind, []byte(body)), client.FieldOwner("kubectl-edit")); err != nil {
		s.Fatal(err)
	}
}

func (s *subject) merge(body string) { s.Helper(); s.patch(types.MergePatchType, body) }

// status changes the status as another client.
func (s *subject) status(body string) {
	s.Helper()
	if err := s.client.Status().Patch(s.Context(), s.live.DeepCopy(), client.RawPatch(types.MergePatchType, []byte(body)), client.FieldOwner("controller")); err != nil {
		s.Fatal(err)
	}
}

func (s *subject) get() *unstructured.Unstructured {
	s.Helper()
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(s.manifest.GroupVersionKind())
	if err := s.client.Get(s.Context(), client.ObjectKeyFromObject(s.manifest), object); err != nil {
		s.Fatal(err)
	}
	return object
}

func (s *subject) fingerprint(object *unstructured.Unstructured) string {
	s.Helper()
	fingerprint, err := fieldset.Fingerprint(object, us)
	if err != nil {
		s.Fatal(err)
	}
	return fingerprint
}

// clean applies again and removes what others added, as the update policy "replace" does. It returns the paths removed.
func (s *subject) clean() []string {
	s.Helper()
	for {
		live := s.apply()
		surplus, err := fieldset.Surplus(live.GroupVersionKind().GroupKind(), live.GetManagedFields(), us, func(string) bool { return true })
		if err != nil {
			s.Fatal(err)
		}
		if len(surplus) == 0 {
			return nil
		}
		var texts []string
		for _, path := range surplus {
			texts = append(texts, path.String())
		}
		owned, err := fieldset.Owned(live.GetManagedFields(), us)
		if err != nil {
			s.Fatal(err)
		}
		cleaned := live.DeepCopy()
		fieldset.Remove(cleaned.Object, surplus, owned)
		err = s.client.Update(s.Context(), cleaned, client.FieldOwner(us))
		if apierrors.IsConflict(err) {
			continue // a controller wrote the status
		}
		if err != nil {
			s.Fatalf("removing %v: %v", texts, err)
		}
		if diff := cmp.Diff(s.applyEntry(live), s.applyEntry(cleaned)); diff != "" {
			s.Errorf("our Apply entry must stay intact (-before +after):\n%s", diff)
		}
		if diff := cmp.Diff(declarable(cleaned), declarable(s.apply())); diff != "" {
			s.Errorf("a second apply must have no effect (-before +after):\n%s", diff)
		}
		return texts
	}
}

// declarable returns the part of an object that can be declared.
func declarable(object *unstructured.Unstructured) map[string]any {
	object = object.DeepCopy()
	object.SetManagedFields(nil)
	object.SetResourceVersion("")
	unstructured.RemoveNestedField(object.Object, "status")
	unstructured.RemoveNestedField(object.Object, "metadata", "annotations", "deployment.kubernetes.io/revision")
	return object.Object
}

// applyEntry returns our Apply entry without its time.
func (s *subject) applyEntry(object *unstructured.Unstructured) string {
	s.Helper()
	for _, entry := range object.GetManagedFields() {
		if entry.Manager == us && entry.Operation == "Apply" {
			return string(entry.FieldsV1.GetRawBytes())
		}
	}
	return ""
}

func fieldOwner(name string) client.FieldOwner { return client.FieldOwner(name) }
