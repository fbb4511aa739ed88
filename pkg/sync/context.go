// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package sync

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"github.com/component-operator/runtime/internal/gitops"
	"github.com/component-operator/runtime/internal/texts"
	"github.com/component-operator/runtime/pkg/reconciler"
	"github.com/component-operator/runtime/pkg/status"
	"github.com/component-operator/runtime/pkg/types"
)

// Name is the prefix of the label and the annotations that operations put on objects, and their field manager.
const Name = "sync.core.component-operator.dev"

// A SyncContext is one sync operation. It is safe for concurrent use.
type SyncContext interface {
	// Sync makes the next step, and updates the state. It makes requests, and does not wait until objects are healthy.
	// If the operation has completed, it does nothing.
	Sync(ctx context.Context)
	// Wait waits until another call of Sync is worthwhile: an object has changed, or a failed request should be
	// repeated. It returns at once if the operation has completed. The error is the cause with which the context has
	// ended.
	Wait(ctx context.Context) error
	// Terminate ends the operation: it requests the deletion of hooks that are running, does not wait until they are
	// gone, and leaves all other objects as they are. A step that is under way ends early. If the operation has
	// completed, it does nothing.
	Terminate(ctx context.Context)
	// GetState returns the phase of the operation, a message of at most 8 KiB, and a result for each object, with a
	// message of at most 1 KiB.
	GetState() (OperationPhase, string, []ResourceSyncResult)
}

// NewSyncContext returns an operation that brings a cluster into the declared state. The revision names this state; the
// namespace is the default for objects. NewSyncContext makes no request. The caller must call the returned function
// when it no longer needs the context.
func NewSyncContext(revision string, reconciliationResult ReconciliationResult, restConfig *rest.Config, namespace string, opts ...SyncOpt) (SyncContext, func(), error) {
	c := &syncContext{phase: OperationRunning, completed: make(chan struct{}), definition: definition{
		revision: revision, namespace: namespace, declared: reconciliationResult, startedAt: metav1.NewTime(time.Now().Truncate(time.Second)),
	}}
	for _, opt := range opts {
		opt(&c.settings)
	}
	if c.initial != nil {
		c.phase, c.message, c.startedAt = cmp.Or(c.initial.phase, OperationRunning), c.initial.message, c.initial.startedAt
		for _, result := range c.initial.results {
			c.results.set(result)
		}
	}
	c.owner = cmp.Or(c.ownerID, namespace)
	switch {
	case restConfig == nil:
		return nil, nil, errors.New("restConfig: must not be nil")
	case c.owner == "":
		return nil, nil, errors.New("namespace: must not be empty without the option WithOwner")
	case len(c.declared.Target) != len(c.declared.Live):
		return nil, nil, fmt.Errorf("reconciliationResult: Target has %d objects, and Live %d; they must have the same number", len(c.declared.Target), len(c.declared.Live))
	}
	var err error
	if c.client, err = reconciler.Connect(restConfig); err != nil {
		return nil, nil, err
	}
	c.judge = status.NewAnalyzer(Name, status.Options{})
	if c.health != nil {
		c.judge = overriding{override: c.health, base: c.judge}
	}
	c.engine, err = reconciler.New(Name, c.client, reconciler.Options{
		FieldOwner: cmp.Or(c.manager, Name), Owner: c.owner, Judge: c.judge, AwaitReports: true, RetainOutcomes: true, FailuresAreFinal: true, Log: c.log,
		// Fields of client-side apply that are no longer declared are removed.
		ReclaimedFieldManagers: []string{"kubectl-client-side-apply", "argocd-controller"},
		FormerFinalizers:       []string{gitops.HookFinalizer},
	})
	if err != nil {
		return nil, nil, err
	}
	c.operation = &Operation{Engine: c.engine, Owner: c.owner, Call: c.call}
	c.operation.subscribe()
	return c, c.engine.Close, nil
}

