// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package component

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	apitypes "k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/tools/record"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/component-operator/runtime/internal/observe"
	"github.com/component-operator/runtime/internal/testenv"
	"github.com/component-operator/runtime/pkg/cluster"
	"github.com/component-operator/runtime/pkg/component/internal/targets"
	"github.com/component-operator/runtime/pkg/manifests"
	"github.com/component-operator/runtime/pkg/reconciler"
	"github.com/component-operator/runtime/pkg/status"
	"github.com/component-operator/runtime/pkg/types"
)

// script is an engine, and its connector, that returns what a test wants.
type script struct {
	result   reconciler.Result
	err      error
	blockers []reconciler.Blocker
	checkErr error
	// rebuilt is what is found in addition to what is known, rebuilds what was asked.
	rebuilt    reconciler.RebuildResult
	rebuildErr error
	rebuilds   []reconciler.RebuildRequest
	// connectErr makes the target unreachable.
	connectErr error
	// cluster is what kubeconfigs lead to, heldCluster that of the connection that is held.
	cluster, heldCluster targets.Cluster
	identifyErr          error
	client               cluster.Client
	// deleted are the dependents of the last deletion.
	deleted []*reconciler.InventoryItem
	// saves are statuses that the engine has saved before it returns.
	saves    int
	released bool
	// lifted is how often barriers were lifted.
	lifted int
}

func (s *script) Apply(ctx context.Context, request reconciler.ApplyRequest) (reconciler.Result, error) {
	for range s.saves {
		if err := request.Store.Save(ctx, s.result.Inventory); err != nil {
			return reconciler.Result{Inventory: request.Inventory}, err
		}
	}
	return s.result, s.err
}

func (s *script) Delete(ctx context.Context, request reconciler.DeleteRequest) (reconciler.Result, error) {
	s.deleted = request.Inventory
	for range s.saves {
		if err := request.Store.Save(ctx, s.result.Inventory); err != nil {
			return reconciler.Result{Inventory: request.Inventory}, err
		}
	}
	return s.result, s.err
}

func (s *script) CheckDeletion(context.Context, reconciler.DeleteRequest) ([]reconciler.Blocker, error) {
	return s.blockers, s.checkErr
}

func (s *script) LiftBarriers(_ context.Context, request reconciler.DeleteRequest) ([]*reconciler.InventoryItem, error) {
	var items []*reconciler.InventoryItem
	for _, item := range request.Inventory {
		item = item.DeepCopy()
		item.Barrier = ""
		items = append(items, item)
	}
	s.lifted++
	return items, nil
}

func (s *script) Plan(context.Context, reconciler.ApplyRequest, reconciler.PlanOptions) (reconciler.Plan, error) {
	return reconciler.Plan{}, nil
}

func (s *script) HeldDeletion(context.Context, reconciler.DeleteRequest) (*reconciler.HeldDeletions, error) {
	return nil, nil
}

func (s *script) Rebuild(_ context.Context, request reconciler.RebuildRequest) (reconciler.RebuildResult, error) {
	s.rebuilds = append(s.rebuilds, request)
	result := s.rebuilt
	result.Inventory = append(slices.Clone(request.Known), result.Inventory...)
	result.Found = len(result.Inventory) - len(request.Known)
	return result, s.rebuildErr
}

func (s *script) Connect(apitypes.NamespacedName, string, targets.Identity) (*targets.Target, error) {
	if s.connectErr != nil {
		return nil, s.connectErr
	}
	return &targets.Target{ID: "scripted", Client: s.client, Engine: s}, nil
}

func (s *script) Identify(context.Context, targets.Identity) (targets.Cluster, error) {
	return s.cluster, s.identifyErr
}

func (s *script) Held(apitypes.NamespacedName) (*targets.Target, targets.Cluster) {
	if s.heldCluster.UID == "" {
		return nil, targets.Cluster{}
	}
	return &targets.Target{ID: "held", Client: s.client, Engine: s}, s.heldCluster
}

