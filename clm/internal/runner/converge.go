// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package runner

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/component-operator/runtime/clm/internal/live"
	"github.com/component-operator/runtime/clm/internal/releases"
	"github.com/component-operator/runtime/internal/gitops"
	"github.com/component-operator/runtime/internal/judges"
	"github.com/component-operator/runtime/pkg/reconciler"
	"github.com/component-operator/runtime/pkg/status"
	"github.com/component-operator/runtime/pkg/sync"
	"github.com/component-operator/runtime/pkg/types"
)

// A Convergence is an operation of the engine whose end is told in the words of this program.
type Convergence struct {
	// Target has the engine.
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
	// Timeout is named in the error if the context ends because of ErrTimeout.
	Timeout time.Duration
}

// Run calls the engine until it is done. It returns the last result in any case. Meanwhile, the board shows why
// dependents are not ready.
func (c *Convergence) Run(ctx context.Context) (reconciler.Result, error) {
	c.Target.board = c.Board
	if c.Start != "" {
		c.Board.Say(c.Start)
	}
	explain, stop := c.Target.explaining()
	defer stop()
	operation := &sync.Operation{
		Engine: c.Target.engine, Owner: c.Target.owner, Call: c.Call, Enough: c.isEnough, IsFinal: releases.IsFinal,
		Stepped: func(state sync.State) {
			c.Board.Took(state.Result, state.Err, c.Phase(state.Result))
			explain(state.Result)
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

// explaining starts to look for the reasons why dependents are not ready, and shows them. The first function takes the
// result of a call of the engine, the second one ends it.
func (t *Target) explaining() (explain func(result reconciler.Result), stop func()) {
	explainer := live.NewExplainer(t.inspection, t.board.explained)
	return func(result reconciler.Result) {
		var awaited []*reconciler.InventoryItem
		for _, notice := range slices.Concat(result.Waits, result.Aftermath.Waits) {
			at := slices.IndexFunc(result.Inventory, func(item *reconciler.InventoryItem) bool { return item.Matches(notice.Object) })
			if at >= 0 {
				awaited = append(awaited, result.Inventory[at])
			}
		}
		explainer.Await(awaited)
	}, explainer.Close
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
	names := make([]string, len(held.Objects))
	for i, object := range held.Objects {
		names[i] = object.String()
	}
	return names
}

// ended returns the error for a context that has ended because of cause. The failure is the error of the last call that
// has come to its end.
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
		// Only hooks of an earlier failure are still under way, which nothing waits for.
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

// Interrupted returns the error of an operation. If a request was given up because the user has ended the operation,
// that is an InterruptedError.
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

// AppliedPhase says what an operation that applies objects waits for, by the result of a call of the engine; empty if
// it waits for nothing.
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

// DeletedPhase says what an operation that deletes objects waits for, by the result of a call of the engine; empty if
// it waits for nothing.
func DeletedPhase(result reconciler.Result) string {
	if _, going := awaited(result); !result.Done && len(going) > 0 {
		return waitingUntil([]string{waveTexts(going) + " gone"})
	}
	return ""
}

// waiting begins a phase in which nothing is written.
const waiting = "waiting until "

func waitingUntil(texts []string) string {
	if len(texts) == 0 {
		return ""
	}
	return waiting + strings.Join(texts, ", and ")
}

// awaited returns the waves of the objects that a call of the engine has waited for: to become ready, and to be gone;
// sorted.
func awaited(result reconciler.Result) (coming, going []int) {
	items := make(map[types.ObjectID]*reconciler.InventoryItem, len(result.Inventory))
	for _, item := range result.Inventory {
		items[types.IDOf(item)] = item
	}
	ups, downs := map[int]bool{}, map[int]bool{}
	for _, notice := range result.Waits {
		switch item := items[types.IDOf(notice.Object)]; {
		case item == nil:
		case item.Phase == reconciler.PhaseDeleting, item.Phase == reconciler.PhaseScheduledForDeletion:
			downs[item.DeleteOrder] = true
		default:
			ups[item.ApplyOrder] = true
		}
	}
	return slices.Sorted(maps.Keys(ups)), slices.Sorted(maps.Keys(downs))
}

// waveTexts names waves, with the verb.
func waveTexts(waves []int) string {
	texts := make([]string, len(waves))
	for i, wave := range waves {
		texts[i] = types.WaveText(wave)
	}
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

// watchDelay is shorter than the time that a person takes to answer a question.
const watchDelay = time.Second

// reclaimed and reclaimedNames are the field managers whose additions the update policy ssa-override removes: kubectl,
// Helm, which calls itself helm whatever the name of its program is, and the provider of Terraform, whose name has its
// version at the end. What these have set in an object of a release, they had set before the release adopted the
// object. Other programs with Helm's packages, such as helm-controller of Flux, may be at work on the object.
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
		Owner: owner, OwnerKind: "release", WatchDelay: watchDelay, Clock: c.Clock(), AwaitReports: true, MaxConcurrency: c.MaxConcurrency(), ReclaimedFieldManagers: reclaimed,
		ReclaimedFieldManagerNames: reclaimedNames, FormerFinalizers: []string{gitops.HookFinalizer},
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

// Owner returns the id of the owner.
func (t *Target) Owner() string { return t.owner }

// Inspection returns the options with which package live looks at the dependents of an owner.
func Inspection(c *Connection, owner string, items []*reconciler.InventoryItem) live.Options {
	analyzer := status.NewAnalyzer(releases.ReconcilerName, status.Options{Clock: c.Clock()})
	return live.Options{
		Client:      c.Client(),
		Items:       items,
		Judges:      judges.New(releases.ReconcilerName, judges.Await(analyzer, c.Definitions())),
		Definitions: c.Definitions(),
		Selector:    releases.OwnerSelector(owner),
	}
}

// Close stops watching.
func (t *Target) Close() { t.engine.Close() }