type syncContext struct {
	definition

	// step is held during a step.
	step      sync.Mutex
	operation *Operation
	work      *work // nil before the first step

	// mu guards the fields below.
	mu      sync.Mutex
	phase   OperationPhase
	message string
	results results
	last    State
	// interrupt cancels the step that is under way; nil if there is none.
	interrupt context.CancelCauseFunc
	// terminated means that no step may write any more.
	terminated bool
	// completed is closed when the operation has completed.
	completed chan struct{}
	// unended means that hooks could not be ended; only for Terminate.
	unended bool
}

// errTerminated is the cause with which a step ends early.
var errTerminated = errors.New("the operation is being terminated")

// Sync makes the next step.
func (c *syncContext) Sync(ctx context.Context) {
	c.step.Lock()
	defer c.step.Unlock()
	ctx, done, ok := c.begin(ctx)
	if !ok {
		return
	}
	defer done()
	if c.phase == OperationTerminating {
		c.end(ctx)
		return
	}
	if c.work == nil && !c.prepare(ctx) {
		return
	}
	state := c.operation.Step(ctx)
	c.took(ctx, state)
}

// begin begins a step, unless the operation has completed.
func (c *syncContext) begin(ctx context.Context) (context.Context, func(), bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.phase.Completed() || c.terminated {
		return ctx, nil, false
	}
	ctx, cancel := context.WithCancelCause(ctx)
	c.interrupt = cancel
	return ctx, func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		cancel(nil)
		c.interrupt = nil
	}, true
}

// prepare makes everything ready for the first write. It reports whether objects may be written now.
func (c *syncContext) prepare(ctx context.Context) bool {
	w, settled, err := c.ready(ctx)
	invalid, isInvalid := errors.AsType[*invalidError](err)
	if isInvalid {
		settled = append(settled, invalid.results...)
	}
	for _, result := range settled {
		c.result(result)
	}
	switch {
	case err == nil && c.dryRun:
		c.set(OperationSucceeded, "nothing was changed, because this is a dry run")
	case err == nil:
		c.work = w
		return true
	case isInvalid || IsFinal(err):
		c.refuse(ctx, err.Error())
	default:
		c.retry(err)
	}
	return false
}

// refuse ends an operation before its first step. Hooks that another process has begun to run are ended, too.
func (c *syncContext) refuse(ctx context.Context, message string) {
	if c.isContinued() {
		c.endWith(ctx, OperationFailed, message)
		return
	}
	c.set(OperationFailed, message)
}

// ready returns the work once it may begin, and the results of objects that need none.
func (c *syncContext) ready(ctx context.Context) (w *work, settled []ResourceSyncResult, err error) {
	if w, err = c.assemble(ctx); err != nil {
		return nil, nil, err
	}
	if err = c.recallHooks(ctx, w); err != nil {
		return nil, nil, err
	}
	// An operation that is continued was checked when it began.
	if c.dryRun || !c.isContinued() {
		settled, err = c.check(ctx, w)
	} else {
		// Objects may have changed since.
		err = c.checkPermissions(ctx, w)
	}
	if c.dryRun || err != nil {
		return w, settled, err
	}
	settled, err = c.claim(ctx, w)
	return w, settled, err
}

// Wait waits until another step is worthwhile.
func (c *syncContext) Wait(ctx context.Context) error {
	c.mu.Lock()
	enough, last := c.phase.Completed() || c.last.Phase == "", c.last
	c.mu.Unlock()
	if enough {
		return nil
	}
	return c.operation.wait(ctx, last, c.completed)
}

// GetState returns the state of the operation.
func (c *syncContext) GetState() (OperationPhase, string, []ResourceSyncResult) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.phase, c.message, slices.Clone(c.results.list)
}

// set sets the state of the operation.
func (c *syncContext) set(phase OperationPhase, message string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.phase.Completed() && phase.Completed() {
		close(c.completed)
	}
	c.phase, c.message = phase, texts.Truncate(message, longestMessage)
	if phase.Completed() {
		c.log.Info("the operation has ended", "phase", phase, "message", c.message)
	}
}

