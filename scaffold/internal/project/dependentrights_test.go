// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package project_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/component-operator/runtime/pkg/manifests/helm"
	"github.com/component-operator/runtime/scaffold/internal/project"
	"github.com/component-operator/runtime/scaffold/internal/values"
)

const defaultValues = `
region: ""
ingress:
  enabled: false
  tls: true
monitoring: false
service: true
broken: false
class: ""
replicas: 1
`

const dependents = `
apiVersion: v1
kind: ConfigMap
metadata:
  name: {{ .Release.Name }}
data:
  region: {{ required "a region is needed" .Values.region }}
{{- if .Values.service }}
---
apiVersion: v1
kind: Service
metadata:
  name: {{ .Release.Name }}
{{- end }}
{{- if .Values.ingress.enabled }}
---
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata:
  name: {{ .Release.Name }}
  namespace: elsewhere
{{- end }}
{{- if .Values.monitoring }}
---
apiVersion: monitoring.example.com/v1
kind: Proxy
metadata:
  name: {{ .Release.Name }}
{{- end }}
{{- if .Values.class }}
---
apiVersion: apps/v1
kind: Deployment
metadata:
  name: {{ .Release.Name }}
{{- end }}
{{- range .Values.jobs }}
---
apiVersion: batch/v1
kind: Job
metadata:
  name: {{ required "a name is needed" .name }}
{{- end }}
{{- if .Values.size }}{{ fail "no size fits" }}{{ end }}
{{- if .Values.broken }}{{ fail "it is broken" }}{{ end }}
`

// TestOf checks that objects count whatever boolean or optional value they depend on.
func TestOf(t *testing.T) {
	t.Parallel()
	chart := fstest.MapFS{
		"chart/Chart.yaml":         {Data: []byte("apiVersion: v2\nname: shop\nversion: 1.0.0\n")},
		"chart/values.yaml":        {Data: []byte(defaultValues)},
		"chart/templates/all.yaml": {Data: []byte(dependents)},
	}
	generator, err := helm.New(chart, "chart", helm.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defaults := map[string]any{}
	if err := yaml.Unmarshal([]byte(defaultValues), &defaults); err != nil {
		t.Fatal(err)
	}
	source := project.Rendered{Generator: generator, OperatorName: "shop.example.org"}
	result := &project.Contents{Name: "shop", Types: &values.Types{
		Defaults: defaults, Sample: map[string]any{"region": "north"},
		On:       map[string]any{"ingress": map[string]any{"enabled": true}, "monitoring": true},
		Optional: map[string]any{"class": "fast", "size": "large", "jobs": []any{map[string]any{"name": "import"}}},
	}}
	if err := result.AddRights(t.Context(), source); err != nil {
		t.Fatal(err)
	}
	var resources []string
	for _, rule := range result.Rules {
		resources = append(resources, fmt.Sprint(rule.APIGroups, rule.Resources))
	}
	want := []string{"[] [configmaps services]", "[apps] [deployments]", "[batch] [jobs]", "[monitoring.example.com] [proxies]", "[networking.k8s.io] [ingresses]"}
	if diff := cmp.Diff(want, resources); diff != "" {
		t.Errorf("unexpected rules:\n%s", diff)
	}
	notes := strings.Join(result.Notes, "\n")
	for _, want := range []string{"Chart shop cannot be rendered with broken=true: ", "it is broken. Permissions", "Nothing defines Proxy.monitoring.example.com"} {
		if !strings.Contains(notes, want) {
			t.Errorf("want a note with %q, got:\n%s", want, notes)
		}
	}
	if strings.Contains(notes, "all booleans") {
		t.Errorf("a boolean that cannot be true is among all booleans:\n%s", notes)
	}
	if strings.Contains(notes, "no size fits") {
		t.Errorf("a value that was made up is refused, which must not be noted:\n%s", notes)
	}
	result.Types.Sample = nil
	if err := result.AddRights(t.Context(), source); err == nil || !strings.Contains(err.Error(), "a region is needed") {
		t.Errorf("without a required value: got error %v", err)
	}
}
