// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package component

import (
	"fmt"
	"net/http"
	"testing"
	"testing/fstest"

	batchv1 "k8s.io/api/batch/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

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

// TestChartWithHooks has an operator apply a hook before the objects of a chart, and another one afterwards.
func TestChartWithHooks(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	chart := chartHook("Job", "migrate", "pre-install") + "---\n{apiVersion: v1, kind: ConfigMap, metadata: {name: settings}}\n" +
		chartHook("Job", "announce", "post-install", "helm.sh/hook-delete-policy", "hook-succeeded")
	r.start(NewReconciler[*Widget](r.name, chartGenerator(t, map[string]string{"templates/all.yaml": chart}), ReconcilerOptions{}))
	widget := r.widget("")
	r.create(widget)
	awaitReady(r, widget)
	var created []string
	for _, request := range r.requests.All() {
		if request.Status == http.StatusCreated && (request.Resource == "jobs" || request.Resource == "configmaps") {
			created = append(created, request.Name)
		}
	}
	diff(t, "created", []string{"migrate", "settings", "announce"}, created)
	jobs := &batchv1.JobList{}
	if err := r.client.List(t.Context(), jobs, client.InNamespace(r.namespace)); err != nil || len(jobs.Items) != 1 {
		t.Errorf("want only the hook to be left that its policy keeps, got %d, %v", len(jobs.Items), err)
	}
}

func chartHook(kind, name, hooks string, more ...string) string {
	text := fmt.Sprintf("---\napiVersion: %s\nkind: %s\nmetadata:\n  name: %s\n  annotations:\n    helm.sh/hook: %q\n", map[string]string{"Job": "batch/v1", "Pod": "v1"}[kind], kind, name, hooks)
	for i := 0; i < len(more); i += 2 {
		text += fmt.Sprintf("    %s: %q\n", more[i], more[i+1])
	}
	spec := "{restartPolicy: Never, containers: [{name: a, image: a}]}"
	if kind == "Job" {
		spec = "{backoffLimit: 0, template: {spec: " + spec + "}}"
	}
	return text + "spec: " + spec + "\n"
}