// retry records that the step must be repeated after the error.
func (c *syncContext) retry(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.message = texts.Truncate("trying again after: "+err.Error(), longestMessage)
	c.last = State{Phase: OperationRunning, Err: err, RetryAfter: c.operation.backOff()}
}

// result adds or updates the result of an object.
func (c *syncContext) result(result ResourceSyncResult) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.results.set(result)
}

// terminating reports whether no step may write any more.
func (c *syncContext) terminating() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.terminated
}

// A PermissionValidator returns an error if an object must not be in an operation, for example because of its type.
type PermissionValidator func(un *unstructured.Unstructured, res *metav1.APIResource) error

// A SyncWaveHook is called after a wave; see WithSyncWaveHook.
type SyncWaveHook func(phase SyncPhase, wave int, final bool) error

// A SyncOpt configures a SyncContext.
type SyncOpt func(ctx *settings)

// settings are the values of SyncOpts.
type settings struct {
	log               logr.Logger
	ownerID, manager  string
	store             reconciler.Store
	inventory         []*reconciler.InventoryItem
	health            HealthOverride
	permission        PermissionValidator
	filter            func(key ResourceKey, target, live *unstructured.Unstructured) bool
	waveHook          SyncWaveHook
	namespaceModifier func(managedNs, liveNs *unstructured.Unstructured) (bool, error)
	initial           *initialState
	propagation       metav1.DeletionPropagation

	dryRun, prune, pruneConfirmed, pruneLast, force, replace, skipHooks, lenient bool
}

type initialState struct {
	phase     OperationPhase
	message   string
	results   []ResourceSyncResult
	startedAt metav1.Time
}

// WithOwner sets the ID of the owner of the objects, which is written into their labels and annotations. It must be
// unique in a cluster. Defaults to the namespace, which suffices if each namespace has one owner.
func WithOwner(id string) SyncOpt { return func(s *settings) { s.ownerID = id } }

// WithStore sets the store of the inventory, which records the progress of an operation; see the documentation of the
// package. Defaults to none.
func WithStore(store reconciler.Store) SyncOpt { return func(s *settings) { s.store = store } }

// WithInventory sets the last inventory that the store has received. Defaults to none.
func WithInventory(inventory []*reconciler.InventoryItem) SyncOpt {
	return func(s *settings) { s.inventory = inventory }
}

// WithInitialState continues an operation that another process has begun, with the last result of GetState there, and
// the start time of the operation. A different start time means a different operation, whose hooks run again. So the
// process that begins an operation also uses this option, without phase and results, and records the time; fractions of
// a second are ignored. By default, the operation starts when the context is created.
func WithInitialState(phase OperationPhase, message string, results []ResourceSyncResult, startedAt metav1.Time) SyncOpt {
	return func(s *settings) {
		s.initial = &initialState{phase: phase, message: message, results: results, startedAt: startedAt}
	}
}

// WithOperationSettings is WithPrune and WithSkipHooks, and more: dryRun only reports the changes that would be made,
// and force recreates objects that cannot be updated because a field is immutable, as the option Force=true does for
// one object.
func WithOperationSettings(dryRun, prune, force, skipHooks bool) SyncOpt {
	return func(s *settings) { s.dryRun, s.prune, s.force, s.skipHooks = dryRun, prune, force, skipHooks }
}

// WithPrune deletes objects that exist without being declared. Defaults to false: they stay, and the results report
// them.
func WithPrune(prune bool) SyncOpt { return func(s *settings) { s.prune = prune } }

// WithPruneConfirmed approves the deletion of objects with the option Prune=confirm. Defaults to false: they stay,
// everything else but PostSync is done, and the operation waits.
func WithPruneConfirmed(confirmed bool) SyncOpt {
	return func(s *settings) { s.pruneConfirmed = confirmed }
}

