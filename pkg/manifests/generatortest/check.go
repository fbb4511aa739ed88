// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package generatortest

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/internal/annotations"
	"github.com/component-operator/runtime/internal/clients"
	"github.com/component-operator/runtime/pkg/types"
)

// normalise returns the objects, sorted, without Go types and without fields that only the server sets; and the problems of objects
// that it had to leave out.
func normalise(objects []client.Object, scheme *runtime.Scheme) ([]*unstructured.Unstructured, []string) {
	var normalised []*unstructured.Unstructured
	var problems []string
	for i, object := range objects {
		u, err := toUnstructured(object, scheme)
		if err != nil {
			problems = append(problems, fmt.Sprintf("object %d: %s", i+1, err))
			continue
		}
		normalised = append(normalised, u)
	}
	slices.SortStableFunc(normalised, func(a, b *unstructured.Unstructured) int {
		return cmp.Or(
			cmp.Compare(a.GetKind(), b.GetKind()), cmp.Compare(a.GetAPIVersion(), b.GetAPIVersion()),
			cmp.Compare(a.GetNamespace(), b.GetNamespace()), cmp.Compare(a.GetName(), b.GetName()))
	})
	return normalised, problems
}

func toUnstructured(object client.Object, scheme *runtime.Scheme) (*unstructured.Unstructured, error) {
	converted, err := clients.ToUnstructured(object, scheme)
	if err != nil {
		return nil, err
	}
	u := converted.DeepCopy()
	unstructured.RemoveNestedField(u.Object, "status")
	unstructured.RemoveNestedField(u.Object, "metadata", "creationTimestamp")
	return u, nil
}

// check returns the problems of the objects that are wrong in any case.
func (s Suite) check(objects []*unstructured.Unstructured, namespace string) []string {
	var problems []string
	seen := map[string]bool{}
	for _, u := range objects {
		kind := u.GroupVersionKind().GroupKind()
		text := types.ObjectText(kind, u.GetNamespace(), u.GetName())
		if kind.Kind == "" || u.GetAPIVersion() == "" || u.GetName() == "" {
			problems = append(problems, fmt.Sprintf("%s: apiVersion, kind and metadata.name are required, got %q, %q and %q", text, u.GetAPIVersion(), kind.Kind, u.GetName()))
		}
		// An object may be a dependent, and a deletion hook of each kind: these are applied at different times.
		hook := u.GetAnnotations()[s.ReconcilerName+"/"+types.AnnotationKeySuffixDeletionHook]
		key := kind.String() + " " + cmp.Or(u.GetNamespace(), namespace) + " " + u.GetName() + " " + hook
		if seen[key] {
			problems = append(problems, fmt.Sprintf("%s: defined more than once", text))
		}
		seen[key] = true
		for _, problem := range s.checkAnnotations(u) {
			problems = append(problems, text+": "+problem)
		}
	}
	return problems
}

func (s Suite) checkAnnotations(u *unstructured.Unstructured) []string {
	values, _, err := unstructured.NestedStringMap(u.Object, "metadata", "annotations")
	if err != nil {
		return []string{fmt.Sprintf("metadata.annotations: all values must be strings: %s", err)}
	}
	var problems []string
	for _, key := range slices.Sorted(maps.Keys(values)) {
		suffix, ours := strings.CutPrefix(key, s.ReconcilerName+"/")
		if !ours || slices.Contains(s.OwnAnnotations, suffix) {
			continue
		}
		if err := annotations.Check(suffix, values[key]); err != nil {
			problems = append(problems, fmt.Sprintf("annotation %s: %s", key, err))
		}
	}
	return problems
}
