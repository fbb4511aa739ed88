// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

// Package metrics contains the runtime's Prometheus collectors. Existing dashboards use their names and labels: do not
// rename them.
//
// New registers the collectors once per registry, and binds them to one controller. Series of a component exist from
// the first SetComponent until RemoveComponent.
package metrics

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	ctrlmetrics "sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/component-operator/runtime/pkg/types"
)

// Component identifies the series of one component.
type Component struct {
	// Group and Kind are those of the component's type.
	Group, Kind string
	// Namespace is empty for cluster-scoped components.
	Namespace, Name string
}

// Controller records the metrics of one controller. It is safe for concurrent use.
type Controller struct {
	// Fights counts corrections that were delayed because others keep changing the same dependent. Panics counts panics.
	Fights, Panics prometheus.Counter

	reconciles, createdClients                             prometheus.Counter
	reconcileErrors, refusals, requests, operations, drift *prometheus.CounterVec
	activeClients, dependents, unreadyDependents           gauges
	state, shards, rollout, typeMissing                    *prometheus.GaugeVec
	generation, readiness                                  prometheus.Observer
	// hosts is the collector of controller-runtime that counts requests by host.
	hosts *prometheus.CounterVec

	mu     sync.Mutex
	states map[Component][]string
}

// New returns the metrics of a controller. They are registered on the first call for a registry; if registerer is nil,
// that is the one of controller-runtime. It fails if the registry holds other collectors with the same names. Counters
// exist from then on, so that alert rules see their first increase.
func New(registerer prometheus.Registerer, controller string) (*Controller, error) {
	if registerer == nil {
		registerer = ctrlmetrics.Registry
	}
	c, err := newCollectors(registerer, controller)
	if err != nil {
		return nil, err
	}
	for _, reason := range []Refusal{RefusalInvalid, RefusalOwned, RefusalRejected} {
		c.refusals.WithLabelValues(string(reason))
	}
	for _, policy := range []string{types.DriftPolicyCorrect, types.DriftPolicyReport} {
		c.drift.WithLabelValues(policy)
	}
	return c, nil
}

// Reconciled counts a reconciliation. A failed one also counts under the HTTP status code of its
// error, or under "other".
func (c *Controller) Reconciled(err error) {
	c.reconciles.Inc()
	if err != nil {
		c.reconcileErrors.WithLabelValues(errorType(err)).Inc()
	}
}

func errorType(err error) string {
	var status apierrors.APIStatus
	if errors.As(err, &status) {
		// A remote server may put any number into a Status, and each would create a permanent series.
		if code := int(status.Status().Code); http.StatusText(code) != "" {
			return strconv.Itoa(code)
		}
	}
	return "other"
}

// A Refusal is the reason why a component or its dependents were refused.
type Refusal string

const (
	// RefusalInvalid means that a component, its manifests or an annotation is not valid, or that these contradict each
	// other.
	RefusalInvalid Refusal = "invalid"
	// RefusalOwned means that dependents belong to other owners.
	RefusalOwned Refusal = "owned"
	// RefusalRejected means that the API server has rejected dependents.
	RefusalRejected Refusal = "rejected"
)

// Refused counts a refusal. It is called once for each, not for each attempt.
func (c *Controller) Refused(reason Refusal) {
	c.refusals.WithLabelValues(string(reason)).Inc()
}

// Operated counts an operation on a dependent, successful or failed: "read" of a single dependent, "create", "update"
// for any write to an existing one, or "delete".
func (c *Controller) Operated(action string) {
	c.operations.WithLabelValues(action).Inc()
}

// Requests returns a transport that counts the requests which pass through it.
func (c *Controller) Requests(next http.RoundTripper) http.RoundTripper {
	return &countingTransport{next: next, requests: c.requests}
}

// ClientCreated counts a new client.
func (c *Controller) ClientCreated() {
	c.createdClients.Inc()
}

// ClientsActive records the number of cached clients.
func (c *Controller) ClientsActive(count int) {
	c.activeClients.set(float64(count))
}

// HostDropped removes controller-runtime's request counters of a host that the operator no longer uses.
func (c *Controller) HostDropped(host string) {
	c.hosts.DeletePartialMatch(prometheus.Labels{"host": host})
}

// Drifted counts a change by others to a dependent with the given drift policy.
func (c *Controller) Drifted(policy string) {
	c.drift.WithLabelValues(policy).Inc()
}

// Generated records the duration of a call of the generator.
func (c *Controller) Generated(duration time.Duration) {
	c.generation.Observe(duration.Seconds())
}

