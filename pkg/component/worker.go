// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package component

import (
	"context"
	"fmt"
	"math/rand/v2"
	"runtime/debug"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	apitypes "k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/record"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/component-operator/runtime/internal/metrics"
	"github.com/component-operator/runtime/internal/references"
	"github.com/component-operator/runtime/internal/shards"
	"github.com/component-operator/runtime/pkg/cluster"
	"github.com/component-operator/runtime/pkg/component/internal/items"
	"github.com/component-operator/runtime/pkg/component/internal/queue"
	"github.com/component-operator/runtime/pkg/component/internal/specs"
	"github.com/component-operator/runtime/pkg/component/internal/texts"
	"github.com/component-operator/runtime/pkg/component/internal/visits"
	"github.com/component-operator/runtime/pkg/manifests"
)

// worker does what a Reconciler promises, for components of any type.
type worker struct {
	name      string
	options   ReconcilerOptions
	gvk       schema.GroupVersionKind
	clusterID string
	generator manifests.Generator
	hooks     hooks

	newComponent func() Component
	// client reads components from the cache; live reads them from the server.
	client client.Client
	live   client.Reader
	cache  cache.Cache
	local  cluster.Client
	events record.EventRecorder

	metrics    *metrics.Controller
	references *references.Watcher
	walker     *specs.Walker
	// extension loads a Reference[T] and returns its digest.
	extension func(ctx context.Context, value any, component Component) (string, error)
	targets   connector
	places    *visits.Places
	// shards is nil without sharding.
	shards *shards.Keeper
	// warmup is nil if it is disabled.
	warmup   *warmup
	memories *memories
	passes   passes
	// allowances bound the passes that other objects cause.
	allowances queue.Allowances
	// misused is set if hooks were added too late.
	misused atomic.Bool
}

// hook is a HookFunc for a component of any type.
type hook func(ctx context.Context, component Component) error

type hooks struct {
	postRead, preReconcile, postReconcile, preDelete, postDelete []hook
}

// phase is a step of a pass. The first outcome other than outcomeContinue ends the pass.
type phase func(ctx context.Context, s *scope) outcome

// reconcile makes one pass.
func (w *worker) reconcile(ctx context.Context, key apitypes.NamespacedName) (ctrl.Result, error) {
	result, err := w.repeatable(ctx, key)
	if result.RequeueAfter > 0 {
		result.RequeueAfter = max(result.RequeueAfter, soonest)
	}
	return result, err
}

// repeatable makes one pass, if this replica may.
func (w *worker) repeatable(ctx context.Context, key apitypes.NamespacedName) (ctrl.Result, error) {
	defer w.passes.begin(key)()
	if w.shards == nil {
		return w.pass(ctx, key, nil)
	}
	tenure, isOurs := w.shards.Enter(w.shardOf(key))
	if !isOurs {
		// Whoever is in charge of the component has learnt by itself that there is something to do.
		return ctrl.Result{}, nil
	}
	defer tenure.Leave()
	ctx, cancel := tenure.Context(ctx)
	defer cancel()
	if tenure.Check() != nil {
		return ctrl.Result{RequeueAfter: abandonedDelay}, nil
	}
	return w.pass(ctx, key, tenure)
}

func (w *worker) pass(ctx context.Context, key apitypes.NamespacedName, tenure *shards.Tenure) (result ctrl.Result, err error) {
	defer rescue(log.FromContext(ctx), func(reason error) { result, err = ctrl.Result{}, reason })
	w.allowances.Spend(key, w.options.Clock.Now())
	component, result, err := w.fetch(ctx, key)
	if component == nil {
		return result, err
	}
	s, err := w.newScope(ctx, component)
	if err == nil {
		s.tenure = tenure
		o := w.runBounded(ctx, s)
		for _, end := range []func(context.Context, *scope, outcome) outcome{w.liftBarriers, w.keepRecord} {
			o = rescued(s, func() outcome { return end(ctx, s, o) })
		}
		result, err = w.conclude(ctx, s, o)
	}
	w.metrics.Reconciled(err)
	if err != nil {
		// The controller's back-off says when; what users change comes first, and what is merely due comes later.
		result = ctrl.Result{Priority: new(queue.PriorityWoken)}
	}
	return result, err
}

