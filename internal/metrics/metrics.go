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

var (
	controllerLabels = []string{"controller"}
	componentLabels  = []string{"controller", "group", "kind", "namespace", "name"}
	stateLabels      = []string{"controller", "group", "kind", "namespace", "name", "state", "reason"}
)

// Metrics are the collectors of one registry. They are safe for concurrent use.
type Metrics struct {
	reconciles        *prometheus.CounterVec
	reconcileErrors   *prometheus.CounterVec
	refusals          *prometheus.CounterVec
	requests          *prometheus.CounterVec
	operations        *prometheus.CounterVec
	createdClients    *prometheus.CounterVec
	activeClients     gauges
	drift             *prometheus.CounterVec
	fights            *prometheus.CounterVec
	state             *prometheus.GaugeVec
	dependents        gauges
	unreadyDependents gauges
	panics            *prometheus.CounterVec
	generation        *prometheus.HistogramVec
	readiness         *prometheus.HistogramVec
	shards            *prometheus.GaugeVec
	// hosts is the collector of controller-runtime that counts requests by host.
	hosts *prometheus.CounterVec
}

// New returns the collectors of a registry, and registers them on the first call. If registerer is nil,
// the registry is that of controller-runtime. It fails if the registry holds other collectors with the
// same names.
func New(registerer prometheus.Registerer) (*Metrics, error) {
	if registerer == nil {
		registerer = ctrlmetrics.Registry
	}
	r := &registration{registerer: registerer}
	m := &Metrics{
		reconciles:        r.counter("reconcile_total", "Reconciliations of components", controllerLabels),
		reconcileErrors:   r.counter("reconcile_errors_total", "Failed reconciliations of components, by HTTP status code or other", []string{"controller", "type"}),
		refusals:          r.counter("refusals_total", "Refusals of components or dependents, each counted once: invalid, owned, or rejected", []string{"controller", "reason"}),
		requests:          r.counter("requests_total", "Requests sent to API servers, by HTTP method", []string{"controller", "method"}),
		operations:        r.counter("operations_total", "Operations on dependents: read, create, update, delete", []string{"controller", "action"}),
		createdClients:    r.counter("created_clients_total", "Clients made for impersonated users and remote clusters", controllerLabels),
		activeClients:     r.renamed("active_clients", "Clients that are kept for impersonated users and remote clusters", controllerLabels),
		drift:             r.counter("drift_total", "Changes that other clients made to dependents, by drift policy", []string{"controller", "policy"}),
		fights:            r.counter("fights_total", "Corrections that were delayed because other clients keep changing the same dependent", controllerLabels),
		state:             r.gauge("component_state", "State of a component and reason of its condition Ready; 1 for the current ones, no series for others", stateLabels),
		dependents:        r.renamed("dependents", "Dependents of a component", componentLabels),
		unreadyDependents: r.renamed("unready_dependents", "Dependents of a component that are not ready", componentLabels),
		panics:            r.counter("panics_total", "Panics during reconciliations", controllerLabels),
		generation: r.histogram("generation_duration_seconds", "Duration of calls of the generator",
			[]float64{.01, .05, .1, .5, 1, 2.5, 5, 10, 30, 60, 300, 600, 1800}),
		readiness: r.histogram("time_to_ready_seconds", "Time from the reconciliation that first saw a change of a component until the component was ready",
			[]float64{.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600, 1800, 3600}),
		shards: r.gauge("shards_held", "Shards that this replica holds", controllerLabels),
		hosts:  hostsOfControllerRuntime(),
	}
	if len(r.errs) > 0 {
		return nil, fmt.Errorf("registering metrics: %w", errors.Join(r.errs...))
	}
	return m, nil
}

// hostsOfControllerRuntime returns the collector that controller-runtime registers itself. Registering one of the same
// description yields it. If a later version describes it differently, nothing is removed from it.
func hostsOfControllerRuntime() *prometheus.CounterVec {
	r := &registration{registerer: ctrlmetrics.Registry}
	return register(r, prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "rest_client_requests_total", Help: "Number of HTTP requests, partitioned by status code, method, and host.",
	}, []string{"code", "method", "host"}))
}

// registration registers collectors one by one and collects the errors.
type registration struct {
	registerer prometheus.Registerer
	errs       []error
}

func (r *registration) counter(name string, help string, labels []string) *prometheus.CounterVec {
	return register(r, prometheus.NewCounterVec(prometheus.CounterOpts{Name: prefix + name, Help: help}, labels))
}

func (r *registration) gauge(name string, help string, labels []string) *prometheus.GaugeVec {
	return register(r, prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: prefix + name, Help: help}, labels))
}

// histogram registers a histogram by controller.
func (r *registration) histogram(name string, help string, buckets []float64) *prometheus.HistogramVec {
	return register(r, prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: prefix + name, Help: help, Buckets: buckets}, controllerLabels))
}

// gauges are a gauge and its deprecated alias.
type gauges [2]*prometheus.GaugeVec

// renamed registers a gauge, and an alias that ends in "_total", as its name did at first; only counters should.
func (r *registration) renamed(name string, help string, labels []string) gauges {
	return gauges{r.gauge(name, help, labels), r.gauge(name+"_total", "Deprecated: use "+prefix+name, labels)}
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
