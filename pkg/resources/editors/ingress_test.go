// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package editors_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	networkingv1 "k8s.io/api/networking/v1"

	"github.com/component-operator/runtime/pkg/resources/editors"
)

type ingressRows = map[string]row[networkingv1.IngressSpec, *editors.IngressSpecEditor]

func backend(service string) networkingv1.IngressBackend {
	return networkingv1.IngressBackend{Service: &networkingv1.IngressServiceBackend{Name: service}}
}

// path is a path of the type Prefix.
func path(path, service string) networkingv1.HTTPIngressPath {
	return networkingv1.HTTPIngressPath{Path: path, PathType: new(networkingv1.PathTypePrefix), Backend: backend(service)}
}

func exact(path, service string) networkingv1.HTTPIngressPath {
	return networkingv1.HTTPIngressPath{Path: path, PathType: new(networkingv1.PathTypeExact), Backend: backend(service)}
}

func rule(host string, paths ...networkingv1.HTTPIngressPath) networkingv1.IngressRule {
	rule := networkingv1.IngressRule{Host: host}
	if len(paths) > 0 {
		rule.HTTP = &networkingv1.HTTPIngressRuleValue{Paths: paths}
	}
	return rule
}

func rules(rules ...networkingv1.IngressRule) networkingv1.IngressSpec {
	return networkingv1.IngressSpec{Rules: rules}
}

func TestIngressSpecEditor(t *testing.T) {
	t.Parallel()
	tls := func(secret string, hosts ...string) networkingv1.IngressTLS {
		return networkingv1.IngressTLS{SecretName: secret, Hosts: hosts}
	}
	entries := func(entries ...networkingv1.IngressTLS) networkingv1.IngressSpec {
		return networkingv1.IngressSpec{TLS: entries}
	}
	check(t, editors.NewIngressSpecEditor, ingressRows{
		"each method sets its own field": {
			start: rules(rule("a")),
			edit: func(e *editors.IngressSpecEditor) {
				e.SetIngressClassName("nginx")
				e.SetDefaultBackend(new(backend("web")))
				e.Raw().Rules = nil
			},
			want: networkingv1.IngressSpec{IngressClassName: new("nginx"), DefaultBackend: new(backend("web"))},
		},
		"nil clears the default backend": {
			start: networkingv1.IngressSpec{DefaultBackend: new(backend("web"))},
			edit:  func(e *editors.IngressSpecEditor) { e.SetDefaultBackend(nil) },
		},
		"a rule is added to none": {
			edit: func(e *editors.IngressSpecEditor) { e.EnsureRule(rule("a", path("/", "x"))) },
			want: rules(rule("a", path("/", "x"))),
		},
		"a rule is replaced with all its paths, and its duplicates go": {
			start: rules(rule("a", path("/", "x"), path("/y", "y")), rule("b"), rule("a", path("/z", "z"))),
			edit:  func(e *editors.IngressSpecEditor) { e.EnsureRule(rule("a", path("/", "v"))) },
			want:  rules(rule("a", path("/", "v")), rule("b")),
		},
		"the empty host is a host": {
			start: rules(rule("a"), rule("")),
			edit:  func(e *editors.IngressSpecEditor) { e.EnsureRule(rule("", path("/", "x"))) },
			want:  rules(rule("a"), rule("", path("/", "x"))),
		},
		"rules are removed by host": {
			start: rules(rule("a"), rule("b"), rule("a")),
			edit:  func(e *editors.IngressSpecEditor) { e.RemoveRule("a"); e.RemoveRule("c") },
			want:  rules(rule("b")),
		},
		"a TLS entry is added to none": {
			edit: func(e *editors.IngressSpecEditor) { e.EnsureTLS(tls("x", "a", "b")) },
			want: entries(tls("x", "a", "b")),
		},
		"only the first host identifies a TLS entry": {
			start: entries(tls("x", "a", "b"), tls("y", "b"), tls("v", "a")),
			edit:  func(e *editors.IngressSpecEditor) { e.EnsureTLS(tls("z", "a", "c")) },
			want:  entries(tls("z", "a", "c"), tls("y", "b")),
		},
		"a TLS entry without hosts is ignored, and stays": {
			start: entries(tls("x")),
			edit:  func(e *editors.IngressSpecEditor) { e.EnsureTLS(tls("y")); e.EnsureTLS(tls("z", "a")); e.RemoveTLS("") },
			want:  entries(tls("x"), tls("z", "a")),
		},
		"TLS entries are removed by their first host": {
			start: entries(tls("x", "a"), tls("y", "b", "a"), tls("z", "c")),
			edit:  func(e *editors.IngressSpecEditor) { e.RemoveTLS("a", "c", "d"); e.RemoveTLS() },
			want:  entries(tls("y", "b", "a")),
		},
	})
}

