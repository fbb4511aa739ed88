// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package project_test

import (
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/component-operator/runtime/internal/rights"
	"github.com/component-operator/runtime/scaffold/internal/project"
)

// root is the folder of the repository.
const root = "../../.."

// request is for the contents at a reference.
func request(reference string) project.Request {
	return project.Request{Reference: reference, OperatorName: "shop.example.org", TypeName: "ShopValues"}
}

// parity is the folder of the archives with which the rendering of charts is compared with Helm's.
const parity = root + "/internal/helm/parity/testdata"

// chartsOfTheRepository returns the folders of charts, by path or name of the archive.
func chartsOfTheRepository(t *testing.T) map[string]string {
	t.Helper()
	charts := map[string]string{}
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err == nil && entry.Name() == "Chart.yaml" && filepath.Base(filepath.Dir(filepath.Dir(path))) != "charts" {
			charts[strings.TrimPrefix(path, root+"/")] = filepath.Dir(path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	archives, err := filepath.Glob(parity + "/*.txtar")
	if err != nil {
		t.Fatal(err)
	}
	for _, archive := range archives {
		if folder := unpack(t, archive); folder != "" {
			charts[filepath.Base(archive)] = folder
		}
	}
	if len(charts) < 60 {
		t.Errorf("found only %d charts", len(charts))
	}
	return charts
}

// noOperators are archives whose charts make no operator, with the reason.
var noOperators = map[string]string{
	"crds.txtar":                "its definition has no spec, so the API server would refuse it",
	"crds-of-subcharts.txtar":   "its definition has no spec, so the API server would refuse it",
	"values-file-missing.txtar": "it renders only with values that no schema requires",
	"dependency-packaged.txtar": "a package is described by a folder there",
}

// unpack writes the chart of an archive into a folder. It returns an empty path if the chart makes no operator, or if
// Helm does not render it.
func unpack(t *testing.T, path string) string {
	t.Helper()
	archive := parse(t, path)
	if noOperators[filepath.Base(path)] != "" || slices.ContainsFunc(archive.Files, func(file txtar.File) bool { return file.Name == "expected-error" }) {
		return ""
	}
	return write(t, archive)
}

func parse(t *testing.T, path string) *txtar.Archive {
	t.Helper()
	archive, err := txtar.ParseFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return archive
}

// write writes an archive into a folder. The chart gets a Chart.yaml if it has none, and so does each subchart.
func write(t *testing.T, archive *txtar.Archive) string {
	t.Helper()
	folder := t.TempDir()
	files := map[string][]byte{"Chart.yaml": metadata("top")}
	for _, file := range archive.Files {
		parts := strings.Split(file.Name, "/")
		for i := 0; i+2 < len(parts); i++ {
			if name := strings.Join(parts[:i+2], "/") + "/Chart.yaml"; parts[i] == "charts" && files[name] == nil {
				files[name] = metadata(parts[i+1])
			}
		}
	}
	for _, file := range archive.Files {
		files[file.Name] = file.Data
	}
	for name, content := range files {
		save(t, filepath.Join(folder, name), content)
	}
	return folder
}

func metadata(name string) []byte {
	return []byte("apiVersion: v2\nname: " + name + "\nversion: 1.2.3\n")
}

const chart = `
-- values.yaml --
host: ""
hooks: false
-- templates/all.yaml --
apiVersion: v1
kind: ConfigMap
metadata:
  name: {{ .Release.Name }}
{{- if .Values.host }}
---
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata:
  name: {{ .Release.Name }}
  namespace: front
{{- end }}
{{- if .Values.hooks }}
---
apiVersion: batch/v1
kind: Job
metadata:
  name: cleanup
  annotations:
    helm.sh/hook: pre-delete
{{- end }}
`

// TestChart checks what is found out about a chart.
func TestChart(t *testing.T) {
	t.Parallel()
	made, err := project.Chart(t.Context(), request(write(t, txtar.Parse([]byte(chart)))))
	if err != nil {
		t.Fatal(err)
	}
	if made.Name != "top" || made.Folder != "chart" {
		t.Errorf("got %s in folder %s", made.Name, made.Folder)
	}
	var resources []string
	for _, rule := range made.Rules {
		resources = append(resources, rule.Resources...)
	}
	for _, want := range []string{"configmaps", "ingresses", "jobs"} {
		if !slices.Contains(resources, want) {
			t.Errorf("no rights on %s, only on %v", want, resources)
		}
	}
	if want := []rights.Need{rights.NeedDeletionHooks, rights.NeedNamespaces}; !slices.Equal(made.Needs, want) {
		t.Errorf("got needs %v, want %v", made.Needs, want)
	}
}

// various is a chart whose objects depend on more than booleans of its own.
const various = `
-- Chart.yaml --
apiVersion: v2
name: various
version: 1.0.0
dependencies:
  - {name: cache, alias: store, version: 1.0.0, condition: store.enabled}
-- values.yaml --
mode: plain
both: {a: false, b: false, more: []}
-- values.schema.json --
{"type": "object", "properties": {"mode": {"type": "string", "enum": ["plain", "mesh"]}, "nested": {"type": "object", "properties": {"kind": {"enum": ["none", "cron"]}}}}}
-- templates/all.yaml --
apiVersion: v1
kind: ConfigMap
metadata: {name: a}
{{- if eq .Values.mode "mesh" }}
---
apiVersion: v1
kind: Service
metadata: {name: a}
{{- end }}
{{- if eq (dig "nested" "kind" "" .Values.AsMap) "cron" }}
---
apiVersion: batch/v1
kind: CronJob
metadata: {name: a}
{{- end }}
{{- if .Capabilities.APIVersions.Has "monitoring.coreos.com/v1/ServiceMonitor" }}
---
apiVersion: monitoring.coreos.com/v1
kind: ServiceMonitor
metadata: {name: a}
{{- end }}
{{- with (lookup "v1" "Secret" .Release.Namespace "a").data }}
---
apiVersion: v1
kind: Pod
metadata: {name: a}
{{- end }}
-- templates/both.yaml --
{{- if and .Values.both.a (not .Values.both.b) .Values.both.more }}
apiVersion: v1
kind: "PersistentVolumeClaim"
metadata: {name: a}
---
apiVersion: {{ include "version" . }}
kind: PodDisruptionBudget
metadata: {name: a}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: a}
---
apiVersion: v1
kind: Service
metadata: {name: a}
---
apiVersion: v1
kind: SecretList
{{- end }}
-- templates/more.yaml --
{{- with .Values.both.more }}{{ toYaml . }}{{ end }}
-- templates/none.yaml --
# nothing
-- templates/_version.tpl --
{{ define "version" }}policy/v1{{ end }}
-- templates/tests/a.yaml --
apiVersion: apps/v1
kind: ReplicaSet
metadata: {name: a, annotations: {helm.sh/hook: test}}
-- charts/cache/templates/both.yaml --
{{- if and .Values.metrics.enabled .Values.size }}
apiVersion: apps/v1beta1
kind: DaemonSet
{{- else if .Values.size }}
apiVersion: apps/v1
kind: DaemonSet
{{- end }}
-- charts/cache/Chart.yaml --
apiVersion: v2
name: cache
version: 1.0.0
-- charts/cache/values.yaml --
metrics: {enabled: false}
-- charts/cache/templates/all.yaml --
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: cache}
{{- if .Values.metrics.enabled }}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: metrics}
{{- end }}
`

// TestVariety finds objects that depend on values of charts inside, on one of several allowed values, and on what the
// cluster serves. It adds those that only stand in a template, and says what it cannot find.
func TestVariety(t *testing.T) {
	t.Parallel()
	for _, enabled := range []string{"", "store: {enabled: false}\n"} {
		text := strings.ReplaceAll(various, ".Values.AsMap", "(.Values | merge dict)")
		made, err := project.Chart(t.Context(), request(write(t, txtar.Parse([]byte(strings.Replace(text, "mode: plain\n", "mode: plain\n"+enabled, 1))))))
		if err != nil {
			t.Fatal(err)
		}
		var resources []string
		for _, rule := range made.Rules {
			resources = append(resources, rule.Resources...)
		}
		slices.Sort(resources)
		want := []string{
			"configmaps", "cronjobs", "daemonsets", "deployments", "persistentvolumeclaims", "pods", "servicemonitors", "services", "statefulsets", "storageclasses",
		}
		if !slices.Equal(slices.Compact(resources), want) {
			t.Errorf("with %q: want rights on %v, got %v", enabled, want, resources)
		}
		for resource, file := range map[string]string{"daemonsets": "charts/store/templates/both.yaml", "persistentvolumeclaims": "templates/both.yaml", "pods": "templates/all.yaml"} {
			group := map[bool]string{true: "apps"}[resource == "daemonsets"]
			if reasons := made.Reasons[schema.GroupResource{Group: group, Resource: resource}]; !slices.Equal(reasons, []string{"written in " + file}) {
				t.Errorf("got reasons for %s: %v", resource, reasons)
			}
		}
		notes := strings.Join(made.Notes, "\n")
		for _, want := range []string{
			"The chart's templates look up objects in the cluster",
			"Not rendered with any values that were tried: PodDisruptionBudget in templates/both.yaml, Role in templates/both.yaml, anything in templates/more.yaml. ",
		} {
			if !strings.Contains(notes, want) {
				t.Errorf("want a note with %q, got:\n%s", want, notes)
			}
		}
	}
}

// TestSharedNames says why components cannot exist side by side, and which values change that.
func TestSharedNames(t *testing.T) {
	t.Parallel()
	for metadata, test := range map[string]struct {
		several project.Several
		want    string
	}{
		"{name: '{{ .Release.Name }}'}":     {project.AnyNumber, ""},
		"{name: '{{ .Values.account }}'}":   {project.OnePerNamespace, "Only one component can exist in a namespace, because all have ServiceAccount web, unless each has its own account."},
		"{name: fixed}":                     {project.OnePerNamespace, "Only one component can exist in a namespace, because all have ServiceAccount fixed, unless values give these objects other names or leave them out."},
		"{name: web}":                       {project.OnePerNamespace, "Only one component can exist in a namespace, because all have ServiceAccount web, unless values give these objects other names or leave them out."},
		"{name: a, namespace: kube-system}": {project.OnePerCluster, "Only one component can exist in the cluster, because all have ServiceAccount kube-system/a, unless values give these objects other names or leave them out."},
	} {
		text := "-- values.yaml --\naccount: web\n-- templates/a.yaml --\napiVersion: v1\nkind: ServiceAccount\nmetadata: " + metadata + "\n"
		made, err := project.Chart(t.Context(), request(write(t, txtar.Parse([]byte(text)))))
		if err != nil {
			t.Fatal(err)
		}
		if notes := strings.Join(made.Notes, "\n"); made.Several != test.several || notes != test.want {
			t.Errorf("%s: got %d, and notes:\n%s", metadata, made.Several, notes)
		}
	}
}

// TestRefusedContents checks that contents which cannot be part of an operator are refused, with the reason.
func TestRefusedContents(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ files, want string }{
		"values that are no map":    {"-- values.yaml --\n[a]\n", "values.yaml"},
		"a template with a mistake": {"-- templates/a.yaml --\n{{ .Values.a\n", "templates/a.yaml"},
		"a chart that always fails": {"-- templates/a.yaml --\n{{ fail \"not today\" }}\n", "not today"},
		"a module inside":           {"-- go.mod --\nmodule a\n", "go.mod: a folder with a Go module cannot be embedded"},
		"a name that Go refuses":    {"-- files/a*b --\na\n", "files/a*b: a file of that name cannot be embedded"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := project.Chart(t.Context(), request(write(t, txtar.Parse([]byte(test.files)))))
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got error %v, want one with %q", err, test.want)
			}
		})
	}
	if _, err := project.Kustomization(t.Context(), request(t.TempDir())); err == nil || !strings.Contains(err.Error(), "kustomization") {
		t.Errorf("an empty folder as a kustomization: got error %v", err)
	}
}