func (s *script) Release(apitypes.NamespacedName, string) { s.released = true }

// stage is a worker whose engine and clock are scripted. Components are real.
type stage struct {
	*rig
	script *script
	worker *worker
	clock  *clocktesting.FakeClock
	events *record.FakeRecorder
	widget *Widget
}

// watcher reads references, and does not report changes.
func (r *rig) watcher() *observe.ReferenceWatcher {
	r.tb.Helper()
	watcher := observe.NewReferenceWatcher(observe.ReferenceOptions{
		Reader: r.client, Metadata: metadata.NewForConfigOrDie(testenv.Config(r.tb)), Notify: func(apitypes.NamespacedName) {},
	})
	r.tb.Cleanup(watcher.Close)
	return watcher
}

func newStage(t *testing.T) *stage {
	t.Helper()
	r := newRig(t)
	w := r.bareWorker(newWidget, "Widget")
	fake := clocktesting.NewFakeClock(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
	events := record.NewFakeRecorder(100)
	config := testenv.Config(t)
	local := cluster.NewClient(r.client, discovery.NewDiscoveryClientForConfigOrDie(config), events, config, nil)
	s := &stage{rig: r, script: &script{client: local}, worker: w, clock: fake, events: events, widget: r.widget("")}
	w.options.Clock, w.events, w.targets, w.local, w.referenced = fake, events, s.script, local, r.watcher()
	w.generator = manifests.GeneratorFunc(specObjects)
	r.create(s.widget)
	return s
}

// pass makes one pass and returns state, reason and message after it, with its result.
func (s *stage) pass() (verdict, time.Duration, error) {
	s.tb.Helper()
	key := request(s.widget.Namespace, s.widget.Name).NamespacedName
	result, err := s.worker.reconcile(s.tb.Context(), key)
	if getErr := s.client.Get(s.tb.Context(), key, s.widget); getErr != nil && !apierrors.IsNotFound(getErr) {
		s.tb.Fatal(getErr)
	}
	state, reason, message := s.widget.Status.GetState()
	return verdict{state: state, reason: reason, message: message}, result.RequeueAfter, err
}

func (s *stage) drain() []string {
	var all []string
	for {
		select {
		case event := <-s.events.Events:
			all = append(all, event)
		default:
			return all
		}
	}
}

func deployed(names ...string) []*reconciler.InventoryItem {
	var items []*reconciler.InventoryItem
	for _, name := range names {
		item := &reconciler.InventoryItem{NameInfo: reconciler.NameInfo{Namespace: "demo", Name: name}, Phase: reconciler.PhaseReady, Status: status.CurrentStatus}
		item.SetGroupVersionKind(schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "Deployment"})
		items = append(items, item)
	}
	return items
}