func TestIngressSpecEditorPaths(t *testing.T) {
	t.Parallel()
	ensure := func(host string, path networkingv1.HTTPIngressPath) func(*editors.IngressSpecEditor) {
		return func(e *editors.IngressSpecEditor) { e.EnsurePath(host, path) }
	}
	remove := func(host, path string) func(*editors.IngressSpecEditor) {
		return func(e *editors.IngressSpecEditor) { e.RemovePath(host, path) }
	}
	check(t, editors.NewIngressSpecEditor, ingressRows{
		"the rule of the host is created": {
			start: rules(rule("b", path("/", "x"))), edit: ensure("a", path("/", "x")), want: rules(rule("b", path("/", "x")), rule("a", path("/", "x"))),
		},
		"the first rule is created": {edit: ensure("", path("/", "x")), want: rules(rule("", path("/", "x")))},
		"a rule without paths gets one": {
			start: rules(rule("a")), edit: ensure("a", path("/", "x")), want: rules(rule("a", path("/", "x"))),
		},
		"a new path is appended": {
			start: rules(rule("a", path("/x", "x"))), edit: ensure("a", path("/y", "y")), want: rules(rule("a", path("/x", "x"), path("/y", "y"))),
		},
		"a path is replaced, and its duplicates go": {
			start: rules(rule("a", path("/x", "x"), path("/y", "y"), path("/x", "z"))), edit: ensure("a", path("/x", "v")),
			want: rules(rule("a", path("/x", "v"), path("/y", "y"))),
		},
		"another type is another path": {
			start: rules(rule("a", path("/x", "x"))), edit: ensure("a", exact("/x", "v")), want: rules(rule("a", path("/x", "x"), exact("/x", "v"))),
		},
		"no type is a type": {
			start: rules(rule("a", path("/x", "x"))), edit: ensure("a", networkingv1.HTTPIngressPath{Path: "/x"}),
			want: rules(rule("a", path("/x", "x"), networkingv1.HTTPIngressPath{Path: "/x"})),
		},
		"a new path goes into the first rule of the host": {
			start: rules(rule("b"), rule("a", path("/x", "x")), rule("a", path("/y", "y"))), edit: ensure("a", path("/z", "z")),
			want: rules(rule("b"), rule("a", path("/x", "x"), path("/z", "z")), rule("a", path("/y", "y"))),
		},
		"a path in a later rule of the host is replaced there": {
			start: rules(rule("a", path("/x", "x")), rule("a", path("/y", "y"))), edit: ensure("a", path("/y", "v")),
			want: rules(rule("a", path("/x", "x")), rule("a", path("/y", "v"))),
		},
		"duplicates in further rules of the host go": {
			start: rules(rule("a", path("/x", "x")), rule("a", path("/x", "y")), rule("a", path("/z", "z"), path("/x", "y")), rule("b", path("/x", "x"))),
			edit:  ensure("a", path("/x", "v")),
			want:  rules(rule("a", path("/x", "v")), rule("a", path("/z", "z")), rule("b", path("/x", "x"))),
		},
		"a path is removed from all rules of the host, whatever its type": {
			start: rules(rule("a", path("/x", "x"), path("/y", "y")), rule("b", path("/x", "x")), rule("a", path("/z", "z"), exact("/x", "x"))),
			edit:  remove("a", "/x"),
			want:  rules(rule("a", path("/y", "y")), rule("b", path("/x", "x")), rule("a", path("/z", "z"))),
		},
		"a rule that loses its last path is removed": {start: rules(rule("a", path("/x", "x")), rule("b")), edit: remove("a", "/x"), want: rules(rule("b"))},
		"a rule that has had no path stays":          {start: rules(rule("a")), edit: remove("a", "/x"), want: rules(rule("a"))},
		"what is absent is not removed":              {start: rules(rule("a", path("/x", "x"))), edit: remove("a", "/"), want: rules(rule("a", path("/x", "x")))},
		"nothing is removed from nothing":            {edit: remove("a", "/")},
	})
}

func TestIngressSpecEditorSharesNoPaths(t *testing.T) {
	t.Parallel()
	for reason, edit := range map[string]func(e *editors.IngressSpecEditor){
		"adding a path":    func(e *editors.IngressSpecEditor) { e.EnsurePath("a", path("/y", "y")) },
		"replacing a path": func(e *editors.IngressSpecEditor) { e.EnsurePath("a", path("/x", "v")) },
		"removing a path":  func(e *editors.IngressSpecEditor) { e.RemovePath("a", "/x") },
	} {
		t.Run(reason, func(t *testing.T) {
			t.Parallel()
			edited := rules(rule("a", path("/x", "x"), path("/z", "z")))
			other := edited
			edit(editors.NewIngressSpecEditor(&edited))
			if diff := cmp.Diff(rules(rule("a", path("/x", "x"), path("/z", "z"))), other); diff != "" || cmp.Equal(edited, other) {
				t.Errorf("the edit is seen in another object, or not at all (-want +got)\n%s", diff)
			}
		})
	}
}
