// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package component

import (
	"strings"
	"sync/atomic"
	"testing"
	"testing/fstest"
	"time"

	"github.com/go-logr/logr/funcr"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/component-operator/runtime/pkg/manifests"
	"github.com/component-operator/runtime/pkg/manifests/helm"
)

// chartGenerator returns a generator for a chart with the given files.
func chartGenerator(tb testing.TB, files map[string]string) manifests.Generator {
	tb.Helper()
	fsys := fstest.MapFS{"Chart.yaml": {Data: []byte("apiVersion: v2\nname: demo\nversion: 1.0.0\n")}}
	for name, content := range files {
		fsys[name] = &fstest.MapFile{Data: []byte(content)}
	}
	generator, err := helm.New(fsys, ".", helm.Options{})
	if err != nil {
		tb.Fatal(err)
	}
	return generator
}

// Whatever is wrong with a chart, its user is told in the status of the component.
func TestConditionShowsErrorsOfCharts(t *testing.T) {
	t.Parallel()
	object := "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: demo}\n"
	for reason, tt := range map[string]struct {
		files map[string]string
		want  []string
	}{
		"recursion": {
			map[string]string{"templates/_a.tpl": `{{ define "loop" }}{{ include "loop" . }}{{ end }}`, "templates/a.yaml": "\n" + `{{ include "loop" . }}`},
			[]string{"demo/templates/a.yaml:2:3", `template "loop"`, "at most 1000 levels are allowed"},
		},
		"too much output":    {map[string]string{"templates/a.yaml": `{{ repeat 20000000 "#" }}`}, []string{"demo/templates/a.yaml:1:3", "repeating 1 bytes 20000000 times", "from 0 to 16777216 bytes"}},
		"a broken template":  {map[string]string{"templates/a.yaml": object + `{{ if }}`}, []string{"demo/templates/a.yaml:4", "missing value for if"}},
		"a failing template": {map[string]string{"templates/a.yaml": `{{ required "size is needed" .Values.size }}`}, []string{"demo/templates/a.yaml:1:3", "size is needed"}},
		"values that violate the schema": {
			map[string]string{"values.schema.json": `{"required": ["size"], "properties": {"timeout": {"type": "integer"}}}`},
			[]string{"demo:", "missing property 'size'", "at '/timeout': got string, want integer"},
		},
		"output that is not YAML": {map[string]string{"templates/a.yaml": object + "---\na: [\n"}, []string{"demo/templates/a.yaml, document 2", "line 1"}},
		"colliding keys":          {map[string]string{"templates/a.yaml": object + "data: {1: a, '1': b}"}, []string{"demo/templates/a.yaml, document 1", `notations: "1"`}},
		"a version of Kubernetes": {
			map[string]string{"Chart.yaml": "apiVersion: v2\nname: demo\nversion: 1.0.0\nkubeVersion: '>=1.99.0'\n"}, []string{"it requires Kubernetes >=1.99.0"},
		},
	} {
		t.Run(reason, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			r.start(NewReconciler[*Widget](r.name, chartGenerator(t, tt.files), ReconcilerOptions{}))
			widget := r.widget("")
			widget.Spec.Timeout = &metav1.Duration{Duration: time.Hour}
			r.create(widget)
			await(r, widget, "an error with "+strings.Join(tt.want, ", "), func() bool {
				state, _, message := widget.GetStatus().GetState()
				for _, part := range append(tt.want, "rendering chart demo") {
					if !strings.Contains(message, part) {
						return false
					}
				}
				return state == StateError
			})
		})
	}
}

func TestLogSaysOnceThatAChartDependsOnTheCluster(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	var lines atomic.Int64
	mgr := r.manager(func(options *ctrl.Options) {
		options.Logger = funcr.New(func(_, args string) {
			if strings.Contains(args, "depend on the cluster") && strings.Contains(args, "to look objects up") {
				lines.Add(1)
			}
		}, funcr.Options{Verbosity: 1})
	})
	generator := chartGenerator(t, map[string]string{
		"templates/a.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: demo}\ndata: {found: '{{ lookup \"v1\" \"ConfigMap\" .Release.Namespace \"none\" | len }}'}\n",
	})
	if err := NewReconciler[*Widget](r.name, generator, ReconcilerOptions{}).SetupWithManager(mgr); err != nil {
		t.Fatal(err)
	}
	r.run(mgr)
	widget := r.widget("")
	r.create(widget)
	awaitReady(r, widget)
	for range 2 {
		change(r, widget, func(w *Widget) { metav1.SetMetaDataAnnotation(&w.ObjectMeta, "example.io/again", w.ResourceVersion) })
		awaitReady(r, widget)
	}
	change(r, widget, func(w *Widget) { w.Spec.Timeout = &metav1.Duration{Duration: time.Hour} })
	awaitReady(r, widget)
	if lines.Load() != 1 {
		t.Errorf("the log has %d lines about it, want 1", lines.Load())
	}
}
