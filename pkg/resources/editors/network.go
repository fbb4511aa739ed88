// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package editors

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// ServiceSpecEditor edits the spec of a Service.
type ServiceSpecEditor struct{ editor[corev1.ServiceSpec] }

// NewServiceSpecEditor returns an editor of the given spec.
func NewServiceSpecEditor(spec *corev1.ServiceSpec) *ServiceSpecEditor {
	return &ServiceSpecEditor{editorOf(spec)}
}

// SetType sets the type. Fields that apply only to another type stay.
func (e *ServiceSpecEditor) SetType(serviceType corev1.ServiceType) { e.raw.Type = serviceType }

// EnsurePort sets a port. A port with a name is identified by its name; a port without a name is identified, among
// those without a name, by port and protocol. An empty protocol equals TCP.
func (e *ServiceSpecEditor) EnsurePort(port corev1.ServicePort) {
	ensure(&e.raw.Ports, *port.DeepCopy(), by(func(p corev1.ServicePort) portKey { return keyOfPort(p.Name, p.Port, p.Protocol) }))
}

// RemovePort removes the port with the given name; an empty name removes all ports without a name.
func (e *ServiceSpecEditor) RemovePort(name string) {
	remove(&e.raw.Ports, func(p corev1.ServicePort) bool { return p.Name == name })
}

// SetSelector replaces all labels that select pods; nil clears them.
func (e *ServiceSpecEditor) SetSelector(selector map[string]string) {
	e.raw.Selector = maps.Clone(selector)
}

// EnsureSelector sets one of the labels that select pods.
func (e *ServiceSpecEditor) EnsureSelector(key, value string) { put(&e.raw.Selector, key, value) }

// RemoveSelector removes one of the labels that select pods.
func (e *ServiceSpecEditor) RemoveSelector(key string) { delete(e.raw.Selector, key) }

// SetSessionAffinity sets whether requests of one client go to the same pod.
func (e *ServiceSpecEditor) SetSessionAffinity(affinity corev1.ServiceAffinity) {
	e.raw.SessionAffinity = affinity
}

// SetSessionAffinityConfig replaces the parameters of the session affinity; nil clears them. They require the affinity
// ClientIP.
func (e *ServiceSpecEditor) SetSessionAffinityConfig(config *corev1.SessionAffinityConfig) {
	e.raw.SessionAffinityConfig = config.DeepCopy()
}

// SetPublishNotReadyAddresses sets whether the Service includes pods that are not ready.
func (e *ServiceSpecEditor) SetPublishNotReadyAddresses(publish bool) {
	e.raw.PublishNotReadyAddresses = publish
}

// SetExternalTrafficPolicy sets which pods get traffic from outside the cluster. The API server refuses it for Services
// that get no such traffic.
func (e *ServiceSpecEditor) SetExternalTrafficPolicy(policy corev1.ServiceExternalTrafficPolicy) {
	e.raw.ExternalTrafficPolicy = policy
}

// SetInternalTrafficPolicy sets which pods get traffic from inside the cluster.
func (e *ServiceSpecEditor) SetInternalTrafficPolicy(policy corev1.ServiceInternalTrafficPolicy) {
	e.raw.InternalTrafficPolicy = &policy
}

// SetLoadBalancerSourceRanges replaces the CIDRs from which the load balancer accepts traffic; nil clears them.
func (e *ServiceSpecEditor) SetLoadBalancerSourceRanges(ranges []string) {
	e.raw.LoadBalancerSourceRanges = slices.Clone(ranges)
}

// SetExternalName sets the DNS name to which a Service of type ExternalName refers.
func (e *ServiceSpecEditor) SetExternalName(name string) { e.raw.ExternalName = name }

// IngressSpecEditor edits the spec of an Ingress.
type IngressSpecEditor struct {
	editor[networkingv1.IngressSpec]
}

// NewIngressSpecEditor returns an editor of the given spec.
func NewIngressSpecEditor(spec *networkingv1.IngressSpec) *IngressSpecEditor {
	return &IngressSpecEditor{editorOf(spec)}
}

