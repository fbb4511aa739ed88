// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package runner

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/component-operator/runtime/clm/internal/live"
	"github.com/component-operator/runtime/clm/internal/releases"
	"github.com/component-operator/runtime/internal/concurrent"
	"github.com/component-operator/runtime/internal/display"
	"github.com/component-operator/runtime/internal/gitops"
	"github.com/component-operator/runtime/internal/judges"
	"github.com/component-operator/runtime/pkg/instances"
	"github.com/component-operator/runtime/pkg/reconciler"
	"github.com/component-operator/runtime/pkg/status"
	"github.com/component-operator/runtime/pkg/sync"
	"github.com/component-operator/runtime/pkg/types"
)

// Limits limit how long an operation may take. The zero value has no limits.
type Limits struct {
	// Timeout starts when the lock is held; zero means no limit.
	Timeout time.Duration
	// LockTimeout is how long to wait for the lock; zero means no limit.
	LockTimeout time.Duration
	// CancelOlder ends an apply or a rollback of an older process that has the lock, instead of waiting for it; see
	// [releases.LockOptions].
	CancelOlder bool
	// Instead is a sentence about what the user must do if the operation is interrupted or reaches its timeout.
	// Defaults to running the same command again.
	Instead string
}

// Next returns advice after an operation with these limits that ended with an error; may be empty.
func (l Limits) Next(err error, release *releases.Release) string {
	var interrupted *releases.InterruptedError
	var notReady *releases.NotReadyError
	var staged *releases.StageError
	switch {
	case l.Instead == "":
	case errors.As(err, &interrupted) && interrupted.CanceledBy == "":
		return l.Instead
	case errors.As(err, &notReady) && !errors.As(err, &staged):
		if release.State == releases.StateDeleting {
			return "To continue: " + releases.Continuation(release)
		}
		return l.Instead
	}
	return releases.Next(err, release)
}

// saveTimeout bounds how long an operation may take to record its progress after its context has ended.
const saveTimeout = 10 * time.Second

// An Operation changes a release while it holds the lock.
type Operation struct {
	connection *Connection
	release    *releases.Release
	lock       *releases.Lock
	board      *Board
	limits     Limits
	// begun means that something may have been recorded.
	begun bool
}

// Begin acquires the lock of a release. The function that it returns releases the lock.
func Begin(ctx context.Context, c *Connection, release *releases.Release, b *Board, limits Limits) (*Operation, func(), error) {
	lock, err := c.Records().Lock(ctx, releases.LockOptions{
		Namespace: release.Namespace,
		Name:      release.Name,
		Holder:    c.options.Holder,
		Timeout:   limits.LockTimeout,
		Wait:      b.await,
		Doubt:     b.trouble,

		Operation:   b.state.Operation,
		Started:     c.options.Started,
		Cancelable:  isCancelable(b.state.Operation),
		CancelOlder: limits.CancelOlder,
	})
	if err != nil && errors.Is(context.Cause(ctx), context.Canceled) {
		return nil, nil, &releases.InterruptedError{}
	}
	if err != nil {
		return nil, nil, err
	}
	o := &Operation{connection: c, release: release, lock: lock, board: b, limits: limits}
	return o, func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), saveTimeout)
		defer cancel()
		// If that fails, the lock expires.
		_ = lock.Release(ctx)
	}, nil
}

// isCancelable reports whether a newer process may end an operation. The operation that follows an apply or a rollback
// sets the desired state of the release and continues from the record. No later operation would complete the work of
// other operations.
func isCancelable(operation string) bool { return operation == "apply" || operation == "rollback" }

// await shows that the operation waits for the lock.
func (b *Board) await(holder releases.Holder, request string) {
	text := fmt.Sprintf("waiting for the lock, held by %s since %s", holder.Name, holder.Since.Local().Format(time.TimeOnly))
	if request != "" {
		text += "; " + request
	}
	b.Say(text)
}

// Release returns the release that the operation changes.
func (o *Operation) Release() *releases.Release { return o.release }

// Board returns the board that shows the operation.
func (o *Operation) Board() *Board { return o.board }

