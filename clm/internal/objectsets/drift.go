// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package objectsets

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/component-operator/runtime/internal/fieldset"
	"github.com/component-operator/runtime/internal/texts"
	"github.com/component-operator/runtime/pkg/cluster"
	"github.com/component-operator/runtime/pkg/objectset/v1alpha1"
	"github.com/component-operator/runtime/pkg/reconciler"
	"github.com/component-operator/runtime/pkg/types"
)

// Drift is how an object differs from what a set declares.
type Drift struct {
	Object *unstructured.Unstructured
	// Missing means that the object does not exist.
	Missing bool
	// Before is the object as it is; nil if it does not exist. After is what applying would make of it.
	Before, After *unstructured.Unstructured
	// Changed are the fields that others have changed or removed.
	Changed []reconciler.FieldChange
	// Refusal says why the object cannot be compared; empty if it can.
	Refusal string
}

// Drift compares the objects that a set has applied with what it declares, by dry runs. Objects that belong to another
// owner are left out.
func (f *Found) Drift(ctx context.Context, c cluster.Client, set v1alpha1.Set) ([]Drift, error) {
	var found []Drift
	begun := map[string]bool{}
	for _, phase := range set.GetSetStatus().Phases {
		begun[phase.Name] = phase.Applied > 0
	}
	for _, phase := range set.GetSetSpec().Phases {
		if !begun[phase.Name] {
			continue
		}
		for _, declared := range phase.Objects {
			drift, err := f.driftOf(ctx, c, set, declared)
			if err != nil {
				return nil, fmt.Errorf("phase %q: %w", phase.Name, err)
			}
			if drift != nil {
				found = append(found, *drift)
			}
		}
	}
	return found, nil
}

// driftOf returns the drift of one object; nil if there is none, or if the object belongs to another owner.
func (f *Found) driftOf(ctx context.Context, c cluster.Client, set v1alpha1.Set, declared v1alpha1.Object) (*Drift, error) {
	manifest, err := manifestOf(c, set, declared)
	if err != nil {
		return nil, err
	}
	actual := &unstructured.Unstructured{}
	actual.SetGroupVersionKind(manifest.GroupVersionKind())
	switch err := c.Get(ctx, client.ObjectKeyFromObject(manifest), actual); {
	case apierrors.IsNotFound(err), cluster.IsNoMatch(err):
		return &Drift{Object: manifest, Missing: true, After: manifest}, nil
	case err != nil:
		return nil, fmt.Errorf("reading %s: %w", types.IDOf(manifest), err)
	}
	if !f.owns(set, actual) {
		return nil, nil //nolint:nilnil // it is another owner's
	}
	prefix := f.reconcilerName() + "/"
	// The marks of the operator are part of what it applies.
	manifest.SetLabels(withMarks(manifest.GetLabels(), actual.GetLabels(), prefix))
	manifest.SetAnnotations(withMarks(manifest.GetAnnotations(), actual.GetAnnotations(), prefix))
	encodeStringData(manifest)
	applied := manifest.DeepCopy()
	err = c.Patch(ctx, applied, client.Apply, client.FieldOwner(f.reconcilerName()), client.ForceOwnership, client.DryRunAll) //nolint:staticcheck // an unstructured object
	switch {
	case isRefusal(err):
		return &Drift{Object: manifest, Refusal: err.Error()}, nil
	case err != nil:
		return nil, fmt.Errorf("comparing %s: %w", types.IDOf(manifest), err)
	}
	fields, err := fieldset.Gained(actual.GetManagedFields(), applied.GetManagedFields(), f.reconcilerName())
	if err != nil {
		return nil, fmt.Errorf("comparing %s: %w", types.IDOf(manifest), err)
	}
	if len(fields) == 0 {
		return nil, nil //nolint:nilnil // there is no drift
	}
	changed, err := f.changes(actual, fields)
	return &Drift{Object: manifest, Before: presentable(actual, prefix), After: presentable(applied, prefix), Changed: changed}, err
}

// isRefusal reports whether the API server has refused a dry run, as it refuses unknown fields.
func isRefusal(err error) bool {
	var status apierrors.APIStatus
	return errors.As(err, &status) && !apierrors.IsServerTimeout(err) && !apierrors.IsTooManyRequests(err) && !apierrors.IsServiceUnavailable(err)
}

// encodeStringData moves stringData of a Secret into data, as the operator does.
func encodeStringData(object *unstructured.Unstructured) {
	values, found, err := unstructured.NestedStringMap(object.Object, "stringData")
	if object.GroupVersionKind().GroupKind() != (schema.GroupKind{Kind: "Secret"}) || !found || err != nil {
		return
	}
	data, _, _ := unstructured.NestedStringMap(object.Object, "data")
	if data == nil {
		data = map[string]string{}
	}
	for key, value := range values {
		data[key] = base64.StdEncoding.EncodeToString([]byte(value))
	}
	unstructured.RemoveNestedField(object.Object, "stringData")
	_ = unstructured.SetNestedStringMap(object.Object, data, "data") // it cannot fail: data is a map of texts, or was missing
}

// changes names the clients that changed the fields of an object.
func (f *Found) changes(actual *unstructured.Unstructured, fields []fieldpath.Path) ([]reconciler.FieldChange, error) {
	writers, err := fieldset.Writers(actual.GetManagedFields(), fields, f.reconcilerName())
	if err != nil {
		return nil, fmt.Errorf("comparing %s: %w", types.IDOf(actual), err)
	}
	changed := make([]reconciler.FieldChange, len(fields))
	for i, path := range fields {
		changed[i] = reconciler.FieldChange{Path: texts.Text(path.String()), Manager: writers[i].Manager}
		if !writers[i].Time.IsZero() {
			changed[i].Time = &metav1.Time{Time: writers[i].Time}
		}
	}
	slices.SortFunc(changed, func(a, b reconciler.FieldChange) int { return strings.Compare(a.Path, b.Path) })
	return changed, nil
}

// withMarks returns entries with those of the actual object that have the prefix.
func withMarks(entries, actual map[string]string, prefix string) map[string]string {
	result := map[string]string{}
	maps.Copy(result, entries)
	for key, value := range actual {
		if strings.HasPrefix(key, prefix) {
			result[key] = value
		}
	}
	return result
}

// presentable returns a copy of an object without the status, and the metadata that the server and the operator
// maintain.
func presentable(object *unstructured.Unstructured, prefix string) *unstructured.Unstructured {
	object = object.DeepCopy()
	dropServerFields(object)
	object.SetLabels(withoutMarks(object.GetLabels(), prefix))
	object.SetAnnotations(withoutMarks(object.GetAnnotations(), prefix))
	return object
}

// dropServerFields removes what the API server decides about. The operator ignores it in an object that a set declares.
func dropServerFields(object *unstructured.Unstructured) {
	for _, field := range []string{"uid", "resourceVersion", "generation", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds", "managedFields", "selfLink"} {
		unstructured.RemoveNestedField(object.Object, "metadata", field)
	}
	unstructured.RemoveNestedField(object.Object, "status")
}

func withoutMarks(entries map[string]string, prefix string) map[string]string {
	var result map[string]string
	for key, value := range entries {
		if strings.HasPrefix(key, prefix) {
			continue
		}
		if result == nil {
			result = map[string]string{}
		}
		result[key] = value
	}
	return result
}
