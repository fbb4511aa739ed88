// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

// Package testenv provides tests with a Kubernetes, with little code in each test.
//
// The choice is made once per process:
//   - the cluster of the kubeconfig that TEST_SANDBOX_KUBECONFIG names: the sandbox that "make test" starts for all packages;
//   - with TEST_USE_EXISTING_CLUSTER=1, the cluster of the usual kubeconfig (KUBECONFIG, ~/.kube/config);
//   - otherwise a sandbox of the process's own, started when the first test asks for it and gone with the process.
//
// KUBECONFIG alone is never used, because it may refer to a production cluster. If no cluster is available, a test that
// needs one fails; with -short it is skipped.
//
// Tests share the cluster and run in parallel: each works in its own namespace ([Namespace]) and uses unique names for
// objects without a namespace.
package testenv

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/rand"
	"k8s.io/apimachinery/pkg/util/yaml"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/internal/requests"
	"github.com/component-operator/runtime/pkg/sandbox"
)

// The environment variables that choose the cluster; see the package documentation.
const (
	sandboxVariable  = "TEST_SANDBOX_KUBECONFIG"
	existingVariable = "TEST_USE_EXISTING_CLUSTER"
)

// cluster is the cluster for all tests of the process.
type cluster struct {
	kubeconfig string // empty if the configuration does not come from a single file
	config     *rest.Config
	failed     func() error
}

// connect finds or starts the cluster once; later callers get the same result.
var connect = sync.OnceValues(func() (*cluster, error) {
	return choose(os.Getenv, startSandbox)
})

// choose decides which cluster to use. It starts one only if no other is configured.
func choose(getenv func(string) string, start func() (*cluster, error)) (*cluster, error) {
	existing := getenv(existingVariable)
	if path := getenv(sandboxVariable); path != "" {
		if existing == "1" {
			return nil, fmt.Errorf("%s and %s=1 cannot be used together", sandboxVariable, existingVariable)
		}
		return read(&clientcmd.ClientConfigLoadingRules{ExplicitPath: path})
	}
	switch existing {
	case "", "0":
		return start()
	case "1":
		return read(clientcmd.NewDefaultClientConfigLoadingRules())
	default:
		return nil, fmt.Errorf("%s=%q: must be 0 or 1", existingVariable, existing)
	}
}

func read(rules *clientcmd.ClientConfigLoadingRules) (*cluster, error) {
	config, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, &clientcmd.ConfigOverrides{}).ClientConfig()
	if err != nil {
		return nil, fmt.Errorf("reading the kubeconfig %s: %w", rules.GetDefaultFilename(), err)
	}
	return &cluster{kubeconfig: rules.GetDefaultFilename(), config: config, failed: noFailure}, nil
}

// startSandbox starts a sandbox that is never stopped: it ends with this process, and its files are deleted.
func startSandbox() (*cluster, error) {
	s, err := sandbox.Start(context.Background(), sandbox.Options{Log: os.Stderr})
	if err != nil {
		return nil, err
	}
	return &cluster{kubeconfig: s.Kubeconfig(), config: s.Config(), failed: s.Failure}, nil
}

func noFailure() error { return nil }

// get returns the cluster, or ends the test.
func get(tb testing.TB) *cluster {
	tb.Helper()
	if testing.Short() {
		tb.Skip("this test needs a Kubernetes, and -short leaves such tests out")
	}
	c, err := connect()
	if err == nil {
		err = c.failed()
	}
	if err != nil {
		tb.Fatalf("this test needs a Kubernetes and cannot have it: %v", err)
	}
	return c
}

// Config returns a new client configuration without rate limits. Its user has all rights.
func Config(tb testing.TB) *rest.Config {
	tb.Helper()
	config := rest.CopyConfig(get(tb).config)
	config.QPS = -1
	return config
}

// Kubeconfig returns the path of a kubeconfig for the same cluster and user as [Config]. The file must not be changed.
func Kubeconfig(tb testing.TB) string {
	tb.Helper()
	return get(tb).kubeconfig
}

