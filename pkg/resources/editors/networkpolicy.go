// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package editors

import (
	"slices"

	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// NetworkPolicySpecEditor edits the spec of a NetworkPolicy. Rules have no name, so they can only be added, or removed
// all together.
type NetworkPolicySpecEditor struct {
	specEditor[networkingv1.NetworkPolicySpec]
}

// NewNetworkPolicySpecEditor returns an editor of the given spec.
func NewNetworkPolicySpecEditor(spec *networkingv1.NetworkPolicySpec) *NetworkPolicySpecEditor {
	return &NetworkPolicySpecEditor{specEditorOf(spec)}
}

// SetPodSelector replaces the selector of the pods to which the policy applies. An empty one selects all pods of the
// namespace.
func (e *NetworkPolicySpecEditor) SetPodSelector(selector metav1.LabelSelector) {
	e.spec.PodSelector = *selector.DeepCopy()
}

// AppendIngressRule adds a rule for incoming traffic, also if there is an equal one.
func (e *NetworkPolicySpecEditor) AppendIngressRule(rule networkingv1.NetworkPolicyIngressRule) {
	e.spec.Ingress = append(slices.Clone(e.spec.Ingress), *rule.DeepCopy())
}

// RemoveIngressRules removes all rules for incoming traffic. If the policy has the type Ingress, it allows no such
// traffic then.
func (e *NetworkPolicySpecEditor) RemoveIngressRules() { e.spec.Ingress = nil }

// AppendEgressRule adds a rule for outgoing traffic, also if there is an equal one.
func (e *NetworkPolicySpecEditor) AppendEgressRule(rule networkingv1.NetworkPolicyEgressRule) {
	e.spec.Egress = append(slices.Clone(e.spec.Egress), *rule.DeepCopy())
}

// RemoveEgressRules removes all rules for outgoing traffic. If the policy has the type Egress, it allows no such
// traffic then.
func (e *NetworkPolicySpecEditor) RemoveEgressRules() { e.spec.Egress = nil }

// SetPolicyTypes replaces the kinds of traffic to which the policy applies. If nil, the API server derives them from
// the rules.
func (e *NetworkPolicySpecEditor) SetPolicyTypes(types []networkingv1.PolicyType) {
	e.spec.PolicyTypes = slices.Clone(types)
}
