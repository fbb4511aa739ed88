// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package prepare

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/pkg/behaviors"
	"github.com/component-operator/runtime/pkg/inventory"
	"github.com/component-operator/runtime/pkg/status"
	"github.com/component-operator/runtime/pkg/types"
)

// Source returns the object of the request for a desired object, with its behaviors.
func (m *Manifests) Source(t *Object) client.Object { return m.source.Objects[t.Index] }

// Judges returns the judges of desired objects that have their own.
func (m *Manifests) Judges(wanted []*Object) map[types.ObjectID]status.Judge {
	judges := map[types.ObjectID]status.Judge{}
	for _, t := range wanted {
		if t.Judged {
			judges[t.Key] = m.judge(t)
		}
	}
	return judges
}

// judge returns the own judge of a desired object.
func (m *Manifests) judge(t *Object) status.Judge {
	if suspending, ok := behaviors.Of[behaviors.Suspending](m.Source(t)); ok && t.Suspended {
		return suspending.SuspensionJudge()
	}
	judge, _ := behaviors.Of[behaviors.Judged](m.Source(t))
	return judge
}

// Complete completes the manifest of a late object, for the rest of the call, and returns the desired object that
// belongs to it. The error of the behavior is a *LateError; any other one means that the completed manifest cannot be
// accepted.
func (m *Manifests) Complete(t *Object) (*Object, error) {
	late, ok := behaviors.Of[behaviors.Late](m.Source(t))
	if !ok {
		return t, nil
	}
	return m.change(t, "late manifest", func(manifest *unstructured.Unstructured) error {
		return because("its manifest cannot be completed", late.Complete(manifest))
	})
}

// Suspended returns the desired objects, each replaced by its suspended form if it has one. Suspended forms of late
// objects are not complete yet.
func (m *Manifests) Suspended(wanted []*Object) ([]*Object, error) {
	forms := slices.Clone(wanted)
	for i, t := range wanted {
		if !t.Suspending {
			continue
		}
		if t.Late {
			suspending, _ := behaviors.Of[behaviors.Suspending](m.Source(t))
			form := *t
			form.Suspended, form.Vanishing, form.Unchanged = true, suspending.IsDeleted(), true
			form.Judged = suspending.SuspensionJudge() != nil
			form.Digest, form.Former = DigestLate, nil
			form.ReadsContent = form.ReadsContent || form.Judged
			forms[i] = &form
			continue
		}
		form, err := m.Suspend(t)
		var refused *inventory.RefusedError
		switch {
		case err == nil:
			forms[i] = form
		case errors.As(err, &refused):
			return nil, err
		default:
			return nil, fmt.Errorf("%s: %w", t.Key, err)
		}
	}
	return forms, nil
}

// Suspend replaces the manifest of a desired object by its suspended form, for the rest of the call, and returns the
// desired object that belongs to it. It completes a late manifest first. It returns the same errors as Complete.
func (m *Manifests) Suspend(t *Object) (*Object, error) { return m.suspend(t, true) }

// SuspendIncomplete is Suspend for a late manifest that cannot be completed: it suspends the announced manifest.
func (m *Manifests) SuspendIncomplete(t *Object) (*Object, error) { return m.suspend(t, false) }

func (m *Manifests) suspend(t *Object, completed bool) (*Object, error) {
	suspending, ok := behaviors.Of[behaviors.Suspending](m.Source(t))
	if !ok {
		return t, nil
	}
	late, isLate := behaviors.Of[behaviors.Late](m.Source(t))
	unchanged := false
	form, err := m.change(t, "suspended form", func(manifest *unstructured.Unstructured) error {
		if isLate && completed {
			if err := because(noForm, late.Complete(manifest)); err != nil {
				return err
			}
		}
		before := manifest.DeepCopy()
		err := because(noForm, suspending.Suspend(manifest))
		unchanged = apiequality.Semantic.DeepEqual(before, manifest)
		return err
	})
	if err != nil {
		return nil, err
	}
	judge := suspending.SuspensionJudge()
	form.Suspended, form.Vanishing, form.Unchanged, form.Incomplete = true, suspending.IsDeleted(), unchanged, isLate && !completed
	if isLate || !unchanged {
		form.Digest = DigestSuspended + form.Digest
		for i, digest := range form.Former {
			form.Former[i] = DigestSuspended + digest
		}
	}
	form.Judged, form.ReadsContent = judge != nil, form.ReadsContent || judge != nil
	// Without a judge, such an object is deleted as soon as its form is applied.
	form.Unawaited = form.Unawaited || form.Vanishing && judge == nil
	return form, nil
}

