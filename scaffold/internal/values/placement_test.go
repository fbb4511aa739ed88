// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package values_test

import (
	"context"
	"regexp"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/component-operator/runtime/internal/clients"
	internalhelm "github.com/component-operator/runtime/internal/helm"
	"github.com/component-operator/runtime/internal/rights"
	"github.com/component-operator/runtime/pkg/generator"
	"github.com/component-operator/runtime/pkg/manifests/helm"
	"github.com/component-operator/runtime/pkg/types"
	"github.com/component-operator/runtime/scaffold/internal/values"
)

const placedValues = `
image: {tag: latest, pullPolicy: IfNotPresent}
service: {type: ClusterIP, port: 80, report: 7}
budget: {enabled: false, minAvailable: 1, maxUnavailable: null}
rollout: {surge: "", unavailable: 1}
local: {enabled: false}
one: false
other: false
metrics: {enabled: false, service: {port: 9090, annotations: {}}}
resources: {}
affinity: {}
tolerations: []
nodeSelector:
podAnnotations: {a: b}
podLabels: {}
podSecurityContext: {fsGroup: 2000}
securityContext: {}
both: {}
env: []
names: []
envFrom: []
imagePullSecrets: []
livenessProbe: {httpGet: {path: /, port: http}}
lifeProbe: {}
config2: {}
startupProbe: {enabled: true}
config: {}
unused: {}
broken: {}
required: ""
`

const placedTemplate = `
{{- if gt (len .Values.broken) 0 }}{{ fail "broken is broken" }}{{ end }}
{{- if .Values.local.enabled }}{{ fail "not local" }}{{ end }}
{{- if and .Values.one .Values.other }}{{ fail "one of both" }}{{ end }}
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  {{- with .Values.rollout.surge }}
  strategy: {rollingUpdate: {maxSurge: {{ . }}}}
  {{- end }}
  template:
    metadata:
      annotations:
        {{- toYaml .Values.podAnnotations | nindent 8 }}
      labels: {{ toJson .Values.podLabels }}
    spec:
      {{- with .Values.affinity }}
      affinity:
        {{- toYaml . | nindent 8 }}
      {{- end }}
      tolerations: {{ toJson .Values.tolerations }}
      nodeSelector: {{ toJson .Values.nodeSelector }}
      imagePullSecrets: {{ toJson .Values.imagePullSecrets }}
      securityContext: {{ mergeOverwrite (dict) .Values.podSecurityContext .Values.both | toJson }}
      containers:
      - name: main
        image: web:{{ .Values.image.tag }}
        imagePullPolicy: {{ .Values.image.pullPolicy }}
        ports: [{name: http, containerPort: {{ .Values.service.port }}}]
        resources: {{ toJson .Values.resources }}
        securityContext: {{ mergeOverwrite (dict) .Values.securityContext .Values.both | toJson }}
        env:
        {{- with .Values.env }}{{ toYaml . | nindent 8 }}{{ end }}
        {{- range .Values.names }}
        - {name: X, value: {{ .name | quote }}}
        {{- end }}
        envFrom: {{ toJson .Values.envFrom }}
        livenessProbe: {{ toJson .Values.livenessProbe }}
        readinessProbe: {{ toJson .Values.lifeProbe }}
        startupProbe: {{ omit .Values.startupProbe "enabled" | toJson }}
---
apiVersion: v1
kind: Service
metadata: {name: web}
spec:
  type: {{ .Values.service.type }}
  ports: [{port: {{ .Values.service.port }}}]
---
apiVersion: v1
kind: ConfigMap
metadata: {name: web}
data:
  {{- range $key, $value := .Values.config2 }}
  {{ $key }}: {{ $value | quote }}
  {{- end }}
  config: {{ toJson .Values.config | quote }}
  report: {{ .Values.service.report | quote }}
  unavailable: {{ .Values.rollout.unavailable | quote }}
{{- if .Values.budget.enabled }}
---
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: web}
spec:
  {{- with .Values.budget.maxUnavailable }}
  maxUnavailable: {{ . }}
  {{- else }}
  minAvailable: {{ .Values.budget.minAvailable }}
  {{- end }}
{{- end }}
{{- if .Values.metrics.enabled }}
---
apiVersion: v1
kind: Service
metadata:
  name: metrics
  annotations: {{ toJson .Values.metrics.service.annotations }}
spec: {ports: [{port: {{ .Values.metrics.service.port }}}]}
{{- end }}
`

