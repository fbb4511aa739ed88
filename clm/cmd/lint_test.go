// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"path/filepath"
	"strings"
	"testing"
)

// chart writes the templates of a chart named web, and returns its folder.
func (p *place) chart(templates map[string]string) string {
	p.Helper()
	dir := p.TempDir()
	p.write(filepath.Join(dir, "Chart.yaml"), "{apiVersion: v2, name: web, version: 1.0.0, icon: 'https://example.com/web.svg'}")
	p.write(filepath.Join(dir, "values.yaml"), "port: 80\n")
	for name, content := range templates {
		p.write(filepath.Join(dir, "templates", name), content)
	}
	return dir
}

const lintedService = "apiVersion: v1\nkind: Service\nmetadata: {name: web}\nspec: {ports: [{port: {{ .Values.port }}}]%s}\n"

func TestLint(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	service := func(more string) string { return strings.Replace(lintedService, "%s", more, 1) }
	good := p.chart(map[string]string{"a.yaml": service("")})
	for _, test := range []struct {
		reason string
		args   []string
		code   int
		want   []string
	}{
		{"nothing is wrong", []string{good}, 0, []string{"0 errors, 0 warnings"}},
		{"what a value does", []string{good, "--set", "port=800000"}, 1, []string{"error: web/templates/a.yaml: Service PLACE/web: ", "spec.ports[0].port", "1 error, 0 warnings"}},
		{"the linter of Helm does not know that", []string{good, "--set", "port=800000", "--dry-run=client"}, 0, []string{"0 errors, 0 warnings"}},
		{"an unknown field", []string{p.chart(map[string]string{"a.yaml": service(", prots: []")})}, 1, []string{
			"error: web/templates/a.yaml: Service PLACE/web: unknown fields, which apply leaves out: ", "spec.prots", "1 error, 0 warnings",
		}},
		{"a type that is not served", []string{p.file("thing.yaml", "apiVersion: example.com/v1\nkind: Thing\nmetadata: {name: a}\n")}, 1, []string{"error: ", "Thing.example.com a", "example.com/v1"}},
		{"a template that fails", []string{p.chart(map[string]string{"a.yaml": "{{ nothing }}"}), "--dry-run=client"}, 1, []string{
			"error: web/templates: ", `function "nothing" not defined`,
		}},
		{"only while rendering", []string{p.chart(map[string]string{"a.yaml": `{{ required "give a name" .Values.name }}`}), "--dry-run=client"}, 1, []string{"error: ", "give a name"}},
		{"what Helm merely warns about", []string{p.chart(map[string]string{"a.yaml": configMap("A_b", "1")}), "--dry-run=client"}, 0, []string{
			"warning: web/templates/a.yaml: ", "0 errors, 1 warning",
		}},
		{"unless that is to count", []string{p.chart(map[string]string{"a.yaml": configMap("A_b", "1")}), "--dry-run=client", "--strict"}, 1, []string{"0 errors, 1 warning"}},
		{"a deprecated type", []string{p.file("endpoints.yaml", "apiVersion: v1\nkind: Endpoints\nmetadata: {name: a}\n")}, 0, []string{"warning: ", "Endpoints PLACE/a", "deprecated", "0 errors, 1 warning"}},
		{"a cluster that does not exist", []string{good, "--server", "https://localhost:1"}, 0, []string{"info: no API server was asked: ", "connection refused"}},
		{"flags in its place", []string{good, "--kube-version", "1.30"}, 0, []string{"0 errors"}},
	} {
		t.Log(test.reason)
		p.expect(p.clm(append([]string{"lint"}, test.args...)...), test.code, test.want...)
	}
	elsewhere := &place{T: t, namespace: "nowhere", kubeconfig: p.kubeconfig, client: p.client}
	elsewhere.expect(elsewhere.clm("lint", good), 0, "info: not checked by the API server: Service nowhere/web: the server does not know the namespace")
	p.expect(p.clm("lint", good, "--server", "https://localhost:1", "--dry-run=server"), 1, "asking the API server for its version", "connection refused")
	p.expect(p.clm("lint", good, "--kube-version", "1.30", "--dry-run=server"), 1, "the API server says what it serves")
	if left := p.names("v1", "Service"); len(left) > 0 {
		t.Errorf("want nothing to be made, got %v", left)
	}
}