// Mute stops showing the operation.
func (o *Operation) Mute() { o.board = NewQuietBoard(o.board.state.Operation) }

// CheckLock returns an error if the lock is lost. It must be called before each write.
func (o *Operation) CheckLock(ctx context.Context) error { return o.lock.Fence(ctx) }

// ConfirmUnchanged reads the release again, and returns the error of releases.Changed if another process has changed it,
// or the error of CheckOvertaken.
func (o *Operation) ConfirmUnchanged(ctx context.Context) error {
	current, err := o.connection.Records().Get(ctx, o.release.Namespace, o.release.Name)
	if errors.Is(err, releases.ErrNotFound) && !o.release.Recorded() {
		return nil
	}
	if err != nil && !errors.Is(err, releases.ErrNotFound) {
		return err
	}
	if err == nil {
		if err := CheckOvertaken(o.connection, current, o.limits); err != nil {
			return err
		}
	}
	if err != nil || !current.SameRecord(o.release) {
		return releases.Changed(o.release)
	}
	return nil
}

// CheckOvertaken returns an InterruptedError if the limits cancel older operations and this process is the older one: a
// process that was started later has begun an apply or a rollback of the release. Without that option, operations
// follow each other in the order in which they get the lock.
func CheckOvertaken(c *Connection, release *releases.Release, limits Limits) error {
	if !limits.CancelOlder {
		return nil
	}
	if by := release.Begun.Overtaken(c.options.Started, time.Now()); by != "" {
		return &releases.InterruptedError{CanceledBy: by, Untouched: true}
	}
	return nil
}

// Sign notes in the release that the operation has begun, if that is an apply or a rollback. The next write records it.
func (o *Operation) Sign() {
	if operation := o.board.state.Operation; isCancelable(operation) {
		o.release.Begun = releases.Begun{By: operation + " of " + o.connection.options.Holder, Started: o.connection.options.Started.UTC().Round(0)}
	}
}

// UnlessChanged returns the error of a write to the record: that of releases.Changed if another process has written the
// record.
func (o *Operation) UnlessChanged(err error) error {
	if errors.Is(err, releases.ErrOutdated) {
		return releases.Changed(o.release)
	}
	return err
}

// Fence returns a function to call before each writing request. It fails if the context has ended or the lock is lost.
func (o *Operation) Fence(ctx context.Context) func() error {
	return func() error {
		if err := context.Cause(ctx); err != nil {
			return err
		}
		return o.lock.Fence(ctx)
	}
}

// LiftBarriers allows the creation of instances again for types whose deletion was not finished, even after the context
// has ended.
func (o *Operation) LiftBarriers(ctx context.Context, t *Target) error {
	if !slices.ContainsFunc(o.release.Inventory, func(item *reconciler.InventoryItem) bool { return item.Barrier != "" }) {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), saveTimeout)
	defer cancel()
	var err error
	o.release.Inventory, err = t.engine.LiftBarriers(ctx, reconciler.DeleteRequest{Owner: reconciler.Owner{
		ID: t.owner, Namespace: o.release.Namespace, Inventory: o.release.Inventory, Store: o, Fence: o.Fence(ctx),
	}})
	return err
}

// Save records the inventory of the release; it is the store of the engine.
func (o *Operation) Save(ctx context.Context, inventory []*reconciler.InventoryItem) error {
	if err := o.lock.Fence(ctx); err != nil {
		return err
	}
	o.release.Inventory = inventory
	return o.connection.Records().Save(ctx, o.release)
}

// Record records the progress of the operation, even after its context has ended. If the lock is lost, it records
// nothing: another process may change the release now.
func (o *Operation) Record(ctx context.Context, change func(release *releases.Release)) error {
	if errors.Is(context.Cause(ctx), releases.ErrLockLost) {
		return nil
	}
	ctx, cancel := concurrent.ContextWithGrace(ctx, saveTimeout)
	defer cancel()
	err := o.lock.Fence(ctx)
	if err == nil {
		change(o.release)
		err = o.connection.Records().Save(ctx, o.release)
	}
	if err != nil && ctx.Err() != nil {
		// The canceled context must not be mistaken for an interrupt.
		return fmt.Errorf("recording the progress: the record could not be written within %s", saveTimeout)
	}
	return err
}

