// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package operatortest

import (
	"context"
	"flag"
	"io"
	"sync"
	"testing"
	"time"

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

// leaderElectionID is the name of the lease; each test has a namespace of its own.
const leaderElectionID = "operatortest"

// clearDeadline limits how long a part of the end of a test may take.
const clearDeadline = 10 * time.Second

// Options say what runs in a Cluster.
type Options struct {
	// Operators run in one manager. Their flags have the default values, unless Flags says otherwise. Defaults to none.
	Operators []operator.Operator
	// Flags are arguments that set the flags of the operators, such as "-adoption-policy=Never". Defaults to none.
	Flags []string
	// Setup adds other things to the manager, such as a reconciler that belongs to no operator. Defaults to nothing.
	Setup func(mgr ctrl.Manager) error
	// Definitions is a folder with CustomResourceDefinitions, which are installed before the operator starts. They stay when the test ends, because
	// other tests may use them. Defaults to none.
	Definitions string
	// Chart is the folder of the operator's own chart. Its CustomResourceDefinitions are installed. The operator acts as the chart's
	// service account, with the rights that the chart gives it; it elects a leader, and the chart's admission and conversion webhooks lead to the operator. Defaults to
	// none: the operator may do everything, and there are neither elections nor webhooks.
	Chart string
	// Values are values for the chart. Default to none.
	Values map[string]any
}

// Cluster is a Kubernetes with a running operator and a namespace, for one test. Its methods end the test if something fails.
type Cluster struct {
	options   Options
	namespace string
	scheme    *runtime.Scheme
	client    client.WithWatch
	requests  *requests.Recorder
	rights    grants
	passedOn  passedOn
	log       *logTail
	announced announcements

	mu        sync.Mutex
	histories map[objectKey]*history
	ctx       context.Context //nolint:containedctx // the life of what the test started
	running   sync.WaitGroup
	ended     chan struct{} // closed when the operator has ended
}

// Start runs the operators until the test ends. The manager serves neither metrics nor probes. If it stops earlier, the test fails.
func Start(tb testing.TB, options Options) *Cluster {
	tb.Helper()
	silence()
	c := &Cluster{
		options: options, namespace: testenv.Namespace(tb), scheme: testenv.Scheme(tb), requests: &requests.Recorder{}, log: &logTail{},
		histories: map[objectKey]*history{}, ended: make(chan struct{}),
	}
	for _, operator := range options.Operators {
		operator.InitScheme(c.scheme)
	}
	clnt, err := client.NewWithWatch(testenv.Config(tb), client.Options{Scheme: c.scheme})
	if err != nil {
		tb.Fatalf("creating a client: %v", err)
	}
	c.client = clnt
	ctx, cancel := context.WithCancel(context.WithoutCancel(tb.Context()))
	c.ctx = ctx
	end := func() {
		cancel()
		c.running.Wait()
	}
	tb.Cleanup(func() { release(tb, c) }) // after the operator has ended, for good
	tb.Cleanup(end)                       // if the operator does not start
	c.startOperator(tb)
	tb.Cleanup(end) // while the operator still has its rights
	tb.Cleanup(func() { c.clear(tb) })
	return c
}

// Namespace is the namespace of this test. It is deleted when the test ends. If the operator did not complete its work until then, its finalizers are removed
// from what it leaves in the namespace, from cluster-scoped components that the test applied, and from their dependents; those of others are not.
func (c *Cluster) Namespace() string {
	return c.namespace
}

// Client reads and writes without a cache, and may do everything.
func (c *Cluster) Client() client.Client {
	return c.client
}

// clear deletes what the test applied, while the operator still runs: it removes what it has made, and then its finalizers. Objects with finalizers go first, because
// the operator may need the others until then. It gives up soon, because a test that has failed may have left what cannot be deleted; see release.
func (c *Cluster) clear(tb testing.TB) {
	tb.Helper()
	for _, held := range []bool{true, false} {
		clearAll(tb, c, held)
	}
}

// clearAll deletes what has finalizers, or what has none, and waits until it is gone.
func clearAll(tb testing.TB, c *Cluster, held bool) {
	tb.Helper()
	ctx, cancel := context.WithTimeout(c.ctx, min(testenv.Patience(), clearDeadline))
	defer cancel()
	var deleted []*history
	for _, history := range c.histories {
		latest, gone, _ := history.now()
		if latest == nil || gone || held != (len(latest.GetFinalizers()) > 0) {
			continue
		}
		if err := client.IgnoreNotFound(c.client.Delete(ctx, latest)); err != nil {
			tb.Logf("deleting %s %s after the test: %v", latest.GetKind(), latest.GetName(), err)
			continue
		}
		deleted = append(deleted, history)
	}
	for _, history := range deleted { // one that stays must not keep the others from being deleted
		if latest := history.awaitGone(ctx, c.ended); latest != nil {
			tb.Logf("%s %s still exists after the test", latest.GetKind(), latest.GetName())
		}
	}
}

// startOperator installs what the operator needs, and runs it.
func (c *Cluster) startOperator(tb testing.TB) {
	tb.Helper()
	if c.options.Definitions != "" {
		c.install(tb, readFolder(tb, c.options.Definitions))
	}
	config := testenv.Config(tb)
	var webhooks *webhookServer
	var chart *operatorChart
	if c.options.Chart != "" {
		chart = c.renderChart(tb)
		c.install(tb, chart.definitions)
		config = c.grantRights(tb, chart)
		webhooks = c.installWebhooks(tb, chart)
	}
	if len(c.options.Operators) == 0 && c.options.Setup == nil {
		return
	}
	config.Wrap(c.requests.Wrap)
	config.Wrap(c.passedOn.wrap)
	mgr := c.newManager(tb, config, webhooks)
	claimant{c.client, c.namespace}.lead(tb, chart, webhooks)
	c.run(tb, mgr)
	webhooks.await(tb, mgr)
}

func (c *Cluster) newManager(tb testing.TB, config *rest.Config, webhooks *webhookServer) ctrl.Manager {
	tb.Helper()
	uncached := c.parseFlags(tb)
	mgr, err := ctrl.NewManager(config, ctrl.Options{
		Scheme:        c.scheme,
		Logger:        c.log.logger(),
		Metrics:       metricsserver.Options{BindAddress: "0"},
		Cache:         cache.Options{DefaultNamespaces: map[string]cache.Config{c.namespace: {}}},
		Client:        client.Options{Cache: &client.CacheOptions{DisableFor: uncached}},
		WebhookServer: webhooks.server(),
		// Several tests run the same operator in one process.
		Controller: controllerOptions(),
		// As in a pod of the chart, which has the rights for it.
		LeaderElection:                c.options.Chart != "",
		LeaderElectionNamespace:       c.namespace,
		LeaderElectionID:              leaderElectionID,
		LeaderElectionReleaseOnCancel: true,
	})
	if err != nil {
		tb.Fatalf("creating the manager: %v", err)
	}
	mgr = announcing{mgr, &c.announced}
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

func controllerOptions() config.Controller {
	return config.Controller{SkipNameValidation: new(true)}
}

// parseFlags gives the operators their flags, and returns the types that they do not want to be cached.
func (c *Cluster) parseFlags(tb testing.TB) []client.Object {
	tb.Helper()
	flags := flag.NewFlagSet("operator", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	for _, operator := range c.options.Operators {
		operator.InitFlags(flags)
	}
	if err := flags.Parse(c.options.Flags); err != nil {
		tb.Fatalf("parsing the flags of the operators: %v", err)
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

// run starts the manager.
func (c *Cluster) run(tb testing.TB, mgr ctrl.Manager) {
	tb.Helper()
	c.running.Go(func() {
		defer close(c.ended)
		if err := mgr.Start(c.ctx); err != nil {
			tb.Errorf("the operator ended: %v\n%s", err, c.log)
		}
	})
}
