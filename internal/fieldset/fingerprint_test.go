// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package fieldset_test

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/internal/fieldset"
)

const deployment = `
apiVersion: apps/v1
kind: Deployment
metadata:
  name: NAME
  labels: {mine: "1"}
  annotations: {mine: "1"}
  finalizers: [example.com/mine]
spec:
  replicas: 0
  selector: {matchLabels: {app: x}}
  template:
    metadata: {labels: {app: x}}
    spec:
      containers:
      - {name: main, image: one, env: [{name: A, value: "1"}], command: [a, b]}
`

func TestFingerprint(t *testing.T) {
	t.Parallel()
	rename := func(s *subject) {
		err := retry.RetryOnConflict(retry.DefaultBackoff, func() error {
			object := s.get()
			object.SetManagedFields([]metav1.ManagedFieldsEntry{{}})
			return s.client.Update(s.Context(), object)
		})
		if err != nil {
			s.Fatal(err)
		}
	}
	for _, tc := range []struct {
		reason  string
		change  func(*subject)
		changes bool
	}{
		{"a repeated apply", func(s *subject) { s.apply() }, false},
		{"a forced apply of the same value: co-ownership", func(s *subject) { s.them(`metadata: {labels: {mine: "1"}}`) }, false},
		{"a foreign label", func(s *subject) { s.merge(`{"metadata":{"labels":{"theirs":"1"}}}`) }, false},
		{"the status", func(s *subject) { s.status(`{"status":{"observedGeneration":9}}`) }, false},
		{"a foreign list item (the generation tells)", func(s *subject) {
			s.patch(types.StrategicMergePatchType, `{"spec":{"template":{"spec":{"containers":[{"name":"side","image":"x"}]}}}}`)
		}, false},
		{"a label of ours", func(s *subject) { s.merge(`{"metadata":{"labels":{"mine":"2"}}}`) }, true},
		{"a label of ours, removed", func(s *subject) { s.merge(`{"metadata":{"labels":{"mine":null}}}`) }, true},
		{"an annotation of ours through the status", func(s *subject) {
			s.status(`{"metadata":{"annotations":{"mine":"2"}},"status":{"observedGeneration":9}}`)
		}, true},
		{"a scale", func(s *subject) { s.scale(2) }, true},
		{"an item of a keyed list", func(s *subject) {
			s.patch(types.JSONPatchType, `[{"op":"replace","path":"/spec/template/spec/containers/0/image","value":"two"}]`)
		}, true},
		{"managed fields, reset", rename, true},
	} {
		t.Run(tc.reason, func(t *testing.T) {
			t.Parallel()
			s := newSubject(t, deployment)
			before := s.fingerprint(s.apply())
			if len(before) != 16 {
				t.Fatalf("expected 16 digits, got %q", before)
			}
			if read := s.fingerprint(s.get()); read != before {
				t.Fatalf("response and read must agree, got %s and %s", before, read)
			}
			tc.change(s)
			after := s.fingerprint(s.get())
			if (after != before) != tc.changes {
				t.Errorf("before %s, after %s, managed fields %v", before, after, s.get().GetManagedFields())
			}
		})
	}
}

func (s *subject) scale(replicas int64) {
	s.Helper()
	scale := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "autoscaling/v1", "kind": "Scale", "spec": map[string]any{"replicas": replicas}}}
	if err := s.client.SubResource("scale").Update(s.Context(), s.live.DeepCopy(), client.WithSubResourceBody(scale), client.FieldOwner("scaler")); err != nil {
		s.Fatal(err)
	}
}

// TestFingerprintIsIndependent of what does not say who owns what.
func TestFingerprintIsIndependent(t *testing.T) {
	t.Parallel()
	entry := func(manager, operation, subresource, fields string, seconds int64) metav1.ManagedFieldsEntry {
		time := metav1.Unix(seconds, 0)
		return metav1.ManagedFieldsEntry{
			Manager: manager, Operation: metav1.ManagedFieldsOperationType(operation), Subresource: subresource, APIVersion: "v1",
			FieldsType: "FieldsV1", FieldsV1: metav1.NewFieldsV1(fields), Time: &time,
		}
	}
	const data, more = `{"f:data":{"f:a":{},"f:b":{}}}`, `{"f:data":{"f:c":{}}}`
	object := func(uid types.UID, entries ...metav1.ManagedFieldsEntry) string {
		u := &unstructured.Unstructured{Object: map[string]any{}}
		u.SetUID(uid)
		u.SetManagedFields(entries)
		fingerprint, err := fieldset.Fingerprint(u, us)
		if err != nil {
			t.Fatal(err)
		}
		// What is watched for its metadata only comes in this form.
		typed, err := fieldset.Fingerprint(&metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{UID: uid, ManagedFields: entries}}, us)
		if err != nil || typed != fingerprint {
			t.Errorf("want the same for both forms of an object, got %s and %s, %v", fingerprint, typed, err)
		}
		return fingerprint
	}
	base := object("u", entry(us, "Apply", "", data, 1), entry(us, "Update", "", more, 1))
	for _, tc := range []struct {
		reason string
		got    string
		same   bool
	}{
		{"time", object("u", entry(us, "Apply", "", data, 9), entry(us, "Update", "", more, 9)), true},
		{"order of entries", object("u", entry(us, "Update", "", more, 1), entry(us, "Apply", "", data, 1)), true},
		{"order of fields", object("u", entry(us, "Apply", "", `{"f:data":{"f:b":{},"f:a":{}}}`, 1), entry(us, "Update", "", more, 1)), true},
		{"others", object("u", entry("them", "Apply", "", data, 1), entry(us, "Apply", "", data, 1), entry(us, "Update", "", more, 1)), true},
		{"our own writes of the status", object("u", entry(us, "Apply", "", data, 1), entry(us, "Update", "", more, 1), entry(us, "Update", "status", more, 1)), true},
		{"UID", object("v", entry(us, "Apply", "", data, 1), entry(us, "Update", "", more, 1)), false},
		{"operation", object("u", entry(us, "Update", "", data, 1), entry(us, "Apply", "", more, 1)), false},
		{"an entry less", object("u", entry(us, "Apply", "", data, 1)), false},
		{"a field less", object("u", entry(us, "Apply", "", `{"f:data":{"f:a":{}}}`, 1), entry(us, "Update", "", more, 1)), false},
	} {
		if (tc.got == base) != tc.same {
			t.Errorf("%s: %s, base %s", tc.reason, tc.got, base)
		}
	}
	broken := &unstructured.Unstructured{Object: map[string]any{}}
	broken.SetManagedFields([]metav1.ManagedFieldsEntry{entry(us, "Apply", "", `{"x":1}`, 1)})
	if _, err := fieldset.Fingerprint(broken, us); err == nil {
		t.Error("fields that cannot be parsed are an error")
	}
}
