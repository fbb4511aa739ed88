// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package component

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"runtime"
	"strings"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	apitypes "k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/internal/clients"
	"github.com/component-operator/runtime/internal/generating"
	"github.com/component-operator/runtime/internal/testenv"
	"github.com/component-operator/runtime/pkg/component/internal/targets"
	"github.com/component-operator/runtime/pkg/generator"
	"github.com/component-operator/runtime/pkg/reconciler"
	"github.com/component-operator/runtime/pkg/sandbox"
	"github.com/component-operator/runtime/pkg/status"
)

// secondCluster is another cluster, which all tests share.
var secondCluster = sync.OnceValues(func() (*sandbox.Sandbox, error) {
	return sandbox.Start(context.Background(), sandbox.Options{APIServerOnly: true})
})

// second returns a client for the other cluster, and a kubeconfig.
func second(t *testing.T) (clnt client.Client, kubeconfig string) {
	t.Helper()
	other, err := secondCluster()
	if err != nil {
		t.Fatal(err)
	}
	if clnt, err = client.New(other.Config(), client.Options{Scheme: testScheme(t)}); err != nil {
		t.Fatal(err)
	}
	raw, err := os.ReadFile(other.Kubeconfig())
	if err != nil {
		t.Fatal(err)
	}
	return clnt, string(raw)
}

// uidIn returns the UID of the ConfigMap settings in a cluster; empty if it does not exist.
func (r *rig) uidIn(clnt client.Client) string {
	r.tb.Helper()
	found := &corev1.ConfigMap{}
	err := clnt.Get(r.tb.Context(), client.ObjectKey{Namespace: r.namespace, Name: "settings"}, found)
	if err != nil && !apierrors.IsNotFound(err) {
		r.tb.Fatal(err)
	}
	return string(found.UID)
}

// dependentsIn counts the ConfigMaps of the rig's reconciler in a cluster.
func (r *rig) dependentsIn(clnt client.Client) int {
	r.tb.Helper()
	found := &corev1.ConfigMapList{}
	if err := clnt.List(r.tb.Context(), found, client.InNamespace(r.namespace), client.HasLabels{r.name + "/owner-id"}); err != nil {
		r.tb.Fatal(err)
	}
	return len(found.Items)
}

func (r *rig) setKubeconfig(content string) {
	r.tb.Helper()
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: r.namespace, Name: "target"}}
	change(r, secret, func(s *corev1.Secret) { s.StringData = map[string]string{"value": content} })
}

// remoteWidget has a ConfigMap in the cluster to which the kubeconfig leads.
func (r *rig) remoteWidget(content string) *Widget {
	r.tb.Helper()
	r.create(r.secret("target", map[string]string{"value": content}))
	widget := r.widget(oneConfigMap)
	widget.Spec.KubeConfig = &KubeConfigSpec{SecretRef: SecretKeyReference{Name: "target"}}
	r.create(widget)
	awaitReady(r, widget)
	return widget
}

// TestMove changes the cluster of the dependents while the operator runs, in all directions.
func TestMove(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	elsewhere, there := second(t)
	here := kubeconfig(t)
	r.start(r.reconciler(ReconcilerOptions{}))
	widget := r.remoteWidget(there)
	first := r.uidIn(elsewhere)
	if first == "" || r.uidIn(r.client) != "" {
		t.Fatal("want the dependent in the other cluster alone")
	}
	awaitMoved := func(what string, from, to client.Client) {
		t.Helper()
		testenv.Eventually(t, func() (bool, string) {
			left, arrived := r.uidIn(from), r.uidIn(to)
			return left == "" && arrived != "", fmt.Sprintf("%s: left behind %q, arrived %q", what, left, arrived)
		})
		awaitReady(r, widget)
		r.settle(widget)
	}

	// The kubeconfig changes, and the cluster does not.
	r.setKubeconfig("# rotated\n" + there)
	r.settle(widget)
	awaitReady(r, widget)
	diff(t, "dependent after a rotation", first, r.uidIn(elsewhere))

	r.setKubeconfig(here)
	awaitMoved("there to here by a kubeconfig", elsewhere, r.client)
	r.awaitEvent("Moved", "The dependents move to the cluster at https://")
	local := r.uidIn(r.client)
	change(r, widget, func(w *Widget) { w.Spec.KubeConfig = nil })
	awaitReady(r, widget)
	r.settle(widget)
	diff(t, "dependent after the kubeconfig was removed that led here", local, r.uidIn(r.client))

	r.setKubeconfig(there)
	change(r, widget, func(w *Widget) { w.Spec.KubeConfig = &KubeConfigSpec{SecretRef: SecretKeyReference{Name: "target"}} })
	awaitMoved("here to there", r.client, elsewhere)
	change(r, widget, func(w *Widget) { w.Spec.KubeConfig = nil })
	awaitMoved("there to here", elsewhere, r.client)

	// The deletion comes with the change.
	r.setKubeconfig(there)
	change(r, widget, func(w *Widget) {
		w.Spec.KubeConfig = &KubeConfigSpec{SecretRef: SecretKeyReference{Name: "target"}}
		w.Spec.Suspend = true
	})
	awaitState(r, widget, StatePending, ReadyConditionReasonSuspended)
	r.delete(widget)
	r.awaitGone(widget)
	diff(t, "dependents that are left", []string{"", ""}, []string{r.uidIn(r.client), r.uidIn(elsewhere)})
}

