// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package renames

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/component-operator/runtime/internal/finalizers"
)

var names = Names{Former: []string{"a.io", "b.io"}, Name: "new.io", FieldOwner: "manager", Finalizers: finalizers.Set{Current: "new.io/finalizer", Former: []string{"old.io/own"}}}

// entry is a set of fields of a manager.
func entry(manager string, operation metav1.ManagedFieldsOperationType, fields string) metav1.ManagedFieldsEntry {
	return metav1.ManagedFieldsEntry{Manager: manager, Operation: operation, APIVersion: "v1", FieldsV1: metav1.NewFieldsV1(fields)}
}

func in(version string, e metav1.ManagedFieldsEntry) metav1.ManagedFieldsEntry {
	e.APIVersion, e.Time = version, &metav1.Time{}
	return e
}

func newer(e metav1.ManagedFieldsEntry) metav1.ManagedFieldsEntry {
	e.Time = &metav1.Time{Time: time.Unix(1, 0)}
	return e
}

func TestChanges(t *testing.T) {
	t.Parallel()
	const (
		apply  = metav1.ManagedFieldsOperationApply
		update = metav1.ManagedFieldsOperationUpdate
	)
	for _, test := range []struct {
		reason string
		object metav1.ObjectMeta
		want   map[string]any
	}{
		{"nothing has a former name", metav1.ObjectMeta{
			Labels: map[string]string{"a.io.evil/owner-id": "1", "a.io": "2", "new.io/owner-id": "3", "a.io/tier": "4"}, Annotations: map[string]string{"a.io/note": "5"},
			Finalizers:    []string{"others.io/x", "a.io/cleanup"},
			ManagedFields: []metav1.ManagedFieldsEntry{entry("manager", apply, `{"f:data":{}}`), entry("kubectl", apply, `{}`)},
		}, nil},
		{"keys get the present name, and values that are there stay", metav1.ObjectMeta{
			Labels:      map[string]string{"a.io/owner-id": "1", "b.io/barrier-owner-id": "2", "app": "3", "b.io/owner-id": "4"},
			Annotations: map[string]string{"a.io/digest": "old", "new.io/digest": "new"},
		}, map[string]any{
			"labels":      map[string]any{"a.io/owner-id": nil, "new.io/owner-id": "1", "b.io/barrier-owner-id": nil, "new.io/barrier-owner-id": "2", "b.io/owner-id": nil},
			"annotations": map[string]any{"a.io/digest": nil},
		}},
		{"finalizers keep their order, and each is there once", metav1.ObjectMeta{
			Finalizers: []string{"a.io", "others.io/x", "b.io/finalizer", "a.io/outcome", "a.io/inventory", "old.io/own"},
		}, map[string]any{"finalizers": []string{"new.io/finalizer", "others.io/x", "new.io/outcome", "new.io/inventory"}}},
		{"an object that is being deleted must not get others", metav1.ObjectMeta{
			Finalizers: []string{"a.io/outcome"}, DeletionTimestamp: &metav1.Time{Time: time.Unix(1, 0)}, Labels: map[string]string{"a.io/owner-id": "1"},
		}, map[string]any{"labels": map[string]any{"a.io/owner-id": nil, "new.io/owner-id": "1"}}},
		{"fields of former managers", metav1.ObjectMeta{
			ManagedFields: []metav1.ManagedFieldsEntry{
				entry("a.io", apply, `{"f:metadata":{"f:labels":{"f:a.io/owner-id":{},"f:app":{}},"f:finalizers":{".":{},"v:\"a.io/outcome\"":{},"v:\"x.io/y\"":{}}},"f:data":{"f:a.io/x":{}}}`),
				entry("kubectl", update, `{"f:data":{"f:two":{}}}`),
			},
		}, map[string]any{"managedFields": []metav1.ManagedFieldsEntry{
			entry("manager", apply, `{"f:data":{"f:a.io/x":{}},"f:metadata":{"f:finalizers":{".":{},"v:\"new.io/outcome\"":{},"v:\"x.io/y\"":{}},"f:labels":{"f:app":{},"f:new.io/owner-id":{}}}}`),
			entry("kubectl", update, `{"f:data":{"f:two":{}}}`),
		}}},
		{"fields of a former manager and of the present one", metav1.ObjectMeta{
			ManagedFields: []metav1.ManagedFieldsEntry{
				entry("a.io", apply, `{"f:data":{"f:one":{}}}`), entry("manager", apply, `{"f:data":{"f:two":{}}}`), entry("a.io", update, `{"f:data":{"f:three":{}}}`),
			},
		}, map[string]any{"managedFields": []metav1.ManagedFieldsEntry{
			entry("manager", apply, `{"f:data":{"f:one":{},"f:two":{}}}`), entry("manager", update, `{"f:data":{"f:three":{}}}`),
		}}},
		{"keys have the present name already, and their managed fields do not", metav1.ObjectMeta{
			Labels: map[string]string{"new.io/owner-id": "1"},
			ManagedFields: []metav1.ManagedFieldsEntry{
				entry("a.io", apply, `{"f:data":{"f:one":{}}}`), entry("manager", update, `{"f:metadata":{"f:labels":{"f:new.io/owner-id":{}}}}`),
			},
		}, map[string]any{"managedFields": []metav1.ManagedFieldsEntry{
			entry("manager", apply, `{"f:data":{"f:one":{}},"f:metadata":{"f:labels":{"f:new.io/owner-id":{}}}}`),
		}}},
		{"a manager has one entry for its applies in all versions", metav1.ObjectMeta{
			ManagedFields: []metav1.ManagedFieldsEntry{
				in("v1beta1", entry("a.io", apply, `{"f:data":{"f:one":{}}}`)), newer(entry("manager", apply, `{"f:data":{"f:two":{}}}`)),
				in("v1beta1", entry("b.io", update, `{"f:data":{"f:three":{}}}`)), entry("a.io", update, `{"f:data":{"f:four":{}}}`),
			},
		}, map[string]any{"managedFields": []metav1.ManagedFieldsEntry{
			newer(entry("manager", apply, `{"f:data":{"f:one":{},"f:two":{}}}`)),
			in("v1beta1", entry("manager", update, `{"f:data":{"f:three":{}}}`)), entry("manager", update, `{"f:data":{"f:four":{}}}`),
		}}},
	} {
		got, entries, err := names.Changes(&test.object)
		if err != nil {
			t.Fatal(err)
		}
		if got == nil {
			got = entries
		}
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.reason, diff)
		}
	}
	broken := &metav1.ObjectMeta{ManagedFields: []metav1.ManagedFieldsEntry{entry("a.io", apply, `{`)}}
	if _, _, err := names.Changes(broken); err == nil {
		t.Error("want fields that cannot be parsed to be an error")
	}
}

func TestRenamed(t *testing.T) {
	t.Parallel()
	present := map[string]string{"a.io/digest": "1", "b": "2"}
	if _, changed := names.Renamed(map[string]string{"b": "2"}); changed {
		t.Error("want annotations without a former name to stay")
	}
	got, changed := names.Renamed(present)
	if diff := cmp.Diff(map[string]string{"new.io/digest": "1", "b": "2"}, got); diff != "" || !changed || present["a.io/digest"] != "1" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
