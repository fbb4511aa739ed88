// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package component

import (
	"fmt"
	"net/url"
	"runtime"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"
	apitypes "k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/component-operator/runtime/internal/clients"
	"github.com/component-operator/runtime/internal/generating"
	"github.com/component-operator/runtime/internal/testenv"
	"github.com/component-operator/runtime/pkg/component/internal/targets"
	"github.com/component-operator/runtime/pkg/generator"
	"github.com/component-operator/runtime/pkg/reconciler"
	"github.com/component-operator/runtime/pkg/status"
)

// rotated returns a kubeconfig that is like no other.
func rotated(tb testing.TB, number int) []byte {
	tb.Helper()
	config, err := clientcmd.Load([]byte(kubeconfig(tb)))
	if err != nil {
		tb.Fatal(err)
	}
	config.Contexts[fmt.Sprint("other-", number)] = &clientcmdapi.Context{}
	raw, err := clientcmd.Write(*config)
	if err != nil {
		tb.Fatal(err)
	}
	return raw
}

func apiServer(tb testing.TB) *url.URL {
	tb.Helper()
	server, err := url.Parse(testenv.Config(tb).Host)
	if err != nil {
		tb.Fatal(err)
	}
	return server
}

// TestRotatedKubeconfigsLeaveNothingBehind is not parallel, because it counts what the process has.
func TestRotatedKubeconfigsLeaveNothingBehind(t *testing.T) {
	factory, err := clients.New(clients.Options{Name: "rotation.example.io", Config: &rest.Config{Host: "http://127.0.0.1:1"}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(factory.Close)
	dropped := 0
	connections := targets.New(targets.Options{Factory: factory, Name: "rotation.example.io", Changed: func(apitypes.NamespacedName) {}, TypesChanged: func() {}, Dropped: func(string) { dropped++ }, Engine: reconciler.Options{
		FieldOwner: "rotation.example.io", Finalizer: "rotation.example.io", Judge: status.NewAnalyzer("rotation.example.io", status.Options{}),
	}})
	t.Cleanup(connections.Close)
	owner := apitypes.NamespacedName{Namespace: "default", Name: "rotating"}
	rotate := func(number int) {
		found, err := connections.Connect(owner, "owner", targets.Identity{KubeConfig: rotated(t, number)})
		if err != nil {
			t.Fatal(err)
		}
		found.WatchTypes()
		if _, err := generator.DiscoveryFromContext(generating.Client.With(t.Context(), found.Client)); err != nil {
			t.Fatal(err)
		}
		needs := []reconciler.Need{{Kind: schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}, Namespaces: []string{"default"}}}
		if err := found.Engine.(*reconciler.Reconciler).Watch("owner", needs)(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	measure := func() (goroutines int, heap uint64) {
		for range 3 {
			runtime.GC()
		}
		var memory runtime.MemStats
		runtime.ReadMemStats(&memory)
		return runtime.NumGoroutine(), memory.HeapAlloc
	}
	for i := range 100 {
		rotate(i)
	}
	// Each network connection has goroutines.
	goroutines, heap := measure()
	for i := range 100 {
		rotate(100 + i)
	}
	testenv.Eventually(t, func() (bool, string) {
		now, _ := measure()
		return now <= goroutines+5, fmt.Sprintf("%d goroutines became %d", goroutines, now)
	})
	// What belongs to a network connection is kept by timers of net/http for 90 seconds after its end, which is some 60
	// KiB, and other tests may not have ended completely. The types of one cluster alone take more than 600 KiB.
	if _, now := measure(); now > heap+100*(256<<10) {
		t.Errorf("the heap grew from %d to %d KiB", heap>>10, now>>10)
	}
	diff(t, "targets that are not used any more", 199, dropped)
	connections.Release(owner, "owner")
	diff(t, "targets that are not used any more, after the release", 200, dropped)
}