func TestEvents(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	objects := make([]types.ObjectKey, 7)
	for i, item := range deployed("a", "b", "c", "d", "e", "f", "g") {
		objects[i] = item
	}
	s.script.result = reconciler.Result{
		WaveSize: 7, Waits: []reconciler.Notice{notice("Deployment", "a", "0/1")}, Inventory: deployed("a"),
		Actions: []reconciler.Action{{Verb: reconciler.VerbCreated, Objects: objects}},
		Notes:   []reconciler.Notice{notice("Deployment", "a", "unknown field")},
	}
	_, _, _ = s.pass()
	diff(t, "events of the first pass", []string{
		"Normal Created Created 7 dependents of wave 0: Deployment demo/a, Deployment demo/b, Deployment demo/c, Deployment demo/d, Deployment demo/e and 2 more",
		"Warning Noticed Deployment demo/a: unknown field",
		"Normal Processing 1 of 7 dependents of wave 0 not ready: Deployment demo/a: 0/1",
	}, s.drain())

	s.script.result = reconciler.Result{WaveSize: 7, Waits: []reconciler.Notice{notice("Deployment", "a", "1/2")}, Inventory: deployed("a")}
	_, _, _ = s.pass()
	diff(t, "events of mere progress", []string(nil), s.drain())

	drift := []reconciler.Notice{notice("Deployment", "a", "somebody changes spec.replicas")}
	s.script.result = reconciler.Result{Done: true, Drift: drift, Inventory: deployed("a")}
	_, _, _ = s.pass()
	diff(t, "events of drift and readiness", []string{
		"Warning Drift Changed by other clients, and not corrected: Deployment demo/a: somebody changes spec.replicas",
		"Normal Ready 1 dependent is ready; 1 changed by other clients, and not corrected: Deployment demo/a: somebody changes spec.replicas",
	}, s.drain())
	_, _, _ = s.pass()
	diff(t, "events at rest", []string(nil), s.drain())

	s.script.result.Actions = []reconciler.Action{{Verb: reconciler.VerbUpdated, Wave: 3, Objects: objects[:1]}}
	s.worker.options.EventPerDependent = true
	_, _, _ = s.pass()
	diff(t, "events about each dependent", []string{"Normal Updated Updated by Widget " + s.namespace + "/demo in wave 3"}, s.drain())

	s.worker.waveNames = func(component Component, order int) string {
		return map[int]string{3: "phase three of " + component.GetName()}[order]
	}
	_, _, _ = s.pass()
	diff(t, "events about dependents of a wave with a name", []string{"Normal Updated Updated by Widget " + s.namespace + "/demo in phase three of demo"}, s.drain())

	change(s.rig, s.widget, func(w *Widget) {
		w.Annotations = map[string]string{s.name + "/" + types.AnnotationKeySuffixDisableEvents: "true"}
	})
	revision := s.widget.Status.Revision
	_, _, _ = s.pass()
	diff(t, "events when they are disabled", []string(nil), s.drain())
	diff(t, "revision", revision, s.widget.Status.Revision)
}

// TestAnnotationsThatMakeNoRevision do not concern dependents.
func TestAnnotationsThatMakeNoRevision(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.script.result = reconciler.Result{Done: true, Inventory: deployed("web")}
	_, _, _ = s.pass()
	for _, test := range []struct {
		reason, key string
		want        int64
	}{
		{"events are not dependents", s.name + "/" + types.AnnotationKeySuffixDisableEvents, 0},
		{"what is to be left behind later stays as it is now", s.name + "/" + types.AnnotationKeySuffixAbandonTarget, 0},
		{"what is not declared is approved to go, not what is", s.name + "/" + types.AnnotationKeySuffixApproveDeletions, 0},
		{"annotations of others mean nothing", "others.example.io/anything", 0},
		{"any other one may concern dependents", s.name + "/anything", 1},
	} {
		before := s.widget.Status.Status
		change(s.rig, s.widget, func(w *Widget) { metav1.SetMetaDataAnnotation(&w.ObjectMeta, test.key, "true") })
		_, _, _ = s.pass()
		diff(t, test.reason, before.Revision+test.want, s.widget.Status.Revision)
		diff(t, test.reason, test.want == 0, before.ProcessingDigest == s.widget.Status.ProcessingDigest)
	}
}

// series returns the metrics of the components in the namespace.
func (s *stage) series() []string {
	s.tb.Helper()
	return s.gathered(func(name string, labels map[string]string, value float64) string {
		if labels["namespace"] != s.namespace {
			return ""
		}
		return fmt.Sprintf("%s %s %v", name, strings.TrimSpace(labels["state"]+" "+labels["reason"]), value)
	})
}

func TestMetricsOfAComponent(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.script.result = reconciler.Result{Done: true, Inventory: deployed("a", "b")}
	s.script.result.Inventory[0].Status = status.InProgressStatus
	_, _, _ = s.pass()
	diff(t, "series", []string{"component_state Ready Ready 1", "dependents  2", "dependents_total  2", "unready_dependents  1", "unready_dependents_total  1"}, s.series())
	s.delete(s.widget)
	s.script.result = reconciler.Result{Done: true}
	_, _, _ = s.pass()
	diff(t, "series after the deletion", []string(nil), s.series())
}
