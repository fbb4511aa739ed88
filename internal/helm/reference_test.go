// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package helm

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/engine"
	"helm.sh/helm/v3/pkg/releaseutil"
	"k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/yaml"
)

// realistic uses most of what charts use.
func realistic(t *testing.T) files {
	t.Helper()
	helpers := `{{- define "top.labels" -}}
app.kubernetes.io/name: {{ .Chart.Name }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- with .Values.global.labels }}
{{ toYaml . }}
{{- end }}
{{- end -}}
`
	top := files{
		"Chart.yaml": metadata("top", "appVersion: 4.5.6", "kubeVersion: '>=1.20.0-0'", "dependencies:",
			"- {name: db, version: ^1.0.0, alias: primary}",
			"- {name: db, version: ^1.0.0, alias: replica, condition: replica.enabled}",
			"- {name: cache, version: ~1.2.0, tags: [cache], import-values: [connection]}",
			"- {name: common, version: '*'}"),
		".helmignore":            "*.md\n",
		"README.md":              "ignored",
		"values.yaml":            "image: {repository: web, tag: null}\nreplicas: 2\nglobal: {labels: {team: a}}\nprimary: {size: 10}\nenv: [{name: A, value: b}]\nconfig: {drop: me, keep: me}\n",
		"files/app.conf":         "[app]\nname = {{ .Values.name }}\n",
		"files/empty":            "",
		"templates/_helpers.tpl": helpers,
		"templates/NOTES.txt":    "{{ .Release.Name }} is there",
		"crds/things.yaml":       "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata:\n  name: things.x.io\nspec: {group: x.io}\n",
		"templates/workload.yaml": `{{- $name := printf "%s-web" .Release.Name }}
apiVersion: apps/v1
kind: Deployment
metadata:
  name: {{ $name }}
  labels: {{- include "top.labels" . | nindent 4 }}
spec:
  replicas: {{ .Values.replicas }}
  template:
    metadata:
      annotations:
        checksum/config: {{ include (print $.Template.BasePath "/config.yaml") . | sha256sum }}
    spec:
      containers:
      - image: {{ .Values.image.repository }}:{{ default .Chart.AppVersion .Values.image.tag }}
        env: {{- toYaml .Values.env | nindent 10 }}
---
{{- if .Capabilities.APIVersions.Has "apps/v1/Deployment" }}
apiVersion: v1
kind: Service
metadata:
  name: {{ $name }}
spec:
  ports: [{port: {{ .Values.port | default 80 | int }}}]
{{- end }}
`,
		"templates/config.yaml": `apiVersion: v1
kind: ConfigMap
metadata:
  name: config
data:
  connection: {{ .Values.host | default "none" | quote }}
  values: {{ .Values.config | toJson | quote }}
  app.conf: | {{- tpl (.Files.Get "files/app.conf") . | nindent 4 }}
  {{- (.Files.Glob "files/*").AsConfig | nindent 2 }}
`,
		"templates/hooks.yml": `apiVersion: batch/v1
kind: Job
metadata:
  name: migrate
  annotations: {helm.sh/hook: "pre-install, pre-upgrade", helm.sh/hook-weight: "-5"}
spec: {revision: {{ .Release.Revision }}, upgrade: {{ .Release.IsUpgrade }} }
`,
	}
	db := files{
		"Chart.yaml":        metadata("db"),
		"values.yaml":       "size: 1\nauth: {user: admin, password: null}\n",
		"templates/db.yaml": "apiVersion: apps/v1\nkind: StatefulSet\nmetadata:\n  name: {{ .Release.Name }}-{{ .Chart.Name }}\n  labels: {{- include \"common.labels\" . | nindent 4 }}\nspec: {size: {{ .Values.size }}, auth: {{ toJson .Values.auth }}, global: {{ toJson .Values.global }}}\n",
	}
	cache := files{
		"Chart.yaml":           metadata("cache"),
		"values.yaml":          "exports: {connection: {host: cache.local, port: 8080}}\n",
		"templates/cache.yaml": configMap("cache", `values: {{ toJson .Values | quote }}`),
		"crds/caches.yaml":     "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata:\n  name: caches.x.io\nspec: {group: x.io}\n",
	}
	common := files{
		"Chart.yaml":             metadata("common", "type: library"),
		"templates/_labels.yaml": `{{ define "common.labels" }}app: {{ .Chart.Name }}{{ end }}`,
	}
	return top.with(db.below("charts/db")).with(common.below("charts/common")).
		with(files{"charts/cache-1.2.3.tgz": cache.archive(t, "cache")})
}