// SetIngressClassName sets the IngressClass.
func (e *IngressSpecEditor) SetIngressClassName(name string) { e.raw.IngressClassName = &name }

// SetDefaultBackend replaces the backend for requests that no rule matches; nil clears it.
func (e *IngressSpecEditor) SetDefaultBackend(backend *networkingv1.IngressBackend) {
	e.raw.DefaultBackend = backend.DeepCopy()
}

// EnsureRule sets a rule with all its paths, identified by its host. The empty host is a host, too: it stands for all
// hosts.
func (e *IngressSpecEditor) EnsureRule(rule networkingv1.IngressRule) {
	ensure(&e.raw.Rules, *rule.DeepCopy(), by(func(r networkingv1.IngressRule) string { return r.Host }))
}

// RemoveRule removes all rules of a host.
func (e *IngressSpecEditor) RemoveRule(host string) {
	remove(&e.raw.Rules, func(r networkingv1.IngressRule) bool { return r.Host == host })
}

// EnsureTLS sets a TLS entry, identified by its first host. An entry without hosts is ignored.
func (e *IngressSpecEditor) EnsureTLS(tls networkingv1.IngressTLS) {
	if len(tls.Hosts) > 0 {
		ensure(&e.raw.TLS, *tls.DeepCopy(), func(a, b networkingv1.IngressTLS) bool { return isFirstHost(a, b.Hosts[0]) })
	}
}

// RemoveTLS removes the TLS entries whose first host is one of the given hosts.
func (e *IngressSpecEditor) RemoveTLS(hosts ...string) {
	for _, host := range hosts {
		remove(&e.raw.TLS, func(tls networkingv1.IngressTLS) bool { return isFirstHost(tls, host) })
	}
}

func isFirstHost(tls networkingv1.IngressTLS, host string) bool {
	return len(tls.Hosts) > 0 && tls.Hosts[0] == host
}

// NetworkPolicySpecEditor edits the spec of a NetworkPolicy. Rules have no names, so they can only be added, or all
// removed at once.
type NetworkPolicySpecEditor struct {
	editor[networkingv1.NetworkPolicySpec]
}

// NewNetworkPolicySpecEditor returns an editor of the given spec.
func NewNetworkPolicySpecEditor(spec *networkingv1.NetworkPolicySpec) *NetworkPolicySpecEditor {
	return &NetworkPolicySpecEditor{editorOf(spec)}
}

// SetPodSelector replaces the selector of the pods to which the policy applies. An empty one selects all pods of the
// namespace.
func (e *NetworkPolicySpecEditor) SetPodSelector(selector metav1.LabelSelector) {
	e.raw.PodSelector = *selector.DeepCopy()
}

// AppendIngressRule adds a rule for incoming traffic, even if an equal one exists.
func (e *NetworkPolicySpecEditor) AppendIngressRule(rule networkingv1.NetworkPolicyIngressRule) {
	e.raw.Ingress = append(slices.Clone(e.raw.Ingress), *rule.DeepCopy())
}

// RemoveIngressRules removes all rules for incoming traffic. A policy of type Ingress then allows no incoming traffic.
func (e *NetworkPolicySpecEditor) RemoveIngressRules() { e.raw.Ingress = nil }

// AppendEgressRule adds a rule for outgoing traffic, even if an equal one exists.
func (e *NetworkPolicySpecEditor) AppendEgressRule(rule networkingv1.NetworkPolicyEgressRule) {
	e.raw.Egress = append(slices.Clone(e.raw.Egress), *rule.DeepCopy())
}

// RemoveEgressRules removes all rules for outgoing traffic. A policy of type Egress then allows no outgoing traffic.
func (e *NetworkPolicySpecEditor) RemoveEgressRules() { e.raw.Egress = nil }

// SetPolicyTypes replaces the kinds of traffic to which the policy applies. If nil, the API server derives them from
// the rules.
func (e *NetworkPolicySpecEditor) SetPolicyTypes(types []networkingv1.PolicyType) {
	e.raw.PolicyTypes = slices.Clone(types)
}
