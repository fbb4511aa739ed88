// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package component

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/internal/testenv"
	"github.com/component-operator/runtime/pkg/probes"
)

// demands returns probes that demand a value of a field of all ConfigMaps.
func demands(value string) []probes.Probe {
	return []probes.Probe{{
		Selector: probes.Selector{Kind: &probes.Kind{Kind: "ConfigMap"}},
		Checks:   []probes.Check{{FieldValue: &probes.FieldValue{Field: ".data.state", Value: apiextensionsv1.JSON{Raw: []byte(`"` + value + `"`)}}}},
	}}
}

// TestJudgesOfComponents has a component whose spec has probes: they decide about its readiness, also after they have
// changed, and after a restart.
func TestJudgesOfComponents(t *testing.T) {
	t.Parallel()
	const count = 20
	r := newRig(t)
	stop := r.start(r.reconciler(ReconcilerOptions{}))
	var objects strings.Builder
	for i := range count {
		fmt.Fprintf(&objects, "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: c%d}\ndata: {state: one}\n", i)
	}
	widget := r.widget(objects.String())
	widget.Spec.Probes = demands("one")
	r.create(widget)
	awaitReady(r, widget)
	r.settle(widget)

	r.requests.Reset()
	change(r, widget, func(w *Widget) { w.Spec.Probes = demands("two") })
	await(r, widget, "a wait for the probes", func() bool {
		_, _, message := widget.Status.GetState()
		return strings.Contains(message, `.data.state is "one", not "two"`)
	})
	r.settleCounting()
	reads := func(request testenv.Request) bool {
		return request.Method == http.MethodGet && !request.IsWatch() && strings.Contains(request.Path, "/configmaps/c")
	}
	if got := r.requests.Count(reads); got != count {
		t.Errorf("expected one read for each dependent, got %d:\n%s", got, r.requests)
	}
	stop()

	r.requests.Reset()
	r.start(r.reconciler(ReconcilerOptions{}))
	change(r, widget, func(w *Widget) { w.Spec.Objects = r.objects(strings.ReplaceAll(objects.String(), "one", "two")) })
	awaitReady(r, widget)
	r.settleCounting()
	if got := r.requests.Count(reads); got != 0 {
		t.Errorf("expected no reads after a restart, got %d:\n%s", got, r.requests)
	}

	change(r, widget, func(w *Widget) {
		w.Spec.Probes = []probes.Probe{{Checks: []probes.Check{{CEL: &probes.CEL{Rule: "slef"}}}}}
	})
	await(r, widget, "an error", func() bool {
		state, _, message := widget.Status.GetState()
		return state == StateError && strings.Contains(message, `Cannot judge dependents: probes[0].probes[0].cel.rule: invalid value "slef"`)
	})
	found := &corev1.ConfigMap{}
	if err := r.client.Get(t.Context(), client.ObjectKey{Namespace: r.namespace, Name: "c0"}, found); err != nil || found.Data["state"] != "two" {
		t.Errorf("the dependents have changed: %v, %v", found.Data, err)
	}
}