// TestPlacement checks which values get a type of Kubernetes, by the places where the templates of a chart put them.
func TestPlacement(t *testing.T) {
	t.Parallel()
	files := fstest.MapFS{
		"chart/Chart.yaml":         {Data: []byte("{apiVersion: v2, name: web, version: 1.0.0}")},
		"chart/values.yaml":        {Data: []byte(placedValues)},
		"chart/templates/all.yaml": {Data: []byte(placedTemplate)},
	}
	chart, err := internalhelm.Load(files, "chart")
	if err != nil {
		t.Fatal(err)
	}
	renderer, err := helm.New(files, "chart", helm.Options{})
	if err != nil {
		t.Fatal(err)
	}
	derived, err := values.Derive(chart.Anatomy(), func(values map[string]any) ([]*unstructured.Unstructured, error) {
		return render(t, renderer, values)
	}, "WebValues")
	if err != nil {
		t.Fatal(err)
	}
	on := map[string]any{
		"budget": map[string]any{"enabled": true}, "metrics": map[string]any{"enabled": true}, "one": true, "startupProbe": map[string]any{"enabled": true},
	}
	if diff := cmp.Diff(on, derived.On); diff != "" {
		t.Errorf("unexpected booleans that are on:\n%s", diff)
	}
	got := map[string]string{}
	for _, field := range regexp.MustCompile(`(\w+) +(\S+) +.json:"(\w+),`).FindAllStringSubmatch(derived.Declarations, -1) {
		got[field[3]] = field[2]
	}
	const free, freeList = "map[string]apiextensionsv1.JSON", "[]apiextensionsv1.JSON"
	for name, want := range map[string]string{
		"pullPolicy": "*corev1.PullPolicy", "type": "*corev1.ServiceType", "resources": "*corev1.ResourceRequirements", "affinity": "*corev1.Affinity",
		"tolerations": "[]corev1.Toleration", "nodeSelector": "map[string]string", "podAnnotations": free, "podLabels": "map[string]string", "annotations": "map[string]string",
		"podSecurityContext": free, "securityContext": "*corev1.SecurityContext", "env": "[]corev1.EnvVar", "envFrom": "[]corev1.EnvFromSource",
		"imagePullSecrets": "[]corev1.LocalObjectReference", "lifeProbe": "*corev1.Probe", "config2": free, "port": "*int64", "report": "*int64",
		"minAvailable": "*intstr.IntOrString", "maxUnavailable": "*intstr.IntOrString", "surge": "*intstr.IntOrString", "unavailable": "*int64",
		// Users may set parts of a default.
		"livenessProbe": free,
		// These are in no place, in places of different types, in a text, or have keys that are not part of the type.
		"both": free, "names": freeList, "startupProbe": free, "config": free, "unused": free, "broken": free,
	} {
		if got[name] != want {
			t.Errorf("%s: want %s, got %s", name, want, got[name])
		}
	}
	for text, count := range map[string]int{"Maximum=65535": 2, `Enum={"","ClusterIP","ExternalName","LoadBalancer","NodePort"}`: 1, `Enum={"","Always","IfNotPresent","Never"}`: 1} {
		if found := len(regexp.MustCompile(regexp.QuoteMeta(text)).FindAllString(derived.Declarations, -1)); found != count {
			t.Errorf("want %q %d times, got %d:\n%s", text, count, found, derived.Declarations)
		}
	}
	if diff := cmp.Diff([]string{"k8s.io/api/core/v1", "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1", "k8s.io/apimachinery/pkg/util/intstr"}, derived.Imports); diff != "" {
		t.Error(diff)
	}
}

// render renders a chart with values.
func render(t *testing.T, renderer generator.Generator, given map[string]any) ([]*unstructured.Unstructured, error) {
	t.Helper()
	scheme, err := clients.NewScheme()
	if err != nil {
		t.Fatal(err)
	}
	c, err := rights.NewOfflineClient(rights.OfflineOptions{Scheme: scheme})
	if err != nil {
		t.Fatal(err)
	}
	ctx := generator.NewContext(context.Background(), generator.Surroundings{ReconcilerName: "web.example.org", LocalClient: c, Client: c, ComponentRevision: 1})
	objects, err := renderer.Generate(ctx, "default", "web", types.UnstructurableMap(given))
	if err != nil {
		return nil, err
	}
	var rendered []*unstructured.Unstructured
	for _, object := range objects {
		converted, err := clients.ToUnstructured(object, scheme)
		if err != nil {
			return nil, err
		}
		rendered = append(rendered, converted)
	}
	return rendered, nil
}