// WithPruneLast prunes after everything is applied and healthy. Defaults to false: objects are pruned between waves, in
// the reverse order of their waves.
func WithPruneLast(enabled bool) SyncOpt { return func(s *settings) { s.pruneLast = enabled } }

// WithPrunePropagationPolicy determines what happens to the objects that a pruned object owns. Nil means the default,
// foreground.
func WithPrunePropagationPolicy(policy *metav1.DeletionPropagation) SyncOpt {
	return func(s *settings) {
		s.propagation = ""
		if policy != nil {
			s.propagation = *policy
		}
	}
}

// WithSkipHooks leaves out all hooks. Those of earlier operations stay, and so do the Namespaces and definitions whose
// deletion would delete them. Defaults to false.
func WithSkipHooks(skipHooks bool) SyncOpt { return func(s *settings) { s.skipHooks = skipHooks } }

// WithReplace removes the fields of other managers from objects that are updated. Defaults to false: they stay, except
// those that client-side apply of kubectl or Argo CD has set.
func WithReplace(replace bool) SyncOpt { return func(s *settings) { s.replace = replace } }

// WithManifestValidation refuses objects with fields that the API server does not know, before anything is written.
// Defaults to true. Without it, as with the option Validate=false of one object, such fields are left out.
func WithManifestValidation(enabled bool) SyncOpt {
	return func(s *settings) { s.lenient = !enabled }
}

// WithHealthOverride sets health rules that come before those of the runtime. Defaults to none.
func WithHealthOverride(override HealthOverride) SyncOpt {
	return func(s *settings) { s.health = override }
}

// WithPermissionValidator sets a function that is called for each object to be applied, and each live object to be
// pruned, before this process writes anything. The operation fails with all its errors. The function must not call the
// context. Defaults to none.
func WithPermissionValidator(validator PermissionValidator) SyncOpt {
	return func(s *settings) { s.permission = validator }
}

// WithResourcesFilter sets a function that selects the objects of the operation. It gets the declared and the existing
// object; one of them may be nil. Other objects are neither written nor pruned, nor are the Namespaces and definitions
// whose deletion would delete them. It is not called for hooks; see WithSkipHooks. Defaults to all.
func WithResourcesFilter(resourcesFilter func(key ResourceKey, target *unstructured.Unstructured, live *unstructured.Unstructured) bool) SyncOpt {
	return func(s *settings) { s.filter = resourcesFilter }
}

// WithNamespaceModifier sets a function that gets the namespace of the operation as it would be created, and as it
// exists (nil if it does not), and may change the former. If it returns true, the namespace is applied first. It is not
// called if the namespace is declared. Defaults to none: the namespace has to exist.
func WithNamespaceModifier(namespaceModifier func(managedNs *unstructured.Unstructured, liveNs *unstructured.Unstructured) (bool, error)) SyncOpt {
	return func(s *settings) { s.namespaceModifier = namespaceModifier }
}

// WithSyncWaveHook sets a function that is called when an operation has changed objects of a wave and has written all
// of them, even if they are not healthy yet; final means that no later wave follows. It is not called for SyncFail
// hooks, and must not call the context. If it returns an error, hooks that are running are deleted, and the operation
// ends with OperationError. Defaults to none.
func WithSyncWaveHook(syncWaveHook SyncWaveHook) SyncOpt {
	return func(s *settings) { s.waveHook = syncWaveHook }
}

// WithServerSideApplyManager sets the field manager of all writes. Defaults to Name.
func WithServerSideApplyManager(manager string) SyncOpt {
	return func(s *settings) { s.manager = manager }
}

// WithLogr sets the logger. Defaults to none.
func WithLogr(log logr.Logger) SyncOpt { return func(s *settings) { s.log = log } }

// WithServerSideApply has no effect: objects are always applied by the API server.
func WithServerSideApply(bool) SyncOpt { return func(*settings) {} }

// WithResourceModificationChecker has no effect: objects that are as declared are never written, and operations
// recognize them without a diff.
func WithResourceModificationChecker(bool, *DiffResultList) SyncOpt { return func(*settings) {} }

