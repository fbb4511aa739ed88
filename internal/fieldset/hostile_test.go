// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package fieldset_test

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/component-operator/runtime/internal/fieldset"
)

// TestManyPaths computes a fingerprint that leaves out as many fields as an annotation can name. The work is not
// proportional to the product of fields and paths.
func TestManyPaths(t *testing.T) { //nolint:paralleltest // it measures what is allocated
	paths, err := fieldset.ParsePaths(strings.Repeat("a.b.c.d.e.f.g.h,", 16_000))
	if err != nil || len(paths) != 16_000 {
		t.Fatal(len(paths), err)
	}
	var fields strings.Builder
	for i := range 10_000 {
		fmt.Fprintf(&fields, `,"f:key-%d":{}`, i)
	}
	object := &unstructured.Unstructured{Object: map[string]any{}}
	object.SetManagedFields([]metav1.ManagedFieldsEntry{{
		Manager: "us", Operation: "Apply", FieldsType: "FieldsV1", FieldsV1: metav1.NewFieldsV1(`{"f:data":{".":{}` + fields.String() + "}}"),
	}})
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	if _, err := fieldset.Fingerprint(object, "us", paths...); err != nil {
		t.Fatal(err)
	}
	runtime.ReadMemStats(&after)
	if allocated := after.TotalAlloc - before.TotalAlloc; allocated > 100<<20 {
		t.Errorf("%d bytes were allocated", allocated)
	}
}

// TestOpenBrackets ends at the first bracket that is not closed. Looking for the end of each of them would take hours.
func TestOpenBrackets(t *testing.T) {
	t.Parallel()
	if _, err := fieldset.ParsePaths(strings.Repeat("[", 5_000_000)); err == nil || !strings.Contains(err.Error(), "missing ]") {
		t.Errorf("expected an error about the bracket, got %v", err)
	}
}
