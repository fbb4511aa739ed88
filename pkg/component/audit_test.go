// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package component

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr/funcr"
	corev1 "k8s.io/api/core/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	ctrlmetrics "sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/component-operator/runtime/pkg/reconciler"
)

// logbook has the lines of a log that are about components.
type logbook struct {
	mu    sync.Mutex
	lines []string
}

// manager returns a manager that writes its log into the book, without what differs from run to run.
func (l *logbook) manager(r *rig) ctrl.Manager {
	return r.manager(func(o *ctrl.Options) {
		o.Logger = funcr.New(func(_, args string) {
			if !strings.Contains(args, `"name"="demo"`) || strings.Contains(args, "prefer a domain-qualified finalizer") { // what the API server thinks of the finalizer
				return
			}
			_, line, _ := strings.Cut(args, `"msg"=`)
			line, rest, _ := strings.Cut(line, ` "controller"=`)
			_, values, found := strings.Cut(rest, `"reconcileID"=`)
			if found {
				_, values, _ = strings.Cut(values, " ")
			}
			l.mu.Lock()
			defer l.mu.Unlock()
			l.lines = append(l.lines, strings.ReplaceAll(strings.TrimSpace(line+" "+values), r.namespace, "NS"))
		}, funcr.Options{})
	})
}

func (l *logbook) take() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	lines := l.lines
	l.lines = nil
	return lines
}

// metrics returns the series of the stage's metric, with the values of the given label.
func (s *stage) metrics(name, label string) []string {
	s.tb.Helper()
	return s.gathered(func(metric string, labels map[string]string, value float64) string {
		if metric != name || value <= 0 {
			return ""
		}
		return strings.TrimSpace(fmt.Sprint(labels[label], " ", value))
	})
}

// gathered returns texts about the metrics of the operator, sorted; an empty one leaves a metric out.
func (s *stage) gathered(describe func(name string, labels map[string]string, value float64) string) (found []string) {
	s.tb.Helper()
	families, err := ctrlmetrics.Registry.Gather()
	if err != nil {
		s.tb.Fatal(err)
	}
	for _, family := range families {
		for _, metric := range family.GetMetric() {
			labels := map[string]string{}
			for _, label := range metric.GetLabel() {
				labels[label.GetName()] = label.GetValue()
			}
			value := metric.GetCounter().GetValue() + metric.GetHistogram().GetSampleSum() + metric.GetGauge().GetValue()
			text := describe(strings.TrimPrefix(family.GetName(), "component_operator_runtime_"), labels, value)
			if labels["controller"] == s.name && text != "" {
				found = append(found, text)
			}
		}
	}
	slices.Sort(found)
	return found
}

// TestWhatAnAuditorNeeds reads the log of the life of a component: what was done, why, and in which revision. At rest,
// nothing is logged.
func TestWhatAnAuditorNeeds(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	book := &logbook{}
	own := r.reconciler(ReconcilerOptions{})
	mgr := book.manager(r)
	if err := own.SetupWithManager(mgr); err != nil {
		t.Fatal(err)
	}
	r.run(mgr)
	expect := func(reason string, want ...string) {
		t.Helper()
		got := slices.DeleteFunc(book.take(), func(line string) bool { return strings.Contains(line, `"state"="Processing"`) }) // depends on timing
		diff(t, reason, want, got)
	}
	ready := func() string {
		return `"state of the component" "state"="Ready" "reason"="Ready" "message"="1 dependent is ready"`
	}
	widget := r.widget(oneConfigMap)
	r.create(widget)
	awaitReady(r, widget)
	r.settle(widget)
	expect("creation", `"created a dependent" "object"="ConfigMap NS/settings" "wave"=0 "revision"=1 "reason"="does not exist"`, ready())
	for range 3 {
		if _, err := own.Reconcile(t.Context(), request(widget.Namespace, widget.Name)); err != nil {
			t.Fatal(err)
		}
	}
	expect("rest")
	change(r, r.configMapObject("settings"), func(c *corev1.ConfigMap) { c.Data["color"] = "drifted" })
	await(r, widget, "the correction", func() bool { return r.configMap("settings")["color"] == "red" })
	r.settle(widget)
	expect("drift", `"corrected a dependent" "object"="ConfigMap NS/settings" "wave"=0 "revision"=1 "reason"="was changed by `+filepath.Base(os.Args[0])+`: .data.color"`)
	change(r, widget, func(w *Widget) { w.Spec.Objects = r.objects(strings.Replace(oneConfigMap, "red", "blue", 1)) })
	awaitReady(r, widget)
	r.settle(widget)
	expect("another manifest", `"updated a dependent" "object"="ConfigMap NS/settings" "wave"=0 "revision"=2 "reason"="the manifest changed"`)

	change(r, widget, func(w *Widget) { w.Spec.Objects = nil })
	awaitReady(r, widget)
	r.settle(widget)
	deleted := book.take()
	if want := `"deleted a dependent" "object"="ConfigMap NS/settings" "wave"=0 "revision"=3 "reason"="is no longer in the manifests"`; !slices.Contains(deleted, want) {
		t.Errorf("want %s, got %q", want, deleted)
	}
	r.delete(widget)
	r.awaitGone(widget)
}

// TestRefusalsAreCounted counts each refusal once, by its reason, however often it is tried again.
func TestRefusalsAreCounted(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	for _, refused := range []*reconciler.RefusedError{
		{Problems: []string{"a"}},
		{Problems: []string{"b"}, Rejected: true},
		{Problems: []string{"c"}, Foreign: true},
		{Problems: []string{"a"}},
	} {
		s.script.err = refused
		for range 3 {
			_, _, _ = s.pass()
		}
	}
	diff(t, "refusals", []string{"invalid 2", "owned 1", "rejected 1"}, s.metrics("refusals_total", "reason"))
}

// TestTimeToReady measures changes, and not what happens to a component that is as declared.
func TestTimeToReady(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	waits := reconciler.Result{WaveSize: 1, Waits: []reconciler.Notice{notice("Deployment", "a", "0/1")}, Inventory: deployed("a")}
	ready := reconciler.Result{Done: true, Inventory: deployed("a")}
	work := func(results ...reconciler.Result) {
		for _, s.script.result = range results {
			_, _, _ = s.pass()
			s.clock.Step(time.Minute)
		}
	}
	check := func(reason, want string) {
		t.Helper()
		diff(t, reason, want, strings.Join(s.metrics("time_to_ready_seconds", ""), ", "))
	}
	work(waits, waits, ready)
	check("a new component", "120")
	work(waits, ready, ready)
	check("a component that was disturbed", "120")
	change(s.rig, s.widget, func(w *Widget) { w.Spec.Objects = s.objects(oneConfigMap) })
	work(waits, ready)
	check("another declaration", "180")
	change(s.rig, s.widget, func(w *Widget) { w.Spec.Objects = nil })
	work(waits)
	change(s.rig, s.widget, func(w *Widget) { w.Spec.Suspend = true })
	work(waits)
	s.clock.Step(time.Hour)
	change(s.rig, s.widget, func(w *Widget) { w.Spec.Suspend = false })
	work(waits, ready)
	check("a pause in between", "240")
}