// DiffResultList is for WithResourceModificationChecker.
type DiffResultList struct {
	Diffs    []DiffResult
	Modified bool
}

// DiffResult is the difference between a declared object and one that exists.
type DiffResult struct {
	Modified                      bool
	NormalizedLive, PredictedLive []byte
}

// An OperationPhase is the progress of an operation, or of one object.
type OperationPhase string

const (
	// OperationRunning means that the operation has work left, or waits.
	OperationRunning OperationPhase = "Running"
	// OperationTerminating means that the operation must be terminated. If a caller records it and passes it to
	// WithInitialState, Sync acts like Terminate.
	OperationTerminating OperationPhase = "Terminating"
	// OperationFailed means that objects were refused or have failed, or that the operation was terminated.
	OperationFailed OperationPhase = "Failed"
	// OperationError means a failure that does not concern objects, such as an error of a function of the caller.
	OperationError OperationPhase = "Error"
	// OperationSucceeded means that everything is applied and healthy.
	OperationSucceeded OperationPhase = "Succeeded"
)

// Completed reports whether the operation has ended.
func (p OperationPhase) Completed() bool { return p.Failed() || p.Successful() }

// Running reports whether the operation is under way.
func (p OperationPhase) Running() bool { return p == OperationRunning }

// Successful reports whether the operation has succeeded.
func (p OperationPhase) Successful() bool { return p == OperationSucceeded }

// Failed reports whether the operation has ended without success.
func (p OperationPhase) Failed() bool { return p == OperationFailed || p == OperationError }

// A SyncPhase is a part of an operation.
type SyncPhase string

const (
	// SyncPhasePreSync is before everything else is applied.
	SyncPhasePreSync SyncPhase = "PreSync"
	// SyncPhaseSync is when Sync hooks and objects that are not hooks are applied.
	SyncPhaseSync SyncPhase = "Sync"
	// SyncPhasePostSync is when everything is applied and healthy, and obsolete objects are gone.
	SyncPhasePostSync SyncPhase = "PostSync"
	// SyncPhaseSyncFail is after objects were refused or have failed, once the operation has begun to write.
	SyncPhaseSyncFail SyncPhase = "SyncFail"
)

// A HookType is the time at which a hook runs: a value of the annotation argocd.argoproj.io/hook.
type HookType string

const (
	// HookTypePreSync runs a hook in SyncPhasePreSync.
	HookTypePreSync HookType = "PreSync"
	// HookTypeSync runs a hook in SyncPhaseSync.
	HookTypeSync HookType = "Sync"
	// HookTypePostSync runs a hook in SyncPhasePostSync.
	HookTypePostSync HookType = "PostSync"
	// HookTypeSyncFail runs a hook in SyncPhaseSyncFail.
	HookTypeSyncFail HookType = "SyncFail"
	// HookTypeSkip leaves out an object that has no other type.
	HookTypeSkip HookType = "Skip"
)

// A HookDeletePolicy is the time at which a hook is deleted: a value of the annotation
// argocd.argoproj.io/hook-delete-policy.
type HookDeletePolicy string

const (
	// HookDeletePolicyHookSucceeded deletes a hook after it has succeeded.
	HookDeletePolicyHookSucceeded HookDeletePolicy = "HookSucceeded"
	// HookDeletePolicyHookFailed deletes a hook after it has failed.
	HookDeletePolicyHookFailed HookDeletePolicy = "HookFailed"
	// HookDeletePolicyBeforeHookCreation deletes the hook of an earlier operation before it is created again. It is the
	// default.
	HookDeletePolicyBeforeHookCreation HookDeletePolicy = "BeforeHookCreation"
)

// A ResultCode describes the action on an object.
type ResultCode string

