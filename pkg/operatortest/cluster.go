// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package operatortest

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/webhook"

	"github.com/component-operator/runtime/internal/requests"
	"github.com/component-operator/runtime/internal/testenv"
	"github.com/component-operator/runtime/pkg/component"
	"github.com/component-operator/runtime/pkg/operator"
	"github.com/component-operator/runtime/pkg/status"
	"github.com/component-operator/runtime/pkg/types"
)

// Options configure a Cluster.
type Options struct {
	// Operators run in one manager. Their flags have the default values. Defaults to none.
	Operators []operator.Operator
	// Setup adds further parts to the manager, such as a reconciler without an operator. Defaults to nothing.
	Setup func(mgr ctrl.Manager) error
	// Definitions is a folder with CustomResourceDefinitions, which are installed before the operator starts. They are
	// not deleted when the test ends, because other tests may use them. Defaults to none.
	Definitions string
	// Chart is the folder of the operator's own chart. Its CustomResourceDefinitions are installed, without conversion
	// webhooks. The operator acts as the chart's service account, with the rights that the chart grants; it elects a
	// leader, and gets the requests for the chart's admission webhooks. Defaults to none: the operator has all rights,
	// without leader election and webhooks.
	Chart string
	// Values are values for the chart. Defaults to none.
	Values map[string]any
}

// Cluster is a Kubernetes cluster with a running operator and a namespace, for one test. Its methods fail the test on
// errors.
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

// scheme returns a scheme for one manager, because managers change it.
func (o Options) scheme(tb testing.TB) *runtime.Scheme {
	tb.Helper()
	scheme := testenv.Scheme(tb)
	for _, operator := range o.Operators {
		operator.InitScheme(scheme)
	}
	return scheme
}