// Scheme returns a new scheme with the types of client-go, CustomResourceDefinitions and APIServices.
func Scheme(tb testing.TB) *runtime.Scheme {
	tb.Helper()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, apiextensionsv1.AddToScheme, apiregistrationv1.AddToScheme} {
		if err := add(scheme); err != nil {
			tb.Fatalf("building the scheme: %v", err)
		}
	}
	return scheme
}

// Client returns a new client without a cache, for the types of [Scheme] and for unstructured objects.
func Client(tb testing.TB) client.Client {
	tb.Helper()
	c, err := client.New(Config(tb), client.Options{Scheme: Scheme(tb)})
	if err != nil {
		tb.Fatalf("creating a client: %v", err)
	}
	return c
}

// maxTestName is the maximum length of the part of a namespace's name that comes from the name of the test. The rest of
// the 63 allowed characters is for names that tests derive from it.
const maxTestName = 30

// notInNames matches what names of objects do not have.
var notInNames = regexp.MustCompile(`[^a-z0-9]`)

// Namespace creates a namespace for this test and returns its name. It is ready for pods. When the test ends, the
// namespace is deleted without waiting, unless it is in a sandbox: deleting the namespaces took a fifth of the CPU of
// the engine's tests.
func Namespace(tb testing.TB) string {
	tb.Helper()
	return CreateNamespace(tb, os.Getenv(existingVariable) == "1")
}

// CreateNamespace is [Namespace], but the caller chooses whether the namespace is deleted.
func CreateNamespace(tb testing.TB, deleted bool) string {
	tb.Helper()
	c := Client(tb)
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: UniqueName(tb)}}
	if err := c.Create(tb.Context(), namespace); err != nil {
		tb.Fatalf("creating the test's namespace: %v", err)
	}
	if deleted {
		tb.Cleanup(func() {
			// The test's own context has ended by then.
			if err := c.Delete(context.WithoutCancel(tb.Context()), namespace); client.IgnoreNotFound(err) != nil && !apierrors.IsConflict(err) {
				tb.Errorf("deleting the test's namespace: %v", err)
			}
		})
	}
	// Pods are refused until the namespace has its service account.
	key := client.ObjectKey{Namespace: namespace.Name, Name: "default"}
	Eventually(tb, func() (bool, string) {
		err := c.Get(tb.Context(), key, &corev1.ServiceAccount{})
		if err != nil {
			return false, err.Error()
		}
		return true, ""
	})
	return namespace.Name
}

// UniqueName returns a name that no other test uses and that is valid for objects of any kind. It has at most 36
// characters: the last words of the test's name and some random characters. It is for objects without a namespace.
func UniqueName(tb testing.TB) string {
	tb.Helper()
	name := notInNames.ReplaceAllString(strings.ToLower(strings.TrimPrefix(tb.Name(), "Test")), "-")
	name = strings.TrimLeft(name[max(0, len(name)-maxTestName):], "-0123456789")
	return strings.TrimRight(cmp.Or(name, "test"), "-") + "-" + rand.String(5)
}

// Objects parses YAML documents into objects. Empty documents are left out; other documents that are not objects end
// the test. YAML does not allow indentation with tabs, as in Go source.
func Objects(tb testing.TB, documents string) []*unstructured.Unstructured {
	tb.Helper()
	var result []*unstructured.Unstructured
	decoder := yaml.NewYAMLOrJSONDecoder(strings.NewReader(documents), 4096)
	for {
		object := &unstructured.Unstructured{}
		err := decoder.Decode(&object.Object)
		switch {
		case errors.Is(err, io.EOF):
			return result
		case err != nil:
			tb.Fatalf("parsing YAML: %v", err)
		case len(object.Object) == 0:
			continue
		case object.GetKind() == "" || object.GetAPIVersion() == "":
			tb.Fatalf("parsing YAML: a document without apiVersion or kind: %v", object.Object)
		}
		result = append(result, object)
	}
}

