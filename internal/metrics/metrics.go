// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"errors"
	"fmt"

	"github.com/prometheus/client_golang/prometheus"
	ctrlmetrics "sigs.k8s.io/controller-runtime/pkg/metrics"
)

const prefix = "component_operator_runtime_"

// newCollectors returns the metrics of a controller in a registry, and registers them if they are not yet.
func newCollectors(registerer prometheus.Registerer, controller string) (*Controller, error) {
	r := &registration{registerer: registerer, controller: prometheus.Labels{"controller": controller}}
	component := []string{"group", "kind", "namespace", "name"}
	c := &Controller{
		reconciles:        r.counter("reconcile_total", "Reconciliations of components").WithLabelValues(),
		reconcileErrors:   r.counter("reconcile_errors_total", "Failed reconciliations of components, by HTTP status code or other", "type"),
		refusals:          r.counter("refusals_total", "Refusals of components or dependents, each counted once: invalid, owned, or rejected", "reason"),
		requests:          r.counter("requests_total", "Requests sent to API servers, by HTTP method", "method"),
		operations:        r.counter("operations_total", "Operations on dependents: read, create, update, delete", "action"),
		createdClients:    r.counter("created_clients_total", "Clients made for impersonated users and remote clusters").WithLabelValues(),
		activeClients:     r.renamed("active_clients", "Clients that are kept for impersonated users and remote clusters"),
		drift:             r.counter("drift_total", "Changes that other clients made to dependents, by drift policy", "policy"),
		fights:            r.counter("fights_total", "Corrections that were delayed because other clients keep changing the same dependent").WithLabelValues(),
		dependents:        r.renamed("dependents", "Dependents of a component", component...),
		unreadyDependents: r.renamed("unready_dependents", "Dependents of a component that are not ready", component...),
		panics:            r.counter("panics_total", "Panics during reconciliations").WithLabelValues(),
		generation: r.histogram("generation_duration_seconds", "Duration of calls of the generator",
			[]float64{.01, .05, .1, .5, 1, 2.5, 5, 10, 30, 60, 300, 600, 1800}),
		readiness: r.histogram("time_to_ready_seconds", "Time from the reconciliation that first saw a change of a component until the component was ready",
			[]float64{.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600, 1800, 3600}),
		shards: r.gauge("shards_held", "Shards that this replica holds"),
		hosts:  hostsOfControllerRuntime(),
		states: map[Component][]string{},
	}
	c.state = r.gauge("component_state", "State of a component and reason of its condition Ready; 1 for the current ones, no series for others",
		"group", "kind", "namespace", "name", "state", "reason")
	if len(r.errs) > 0 {
		return nil, fmt.Errorf("registering metrics: %w", errors.Join(r.errs...))
	}
	return c, nil
}

// hostsOfControllerRuntime returns the collector that controller-runtime registers itself. Registering one of the same
// description yields it. If a later version describes it differently, nothing is removed from it.
func hostsOfControllerRuntime() *prometheus.CounterVec {
	r := &registration{registerer: ctrlmetrics.Registry}
	return register(r, prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "rest_client_requests_total", Help: "Number of HTTP requests, partitioned by status code, method, and host.",
	}, []string{"code", "method", "host"}))
}

// registration registers collectors one by one and collects the errors. All have the label of the controller.
type registration struct {
	registerer prometheus.Registerer
	controller prometheus.Labels
	errs       []error
}

func (r *registration) counter(name string, help string, labels ...string) *prometheus.CounterVec {
	return register(r, prometheus.NewCounterVec(prometheus.CounterOpts{Name: prefix + name, Help: help}, withController(labels))).MustCurryWith(r.controller)
}

func (r *registration) gauge(name string, help string, labels ...string) *prometheus.GaugeVec {
	return register(r, prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: prefix + name, Help: help}, withController(labels))).MustCurryWith(r.controller)
}

func (r *registration) histogram(name string, help string, buckets []float64) prometheus.Observer {
	options := prometheus.HistogramOpts{Name: prefix + name, Help: help, Buckets: buckets}
	return register(r, prometheus.NewHistogramVec(options, withController(nil))).With(r.controller)
}

func withController(labels []string) []string { return append([]string{"controller"}, labels...) }

// gauges are a gauge and its deprecated alias.
type gauges [2]*prometheus.GaugeVec

// renamed registers a gauge, and an alias that ends in "_total", as its name did at first; only counters should.
func (r *registration) renamed(name string, help string, labels ...string) gauges {
	return gauges{r.gauge(name, help, labels...), r.gauge(name+"_total", "Deprecated: use "+prefix+name, labels...)}
}

func (g gauges) set(value float64, labels ...string) {
	for _, gauge := range g {
		gauge.WithLabelValues(labels...).Set(value)
	}
}

func (g gauges) remove(labels ...string) {
	for _, gauge := range g {
		gauge.DeleteLabelValues(labels...)
	}
}

// register returns the collector, or a registered one with the same description.
func register[T prometheus.Collector](r *registration, collector T) T {
	err := r.registerer.Register(collector)
	var registered prometheus.AlreadyRegisteredError
	if errors.As(err, &registered) {
		if existing, ok := registered.ExistingCollector.(T); ok {
			return existing
		}
	}
	if err != nil {
		r.errs = append(r.errs, err)
	}
	return collector
}