// Start runs the operators until the test ends. The manager serves neither metrics nor probes. If it stops earlier, the
// test fails.
func Start(tb testing.TB, options Options) *Cluster {
	tb.Helper()
	silence()
	c := &Cluster{
		options: options, namespace: testenv.CreateNamespace(tb, true), scheme: options.scheme(tb), requests: &requests.Recorder{}, log: &logTail{}, ended: make(chan struct{}),
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

// Namespace returns the namespace of this test. It is deleted when the test ends. If the operator has not completed its
// work by then, all finalizers are removed from the remaining objects in the namespace, and from those that the test
// applied elsewhere.
func (c *Cluster) Namespace() string { return c.namespace }

// Client returns a client without a cache and with all rights.
func (c *Cluster) Client() client.Client { return c.client }

// startOperator installs the prerequisites of the operator, and runs it.
func (c *Cluster) startOperator(tb testing.TB, stop func()) {
	tb.Helper()
	if c.options.Definitions != "" {
		c.install(tb, c.options.Definitions, nil)
	}
	config := testenv.Config(tb)
	var webhooks webhook.Server // the default does nothing
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
	if webhooks != nil {
		started := mgr.GetWebhookServer().StartedChecker()
		c.Eventually(tb, func() error {
			if err := started(nil); err != nil {
				return fmt.Errorf("the webhook server of the operator: %w", err)
			}
			return nil
		})
	}
}

func (c *Cluster) newManager(tb testing.TB, restConfig *rest.Config, webhooks webhook.Server) ctrl.Manager {
	tb.Helper()
	uncached := c.parseFlags(tb)
	mgr, err := ctrl.NewManager(restConfig, ctrl.Options{
		Scheme:        c.scheme,
		Logger:        c.log.logger(),
		Metrics:       metricsserver.Options{BindAddress: "0"},
		Cache:         cache.Options{DefaultNamespaces: map[string]cache.Config{c.namespace: {}}},
		Client:        client.Options{Cache: &client.CacheOptions{DisableFor: uncached}},
		WebhookServer: webhooks,
		// Several tests run the same operator in one process.
		Controller: config.Controller{SkipNameValidation: new(true)},
		// As in a pod of the chart, which grants the rights for it.
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

// parseFlags sets the operators' flags to their defaults, and returns the types that must not be cached.
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

// pollInterval is the time between two checks of a condition.
const pollInterval = 20 * time.Millisecond

// WaitReady waits until the latest generation of a component is ready, and updates the given object.
func (c *Cluster) WaitReady(tb testing.TB, object client.Object) {
	tb.Helper()
	c.WaitFor(tb, object, "the component is ready", func(status *component.Status) bool { return status.IsReady() })
}

// WaitFor waits until the status of the latest generation of a component meets a condition, and updates the given
// object. If it fails, the message contains awaited.
func (c *Cluster) WaitFor(tb testing.TB, object client.Object, awaited string, condition func(status *component.Status) bool) {
	tb.Helper()
	key := c.locate(tb, object)
	c.Eventually(tb, func() error {
		tb.Helper()
		err := c.read(tb, key, object)
		if client.IgnoreNotFound(err) != nil {
			tb.Fatalf("getting %s: %v", key, err)
		}
		if status := statusOf(object); err == nil && status.ObservedGeneration == object.GetGeneration() && condition(status) {
			return nil
		}
		select {
		case <-c.ended:
			tb.Fatalf("%s: %s: this can no longer happen, because the operator has ended", key, awaited)
		default:
		}
		return fmt.Errorf("%s: %s\n%s", key, awaited, c.describe(object, err))
	})
}

// ExpectNoChanges fails the test if the operators would change a dependent of a component, as [component.Preview] tells
// it. A generator that returns something else each time, such as a new password, would otherwise be noticed only in
// production. All components must be ready before.
func (c *Cluster) ExpectNoChanges(tb testing.TB) {
	tb.Helper()
	preview, err := component.NewPreview(testenv.Config(tb), c.options.scheme(tb))
	if err != nil {
		tb.Fatal(err)
	}
	setups := []func(ctrl.Manager) error{c.options.Setup}
	for _, operator := range c.options.Operators {
		setups = append(setups, operator.Setup)
	}
	for _, setup := range setups {
		if setup == nil {
			continue
		}
		if err := setup(preview); err != nil {
			tb.Fatalf("setting up a preview: %v", err)
		}
	}
	count := 0
	for previewed, err := range preview.Components(c.ctx, component.PreviewOptions{Namespace: c.namespace}) {
		count++
		name := fmt.Sprintf("%s %s/%s", previewed.Kind.Kind, previewed.Namespace, previewed.Name)
		switch {
		case err != nil:
			tb.Fatalf("making a preview: %v", err)
		case previewed.Problem != "" || previewed.Plan == nil:
			tb.Errorf("%s: no preview: %s%s", name, previewed.Problem, previewed.Held)
			continue
		}
		for _, change := range previewed.Plan.Changes {
			if change.Verb != "" {
				tb.Errorf("%s is ready, but the operator would change it again: %s is %s: %s", name, change.Object, strings.ToLower(string(change.Verb)), change.Reason)
			}
		}
	}
	if count == 0 {
		tb.Errorf("there is no component in namespace %s", c.namespace)
	}
}

// WaitGone waits until an object does not exist.
func (c *Cluster) WaitGone(tb testing.TB, object client.Object) {
	tb.Helper()
	key := c.locate(tb, object)
	current := &unstructured.Unstructured{}
	c.Eventually(tb, func() error {
		switch err := c.read(tb, key, current); {
		case err == nil:
			return fmt.Errorf("%s exists\n%s", key, c.describe(current, nil))
		case apierrors.IsNotFound(err):
			return nil
		default:
			return fmt.Errorf("getting %s: %w", key, err)
		}
	})
}

// Eventually waits until the condition returns nil. On failure, the message contains its last error.
func (c *Cluster) Eventually(tb testing.TB, condition func() error) {
	tb.Helper()
	testenv.Eventually(tb, func() (bool, string) {
		tb.Helper()
		if err := condition(); err != nil {
			return false, err.Error()
		}
		return true, ""
	})
}

// statusOf returns the status of a component; an empty one if the object is not a component.
func statusOf(object client.Object) *component.Status {
	content := struct{ Status component.Status }{}
	if text, err := json.Marshal(object); err == nil {
		_ = json.Unmarshal(text, &content) // other objects have another status
	}
	return &content.Status
}

// describe returns the state of an object for messages, given the error of reading it.
func (c *Cluster) describe(object client.Object, err error) string {
	if err != nil {
		return "it does not exist\n" + c.log.String()
	}
	declared := statusOf(object)
	var text strings.Builder
	if state, reason, message := declared.GetState(); state != "" {
		fmt.Fprintf(&text, "state: %s (%s): %s\n", state, reason, message)
	}
	var conditions, unready []string
	for _, condition := range declared.Conditions {
		conditions = append(conditions, fmt.Sprintf("%s=%s (%s): %s", condition.Type, condition.Status, condition.Reason, condition.Message))
	}
	for _, item := range declared.Inventory {
		if item.Status != status.CurrentStatus {
			unready = append(unready, fmt.Sprintf("%s: %s, %s", types.IDOf(item), item.Phase, item.Status))
		}
	}
	return text.String() + section("conditions", conditions) + section("dependents that are not ready", unready) + c.log.String()
}

// keptLines is the number of lines of the operator's log in messages.
const keptLines = 20

// silence prevents the warnings of libraries that no logger is set. The logs of the manager and its controllers are
// kept in a logTail.
var silence = sync.OnceFunc(func() { ctrllog.SetLogger(logr.Discard()) })

// logTail contains the last lines that the operator logged.
type logTail struct {
	mu    sync.Mutex
	lines []string
}

func (l *logTail) logger() logr.Logger {
	return funcr.New(func(prefix, text string) {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.lines = append(l.lines, strings.TrimSpace(prefix+" "+text))
		l.lines = l.lines[max(0, len(l.lines)-keptLines):]
	}, funcr.Options{})
}

// String returns a section for messages.
func (l *logTail) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return section("log of the operator", l.lines)
}

// section returns a heading with lines below it; empty if there are no lines.
func section(heading string, lines []string) string {
	if len(lines) == 0 {
		return ""
	}
	return heading + ":\n  " + strings.Join(lines, "\n  ") + "\n"
}

// endDeadline limits the duration of each part of the cleanup of a test.
const endDeadline = 10 * time.Second

// clear deletes the objects that the test applied while the operator still runs, so that the operator can clean up and
// remove its finalizers. Objects with finalizers go first, because the operator may need the others until then. If this
// takes too long, release does the rest.
func (c *Cluster) clear(tb testing.TB) {
	tb.Helper()
	for _, held := range []bool{true, false} {
		ctx, cancel := context.WithTimeout(c.ctx, min(testenv.Patience(), endDeadline))
		var deleted []*unstructured.Unstructured
		for _, object := range c.left(ctx) {
			if held == (len(object.GetFinalizers()) > 0) && c.client.Delete(ctx, object) == nil {
				deleted = append(deleted, object)
			}
		}
		for _, object := range deleted { // one that stays must not keep the others from being deleted
			_ = wait.PollUntilContextCancel(ctx, pollInterval, true, func(ctx context.Context) (bool, error) {
				return c.client.Get(ctx, client.ObjectKeyFromObject(object), object.DeepCopy()) != nil, nil
			})
		}
		cancel()
	}
}

// left returns the objects that the test applied and that still exist.
func (c *Cluster) left(ctx context.Context) []*unstructured.Unstructured {
	c.mu.Lock()
	defer c.mu.Unlock()
	var left []*unstructured.Unstructured
	for _, object := range c.applied {
		current := object.DeepCopy()
		if c.client.Get(ctx, client.ObjectKeyFromObject(object), current) == nil && current.GetUID() == object.GetUID() {
			left = append(left, current)
		}
	}
	return left
}

// release removes all finalizers from the remaining objects after the operator has ended; otherwise, the namespace
// would stay. If nothing remains and the test has not failed, it does nothing.
func (c *Cluster) release(tb testing.TB) {
	tb.Helper()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(tb.Context()), 2*endDeadline)
	defer cancel()
	left := c.left(ctx)
	if len(left) == 0 && !tb.Failed() {
		return
	}
	clnt, err := discovery.NewDiscoveryClientForConfig(testenv.Config(tb))
	if err != nil {
		tb.Logf("creating a discovery client: %v", err)
		return
	}
	lists, _ := clnt.ServerPreferredNamespacedResources() // without groups whose server does not answer
	for _, list := range lists {
		group, _ := schema.ParseGroupVersion(list.GroupVersion)
		for _, resource := range list.APIResources {
			found := &unstructured.UnstructuredList{}
			found.SetGroupVersionKind(group.WithKind(resource.Kind + "List"))
			if !slices.Contains(resource.Verbs, "list") || c.client.List(ctx, found, client.InNamespace(c.namespace)) != nil {
				continue
			}
			for i := range found.Items {
				left = append(left, &found.Items[i])
			}
		}
	}
	for _, object := range left {
		if len(object.GetFinalizers()) == 0 {
			continue
		}
		bare := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Namespace: object.GetNamespace(), Name: object.GetName()}}
		bare.SetGroupVersionKind(object.GroupVersionKind())
		patch := client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"finalizers":null}}`))
		if err := client.IgnoreNotFound(c.client.Patch(ctx, bare, patch, client.FieldOwner(user))); err != nil {
			tb.Logf("removing the finalizers of %s %s: %v", object.GetKind(), object.GetName(), err)
		}
	}
}

const (
	// user is the field manager of objects that a test applies.
	user = "operatortest-user"
	// intruder is the field manager of Tamper.
	intruder = "operatortest-intruder"
)

// objectKey identifies an object in a cluster and its API version.
type objectKey struct {
	schema.GroupVersionKind
	client.ObjectKey
}

// String returns "Kind namespace/name".
func (k objectKey) String() string {
	return k.Kind + " " + strings.TrimPrefix(k.ObjectKey.String(), "/")
}

// File returns the objects of a YAML file.
func File(tb testing.TB, path string) []*unstructured.Unstructured {
	tb.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		tb.Fatalf("reading objects: %v", err)
	}
	return testenv.Objects(tb, string(content))
}

// Apply creates or updates objects like "kubectl apply --server-side". The namespace of namespaced objects defaults to
// that of the test. The given objects are updated to the result.
func (c *Cluster) Apply(tb testing.TB, objects ...client.Object) {
	tb.Helper()
	for _, object := range objects {
		key := c.locate(tb, object)
		content := &unstructured.Unstructured{}
		text, err := json.Marshal(object)
		if err == nil {
			err = json.Unmarshal(text, &content.Object)
		}
		if err != nil {
			tb.Fatalf("encoding %s: %v", key, err)
		}
		content.SetGroupVersionKind(key.GroupVersionKind)
		unstructured.RemoveNestedField(content.Object, "status")
		for _, field := range []string{"managedFields", "resourceVersion", "creationTimestamp"} {
			unstructured.RemoveNestedField(content.Object, "metadata", field)
		}
		configuration := client.ApplyConfigurationFromUnstructured(content)
		if err := c.client.Apply(tb.Context(), configuration, client.FieldOwner(user), client.ForceOwnership); err != nil {
			tb.Fatalf("applying %s: %v", key, err)
		}
		c.mu.Lock()
		c.applied = append(c.applied, content)
		c.mu.Unlock()
		c.Get(tb, object)
	}
}

// Delete requests the deletion of objects. It does not wait; see WaitGone.
func (c *Cluster) Delete(tb testing.TB, objects ...client.Object) {
	tb.Helper()
	for _, object := range objects {
		key := c.locate(tb, object)
		if err := c.client.Delete(tb.Context(), object); err != nil {
			tb.Fatalf("deleting %s: %v", key, err)
		}
	}
}

// Get reads an object. The given object must have a name and a type.
func (c *Cluster) Get(tb testing.TB, object client.Object) {
	tb.Helper()
	key := c.locate(tb, object)
	if err := c.read(tb, key, object); err != nil {
		tb.Fatalf("getting %s: %v", key, err)
	}
}

// read reads an object. It clears everything in the given object except for its identity.
func (c *Cluster) read(tb testing.TB, key objectKey, object client.Object) error {
	tb.Helper()
	reflect.ValueOf(object).Elem().SetZero()
	object.GetObjectKind().SetGroupVersionKind(key.GroupVersionKind)
	object.SetNamespace(key.Namespace)
	object.SetName(key.Name)
	return c.client.Get(tb.Context(), key.ObjectKey, object)
}

// Tamper changes an object as a client other than the operator, for instance a dependent whose drift the operator must
// correct. The function changes the object as it is in the cluster.
func (c *Cluster) Tamper(tb testing.TB, object client.Object, change func()) {
	tb.Helper()
	c.Get(tb, object)
	before, ok := object.DeepCopyObject().(client.Object)
	if !ok {
		tb.Fatalf("%T cannot be copied", object)
	}
	change()
	if err := c.client.Patch(tb.Context(), object, client.MergeFrom(before), client.FieldOwner(intruder)); err != nil {
		tb.Fatalf("changing %s: %v", c.locate(tb, object), err)
	}
}

// locate returns the identity of an object. It sets a missing namespace.
func (c *Cluster) locate(tb testing.TB, object client.Object) objectKey {
	tb.Helper()
	gvk, err := apiutil.GVKForObject(object, c.scheme)
	if err != nil {
		tb.Fatalf("%T: the scheme does not know the type: %v", object, err)
	}
	if object.GetNamespace() == "" {
		namespaced, err := c.client.IsObjectNamespaced(object)
		if err != nil {
			tb.Fatalf("%s %s: finding out whether the kind is namespaced: %v", gvk.Kind, object.GetName(), err)
		}
		if namespaced {
			object.SetNamespace(c.namespace)
		}
	}
	return objectKey{gvk, client.ObjectKeyFromObject(object)}
}

// installed contains the names of the chart definitions that this process has installed.
var installed = struct {
	sync.Mutex // held while a test installs definitions: others wait until these are served

	names map[string]bool
}{names: map[string]bool{}}

// install creates definitions and waits until their kinds are served. They stay, because other tests may use them.
func (c *Cluster) install(tb testing.TB, folder string, definitions []*unstructured.Unstructured) {
	tb.Helper()
	installed.Lock()
	defer installed.Unlock()
	options := envtest.CRDInstallOptions{MaxTime: testenv.Patience()}
	if folder != "" {
		options.Paths, options.ErrorIfPathMissing = []string{folder}, true
	}
	for _, definition := range definitions {
		typed := &apiextensionsv1.CustomResourceDefinition{}
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(definition.Object, typed); err != nil {
			tb.Fatalf("reading definition %s: %v", definition.GetName(), err)
		}
		if !installed.names[typed.Name] {
			options.CRDs = append(options.CRDs, typed)
		}
	}
	if found, err := envtest.InstallCRDs(testenv.Config(tb), options); err != nil || folder != "" && len(found) == 0 {
		tb.Fatalf("installing the definitions: %d were found; error: %v", len(found), err)
	}
	for _, definition := range options.CRDs {
		installed.names[definition.Name] = true
	}
}
