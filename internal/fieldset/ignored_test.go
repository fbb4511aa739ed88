// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package fieldset_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/component-operator/runtime/internal/fieldset"
)

// TestPaths has the notations that users write.
func TestPaths(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"":                         "",
		"spec.replicas":            ".spec.replicas",
		" .spec.replicas , data.a": ".spec.replicas .data.a",
		`spec.ports[port=80,protocol="TCP"].nodePort,data.a`: `.spec.ports[port=80,protocol="TCP"].nodePort .data.a`,
		`metadata.annotations["example.com/a,b"]`:            ".metadata.annotations.example.com/a,b",
	} {
		paths, err := fieldset.ParsePaths(text)
		var got []string
		for _, path := range paths {
			got = append(got, path.String())
		}
		if diff := cmp.Diff(want, strings.Join(got, " ")); err != nil || diff != "" {
			t.Errorf("%q: %v (-want +got):\n%s", text, err, diff)
		}
	}
	for _, text := range []string{"spec[", "a,,b", `metadata.annotations["a]`, "spec.ports[x]"} {
		if paths, err := fieldset.ParsePaths(text); err == nil {
			t.Errorf("%q: got %v", text, paths)
		}
	}
}

// TestCeded returns what others own at or below some paths, except the keys of list items.
func TestCeded(t *testing.T) {
	t.Parallel()
	entry := func(manager, fields string) metav1.ManagedFieldsEntry {
		return metav1.ManagedFieldsEntry{Manager: manager, Operation: metav1.ManagedFieldsOperationUpdate, APIVersion: "v1", FieldsType: "FieldsV1", FieldsV1: metav1.NewFieldsV1(fields)}
	}
	entries := []metav1.ManagedFieldsEntry{
		entry("us", `{"f:data":{"f:ours":{},"f:both":{}}}`),
		entry("other", `{"f:data":{"f:both":{},"f:theirs":{}},"f:spec":{"f:containers":{"k:{\"name\":\"a\"}":{".":{},"f:name":{},"f:image":{}}}}}`),
	}
	for text, want := range map[string][]string{
		"data":                        {".data.both", ".data.theirs"},
		"data.both":                   {".data.both"},
		"data.ours":                   nil,
		"dat":                         nil,
		`spec.containers[name="a"]`:   {`.spec.containers[name="a"].image`},
		"spec.containers,data.theirs": {".data.theirs", `.spec.containers[name="a"].image`},
	} {
		paths, err := fieldset.ParsePaths(text)
		if err != nil {
			t.Fatal(err)
		}
		ceded, err := fieldset.Ceded(entries, "us", paths)
		var got []string
		for _, path := range ceded {
			got = append(got, path.String())
		}
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("%s: %v (-want +got):\n%s", text, err, diff)
		}
	}
}