// CheckCanceled returns an InterruptedError if a newer operation has asked this one to end. It may also be called after
// the lock was given back.
func (o *Operation) CheckCanceled() error {
	if by := o.lock.RequestedBy(); by != "" {
		return &releases.InterruptedError{CanceledBy: by, Untouched: !o.begun}
	}
	return nil
}

// UntilCanceled returns a context that ends when a newer operation asks this one to end. Its cause is an
// InterruptedError then. The operation has begun with the call.
func (o *Operation) UntilCanceled(ctx context.Context) (context.Context, context.CancelFunc) {
	o.begun = true
	return until(ctx, o.lock.Requested(), o.CheckCanceled)
}

// WatchLock returns a context that ends when the lock is lost.
func (o *Operation) WatchLock(ctx context.Context) (context.Context, context.CancelFunc) {
	return until(ctx, o.lock.Lost(), func() error { return o.lock.Fence(ctx) })
}

// until returns a context that ends when the channel is closed. Its cause is then what the function returns.
func until(ctx context.Context, closed <-chan struct{}, cause func() error) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	go func() {
		select {
		case <-closed:
			cancel(cause())
		case <-ctx.Done():
		}
	}()
	return ctx, func() { cancel(nil) }
}

// A Convergence is an operation of the engine that ends with the errors of package releases.
type Convergence struct {
	// Target provides the engine.
	Target *Target
	// Board shows the result of each call, and each object as soon as the engine has written or judged it.
	Board *Board
	// Start is the phase until the first call has ended. Defaults to the one before.
	Start string
	// Phase is the phase after a call; empty leaves the one before.
	Phase func(result reconciler.Result) string
	// Call makes one call of the engine.
	Call func(ctx context.Context) (reconciler.Result, error)
	// Enough reports whether to stop although the result is not done. Defaults to no.
	Enough func(result reconciler.Result) bool
	// Timeout appears in the error if the context ends because of ErrTimeout.
	Timeout time.Duration
}

// Run calls the engine until it is done. It returns the last result in any case. Meanwhile, the board shows why
// dependents are not ready.
func (c *Convergence) Run(ctx context.Context) (reconciler.Result, error) {
	c.Target.board = c.Board
	if c.Start != "" {
		c.Board.Say(c.Start)
	}
	explainer := live.NewExplainer(c.Target.inspection, c.Board.explained)
	defer explainer.Close()
	operation := &sync.Operation{
		Engine: c.Target.engine, Owner: c.Target.owner, Call: c.Call, Enough: c.isEnough, IsFinal: releases.IsFinal,
		Stepped: func(state sync.State) {
			c.Board.Took(state.Result, state.Err, c.Phase(state.Result))
			explainer.Await(Noticed(state.Result.Inventory, slices.Concat(state.Result.Waits, state.Result.Aftermath.Waits)))
		},
	}
	state, cause := operation.Run(ctx)
	result := state.Result
	c.Board.Took(result, nil, c.Phase(result))
	switch {
	case cause != nil:
		return result, c.ended(cause, result, state.Err)
	case state.Phase.Successful() && isHeld(result) && !(c.Enough != nil && c.Enough(result)):
		return result, Unapproved(result.Held)
	case state.Phase.Successful():
		return result, nil
	case state.Err != nil:
		return result, state.Err
	default:
		return result, &releases.NotReadyError{Failed: slices.Concat(result.Failures, result.Aftermath.Failures), Waits: result.Waits}
	}
}

// Noticed returns the items of the objects that notices are about.
func Noticed(inventory []*reconciler.InventoryItem, notices []reconciler.Notice) []*reconciler.InventoryItem {
	messages := releases.Messages(notices)
	return slices.DeleteFunc(slices.Clone(inventory), func(item *reconciler.InventoryItem) bool {
		_, noticed := messages[display.KeyOf(item)]
		return !noticed
	})
}

// isEnough reports whether to stop before the result is done.
func (c *Convergence) isEnough(result reconciler.Result) bool {
	return isHeld(result) || c.Enough != nil && c.Enough(result)
}

