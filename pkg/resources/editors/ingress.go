// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package editors

import (
	"slices"

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

// EnsureRule sets a rule with all its paths, identified by its host. The empty host is one of them: it stands for all hosts.
func (e *IngressSpecEditor) EnsureRule(rule networkingv1.IngressRule) {
	ensure(&e.spec.Rules, *rule.DeepCopy(), by(func(r networkingv1.IngressRule) string { return r.Host }))
}

// RemoveRule removes all rules of a host.
func (e *IngressSpecEditor) RemoveRule(host string) {
	remove(&e.spec.Rules, func(r networkingv1.IngressRule) bool { return r.Host == host })
}

// EnsurePath sets a path of a host, identified by path and pathType. If no rule of the host has the path, it is added to the first one, which is created
// if there is none.
func (e *IngressSpecEditor) EnsurePath(host string, path networkingv1.HTTPIngressPath) {
	same := func(p networkingv1.HTTPIngressPath) bool { return samePath(p, path) }
	has := func(r networkingv1.IngressRule) bool {
		return r.Host == host && r.HTTP != nil && slices.ContainsFunc(r.HTTP.Paths, same)
	}
	target := slices.IndexFunc(e.spec.Rules, has)
	if target < 0 {
		target = slices.IndexFunc(e.spec.Rules, func(r networkingv1.IngressRule) bool { return r.Host == host })
	}
	rules := slices.Clone(e.spec.Rules)
	if target < 0 {
		target = len(rules)
		rules = append(rules, networkingv1.IngressRule{Host: host})
	}
	rules[target].HTTP = orNew(rules[target].HTTP.DeepCopy())
	ensure(&rules[target].HTTP.Paths, *path.DeepCopy(), samePath)
	e.spec.Rules = slices.Concat(rules[:target+1], withoutPaths(rules[target+1:], host, same))
}

// RemovePath removes a path of a host, for all values of pathType. A rule that loses its last path is removed, since the API server would refuse it.
func (e *IngressSpecEditor) RemovePath(host, path string) {
	e.spec.Rules = withoutPaths(e.spec.Rules, host, func(p networkingv1.HTTPIngressPath) bool { return p.Path == path })
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

func samePath(a, b networkingv1.HTTPIngressPath) bool {
	return a.Path == b.Path && deepEqual(a.PathType, b.PathType)
}

// withoutPaths returns the rules without the paths of the host that match, and without the rules that have no paths because of that. It does not change
// the given rules.
func withoutPaths(rules []networkingv1.IngressRule, host string, match func(networkingv1.HTTPIngressPath) bool) []networkingv1.IngressRule {
	var kept []networkingv1.IngressRule
	for _, rule := range rules {
		if rule.Host == host && rule.HTTP != nil && slices.ContainsFunc(rule.HTTP.Paths, match) {
			rule.HTTP = rule.HTTP.DeepCopy()
			remove(&rule.HTTP.Paths, match)
			if len(rule.HTTP.Paths) == 0 {
				continue
			}
		}
		kept = append(kept, rule)
	}
	return kept
}