// renderWithHelm goes the way of "helm template" through the SDK, up to the texts of the files.
func renderWithHelm(parsed *chart.Chart, release Release) (map[string]string, error) {
	if err := chartutil.ProcessDependenciesWithMerge(parsed, release.Values); err != nil {
		return nil, err
	}
	values, err := chartutil.ToRenderValues(parsed, release.Values, chartutil.ReleaseOptions{
		Name: release.Name, Namespace: release.Namespace, Revision: int(release.Revision),
		IsInstall: !release.Upgrade, IsUpgrade: release.Upgrade,
	}, &chartutil.Capabilities{
		KubeVersion: chartutil.KubeVersion{Version: release.Capabilities.Version, Major: release.Capabilities.Major, Minor: release.Capabilities.Minor},
		APIVersions: release.Capabilities.APIVersions,
		HelmVersion: chartutil.DefaultCapabilities.HelmVersion,
	})
	if err != nil {
		return nil, err
	}
	return engine.Render(parsed, values)
}

// referenceRender returns the objects that Helm renders of a chart of the operating system.
func referenceRender(t *testing.T, folder string, release Release) map[string]any {
	t.Helper()
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	chart, err := loader.Load(folder)
	check(err)
	rendered, err := renderWithHelm(chart, release)
	check(err)
	for name := range rendered {
		if strings.HasSuffix(name, "NOTES.txt") {
			delete(rendered, name)
		}
	}
	hooks, manifests, err := releaseutil.SortManifests(rendered, nil, releaseutil.InstallOrder)
	check(err)

	objects := map[string]any{}
	add := func(source, content string) {
		raw, err := yaml.YAMLToJSON([]byte(content))
		check(err)
		var object map[string]any
		check(json.Unmarshal(raw, &object))
		if object != nil {
			metadata := object["metadata"].(map[string]any)
			objects[source+" "+object["kind"].(string)+" "+metadata["name"].(string)] = object
		}
	}
	for _, definition := range chart.CRDObjects() {
		add(definition.Filename, string(definition.File.Data))
	}
	for _, hook := range hooks {
		add(hook.Path, hook.Manifest)
	}
	for _, manifest := range manifests {
		add(manifest.Name, manifest.Content)
	}
	return objects
}

func TestRenderAsHelmDoes(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	writeFiles(t, folder, realistic(t))
	chart, err := Load(nil, folder)
	if err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		reason  string
		values  map[string]any
		upgrade bool
		objects int
	}{
		{"defaults", map[string]any{}, false, 9},
		{"an upgrade", map[string]any{}, true, 9},
		{"dependencies are disabled", map[string]any{"tags": map[string]any{"cache": false}, "replica": map[string]any{"enabled": false}}, false, 6},
		{"values are overridden", map[string]any{
			"replicas": int64(5), "image": map[string]any{"tag": "v1"}, "host": "given", "port": int64(1), "name": "demo",
			"primary": map[string]any{"size": int64(99), "auth": map[string]any{"password": "x"}},
			"replica": map[string]any{"auth": "none"},
		}, false, 9},
		{"defaults are removed", map[string]any{
			"image": map[string]any{"tag": nil}, "config": map[string]any{"drop": nil}, "env": nil,
			"global": map[string]any{"labels": nil}, "primary": map[string]any{"auth": map[string]any{"user": nil}}, "replica": map[string]any{"size": nil},
		}, false, 9},
		{"maps become scalars", map[string]any{"config": "none", "env": []any{}, "primary": map[string]any{"auth": false}}, true, 9},
	}
	for _, tt := range tests {
		t.Run(tt.reason, func(t *testing.T) {
			t.Parallel()
			rendering := release(tt.values)
			rendering.Upgrade = tt.upgrade
			objects, err := chart.Render(t.Context(), rendering)
			if err != nil {
				t.Fatal(err)
			}
			got := map[string]any{}
			for _, object := range objects {
				source, _, _ := strings.Cut(object.Source, ",")
				got[source+" "+object.GetKind()+" "+object.GetName()] = object.Object
			}
			if len(objects) != tt.objects || len(got) != tt.objects {
				t.Errorf("got %d objects, want %d", len(objects), tt.objects)
			}
			if diff := cmp.Diff(referenceRender(t, folder, rendering), got); diff != "" {
				t.Errorf("unexpected objects (-Helm +got):\n%s", diff)
			}
		})
	}
}
