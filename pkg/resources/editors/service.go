// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package editors

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// ServiceSpecEditor edits the spec of a Service.
type ServiceSpecEditor struct{ specEditor[corev1.ServiceSpec] }

// NewServiceSpecEditor returns an editor of the given spec.
func NewServiceSpecEditor(spec *corev1.ServiceSpec) *ServiceSpecEditor {
	return &ServiceSpecEditor{specEditorOf(spec)}
}

// SetType sets the type. Fields that only another type has stay.
func (e *ServiceSpecEditor) SetType(serviceType corev1.ServiceType) { e.spec.Type = serviceType }

// EnsurePort sets a port. A port with a name is identified by the name, one without by port and protocol among those
// without a name. An empty protocol is the same as TCP.
func (e *ServiceSpecEditor) EnsurePort(port corev1.ServicePort) {
	ensure(&e.spec.Ports, *port.DeepCopy(), by(func(p corev1.ServicePort) portKey { return keyOfPort(p.Name, p.Port, p.Protocol) }))
}

// RemovePort removes the port with a name; if the name is empty, the ports without a name.
func (e *ServiceSpecEditor) RemovePort(name string) {
	remove(&e.spec.Ports, func(p corev1.ServicePort) bool { return p.Name == name })
}

// SetSelector replaces all labels that select pods; nil clears them.
func (e *ServiceSpecEditor) SetSelector(selector map[string]string) {
	e.spec.Selector = maps.Clone(selector)
}

// EnsureSelector sets one of the labels that select pods.
func (e *ServiceSpecEditor) EnsureSelector(key, value string) { put(&e.spec.Selector, key, value) }

// RemoveSelector removes one of the labels that select pods.
func (e *ServiceSpecEditor) RemoveSelector(key string) { delete(e.spec.Selector, key) }

// SetSessionAffinity sets whether requests of one client go to the same pod.
func (e *ServiceSpecEditor) SetSessionAffinity(affinity corev1.ServiceAffinity) {
	e.spec.SessionAffinity = affinity
}

// SetSessionAffinityConfig replaces the parameters of the session affinity; nil clears them. They require the affinity
// ClientIP.
func (e *ServiceSpecEditor) SetSessionAffinityConfig(config *corev1.SessionAffinityConfig) {
	e.spec.SessionAffinityConfig = config.DeepCopy()
}

// SetPublishNotReadyAddresses sets whether the Service includes pods that are not ready.
func (e *ServiceSpecEditor) SetPublishNotReadyAddresses(publish bool) {
	e.spec.PublishNotReadyAddresses = publish
}

// SetExternalTrafficPolicy sets which pods get traffic from outside the cluster. The API server refuses it for Services
// that get no such traffic.
func (e *ServiceSpecEditor) SetExternalTrafficPolicy(policy corev1.ServiceExternalTrafficPolicy) {
	e.spec.ExternalTrafficPolicy = policy
}

// SetInternalTrafficPolicy sets which pods get traffic from inside the cluster.
func (e *ServiceSpecEditor) SetInternalTrafficPolicy(policy corev1.ServiceInternalTrafficPolicy) {
	e.spec.InternalTrafficPolicy = &policy
}

// SetLoadBalancerSourceRanges replaces the CIDRs from which the load balancer accepts traffic; nil clears them.
func (e *ServiceSpecEditor) SetLoadBalancerSourceRanges(ranges []string) {
	e.spec.LoadBalancerSourceRanges = slices.Clone(ranges)
}

// SetExternalName sets the DNS name to which a Service of type ExternalName refers.
func (e *ServiceSpecEditor) SetExternalName(name string) { e.spec.ExternalName = name }