// phases is the way of a component through a pass.
func (w *worker) phases(s *scope) []phase {
	common := []phase{
		w.acknowledge, w.noteOrphaning, w.recall, w.checkSuspended, w.resolveReferences, w.trackProcessing, w.afterRead,
		w.visitTarget, w.connectTarget, w.visitFormer,
	}
	if s.deleting {
		return append(common, w.rebuildForDeletion, w.beforeDelete, w.checkDeletionAllowed, w.checkForeignFinalizers,
			w.runPreDeleteHooks, w.deleteDependents, w.checkUnlisted, w.runPostDeleteHooks, w.afterDelete, w.removeHooks, w.removeRecord, w.removeFinalizer)
	}
	return append(common, w.leaveFormer, w.ensureFinalizer, w.beforeReconcile, w.applyTarget, w.afterReconcile, w.markReady)
}

// runBounded goes through the phases, for as long as a pass may take. How it ended is recorded after that.
func (w *worker) runBounded(ctx context.Context, s *scope) outcome {
	ctx, end := s.bound(ctx, w.places)
	defer end()
	return rescued(s, func() outcome { return w.interpret(ctx, s, rescued(s, func() outcome { return w.run(ctx, s) })) })
}

// rescued makes a step of a pass. A panic, be it of the code of an operator's author or of ours, is an error like any other: it must not
// take down the operator for all other components, and the component says so.
func rescued(s *scope, step func() outcome) (o outcome) {
	defer rescue(s.log, func(reason error) { o = outcome{kind: outcomeError, message: reason.Error(), err: reason} })
	return step()
}

// rescue is to be deferred. It ends a panic.
func rescue(log logr.Logger, caught func(reason error)) {
	if reason := recover(); reason != nil {
		log.Error(nil, "panic during the reconciliation", "reason", reason, "stack", string(debug.Stack()))
		caught(fmt.Errorf("panic: %v", reason))
	}
}

// run goes through the phases.
func (w *worker) run(ctx context.Context, s *scope) outcome {
	for _, next := range w.phases(s) {
		if o := next(ctx, s); o.kind != outcomeContinue {
			return o
		}
	}
	return outcome{kind: outcomeError, message: "the reconciliation has no end"}
}

const (
	// cachePatience is how long a pass waits for the cache to show the last write before it asks the server.
	cachePatience = 2 * time.Second
	// abandonedDelay precedes the pass that follows one whose picture was outdated.
	abandonedDelay = time.Second
)

// fetch returns the component, or nil if there is nothing to be done now. A pass never starts from a component that is
// older than our last write.
func (w *worker) fetch(ctx context.Context, key apitypes.NamespacedName) (Component, ctrl.Result, error) {
	component := w.newComponent()
	if err := w.client.Get(ctx, key, component); err != nil {
		return w.unfetched(key, err)
	}
	known := w.memories.of(key, component.GetUID())
	if w.shards != nil && !known.confirmed {
		component, err := w.confirm(ctx, key)
		if err != nil {
			return w.unfetched(key, err)
		}
		return component, ctrl.Result{}, nil
	}
	if !w.memories.isOutdated(known, component.GetResourceVersion()) {
		known.awaitingSince = time.Time{}
		return component, ctrl.Result{}, nil
	}
	// The event may have come between reading and asking for it.
	component = w.newComponent()
	if err := w.client.Get(ctx, key, component); err != nil {
		return w.unfetched(key, err)
	}
	now := w.options.Clock.Now()
	switch {
	case !w.memories.isOutdated(known, component.GetResourceVersion()):
	case known.awaitingSince.IsZero():
		known.awaitingSince = now
		return nil, ctrl.Result{RequeueAfter: cachePatience}, nil
	case now.Sub(known.awaitingSince) < cachePatience:
		return nil, ctrl.Result{RequeueAfter: cachePatience}, nil
	default:
		component = w.newComponent()
		if err := w.live.Get(ctx, key, component); err != nil {
			return w.unfetched(key, err)
		}
		w.memories.isOutdated(known, component.GetResourceVersion())
	}
	known.awaitingSince = time.Time{}
	return component, ctrl.Result{}, nil
}

func (w *worker) unfetched(key apitypes.NamespacedName, err error) (Component, ctrl.Result, error) {
	if apierrors.IsNotFound(err) {
		w.forget(key)
		return nil, ctrl.Result{}, nil
	}
	return nil, ctrl.Result{}, fmt.Errorf("reading %s %s: %w", w.gvk.Kind, key, err)
}

// forget drops all that is remembered, watched and measured about a component.
func (w *worker) forget(key apitypes.NamespacedName) {
	w.leave(key)
	w.memories.forget(key)
	w.allowances.Forget(key)
}

// leave drops all that is watched and measured about a component. It is remembered until the cache knows that it is gone.
func (w *worker) leave(key apitypes.NamespacedName) {
	w.targets.release(key, w.ownerID(key))
	w.references.Use(key, nil)
	w.metrics.RemoveComponent(w.series(key))
}

