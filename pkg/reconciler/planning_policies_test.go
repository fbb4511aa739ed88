// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package reconciler_test

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/internal/testenv"
	"github.com/component-operator/runtime/pkg/reconciler"
)

// subject is a ConfigMap with policies, and what has become of it before the plan is made.
type subject struct {
	adoption, update, reconcile, drift, delete, state string

	unwanted bool
}

func (s subject) name() string {
	kind := map[bool]string{true: "unwanted", false: "wanted"}[s.unwanted]
	return strings.Join([]string{kind, s.state, s.adoption, s.update, s.reconcile, s.drift, s.delete}, ".")
}

// manifest declares the subject; the values are what changes with its manifest.
func (s subject) manifest(value string) string {
	return fmt.Sprintf(`---
apiVersion: v1
kind: ConfigMap
metadata:
  name: %s
  annotations:
    PREFIX/adoption-policy: %s
    PREFIX/update-policy: %s
    PREFIX/reconcile-policy: %s
    PREFIX/drift-policy: %s
    PREFIX/delete-policy: %s
data: {value: %q, other: "1"}
`, s.name(), s.adoption, s.update, s.reconcile, s.drift, s.delete, value)
}

// states say what others do to an object that was applied (or, if it was not, whether and whose it is).
var states = map[string]func(w *world, name string){
	"absent":  nil,
	"unowned": func(w *world, name string) { w.create(subjectOf(name, "")) },
	"foreign": func(w *world, name string) { w.create(subjectOf(name, "PREFIX/owner-id: other")) },
	"same":    func(*world, string) {},
	"changed": func(*world, string) {}, // the manifest
	"drifted": func(w *world, name string) {
		w.patchAs(w.configMap(name), `{"data":{"value":"theirs"}}`, "kubectl-edit")
	},
	"both": func(w *world, name string) {
		w.patchAs(w.configMap(name), `{"data":{"value":"theirs"}}`, "kubectl-edit")
	},
	"extended": func(w *world, name string) {
		w.patchAs(w.configMap(name), `{"data":{"more":"theirs"}}`, "kubectl-edit")
	},
	"removed": func(w *world, name string) { w.remove(w.configMap(name)) },
	"unlabelled": func(w *world, name string) {
		w.patch(w.configMap(name), `{"metadata":{"labels":{"PREFIX/owner-id":null}}}`)
	},
	"taken": func(w *world, name string) {
		w.patch(w.configMap(name), `{"metadata":{"labels":{"PREFIX/owner-id":"other"}}}`)
	},
	"replaced": func(w *world, name string) {
		w.remove(w.configMap(name))
		w.create(subjectOf(name, ""))
	},
}

func subjectOf(name, labels string) string {
	return fmt.Sprintf("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: %s, labels: {%s}}\ndata: {value: theirs, more: theirs}\n", name, labels)
}

// subjects are all combinations of policies that can matter in a state.
func subjects() (wanted, unwanted []subject) {
	for state := range maps.Keys(states) {
		for _, update := range []string{"recreate", "replace", "ssa-merge", "ssa-override"} {
			for _, adoption := range []string{"never", "if-unowned", "always"} {
				if !slices.Contains([]string{"same", "changed", "both", "drifted", "extended", "removed"}, state) {
					wanted = append(wanted, subject{adoption, update, "on-object-change", "correct", "delete", state, false})
				}
			}
			for _, reconcile := range []string{"on-object-change", "on-object-or-component-change", "once"} {
				for _, drift := range []string{"correct", "report", "ignore"} {
					if state != "foreign" && state != "unowned" {
						wanted = append(wanted, subject{"if-unowned", update, reconcile, drift, "orphan", state, false})
					}
				}
			}
		}
		for _, policy := range []string{"delete", "orphan", "orphan-on-apply", "orphan-on-delete"} {
			if !slices.Contains([]string{"absent", "unowned", "foreign"}, state) {
				unwanted = append(unwanted, subject{"if-unowned", "replace", "on-object-change", "correct", policy, state, true})
			}
		}
	}
	return wanted, unwanted
}

// TestPlanForEachPolicy compares plans with what Apply does, for all policies in all states of an object.
func TestPlanForEachPolicy(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	wanted, unwanted := subjects()
	var before, after strings.Builder
	for _, s := range slices.Concat(wanted, unwanted) {
		if s.state != "absent" && s.state != "unowned" && s.state != "foreign" {
			before.WriteString(s.manifest("1"))
		}
	}
	w.settle(before.String(), done)
	for _, s := range slices.Concat(wanted, unwanted) {
		if meddle := states[s.state]; meddle != nil {
			meddle(w, s.name())
		}
	}
	for _, s := range wanted {
		after.WriteString(s.manifest(map[bool]string{true: "2", false: "1"}[s.state == "changed" || s.state == "both"]))
	}
	w.observed(after.String())

	plan := w.plan(after.String(), compare)
	refusals := map[string]string{}
	for _, change := range plan.Changes {
		if change.Refusal != "" {
			refusals[change.Object.Name] = change.Object.String() + ": " + change.Refusal
		}
	}
	// The objects of strangers are found before anything is written.
	_, err := w.applyExpected(after.String(), nil)
	var refused *reconciler.RefusedError
	if !errors.As(err, &refused) {
		t.Fatalf("expected a refusal, got %v", err)
	}
	planned := slices.Collect(maps.Values(refusals))
	for _, problem := range refused.Problems {
		if !slices.Contains(planned, problem) {
			t.Errorf("refused, and not planned to be: %s", problem)
		}
	}
	result, err := w.applyExpected(without(after.String(), refusals), nil)
	if err != nil || !result.Done {
		t.Fatalf("expected the rest to be done, got %v, %s", err, notices(result.Waits))
	}
	got, want := firstVerbs(result), map[string]reconciler.Verb{}
	for _, change := range plan.Changes {
		if change.Verb != "" {
			want[identity(change.Object)] = change.Verb
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("verbs (-planned +done):\n%s", diff)
	}
	if verbs := slices.Collect(maps.Values(want)); len(verbs) < 100 {
		t.Errorf("expected a lot to be done, got %d changes", len(verbs))
	}
}

// observed waits until the observer knows all that has happened to the dependents.
func (w *world) observed(manifests string) {
	w.Helper()
	list := &corev1.ConfigMapList{}
	if err := w.client.List(w.Context(), list, client.InNamespace(w.namespace)); err != nil {
		w.Fatal(err)
	}
	stored, labelled := map[string]string{}, map[string]bool{}
	for _, item := range list.Items {
		stored[item.Name] = "rv" + item.ResourceVersion
		labelled[item.Name] = item.Labels[prefix+"/owner-id"] != ""
	}
	testenv.Eventually(w, func() (bool, string) {
		for _, change := range w.plan(manifests, reconciler.PlanOptions{}).Changes {
			name := change.Object.Name
			// What is not labelled is seen only if the server is asked for it.
			if change.Baseline != stored[name] && (labelled[name] || change.Baseline != "") {
				return false, change.Object.String() + " is not observed as it is"
			}
		}
		return true, ""
	})
}

// without leaves manifests out by their names.
func without(manifests string, names map[string]string) string {
	var kept []string
	for _, manifest := range strings.Split(manifests, "---\n") {
		_, name, _ := strings.Cut(manifest, "name: ")
		name, _, _ = strings.Cut(name, "\n")
		if names[name] == "" {
			kept = append(kept, manifest)
		}
	}
	return strings.Join(kept, "---\n")
}