// change lets a behavior change a copy of the announced manifest of a desired object. what names the result in errors.
func (m *Manifests) change(t *Object, what string, behavior func(manifest *unstructured.Unstructured) error) (*Object, error) {
	announced, err := m.announced(t)
	if err != nil {
		return nil, err
	}
	manifest := announced.DeepCopy()
	if err := behavior(manifest); err != nil {
		return nil, err
	}
	if id := types.IDOf(manifest); id != t.Key || manifest.GroupVersionKind() != t.GVK() {
		return nil, inventory.NewRefusedError(fmt.Sprintf("%s: its %s is %s of %s; it must have the type, name and namespace that were announced",
			t.Key, what, id, manifest.GetAPIVersion()))
	}
	if problem := m.preparer.normalise(manifest); problem != "" {
		return nil, inventory.NewRefusedError(problem)
	}
	if key := m.preparer.changedPolicy(announced, manifest); key != "" {
		return nil, inventory.NewRefusedError(fmt.Sprintf("%s: annotation %s: its %s has value %q; must be the announced value: %q",
			t.Key, key, what, manifest.GetAnnotations()[key], announced.GetAnnotations()[key]))
	}
	completed, problems, err := m.preparer.newObject(t.Index, manifest, m.source)
	if err == nil && len(problems) > 0 {
		err = inventory.NewRefusedError(problems...)
	}
	if err != nil {
		return nil, err
	}
	completed.Traits, completed.Instance = t.Traits, t.Instance
	m.completed[t.Index] = manifest
	return completed, nil
}

// Read returns the objects that desired objects read, and that are not desired themselves.
func (m *Manifests) Read(wanted []*Object) map[types.ObjectID]bool {
	read := map[types.ObjectID]bool{}
	for _, t := range wanted {
		if !t.Reading {
			continue
		}
		reading, _ := behaviors.Of[behaviors.Reading](m.Source(t))
		for _, r := range reading.Reads() {
			read[types.ObjectID{GroupKind: r.GroupKind(), Namespace: r.Namespace, Name: r.Name}] = true
		}
	}
	return read
}

// Reset makes behaviors drop the data of earlier calls.
func (m *Manifests) Reset(wanted []*Object) {
	for _, t := range wanted {
		if resetting, ok := behaviors.Of[behaviors.Resetting](m.Source(t)); ok && t.Resetting {
			resetting.Reset()
		}
	}
}

// changedPolicy returns the first annotation of the reconciler that differs between two manifests; empty if there is
// none.
func (p Preparer) changedPolicy(announced, completed *unstructured.Unstructured) string {
	before, after := announced.GetAnnotations(), completed.GetAnnotations()
	all := map[string]string{}
	maps.Copy(all, after)
	maps.Copy(all, before)
	for _, key := range slices.Sorted(maps.Keys(all)) {
		if strings.HasPrefix(key, p.Keys.Prefix) && before[key] != after[key] {
			return key
		}
	}
	return ""
}

// noForm is the consequence of a behavior's error for the suspended form.
const noForm = "its suspended form cannot be made"

// because wraps the error of a behavior with its consequence. It returns a *RefusedError unchanged.
func because(consequence string, err error) error {
	var refused *inventory.RefusedError
	if err == nil || errors.As(err, &refused) {
		return err
	}
	return &LateError{err: fmt.Errorf("%s: %w", consequence, err)}
}

// LateError is an error of a behavior that changes a manifest.
type LateError struct{ err error }

// Error returns the consequence and the cause.
func (e *LateError) Error() string { return e.err.Error() }

// Unwrap returns the cause.
func (e *LateError) Unwrap() error { return e.err }
