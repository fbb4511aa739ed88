// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package operatortest

import (
	"context"
	"flag"
	"io"
	"sync"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/component-operator/runtime/internal/requests"
	"github.com/component-operator/runtime/internal/testenv"
	"github.com/component-operator/runtime/pkg/operator"
)

// Options say what runs in a Cluster.
type Options struct {
	// Operators run in one manager. Their flags have the default values. Defaults to none.
	Operators []operator.Operator
	// Setup adds other things to the manager, such as a reconciler that belongs to no operator. Defaults to nothing.
	Setup func(mgr ctrl.Manager) error
	// Definitions is a folder with CustomResourceDefinitions, which are installed before the operator starts. They stay
	// when the test ends, because other tests may use them. Defaults to none.
	Definitions string
	// Chart is the folder of the operator's own chart. Its CustomResourceDefinitions are installed. The operator acts
	// as the chart's service account, with the rights that the chart gives it; it elects a leader, and the chart's
	// admission webhooks lead to the operator. Conversion webhooks are left out of the definitions. Defaults to none: the
	// operator may do everything, and there are neither elections nor webhooks.
	Chart string
	// Values are values for the chart. Default to none.
	Values map[string]any
}

// Cluster is a Kubernetes with a running operator and a namespace, for one test. Its methods end the test if something
// fails.
type Cluster struct {
	options   Options
	namespace string
	scheme    *runtime.Scheme
	client    client.WithWatch
	requests  *requests.Recorder
	account   string // the user as whom the operator acts with Options.Chart
	log       *logTail
	ctx       context.Context //nolint:containedctx // the life of what the test started
	ended     chan struct{}   // closed when the operator has ended

	mu      sync.Mutex
	applied []*unstructured.Unstructured
}

// Start runs the operators until the test ends. The manager serves neither metrics nor probes. If it stops earlier, the
// test fails.
func Start(tb testing.TB, options Options) *Cluster {
	tb.Helper()
	silence()
	c := &Cluster{
		options: options, namespace: testenv.Namespace(tb), scheme: testenv.Scheme(tb), requests: &requests.Recorder{}, log: &logTail{}, ended: make(chan struct{}),
	}
	for _, operator := range options.Operators {
		operator.InitScheme(c.scheme)
	}
	var err error
	if c.client, err = client.NewWithWatch(testenv.Config(tb), client.Options{Scheme: c.scheme}); err != nil {
		tb.Fatalf("creating a client: %v", err)
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(tb.Context()))
	c.ctx = ctx
	tb.Cleanup(cancel) // if the operator does not start
	c.startOperator(tb, cancel)
	tb.Cleanup(func() { c.clear(tb) })
	return c
}

// Namespace is the namespace of this test. It is deleted when the test ends. If the operator did not complete its work
// until then, all finalizers are removed from what is left in the namespace, and from cluster-scoped objects that the
// test applied.
func (c *Cluster) Namespace() string {
	return c.namespace
}

// Client reads and writes without a cache, and may do everything.
func (c *Cluster) Client() client.Client {
	return c.client
}

// startOperator installs what the operator needs, and runs it.
func (c *Cluster) startOperator(tb testing.TB, stop func()) {
	tb.Helper()
	if c.options.Definitions != "" {
		c.install(tb, c.options.Definitions, nil)
	}
	config := testenv.Config(tb)
	var webhooks *webhookServer
	if c.options.Chart != "" {
		chart := c.renderChart(tb)
		c.install(tb, "", chart.definitions)
		config = c.grantRights(tb, chart)
		webhooks = c.installWebhooks(tb, chart)
	}
	if len(c.options.Operators) == 0 && c.options.Setup == nil {
		return
	}
	config.Wrap(c.requests.Wrap)
	mgr := c.newManager(tb, config, webhooks)
	go func() {
		defer close(c.ended)
		if err := mgr.Start(c.ctx); err != nil {
			tb.Errorf("the operator ended: %v\n%s", err, c.log)
		}
	}()
	tb.Cleanup(func() { // while the operator still has its rights
		stop()
		<-c.ended
		c.release(tb)
	})
	webhooks.await(tb, mgr)
}

func (c *Cluster) newManager(tb testing.TB, restConfig *rest.Config, webhooks *webhookServer) ctrl.Manager {
	tb.Helper()
	uncached := c.parseFlags(tb)
	mgr, err := ctrl.NewManager(restConfig, ctrl.Options{
		Scheme:        c.scheme,
		Logger:        c.log.logger(),
		Metrics:       metricsserver.Options{BindAddress: "0"},
		Cache:         cache.Options{DefaultNamespaces: map[string]cache.Config{c.namespace: {}}},
		Client:        client.Options{Cache: &client.CacheOptions{DisableFor: uncached}},
		WebhookServer: webhooks.server(),
		// Several tests run the same operator in one process.
		Controller: config.Controller{SkipNameValidation: new(true)},
		// As in a pod of the chart, which has the rights for it.
		LeaderElection:                c.options.Chart != "",
		LeaderElectionNamespace:       c.namespace,
		LeaderElectionID:              "operatortest",
		LeaderElectionReleaseOnCancel: true,
	})
	if err != nil {
		tb.Fatalf("creating the manager: %v", err)
	}
	for _, operator := range c.options.Operators {
		if err := operator.Setup(mgr); err != nil {
			tb.Fatalf("setting up operator %s: %v", operator.GetName(), err)
		}
	}
	if c.options.Setup != nil {
		if err := c.options.Setup(mgr); err != nil {
			tb.Fatalf("setting up the manager: %v", err)
		}
	}
	return mgr
}

// parseFlags gives the operators their flags, and returns the types that they do not want to be cached.
func (c *Cluster) parseFlags(tb testing.TB) []client.Object {
	tb.Helper()
	flags := flag.NewFlagSet("operator", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	for _, operator := range c.options.Operators {
		operator.InitFlags(flags)
	}
	var uncached []client.Object
	for _, operator := range c.options.Operators {
		if err := operator.ValidateFlags(); err != nil {
			tb.Fatalf("validating the flags of operator %s: %v", operator.GetName(), err)
		}
		uncached = append(uncached, operator.GetUncacheableTypes()...)
	}
	return uncached
}