// Object parses one YAML document into an object.
func Object(tb testing.TB, document string) *unstructured.Unstructured {
	tb.Helper()
	objects := Objects(tb, document)
	if len(objects) != 1 {
		tb.Fatalf("parsing YAML: got %d objects, want 1", len(objects))
	}
	return objects[0]
}

// The deadline is long, because a test that reaches it has failed anyway. The pauses grow, because a test that waits
// should not keep the API server from what it waits for.
const (
	eventuallyDeadline = 60 * time.Second
	eventuallyPause    = 20 * time.Millisecond
	eventuallyMaxPause = 200 * time.Millisecond
)

// patienceVariable sets another deadline, for developers who expect tests to fail.
const patienceVariable = "TEST_PATIENCE"

// Patience returns how long a test waits before it gives up: a minute, or the duration in TEST_PATIENCE.
func Patience() time.Duration {
	if given, err := time.ParseDuration(os.Getenv(patienceVariable)); err == nil && given > 0 {
		return given
	}
	return eventuallyDeadline
}

// Eventually calls the condition until it returns true, and ends the test if it does not after a minute, or the
// duration in TEST_PATIENCE. The second result of the condition is what is missing; the last one is shown.
func Eventually(tb testing.TB, condition func() (bool, string)) {
	tb.Helper()
	patience := Patience()
	deadline := time.Now().Add(patience)
	for pause := eventuallyPause; ; pause = min(pause*5/4, eventuallyMaxPause) {
		holds, reason := condition()
		if holds {
			return
		}
		if time.Now().After(deadline) {
			tb.Fatalf("still not so after %s: %s", patience, reason)
		}
		time.Sleep(pause)
	}
}

// Receive returns a value from the channel, or the zero value if the channel is closed. It ends the test if neither
// happens within a minute, or the duration in TEST_PATIENCE; the message then contains awaited.
func Receive[T any](tb testing.TB, channel <-chan T, awaited string) T {
	tb.Helper()
	timer := time.NewTimer(Patience())
	defer timer.Stop()
	select {
	case received := <-channel:
		return received
	case <-timer.C:
		tb.Fatalf("still not so after %s: %s", Patience(), awaited)
		panic("unreachable")
	}
}

// Within calls a function and returns its error. It ends the test like Receive if the function does not return in time,
// but does not interrupt the function.
func Within(tb testing.TB, call func() error) error {
	tb.Helper()
	returned := make(chan error, 1)
	go func() { returned <- call() }()
	return Receive(tb, returned, "the call returns")
}

// Request is a request to the API server.
type Request = requests.Request

// Requests records requests. Its methods may be called from several goroutines.
type Requests = requests.Recorder

// CountingConfig returns a configuration like [Config], and the record of all requests of clients that use it.
func CountingConfig(tb testing.TB) (*rest.Config, *Requests) {
	tb.Helper()
	config, recorder := Config(tb), &Requests{}
	config.Wrap(recorder.Wrap)
	return config, recorder
}

// Intercept returns a configuration whose requests are passed to a function, with the transport to send them.
func Intercept(config *rest.Config, send func(request *http.Request, next http.RoundTripper) (*http.Response, error)) *rest.Config {
	config = rest.CopyConfig(config)
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return requests.RoundTripper(func(request *http.Request) (*http.Response, error) { return send(request, next) })
	})
	return config
}

// Dying returns a configuration that fails after the given number of writes, as if the process had died, and the number
// of writes that are left.
func Dying(config *rest.Config, survived int) (*rest.Config, *atomic.Int64) {
	left := &atomic.Int64{}
	left.Store(int64(survived))
	return Intercept(config, func(request *http.Request, next http.RoundTripper) (*http.Response, error) {
		if request.Method != http.MethodGet && left.Add(-1) < 0 {
			return nil, errors.New("the process died")
		}
		return next.RoundTrip(request)
	}), left
}

// Output is the output of a program. It is safe for concurrent use, so a test can read it while the program writes. The
// zero value is empty.
type Output struct {
	mu   sync.Mutex
	text bytes.Buffer
}

// Write implements io.Writer.
func (o *Output) Write(text []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.Write(text)
}

// String returns everything written so far.
func (o *Output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}
