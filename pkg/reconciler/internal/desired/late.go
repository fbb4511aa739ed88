// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package desired

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/pkg/behaviors"
	"github.com/component-operator/runtime/pkg/inventory"
	"github.com/component-operator/runtime/pkg/status"
	"github.com/component-operator/runtime/pkg/types"
)

// Source returns what the request has for a desired object, with its behaviors.
func (m *Manifests) Source(t *Object) client.Object { return m.source.Objects[t.Index] }

// Judges returns the judges of those desired objects that have one of their own; nil if there are none.
func (m *Manifests) Judges(wanted []*Object) map[types.ObjectID]status.Judge {
	var judges map[types.ObjectID]status.Judge
	for _, t := range wanted {
		if !t.Judged {
			continue
		}
		if judge, ok := behaviors.Of[behaviors.Judged](m.Source(t)); ok {
			if judges == nil {
				judges = map[types.ObjectID]status.Judge{}
			}
			judges[t.Key] = judge
		}
	}
	return judges
}

// Complete completes the manifest of a late object, for the rest of the call, and returns the desired object that belongs to it. The error of the
// behavior is a *LateError; any other one means that the completed manifest cannot be accepted.
func (m *Manifests) Complete(t *Object) (*Object, error) {
	late, ok := behaviors.Of[behaviors.Late](m.Source(t))
	if !ok {
		return t, nil
	}
	announced, err := m.announced(t)
	if err != nil {
		return nil, err
	}
	manifest := announced.DeepCopy()
	if err := late.Complete(manifest); err != nil {
		return nil, &LateError{err: err}
	}
	if id := types.IDOf(manifest); id != t.Key || manifest.GroupVersionKind() != t.GVK() {
		return nil, inventory.NewRefusedError(fmt.Sprintf("%s: its late manifest is %s of %s; it must have the type, name and namespace that were announced",
			t.Key, id, manifest.GetAPIVersion()))
	}
	if problem := m.preparer.normalise(manifest); problem != "" {
		return nil, inventory.NewRefusedError(problem)
	}
	if key := m.preparer.changedPolicy(announced, manifest); key != "" {
		return nil, inventory.NewRefusedError(fmt.Sprintf("%s: annotation %s: its late manifest has value %q; allowed is what was announced: %q",
			t.Key, key, manifest.GetAnnotations()[key], announced.GetAnnotations()[key]))
	}
	completed, problems, err := m.preparer.newObject(t.Index, manifest, m.source)
	if err == nil && len(problems) > 0 {
		err = inventory.NewRefusedError(problems...)
	}
	if err != nil {
		return nil, err
	}
	completed.Traits, completed.Instance = t.Traits, t.Instance
	if m.completed == nil {
		m.completed = map[int]*unstructured.Unstructured{}
	}
	m.completed[t.Index] = manifest
	return completed, nil
}

// Uncomplete makes all late manifests those that were announced.
func (m *Manifests) Uncomplete() { m.completed = nil }

// changedPolicy returns the first annotation of the reconciler that differs between two manifests; empty if there is none.
func (p Preparer) changedPolicy(announced, completed *unstructured.Unstructured) string {
	before, after := announced.GetAnnotations(), completed.GetAnnotations()
	all := maps.Clone(after)
	if all == nil {
		all = map[string]string{}
	}
	maps.Copy(all, before)
	for _, key := range slices.Sorted(maps.Keys(all)) {
		if strings.HasPrefix(key, p.Keys.Prefix) && before[key] != after[key] {
			return key
		}
	}
	return ""
}

// LateError is an error of the behavior Late.
type LateError struct{ err error }

// Error returns the text of the behavior's error.
func (e *LateError) Error() string { return e.err.Error() }

// Unwrap returns the behavior's error.
func (e *LateError) Unwrap() error { return e.err }
