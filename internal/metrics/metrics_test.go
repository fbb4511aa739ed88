// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package metrics_test

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
	dto "github.com/prometheus/client_model/go"
	"go.uber.org/goleak"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/component-operator/runtime/internal/metrics"
)

func newController(t *testing.T, registry *prometheus.Registry, name string) *metrics.Controller {
	t.Helper()
	c, err := metrics.New(registry, name)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// check compares all series of this project in the registry that are not 0.
func check(t *testing.T, registry prometheus.Gatherer, want string) {
	t.Helper()
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for _, family := range families {
		if !strings.HasPrefix(family.GetName(), "component_operator_runtime_") {
			continue
		}
		for _, metric := range family.GetMetric() {
			var labels []string
			for _, label := range metric.GetLabel() {
				labels = append(labels, label.GetName()+"="+label.GetValue())
			}
			value := metric.GetCounter().GetValue() + metric.GetGauge().GetValue()
			if value == 0 { // it is there so that its first increase is seen
				continue
			}
			lines = append(lines, fmt.Sprintf("%s{%s} %v", family.GetName(), strings.Join(labels, ","), value))
		}
	}
	if got := strings.Join(lines, "\n"); got != strings.TrimSpace(want) {
		t.Errorf("got:\n%s\nwant:\n%s", got, strings.TrimSpace(want))
	}
}

func TestNamesAndLabels(t *testing.T) {
	t.Parallel()
	registry := prometheus.NewPedanticRegistry()
	c := newController(t, registry, "webs")

	c.Reconciled(nil)
	c.Reconciled(errors.New("boom"))
	c.Reconciled(fmt.Errorf("applying: %w", apierrors.NewConflict(schema.GroupResource{Resource: "webs"}, "x", nil)))
	for code := range int32(3) {
		// The server of a kubeconfig may send any code.
		c.Reconciled(&apierrors.StatusError{ErrStatus: metav1.Status{Status: metav1.StatusFailure, Code: 1000 + code}})
	}
	c.Operated("create")
	c.ClientCreated()
	c.ClientsActive(2)
	c.Drifted("correct")
	c.Fights.Inc()
	c.Refused(metrics.RefusalOwned)
	c.SetComponent(metrics.Component{Group: "example.io", Kind: "Web", Namespace: "ns", Name: "x"}, "Ready", "Ready", 3, 1)

	check(t, registry, `
component_operator_runtime_active_clients{controller=webs} 2
component_operator_runtime_active_clients_total{controller=webs} 2
component_operator_runtime_component_state{controller=webs,group=example.io,kind=Web,name=x,namespace=ns,reason=Ready,state=Ready} 1
component_operator_runtime_created_clients_total{controller=webs} 1
component_operator_runtime_dependents{controller=webs,group=example.io,kind=Web,name=x,namespace=ns} 3
component_operator_runtime_dependents_total{controller=webs,group=example.io,kind=Web,name=x,namespace=ns} 3
component_operator_runtime_drift_total{controller=webs,policy=correct} 1
component_operator_runtime_fights_total{controller=webs} 1
component_operator_runtime_operations_total{action=create,controller=webs} 1
component_operator_runtime_reconcile_errors_total{controller=webs,type=409} 1
component_operator_runtime_reconcile_errors_total{controller=webs,type=other} 4
component_operator_runtime_reconcile_total{controller=webs} 6
component_operator_runtime_refusals_total{controller=webs,reason=owned} 1
component_operator_runtime_unready_dependents{controller=webs,group=example.io,kind=Web,name=x,namespace=ns} 1
component_operator_runtime_unready_dependents_total{controller=webs,group=example.io,kind=Web,name=x,namespace=ns} 1
`)
}

// TestConventions has the linter of Prometheus look at all metrics, except for deprecated aliases.
func TestConventions(t *testing.T) {
	t.Parallel()
	registry := prometheus.NewPedanticRegistry()
	c := newController(t, registry, "webs")
	c.Reconciled(errors.New("boom"))
	c.Operated("create")
	c.ClientCreated()
	c.ClientsActive(2)
	c.SetComponent(metrics.Component{Kind: "Web", Name: "x"}, "Ready", "Ready", 3, 1)
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	families = slices.DeleteFunc(families, func(family *dto.MetricFamily) bool { return strings.HasPrefix(family.GetHelp(), "Deprecated: ") })
	problems, err := promlint.NewWithMetricFamilies(families).Lint()
	if err != nil || len(families) < 11 {
		t.Fatalf("got %d families, %v", len(families), err)
	}
	for _, problem := range problems {
		t.Errorf("%s: %s", problem.Metric, problem.Text)
	}
}

// TestCountersAreThereFromTheStart: a rule about an increase does not see the first one if the series begins with it.
func TestCountersAreThereFromTheStart(t *testing.T) {
	t.Parallel()
	registry := prometheus.NewPedanticRegistry()
	newController(t, registry, "webs")
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	count := map[string]int{}
	for _, family := range families {
		count[strings.TrimPrefix(family.GetName(), "component_operator_runtime_")] = len(family.GetMetric())
	}
	for name, want := range map[string]int{"refusals_total": 3, "drift_total": 2, "fights_total": 1} {
		if count[name] != want {
			t.Errorf("%s: want %d series, got %d", name, want, count[name])
		}
	}
}

func TestRequestsAreCounted(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	t.Cleanup(server.Close)
	registry := prometheus.NewPedanticRegistry()
	client := &http.Client{Transport: newController(t, registry, "webs").Requests(http.DefaultTransport)}
	for range 2 {
		response, err := client.Get(server.URL)
		if err != nil {
			t.Fatal(err)
		}
		response.Body.Close()
	}
	check(t, registry, "component_operator_runtime_requests_total{controller=webs,method=GET} 2")
}

// TestMain fails if a test leaves a goroutine behind.
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }
