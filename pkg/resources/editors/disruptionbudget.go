// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package editors

import (
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// PodDisruptionBudgetSpecEditor edits the spec of a PodDisruptionBudget.
type PodDisruptionBudgetSpecEditor struct {
	specEditor[policyv1.PodDisruptionBudgetSpec]
}

// NewPodDisruptionBudgetSpecEditor returns an editor of the given spec.
func NewPodDisruptionBudgetSpecEditor(spec *policyv1.PodDisruptionBudgetSpec) *PodDisruptionBudgetSpecEditor {
	return &PodDisruptionBudgetSpecEditor{specEditorOf(spec)}
}

// SetMinAvailable sets how many pods, or what percentage, must stay available. The API server refuses a budget that has
// maxUnavailable as well; see [PodDisruptionBudgetSpecEditor.ClearMaxUnavailable].
func (e *PodDisruptionBudgetSpecEditor) SetMinAvailable(value intstr.IntOrString) {
	e.spec.MinAvailable = &value
}

// ClearMinAvailable clears minAvailable.
func (e *PodDisruptionBudgetSpecEditor) ClearMinAvailable() { e.spec.MinAvailable = nil }

// SetMaxUnavailable sets how many pods, or what percentage, may be unavailable. The API server refuses a budget that
// has minAvailable as well; see [PodDisruptionBudgetSpecEditor.ClearMinAvailable].
func (e *PodDisruptionBudgetSpecEditor) SetMaxUnavailable(value intstr.IntOrString) {
	e.spec.MaxUnavailable = &value
}

// ClearMaxUnavailable clears maxUnavailable.
func (e *PodDisruptionBudgetSpecEditor) ClearMaxUnavailable() { e.spec.MaxUnavailable = nil }

// SetSelector replaces the selector of pods. With nil the budget selects no pods, with an empty selector it selects all
// pods of the namespace.
func (e *PodDisruptionBudgetSpecEditor) SetSelector(selector *metav1.LabelSelector) {
	e.spec.Selector = selector.DeepCopy()
}

// SetUnhealthyPodEvictionPolicy sets when pods may be evicted that are not ready.
func (e *PodDisruptionBudgetSpecEditor) SetUnhealthyPodEvictionPolicy(policy policyv1.UnhealthyPodEvictionPolicyType) {
	e.spec.UnhealthyPodEvictionPolicy = &policy
}

// ClearUnhealthyPodEvictionPolicy clears the policy for pods that are not ready.
func (e *PodDisruptionBudgetSpecEditor) ClearUnhealthyPodEvictionPolicy() {
	e.spec.UnhealthyPodEvictionPolicy = nil
}
