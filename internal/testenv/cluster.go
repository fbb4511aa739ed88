// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package testenv

import (
	"context"
	"fmt"
	"os"
	"sync"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/pkg/sandbox"
)

// The environment variables that choose the cluster; see the package documentation.
const (
	sandboxVariable  = "TEST_SANDBOX_KUBECONFIG"
	existingVariable = "TEST_USE_EXISTING_CLUSTER"
)

// cluster is what all tests of the process work on.
type cluster struct {
	kubeconfig string // empty if the configuration does not come from a single file
	config     *rest.Config
	failed     func() error
}

// connect finds or starts the cluster once; later callers get the same result.
var connect = sync.OnceValues(func() (*cluster, error) {
	return choose(os.Getenv, startSandbox)
})

// choose decides which cluster to use, and does not start one unless nothing else is asked for.
func choose(getenv func(string) string, start func() (*cluster, error)) (*cluster, error) {
	existing := getenv(existingVariable)
	if path := getenv(sandboxVariable); path != "" {
		if existing == "1" {
			return nil, fmt.Errorf("%s and %s=1 cannot be used together", sandboxVariable, existingVariable)
		}
		return fromKubeconfig(path)
	}
	switch existing {
	case "", "0":
		return start()
	case "1":
		return fromUserConfig()
	default:
		return nil, fmt.Errorf("%s=%q: must be 0 or 1", existingVariable, existing)
	}
}

func fromKubeconfig(path string) (*cluster, error) {
	config, err := clientcmd.BuildConfigFromFlags("", path)
	if err != nil {
		return nil, fmt.Errorf("reading the kubeconfig %s: %w", path, err)
	}
	return &cluster{kubeconfig: path, config: config, failed: noFailure}, nil
}

func fromUserConfig() (*cluster, error) {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	config, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, &clientcmd.ConfigOverrides{}).ClientConfig()
	if err != nil {
		return nil, fmt.Errorf("finding the existing cluster: %w", err)
	}
	return &cluster{kubeconfig: rules.GetDefaultFilename(), config: config, failed: noFailure}, nil
}

// startSandbox starts one that is not stopped: it ends, files included, with this process.
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

// Config returns a new client configuration without rate limits. Its user may do everything.
func Config(tb testing.TB) *rest.Config {
	tb.Helper()
	config := rest.CopyConfig(get(tb).config)
	config.QPS = -1
	return config
}

// Kubeconfig returns the path of a kubeconfig for the same cluster and user as [Config]. The file is not to be changed.
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
