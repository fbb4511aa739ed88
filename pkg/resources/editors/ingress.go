// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package editors

import (
	networkingv1 "k8s.io/api/networking/v1"
)

// IngressSpecEditor edits the spec of an Ingress.
type IngressSpecEditor struct {
	specEditor[networkingv1.IngressSpec]
}

// NewIngressSpecEditor returns an editor of the given spec.
func NewIngressSpecEditor(spec *networkingv1.IngressSpec) *IngressSpecEditor {
	return &IngressSpecEditor{specEditorOf(spec)}
}

// SetIngressClassName sets the IngressClass.
func (e *IngressSpecEditor) SetIngressClassName(name string) { e.spec.IngressClassName = &name }

// SetDefaultBackend replaces the backend for requests that no rule matches; nil clears it.
func (e *IngressSpecEditor) SetDefaultBackend(backend *networkingv1.IngressBackend) {
	e.spec.DefaultBackend = backend.DeepCopy()
}

// EnsureRule sets a rule with all its paths, identified by its host. The empty host is one of them: it stands for all
// hosts.
func (e *IngressSpecEditor) EnsureRule(rule networkingv1.IngressRule) {
	ensure(&e.spec.Rules, *rule.DeepCopy(), by(func(r networkingv1.IngressRule) string { return r.Host }))
}

// RemoveRule removes all rules of a host.
func (e *IngressSpecEditor) RemoveRule(host string) {
	remove(&e.spec.Rules, func(r networkingv1.IngressRule) bool { return r.Host == host })
}

// EnsureTLS sets a TLS entry, identified by its first host. An entry without hosts is ignored.
func (e *IngressSpecEditor) EnsureTLS(tls networkingv1.IngressTLS) {
	if len(tls.Hosts) > 0 {
		ensure(&e.spec.TLS, *tls.DeepCopy(), func(a, b networkingv1.IngressTLS) bool { return isFirstHost(a, b.Hosts[0]) })
	}
}

// RemoveTLS removes the TLS entries whose first host is one of the given hosts.
func (e *IngressSpecEditor) RemoveTLS(hosts ...string) {
	for _, host := range hosts {
		remove(&e.spec.TLS, func(tls networkingv1.IngressTLS) bool { return isFirstHost(tls, host) })
	}
}

func isFirstHost(tls networkingv1.IngressTLS, host string) bool {
	return len(tls.Hosts) > 0 && tls.Hosts[0] == host
}