// BecameReady records how long a change of a component took.
func (c *Controller) BecameReady(after time.Duration) {
	c.readiness.Observe(after.Seconds())
}

// ShardsHeld adds to the number of shards that this replica holds.
func (c *Controller) ShardsHeld(more int) {
	c.shards.WithLabelValues().Add(float64(more))
}

// TypeMissing records whether the type of the components is not served.
func (c *Controller) TypeMissing(missing bool) {
	value := 0.0
	if missing {
		value = 1
	}
	c.typeMissing.WithLabelValues().Set(value)
}

// RolloutComponents records the number of components in a state of a rollout.
func (c *Controller) RolloutComponents(state string, components int) {
	c.rollout.WithLabelValues(state).Set(float64(components))
}

// SetComponent records the state of a component, the reason of its condition Ready, and how many dependents it has.
func (c *Controller) SetComponent(component Component, state, reason string, dependents int, unready int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	labels := labelsOf(component)
	c.dependents.set(float64(dependents), labels...)
	c.unreadyDependents.set(float64(unready), labels...)
	current := slices.Concat(labels, []string{state, reason})
	if previous, known := c.states[component]; known && !slices.Equal(previous, current) {
		c.state.DeleteLabelValues(previous...)
	}
	c.state.WithLabelValues(current...).Set(1)
	c.states[component] = current
}

// RemoveComponent removes all series of a component. It does nothing if there are none.
func (c *Controller) RemoveComponent(component Component) {
	c.mu.Lock()
	defer c.mu.Unlock()
	labels := labelsOf(component)
	c.dependents.remove(labels...)
	c.unreadyDependents.remove(labels...)
	c.state.DeleteLabelValues(c.states[component]...)
	delete(c.states, component)
}

func labelsOf(component Component) []string {
	return []string{component.Group, component.Kind, component.Namespace, component.Name}
}

// countingTransport counts requests by their method. Unlike a counting client it also counts discovery,
// events and watches.
type countingTransport struct {
	next     http.RoundTripper
	requests *prometheus.CounterVec
}

// RoundTrip counts the request and passes it on.
func (t *countingTransport) RoundTrip(request *http.Request) (*http.Response, error) {
	t.requests.WithLabelValues(request.Method).Inc()
	return t.next.RoundTrip(request)
}

// WrappedRoundTripper returns the inner transport, so that client-go can close its connections.
func (t *countingTransport) WrappedRoundTripper() http.RoundTripper {
	return t.next
}

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
		Fights:            r.counter("fights_total", "Corrections that were delayed because other clients keep changing the same dependent").WithLabelValues(),
		dependents:        r.renamed("dependents", "Dependents of a component", component...),
		unreadyDependents: r.renamed("unready_dependents", "Dependents of a component that are not ready", component...),
		Panics:            r.counter("panics_total", "Panics during reconciliations").WithLabelValues(),
		generation: r.histogram("generation_duration_seconds", "Duration of calls of the generator",
			[]float64{.01, .05, .1, .5, 1, 2.5, 5, 10, 30, 60, 300, 600, 1800}),
		readiness: r.histogram("time_to_ready_seconds", "Time from the reconciliation that first saw a change of a component until the component was ready",
			[]float64{.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600, 1800, 3600}),
		shards:      r.gauge("shards_held", "Shards that this replica holds"),
		rollout:     r.gauge("rollout_components", "Components by how far they are on their way to the present version: Waiting, Updating, Arrived, Failed", "state"),
		typeMissing: r.gauge("type_missing", "1 while the type of the components is not served, so that the controller waits for it"),
		hosts:       hostsOfControllerRuntime(),
		states:      map[Component][]string{},
	}
	c.state = r.gauge("component_state", "State of a component and reason of its condition Ready; 1 for the current ones, no series for others",
		"group", "kind", "namespace", "name", "state", "reason")
	if len(r.errs) > 0 {
		return nil, fmt.Errorf("registering metrics: %w", errors.Join(r.errs...))
	}
	return c, nil
}

// hostsOfControllerRuntime returns the collector that controller-runtime itself registers: registering one with the
// same description returns it. If a later version describes it differently, no series are removed from it.
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

// renamed registers a gauge, and an alias with its former suffix "_total", which only counters should have.
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
	if registered, known := errors.AsType[prometheus.AlreadyRegisteredError](err); known {
		if existing, ok := registered.ExistingCollector.(T); ok {
			return existing
		}
	}
	if err != nil {
		r.errs = append(r.errs, err)
	}
	return collector
}