// isHeld reports whether nothing is left but deletions without approval.
func isHeld(result reconciler.Result) bool {
	return !result.Done && result.Held != nil && len(result.Waits) == 0 && !result.Aftermath.Goes()
}

// Unapproved returns the RefusedError for deletions without approval; nil if there are none.
func Unapproved(held *reconciler.HeldDeletions) error {
	if held == nil {
		return nil
	}
	return releases.Refused("%s: %s; to delete them, apply the sources again with --approve-deletions %s", held, strings.Join(Names(held), ", "), held.Digest)
}

// Names lists the objects whose deletion has to be approved.
func Names(held *reconciler.HeldDeletions) []string {
	return display.Map(held.Objects, reconciler.ObjectInfo.String)
}

// ended returns the error for a context that has ended because of cause. The failure is the error of the last completed
// call.
func (c *Convergence) ended(cause error, result reconciler.Result, failure error) error {
	late := &releases.NotReadyError{
		Failed: slices.Concat(result.Failures, result.Aftermath.Failures), Waits: slices.Concat(result.Waits, result.Aftermath.Waits), Cause: failure,
	}
	var interrupted *releases.InterruptedError
	if errors.Is(cause, context.Canceled) {
		interrupted = &releases.InterruptedError{}
	}
	isInterrupted := interrupted != nil || errors.As(cause, &interrupted)
	switch {
	case failure == nil && result.Done && (errors.Is(cause, ErrTimeout) || isInterrupted):
		// Only hooks of an earlier failure are still running, and nothing waits for them.
		return nil
	case errors.Is(cause, ErrTimeout) && failure == nil && sync.HasFailed(result):
		return late
	case errors.Is(cause, ErrTimeout):
		late.Timeout = c.Timeout
		return late
	case isInterrupted:
		return &releases.InterruptedError{CanceledBy: interrupted.CanceledBy, Waits: result.Waits}
	default:
		return cause
	}
}

// Interrupted returns the error of an operation. It is an InterruptedError if a request was canceled because the user
// ended the operation.
func Interrupted(ctx context.Context, err error) error {
	var interrupted *releases.InterruptedError
	if errors.Is(context.Cause(ctx), context.Canceled) && errors.Is(err, context.Canceled) && !errors.As(err, &interrupted) {
		return &releases.InterruptedError{}
	}
	return err
}

// ErrTimeout is the cause with which a context of Limited ends after its timeout.
var ErrTimeout = errors.New("the timeout has expired")

// Limited returns a context that ends after the timeout, unless that is zero.
func Limited(ctx context.Context, timeout time.Duration) (context.Context, context.CancelFunc) {
	if timeout <= 0 {
		return context.WithCancel(ctx)
	}
	return context.WithTimeoutCause(ctx, timeout, ErrTimeout)
}

// AppliedPhase describes what an operation that applies objects waits for after a call of the engine; empty if it waits
// for nothing.
func AppliedPhase(result reconciler.Result) string {
	if result.Done {
		return ""
	}
	if result.Aftermath.Goes() {
		return "running on-failure hooks"
	}
	coming, going := awaited(result)
	var texts []string
	if len(coming) > 0 {
		texts = append(texts, waveTexts(coming)+" ready")
	}
	if len(going) > 0 {
		texts = append(texts, "redundant objects are gone")
	}
	return waitingUntil(texts)
}

// DeletedPhase describes what an operation that deletes objects waits for after a call of the engine; empty if it waits
// for nothing.
func DeletedPhase(result reconciler.Result) string {
	if _, going := awaited(result); !result.Done && len(going) > 0 {
		return waitingUntil([]string{waveTexts(going) + " gone"})
	}
	return ""
}

// waiting is the prefix of phases in which nothing is written.
const waiting = "waiting until "

func waitingUntil(texts []string) string {
	if len(texts) == 0 {
		return ""
	}
	return waiting + strings.Join(texts, ", and ")
}