// TestMoveAfterARestart changes the kubeconfig while no operator runs: the next one cannot reach the former cluster. It
// must neither forget what is there nor apply anything elsewhere.
func TestMoveAfterARestart(t *testing.T) {
	t.Parallel()
	for _, deleted := range []bool{true, false} {
		for _, abandoned := range []bool{true, false} {
			t.Run(fmt.Sprintf("deleted: %t, abandoned: %t", deleted, abandoned), func(t *testing.T) {
				t.Parallel()
				r := newRig(t)
				elsewhere, there := second(t)
				stop := r.start(r.reconciler(ReconcilerOptions{}))
				widget := r.remoteWidget(there)
				r.settle(widget)
				stop()
				before := r.uidIn(elsewhere)
				r.setKubeconfig(kubeconfig(t))
				if deleted {
					r.delete(widget)
				}
				r.start(r.reconciler(ReconcilerOptions{}))
				await(r, widget, "the name of the former cluster", func() bool {
					_, _, message := widget.Status.GetState()
					return strings.HasPrefix(message, "Cannot reach the cluster that has 1 dependent: the dependents are in the cluster at https://") &&
						strings.Contains(message, "abandon-target")
				})
				r.settle(widget)
				diff(t, "dependents", []string{"", before}, []string{r.uidIn(r.client), r.uidIn(elsewhere)})
				if abandoned {
					change(r, widget, func(w *Widget) { w.Annotations = map[string]string{r.name + "/abandon-target": "true"} })
					r.awaitEvent("Abandoned", "The operator has given up 1 dependent, which may still exist: ConfigMap "+r.namespace+"/settings")
				} else {
					r.setKubeconfig(there)
				}
				if deleted {
					r.awaitGone(widget)
				} else {
					awaitReady(r, widget)
				}
				diff(t, "dependent in the former cluster", map[bool]string{true: before}[abandoned || !deleted], r.uidIn(elsewhere))
				diff(t, "dependent here", abandoned && !deleted, r.uidIn(r.client) != "")
			})
		}
	}
}

// TestDeathWhileMoving lets the process die after each of its writes in the cluster that the dependents leave. Whoever
// comes next leaves nothing behind there.
func TestDeathWhileMoving(t *testing.T) {
	t.Parallel()
	for survived := 1; survived <= 6; survived++ {
		t.Run(fmt.Sprint(survived), func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			elsewhere, there := second(t)
			stop := r.start(r.reconciler(ReconcilerOptions{}))
			widget := r.widget(twoConfigMaps)
			r.create(widget)
			awaitReady(r, widget)
			r.settle(widget)
			stop()
			r.dieAfter(survived, func() {
				r.create(r.secret("target", map[string]string{"value": there}))
				change(r, widget, func(w *Widget) { w.Spec.KubeConfig = &KubeConfigSpec{SecretRef: SecretKeyReference{Name: "target"}} })
			}, func() bool {
				r.read(widget)
				return r.uidIn(elsewhere) != "" && widget.Status.IsReady() && widget.Status.ObservedGeneration == widget.Generation
			})
			testenv.Eventually(t, func() (bool, string) {
				return r.uidIn(elsewhere) != "" && r.uidIn(r.client) == "", "the dependents are not in the other cluster alone"
			})
			awaitReady(r, widget)
			diff(t, "dependents that are recorded", 2, len(r.recorded(widget)))
			diff(t, "dependents that are left behind", 0, r.dependentsIn(r.client))
			r.delete(widget)
			r.awaitGone(widget)
			diff(t, "dependents that are left", 0, r.dependentsIn(elsewhere))
		})
	}
}

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