const (
	// ResultCodeSynced means that the object is applied.
	ResultCodeSynced ResultCode = "Synced"
	// ResultCodeSyncFailed means that the object could not be applied or pruned.
	ResultCodeSyncFailed ResultCode = "SyncFailed"
	// ResultCodePruned means that the obsolete object is gone, or that its deletion was requested.
	ResultCodePruned ResultCode = "Pruned"
	// ResultCodePruneSkipped means that the object is obsolete, and stays.
	ResultCodePruneSkipped ResultCode = "PruneSkipped"
)

// A ResourceSyncResult is the result of an operation for one object in one phase.
type ResourceSyncResult struct {
	// ResourceKey identifies the object.
	ResourceKey ResourceKey
	// Version of the API in which the object was declared.
	Version string
	// Order is the position among the results in order of appearance, from 1.
	Order int
	// Status describes the action.
	Status ResultCode
	// Message explains the status.
	Message string
	// HookType is empty if the object is no hook.
	HookType HookType
	// HookPhase is the progress of the object, even if it is no hook: OperationRunning until it is healthy, or has
	// completed.
	HookPhase OperationPhase
	// SyncPhase is the phase in which the object was applied.
	SyncPhase SyncPhase
}

// A HealthStatusCode is the health of an object.
type HealthStatusCode string

const (
	// HealthStatusHealthy means that the object does its job, or has done it.
	HealthStatusHealthy HealthStatusCode = "Healthy"
	// HealthStatusSuspended means that the object waits until it is resumed.
	HealthStatusSuspended HealthStatusCode = "Suspended"
	// HealthStatusProgressing means that the object is not healthy yet.
	HealthStatusProgressing HealthStatusCode = "Progressing"
	// HealthStatusMissing means that something the object needs does not exist.
	HealthStatusMissing HealthStatusCode = "Missing"
	// HealthStatusDegraded means that the object has failed.
	HealthStatusDegraded HealthStatusCode = "Degraded"
	// HealthStatusUnknown means that the health is not known.
	HealthStatusUnknown HealthStatusCode = "Unknown"
)

// HealthStatus is the health of an object, with the reason.
type HealthStatus struct {
	Status  HealthStatusCode
	Message string
}

// A HealthOverride has health rules that come before those of the runtime.
type HealthOverride interface {
	// GetResourceHealth returns the health of an object; nil if the rules of the runtime apply. If it returns an error,
	// the health is unknown. It must not make requests or change the object, and must return the same result for the
	// same object.
	GetResourceHealth(obj *unstructured.Unstructured) (*HealthStatus, error)
}

// overriding judges objects by the override, and others by the base.
type overriding struct {
	override HealthOverride
	base     status.Judge
}

// Judge returns the status of an object. Only a degraded object has failed; an operation waits for all others until
// they are healthy.
func (o overriding) Judge(object *unstructured.Unstructured) status.Result {
	health, err := o.override.GetResourceHealth(object)
	if err != nil {
		return status.Result{Status: status.UnknownStatus, Message: status.Clip(err.Error())}
	}
	if health == nil {
		return o.base.Judge(object)
	}
	result := status.Result{Status: status.InProgressStatus, Message: status.Clip(health.Message)}
	switch health.Status {
	case HealthStatusHealthy:
		result.Status = status.CurrentStatus
	case HealthStatusDegraded:
		result.Status = status.FailedStatus
	case HealthStatusUnknown:
		result.Status = status.UnknownStatus
	case HealthStatusSuspended, HealthStatusProgressing, HealthStatusMissing:
	}
	if result.Message == "" && result.Status != status.CurrentStatus {
		result.Message = "health: " + string(health.Status)
	}
	return result
}

// Rules names the type of the override: a context has one override for all its life.
func (o overriding) Rules() string {
	return fmt.Sprintf("health override %T, %s", o.override, o.base.Rules())
}

// Overrules reports that the override comes before annotations of objects.
func (o overriding) Overrules(object *unstructured.Unstructured) bool {
	health, err := o.override.GetResourceHealth(object)
	return err != nil || health != nil
}