func (w *worker) series(key apitypes.NamespacedName) metrics.Component {
	return metrics.Component{Group: w.gvk.Group, Kind: w.gvk.Kind, Namespace: key.Namespace, Name: key.Name}
}

// ownerID identifies a component as owner, whatever cluster its dependents are in. Its form is known to existing
// clusters; it holds no kind, which is why two reconcilers of one name may not share a manager.
func (w *worker) ownerID(key apitypes.NamespacedName) string {
	return w.clusterID + "/" + key.Namespace + "/" + key.Name
}

func (w *worker) newScope(ctx context.Context, component Component) (*scope, error) {
	key := client.ObjectKeyFromObject(component)
	ownerID := w.ownerID(key)
	s := &scope{
		key:       key,
		ownerID:   ownerID,
		component: component,
		memory:    w.memories.of(key, component.GetUID()),
		log:       log.FromContext(ctx),
		version:   component.GetResourceVersion(),
		deleting:  component.GetDeletionTimestamp() != nil,
		settings:  settings{timing: timing{requeue: defaultRequeueInterval, retry: defaultRequeueInterval, timeout: defaultRequeueInterval}},
	}
	if err := s.restore(); err != nil {
		return nil, err
	}
	s.status = component.GetStatus()
	for _, list := range s.status.inventories() {
		*list = items.Nameable(*list)
	}
	s.memory.disguises = s.status.recognizeFailures()
	s.record.mark = s.status.takeMark()
	s.cluster = parseCluster(s.record.mark.cluster)
	s.before.state, s.before.reason, s.before.message = s.status.GetState()
	return s, nil
}

// conclude records how the pass ended, tells about it, and says when the next one is due.
func (w *worker) conclude(ctx context.Context, s *scope, o outcome) (ctrl.Result, error) {
	switch o.kind {
	case outcomeGone:
		w.leave(s.key)
		return ctrl.Result{}, nil
	case outcomeAbandoned:
		s.log.Info("reconciliation ended early", "reason", o.message)
		return ctrl.Result{RequeueAfter: abandonedDelay}, nil
	case outcomeContinue, outcomeReady, outcomeProgressing, outcomeFailed, outcomeSuspended, outcomeRetriable,
		outcomeRefused, outcomeError, outcomeBlocked, outcomeDeleting:
	}
	now := w.options.Clock.Now()
	d := decide(o, s.history(), s.settings.timing, now)
	s.memory.refusals++
	if o.kind != outcomeRefused {
		s.memory.refusals = 0
	}
	s.note(d, metav1.NewTime(now))
	err := w.save(ctx, s)
	switch {
	case isRejected(err):
		s.log.Error(err, "the status of the component cannot be written")
		w.warn(s, "StatusRejected", texts.Bound(err.Error()))
		s.memory.rejections++
		return s.requeue(backoff(s.memory.rejections, s.settings.timing.requeue)), nil
	case outcomeOf(err).kind == outcomeAbandoned:
		return w.conclude(ctx, s, outcomeOf(err))
	case err != nil:
		return ctrl.Result{}, err
	}
	w.announceVerdict(s, d.verdict)
	w.measure(s)
	if d.err != nil {
		return ctrl.Result{}, d.err
	}
	return s.requeue(d.requeue), nil
}

// requeue has the next pass begin after the delay, zero meaning never, even if nothing happens. An early one goes on with
// something that is under way. Passes that come to no conclusion are repeated with the priority that they have.
func (s *scope) requeue(delay time.Duration) ctrl.Result {
	priority := queue.PriorityPeriodic
	if delay < s.settings.timing.requeue {
		priority = queue.PriorityWoken
	}
	return ctrl.Result{RequeueAfter: jittered(delay), Priority: &priority}
}

func (s *scope) history() history {
	h := history{deleting: s.deleting, refusals: s.memory.refusals}
	if s.status.ProcessingSince != nil {
		h.since = s.status.ProcessingSince.Time
	}
	return h
}

// note puts a decision into the status.
func (s *scope) note(d decision, now metav1.Time) {
	switch {
	case d.since.IsZero():
		s.status.ProcessingSince = nil
	case s.status.ProcessingSince == nil || !s.status.ProcessingSince.Time.Equal(d.since):
		s.status.ProcessingSince = &metav1.Time{Time: d.since}
	}
	s.status.LastObservedAt = &now
	s.status.setState(d.verdict, now)
}

// jittered adds 1 to 5 percent, so that components that were created together do not stay together.
func jittered(delay time.Duration) time.Duration {
	return delay + delay/100*time.Duration(1+rand.IntN(5))
}
