// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package fieldset_test

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/component-operator/runtime/internal/fieldset"
)

func TestGained(t *testing.T) {
	t.Parallel()
	const apply, update = metav1.ManagedFieldsOperationApply, metav1.ManagedFieldsOperationUpdate
	entry := func(manager string, operation metav1.ManagedFieldsOperationType, fields string) metav1.ManagedFieldsEntry {
		return metav1.ManagedFieldsEntry{Manager: manager, Operation: operation, APIVersion: "v1", FieldsV1: metav1.NewFieldsV1(fields)}
	}
	before := []metav1.ManagedFieldsEntry{
		entry("us", apply, `{"f:data":{"f:kept":{}}}`),
		entry("us", update, `{"f:data":{"f:patched":{}}}`),
		entry("others", update, `{"f:data":{"f:taken":{}}}`),
	}
	after := []metav1.ManagedFieldsEntry{entry("us", apply, `{"f:data":{"f:kept":{},"f:patched":{},"f:taken":{},"f:removed":{}}}`)}
	got, err := fieldset.Gained(before, after, "us")
	if err != nil {
		t.Fatal(err)
	}
	texts := map[string]bool{}
	for _, path := range got {
		texts[path.String()] = true
	}
	if len(got) != 2 || !texts[".data.taken"] || !texts[".data.removed"] {
		t.Errorf("want what others had changed or removed, got %v", got)
	}
}