// A ResourceKey identifies an object in a cluster, in any version.
type ResourceKey struct {
	Group, Kind string
	// Namespace is empty for cluster-scoped objects.
	Namespace string
	Name      string
}

// NewResourceKey returns the key of an object.
func NewResourceKey(group, kind, namespace, name string) ResourceKey {
	return ResourceKey{Group: group, Kind: kind, Namespace: namespace, Name: name}
}

// GetResourceKey returns the key of an object. If the object has no namespace, neither has the key.
func GetResourceKey(object *unstructured.Unstructured) ResourceKey { return keyOf(types.IDOf(object)) }

func keyOf(id types.ObjectID) ResourceKey {
	return ResourceKey{Group: id.Group, Kind: id.Kind, Namespace: id.Namespace, Name: id.Name}
}

// GroupKind returns the type of the object.
func (k ResourceKey) GroupKind() schema.GroupKind {
	return schema.GroupKind{Group: k.Group, Kind: k.Kind}
}

// String returns the fields, separated by slashes.
func (k ResourceKey) String() string {
	return strings.Join([]string{k.Group, k.Kind, k.Namespace, k.Name}, "/")
}

func (k ResourceKey) id() types.ObjectID {
	return types.ObjectID{GroupKind: k.GroupKind(), Namespace: k.Namespace, Name: k.Name}
}

// A ResourceInfoProvider provides the scopes of the types of a cluster.
type ResourceInfoProvider interface {
	// IsNamespaced reports whether objects of a type are in namespaces. The error is the reason if this is unknown.
	IsNamespaced(kind schema.GroupKind) (bool, error)
}

// NewResourceInfoProvider returns a provider that asks a mapper.
func NewResourceInfoProvider(mapper meta.RESTMapper) ResourceInfoProvider {
	return mapped{mapper: mapper}
}

type mapped struct{ mapper meta.RESTMapper }

// IsNamespaced returns the scope from the mapper.
func (m mapped) IsNamespaced(kind schema.GroupKind) (bool, error) {
	mapping, err := m.mapper.RESTMapping(kind)
	if err != nil {
		return false, err
	}
	return mapping.Scope.Name() == meta.RESTScopeNameNamespace, nil
}

// declaredTypes provides the scopes of the types of a cluster, and of declared types. It looks up each type once.
type declaredTypes struct {
	cluster  ResourceInfoProvider
	declared map[schema.GroupKind]bool
	known    map[schema.GroupKind]scope
}

type scope struct {
	isNamespaced bool
	err          error
}

func newTypes(mapper meta.RESTMapper, objects ReconciliationResult) *declaredTypes {
	d := &declaredTypes{cluster: NewResourceInfoProvider(mapper), declared: map[schema.GroupKind]bool{}, known: map[schema.GroupKind]scope{}}
	for _, object := range slices.Concat(objects.Target, objects.Hooks) {
		if object == nil || object.GroupVersionKind().GroupKind() != definitions {
			continue
		}
		group, _, _ := unstructured.NestedString(object.Object, "spec", "group")
		kind, _, _ := unstructured.NestedString(object.Object, "spec", "names", "kind")
		place, _, _ := unstructured.NestedString(object.Object, "spec", "scope")
		d.declared[schema.GroupKind{Group: group, Kind: kind}] = place == "Namespaced"
	}
	return d
}

// definitions is the type of definitions of types.
var definitions = schema.GroupKind{Group: "apiextensions.k8s.io", Kind: "CustomResourceDefinition"}

// IsNamespaced returns the scope from the cluster or, if it is unknown there, from the declared definition.
func (d *declaredTypes) IsNamespaced(kind schema.GroupKind) (bool, error) {
	found, isKnown := d.known[kind]
	if !isKnown {
		found.isNamespaced, found.err = d.cluster.IsNamespaced(kind)
		if isNamespaced, isDeclared := d.declared[kind]; isDeclared && found.err != nil {
			found = scope{isNamespaced: isNamespaced}
		}
		d.known[kind] = found
	}
	return found.isNamespaced, found.err
}