// awaited returns the waves of the objects that must become ready, and of those that must be gone, each sorted.
func awaited(result reconciler.Result) (coming, going []int) {
	ups, downs := map[int]bool{}, map[int]bool{}
	for _, item := range Noticed(result.Inventory, result.Waits) {
		if item.Phase == reconciler.PhaseDeleting || item.Phase == reconciler.PhaseScheduledForDeletion {
			downs[item.DeleteOrder] = true
		} else {
			ups[item.ApplyOrder] = true
		}
	}
	return slices.Sorted(maps.Keys(ups)), slices.Sorted(maps.Keys(downs))
}

// waveTexts lists waves, followed by "is" or "are".
func waveTexts(waves []int) string {
	texts := display.Map(waves, types.WaveText)
	last := len(texts) - 1
	if last == 0 {
		return texts[0] + " is"
	}
	return strings.Join(texts[:last], ", ") + " and " + texts[last] + " are"
}

// Target has an engine for one owner of dependents.
type Target struct {
	engine *reconciler.Reconciler
	owner  string
	// inspection has the options for looking at the dependents.
	inspection live.Options
	// board shows each object that the engine has written or judged; nil before the first Convergence.
	board *Board
}

// watchDelay is the WatchDelay of engines. It is shorter than the time that a person takes to answer a question.
const watchDelay = time.Second

// reclaimed and reclaimedNames are the field managers whose additions the update policy ssa-override removes: kubectl,
// Helm, which is always "helm", and the Terraform provider, whose name ends with its version. Their fields in an object
// of a release date from before its adoption. Other programs with Helm's packages, such as Flux's helm-controller, may
// still manage the object.
var (
	reclaimed      = []string{"kubectl", "terraform-provider-helm"}
	reclaimedNames = []string{"helm"}
)

// Reclaims reports whether the update policy ssa-override removes additions of a field manager.
func Reclaims(manager string) bool {
	isPrefix := func(prefix string) bool { return strings.HasPrefix(manager, prefix) }
	return slices.ContainsFunc(reclaimed, isPrefix) || slices.Contains(reclaimedNames, manager)
}

// NewTarget returns an engine for an owner, and starts to watch the recorded dependents. The caller closes it.
func NewTarget(c *Connection, owner string, recorded []*reconciler.InventoryItem) (*Target, error) {
	t := &Target{owner: owner, inspection: Inspection(c, owner, nil)}
	var err error
	t.engine, err = reconciler.New(releases.ReconcilerName, c.Client(), reconciler.Options{
		Owner: owner, OwnerKind: "release", WatchDelay: watchDelay, AwaitReports: true, MaxConcurrency: c.options.MaxConcurrency, ReclaimedFieldManagers: reclaimed,
		InstanceValidator: instances.NewValidator, ReclaimedFieldManagerNames: reclaimedNames, FormerFinalizers: []string{gitops.HookFinalizer},
		OnStatus: func(object types.ObjectKey, found status.Status, message string) {
			if t.board != nil {
				t.board.seen(object, found, message)
			}
		},
	})
	if err != nil {
		return nil, err
	}
	var needs []reconciler.Need
	for _, item := range recorded {
		if item.Phase != reconciler.PhaseCompleted {
			needs = append(needs, reconciler.Need{Kind: item.GroupVersionKind(), Namespaces: []string{item.Namespace}})
		}
	}
	t.engine.Watch(owner, needs)
	return t, nil
}

// Engine returns the engine, which applies and deletes the dependents.
func (t *Target) Engine() *reconciler.Reconciler { return t.engine }

// Owner returns the ID of the owner.
func (t *Target) Owner() string { return t.owner }

// Inspection returns the options for package live to read the dependents of an owner.
func Inspection(c *Connection, owner string, items []*reconciler.InventoryItem) live.Options {
	options := InspectionOf(c, releases.ReconcilerName, items)
	options.Selector = releases.OwnerSelector(owner)
	return options
}

// InspectionOf returns the options for package live to read the dependents of a reconciler, whatever their labels.
func InspectionOf(c *Connection, name string, items []*reconciler.InventoryItem) live.Options {
	return live.Options{
		Client:      c.Client(),
		Items:       items,
		Judges:      judges.New(name, judges.Await(status.NewAnalyzer(name, status.Options{}), c.definitions)),
		Definitions: c.definitions,
	}
}

// Close stops watching.
func (t *Target) Close() { t.engine.Close() }
