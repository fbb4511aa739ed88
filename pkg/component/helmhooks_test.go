// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package component

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

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

// TestLifeOfAChartWithHooks installs, changes and deletes what a chart declares.
func TestLifeOfAChartWithHooks(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	const all = "helm.sh/hook-delete-policy"
	generator := chartGenerator(t, map[string]string{
		"templates/a.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: regular}\ndata: {timeout: {{ .Values.timeout | quote }}}\n" +
			chartHook("Job", "first", "pre-install", "helm.sh/hook-weight", "-5", all, "before-hook-creation,hook-succeeded,hook-failed") +
			chartHook("Job", "second", " pre-install , pre-upgrade ", all, "before-hook-creation, hook-succeeded") +
			chartHook("Job", "goodbye", "pre-delete", all, "hook-succeeded") +
			chartHook("Job", "farewell", "post-delete") +
			chartHook("Job", "check", "test") + chartHook("Job", "back", "pre-rollback"),
	})
	r.start(NewReconciler[*Widget](r.name, generator, ReconcilerOptions{}))
	widget := r.widget("")
	r.create(widget)
	awaitReady(r, widget)
	installation := r.story()
	slices.Sort(installation[2:min(4, len(installation))]) // these are purged side by side
	diff(t, "installation", []string{"+jobs/first", "+jobs/second", "-jobs/first", "-jobs/second", "+configmaps/regular"}, installation)
	r.settle(widget)

	r.requests.Reset()
	change(r, widget, func(w *Widget) { w.Labels = map[string]string{"unrelated": "true"} })
	r.settleCounting()
	diff(t, "what an unrelated label leads to", []string(nil), r.story())
	change(r, widget, func(w *Widget) { w.Spec.Timeout = &metav1.Duration{Duration: time.Hour} })
	awaitReady(r, widget)
	story := strings.Join(r.story(), " ")
	if !strings.Contains(story, "+jobs/second -jobs/second") || strings.Contains(story, "jobs/first") {
		t.Errorf("want the upgrade to run the upgrade hook alone, got %s", story)
	}

	r.settle(widget)
	r.requests.Reset()
	r.delete(widget)
	r.awaitGone(widget)
	diff(t, "deletion", []string{"+jobs/goodbye", "-jobs/goodbye", "-configmaps/regular", "+jobs/farewell", "-jobs/farewell"}, r.story())
}
