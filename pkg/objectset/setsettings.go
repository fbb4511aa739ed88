// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package objectset

import (
	"maps"

	"github.com/component-operator/runtime/pkg/objectset/v1alpha1"
)

// setSettings are what a deployment decides about its sets, besides their content: the lifecycle state, the progress
// deadline in seconds, the series, and the change cause.
type setSettings struct {
	Lifecycle   v1alpha1.LifecycleState
	Deadline    int32
	Series      string
	ChangeCause string
}

// settingsOf returns what a set has.
func settingsOf(set v1alpha1.Set) setSettings {
	return setSettings{
		Lifecycle: lifecycleOf(set), Deadline: set.GetSetSpec().ProgressDeadlineSeconds,
		Series: set.GetLabels()[v1alpha1.LabelRevisionsOf], ChangeCause: set.GetAnnotations()[v1alpha1.AnnotationChangeCause],
	}
}

// ApplyTo gives a set the settings.
func (s setSettings) ApplyTo(set v1alpha1.Set) {
	spec := set.GetSetSpec()
	spec.LifecycleState, spec.ProgressDeadlineSeconds = s.Lifecycle, s.Deadline
	set.SetLabels(with(set.GetLabels(), v1alpha1.LabelRevisionsOf, s.Series))
	set.SetAnnotations(withChangeCause(set.GetAnnotations(), s.ChangeCause))
}

// withChangeCause returns a copy of annotations with a change cause; without one if it is empty.
func withChangeCause(annotations map[string]string, cause string) map[string]string {
	return with(annotations, v1alpha1.AnnotationChangeCause, cause)
}

// with returns a copy of a map with an entry; without it if the value is empty.
func with(entries map[string]string, key, value string) map[string]string {
	result := maps.Clone(entries)
	if value == "" {
		delete(result, key)
		return result
	}
	if result == nil {
		result = map[string]string{}
	}
	result[key] = value
	return result
}
