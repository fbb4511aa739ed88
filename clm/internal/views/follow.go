// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package views

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/metadata"

	"github.com/component-operator/runtime/clm/internal/live"
	"github.com/component-operator/runtime/clm/internal/releases"
	"github.com/component-operator/runtime/clm/internal/runner"
	"github.com/component-operator/runtime/internal/apiserver"
	"github.com/component-operator/runtime/internal/display"
	"github.com/component-operator/runtime/pkg/objectset/v1alpha1"
	"github.com/component-operator/runtime/pkg/reconciler"
)

// Following specifies what to follow and the callbacks. They are not called concurrently.
type Following struct {
	// Target need not exist.
	Target Target
	// AllSets reads all sets of a deployment that are not archived, not only the current one.
	AllSets bool
	// Reasons selects the reasons to read for dependents that are not ready. Defaults to all.
	Reasons live.Reasons
	// Events also reads all events. Defaults to those that may be reasons.
	Events bool
	// Show receives a snapshot of the target, at once and after each change, and reports whether to stop. Required.
	Show func(snapshot *Snapshot) (enough bool)
	// Trouble receives the errors after which Follow retries. Required.
	Trouble func(err error)
}

// firstRetry and lastRetry are the shortest and the longest pause after an error.
const (
	firstRetry = 500 * time.Millisecond
	lastRetry  = 30 * time.Second
)

// shortestPause is the minimum time between two snapshots, or the duration of making one if that is longer.
const shortestPause = 200 * time.Millisecond

// abandonedRetry is how often the lock of a release is read that no process works on, although it is incomplete.
const abandonedRetry = 30 * time.Second

// Follow shows a target whenever its record, a dependent, an object that a dependent owns, or an event about these has
// changed. The record of a component is the component, that of a deployment also its sets. The record is read again
// when it has changed, or when its lock may have; see live.Survey for the rest. Follow returns nil when Show returns
// true, or the cause of the context if that ends first. If the user may not watch something, the snapshot has a note;
// watching the record is required.
func Follow(ctx context.Context, c *runner.Connection, following Following) error {
	watching, stop := context.WithCancel(ctx)
	f := &follower{Following: following, connection: c, woken: make(chan struct{}, 1), fatal: make(chan error, 1), trees: map[string]*live.Survey{}}
	defer f.close()
	defer stop()
	for _, watch := range following.Target.watches(c) {
		f.keep(watching, func(ctx context.Context) error {
			return watch(ctx, func() { f.isOutdated.Store(true); f.wake() })
		})
	}
	delay, first := firstRetry, true
	for {
		began := time.Now()
		snapshot, err := f.look(ctx)
		took := time.Since(began)
		var next time.Duration
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case err != nil && (first || releases.IsFinal(err)):
			return err
		case err != nil:
			f.trouble(err)
			next, delay = delay, min(2*delay, lastRetry)
		default:
			first, delay, next = false, firstRetry, snapshot.deadline
			if f.show(snapshot) {
				return nil
			}
		}
		if err := f.sleep(ctx, max(shortestPause, took), next); err != nil {
			return err
		}
	}
}

// follower watches a target during one call of Follow.
type follower struct {
	Following
	connection *runner.Connection
	woken      chan struct{}
	fatal      chan error
	running    sync.WaitGroup
	// record is a snapshot whose dependents may be outdated; nil until it is read. Itself, it is outdated at a time, if
	// that is not zero.
	record     *Snapshot
	until      time.Time
	isOutdated atomic.Bool
	trees      map[string]*live.Survey // by the names of the sets

	mu sync.Mutex // guards calls of the functions of Following
}

func (f *follower) close() {
	f.running.Wait()
	for _, tree := range f.trees {
		tree.Close()
	}
}

// look returns a new snapshot. It reads the record only if that may have changed.
func (f *follower) look(ctx context.Context) (*Snapshot, error) {
	if f.isOutdated.Swap(false) || f.record == nil || !f.until.IsZero() && !time.Now().Before(f.until) {
		snapshot, err := lookAt(ctx, f.connection, f.Following, f.follow)
		if err != nil {
			f.isOutdated.Store(true)
			return nil, err
		}
		f.take(snapshot)
	} else if f.record.Exists() {
		snapshot := new(*f.record)
		snapshot.Dependents, snapshot.Trees, snapshot.Events, snapshot.Notes, snapshot.deadline = nil, nil, nil, nil, 0
		if err := snapshot.read(ctx, func(ctx context.Context, of inspection) (*live.Report, error) { return f.trees[of.name].Tree(ctx) }); err != nil {
			return nil, err
		}
		f.record = snapshot
	}
	if !f.until.IsZero() {
		f.record.within(max(time.Until(f.until), time.Millisecond))
	}
	return f.record, nil
}

// take keeps a record that was read.
func (f *follower) take(record *Snapshot) {
	f.record, f.until = record, time.Time{}
	switch {
	case record.Holder != nil && !record.Silent:
		f.until = time.Now().Add(record.Holder.Validity)
	case record.Abandoned():
		f.until = time.Now().Add(abandonedRetry)
	}
	for name, tree := range f.trees {
		if !slices.ContainsFunc(record.inspections, func(of inspection) bool { return of.name == name }) {
			tree.Close()
			delete(f.trees, name)
		}
	}
}

// follow reads dependents, and follows them from then on.
func (f *follower) follow(ctx context.Context, of inspection) (*live.Report, error) {
	if f.trees[of.name] == nil {
		f.trees[of.name] = live.NewSurvey(live.Sink{Changed: f.wake, Trouble: f.trouble})
	}
	if err := f.trees[of.name].Set(of.Options); err != nil {
		return nil, err
	}
	return f.trees[of.name].Tree(ctx)
}

func (f *follower) show(snapshot *Snapshot) (enough bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.Show(snapshot)
}

func (f *follower) trouble(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.Trouble(err)
}

func (f *follower) wake() {
	select {
	case f.woken <- struct{}{}:
	default:
	}
}

// keep runs a function until the context ends, and retries if it fails.
func (f *follower) keep(ctx context.Context, run func(ctx context.Context) error) {
	f.running.Go(func() {
		for delay := firstRetry; ; delay = min(2*delay, lastRetry) {
			err := run(ctx)
			switch {
			case ctx.Err() != nil:
				return
			case apierrors.IsForbidden(err) || apierrors.IsUnauthorized(err):
				select {
				case f.fatal <- err:
				default:
				}
				return
			case err != nil:
				f.trouble(err)
			}
			select {
			case <-time.After(delay):
			case <-ctx.Done():
				return
			}
		}
	})
}

// watches returns functions that watch the record of a target, and call a function after each change.
func (t Target) watches(c *runner.Connection) []func(ctx context.Context, wake func()) error {
	if t.Mapping == nil {
		return []func(ctx context.Context, wake func()) error{func(ctx context.Context, wake func()) error {
			return c.Records().Watch(ctx, t.Namespace, t.Name, wake)
		}}
	}
	watch := func(resource schema.GroupVersionResource, selection apiserver.ListSelection) func(ctx context.Context, wake func()) error {
		return func(ctx context.Context, wake func()) error {
			objects, err := metadata.NewForConfigAndClient(metadata.ConfigFor(c.Client().Config()), c.Client().HttpClient())
			if err != nil {
				return fmt.Errorf("setting up a watch: %w", err)
			}
			return apiserver.Watch(ctx, apiserver.ListWatch(objects.Resource(resource).Namespace(t.Namespace), selection), func(apiserver.Change) error {
				wake()
				return nil
			})
		}
	}
	all := []func(ctx context.Context, wake func()) error{
		watch(t.Mapping.Resource, apiserver.ListSelection{Fields: fields.OneTermEqualSelector(metav1.ObjectNameField, t.Name).String()}),
	}
	if kind, _ := t.sets(); kind.sets != "" {
		selection := apiserver.ListSelection{Labels: labels.Set{v1alpha1.LabelRevisionsOf: t.Name}.String()}
		all = append(all, watch(v1alpha1.GroupVersion.WithResource(strings.ToLower(kind.sets)+"s"), selection))
	}
	return all
}

// sleep waits for the pause, and then until something has changed. If atMost is positive, it waits at most that long.
func (f *follower) sleep(ctx context.Context, pause, atMost time.Duration) error {
	var over <-chan time.Time
	if atMost > 0 {
		over = time.After(max(pause, atMost))
	}
	if err := f.await(ctx, nil, time.After(pause)); err != nil {
		return err
	}
	return f.await(ctx, f.woken, over)
}

func (f *follower) await(ctx context.Context, woken <-chan struct{}, over <-chan time.Time) error {
	select {
	case <-woken:
	case <-over:
	case err := <-f.fatal:
		return err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	return nil
}

// Goal is the state to wait for.
type Goal string

const (
	// GoalReady is reached when the release exists, was applied successfully, and all its dependents are ready.
	GoalReady Goal = "ready"
	// GoalDeleted is reached when the release does not exist.
	GoalDeleted Goal = "deleted"
)

// Wait waits until other processes have brought a release, which need not exist yet, to the goal. A timeout of zero
// means no limit. The error is a NotReadyError after the timeout, and an InterruptedError if the context has ended.
func Wait(ctx context.Context, c *runner.Connection, namespace, name string, goal Goal, timeout time.Duration) error {
	w := newWaiting(c, namespace, name, goal)
	ctx, stop := runner.Limited(ctx, timeout)
	defer stop()
	err := w.await(ctx, c, namespace, name, timeout)
	w.finish(err)
	return err
}

// Await is like Wait for GoalReady, as a part of another operation, whose outcome is shown later. The context ends with
// the timeout.
func Await(ctx context.Context, c *runner.Connection, namespace, name string, timeout time.Duration) error {
	return newWaiting(c, namespace, name, GoalReady).await(ctx, c, namespace, name, timeout)
}

func newWaiting(c *runner.Connection, namespace, name string, goal Goal) *waiting {
	full := namespace + "/" + name
	return &waiting{goal: goal, name: full, printer: c.Printer(), state: display.Progress{Operation: "wait", Release: full}}
}

func (w *waiting) await(ctx context.Context, c *runner.Connection, namespace, name string, timeout time.Duration) error {
	err := Follow(ctx, c, Following{Target: Target{Namespace: namespace, Name: name}, Reasons: live.MainReasons, Show: w.show, Trouble: w.trouble})
	switch {
	case errors.Is(err, runner.ErrTimeout):
		err = &releases.NotReadyError{Timeout: timeout, Waits: w.waits}
	case err != nil && ctx.Err() != nil:
		err = &releases.InterruptedError{Waits: w.waits}
	}
	return err
}

// waiting shows the release like an operation.
type waiting struct {
	goal    Goal
	name    string
	printer display.Printer
	state   display.Progress
	waits   []reconciler.Notice
	// abandoned means that the operation is incomplete, and no process works on it.
	abandoned bool
}

func (w *waiting) trouble(err error) {
	troubled := w.state
	troubled.Message = err.Error()
	w.printer.Update(troubled)
}

// show reports whether the goal is reached.
func (w *waiting) show(snapshot *Snapshot) bool {
	w.take(snapshot)
	w.printer.Update(w.state)
	return w.hasReached(snapshot)
}

func (w *waiting) hasReached(snapshot *Snapshot) bool {
	if w.goal == GoalDeleted {
		return snapshot.Release == nil
	}
	return snapshot.Ready()
}

func (w *waiting) take(snapshot *Snapshot) {
	now, before := time.Now(), map[display.Object]display.Dependent{}
	for _, d := range w.state.Objects {
		before[d.Object] = d
	}
	w.waits, w.abandoned = nil, snapshot.Abandoned() && !snapshot.Complete()
	w.state.Phase, w.state.Revision, w.state.Objects = w.situation(snapshot), 0, nil
	if snapshot.Release != nil && snapshot.Release.Current() != nil && w.goal == GoalReady {
		w.state.Revision = snapshot.Release.Current().Number
	}
	for _, node := range snapshot.Dependents {
		d := w.dependent(node)
		d.Since = now
		if was, known := before[d.Object]; known && was.Phase == d.Phase && was.Status == d.Status {
			d.Since = was.Since
		}
		w.state.Objects = append(w.state.Objects, d)
		if d.Message != "" {
			w.waits = append(w.waits, reconciler.Notice{Object: node.Item, Message: d.Message})
		}
	}
}

// dependent returns a dependent as an operation would show it: with a message only if it is not ready or not gone, and
// with a phase that matches its state.
func (w *waiting) dependent(node *display.Node) display.Dependent {
	d := node.Dependent
	d.Object, d.Message = display.ObjectOf(node.Item), ""
	switch {
	case w.goal == GoalDeleted:
		return leavingDependent(d, node)
	case d.State == display.StateReady:
		d.Phase = reconciler.PhaseReady
	case d.State.IsDone():
		d.Phase = reconciler.PhaseCompleted
	case d.State.IsProblem():
		d.Message = cmp.Or(node.Message, node.Status.String())
		if reason := live.Reason(node); reason != "" {
			d.Message += "; " + reason
		}
	default:
		d.Phase = reconciler.PhaseScheduledForApplication
		switch {
		case w.abandoned && node.Phase == reconciler.PhaseScheduledForApplication:
			d.Message = "it is still to be applied"
		case w.abandoned:
			d.Message = "it is still to be deleted"
		}
	}
	d.State = display.StateInOperation(d, d.State == display.StateFailed)
	return d
}

// leavingDependent returns a dependent as a deletion would show it.
func leavingDependent(d display.Dependent, node *display.Node) display.Dependent {
	d.Phase = reconciler.PhaseScheduledForDeletion
	switch {
	case d.State == display.StateStays:
		d.Verb = reconciler.VerbOrphaned
	case d.State == display.StateCompleted:
		d.Phase = reconciler.PhaseCompleted
	case node.Missing:
		d.Verb = reconciler.VerbDeleted
	case d.State == display.StateUnready:
		d.Phase, d.Message = reconciler.PhaseDeleting, node.Message
	}
	d.State = display.StateInOperation(d, false)
	return d
}

// situation describes what the command waits for.
func (w *waiting) situation(snapshot *Snapshot) string {
	release := snapshot.Release
	switch {
	case w.hasReached(snapshot):
		return ""
	case release == nil:
		return "waiting until the release exists"
	case release.State == releases.StateReady && w.goal == GoalReady:
		return "waiting until all dependents are ready again"
	case snapshot.Complete() && w.goal == GoalReady:
		return "waiting until all dependents are ready"
	}
	text := fmt.Sprintf("waiting until the release is %s; it is %s", w.goal, release.State)
	switch {
	case w.abandoned:
		text += ", and no process is working on it; to continue: " + releases.Continuation(release)
	case w.goal == GoalReady && snapshot.Acknowledgment() != "":
		text += ", but all objects have become ready since; " + snapshot.Acknowledgment()
	case snapshot.Holder != nil:
		text += ", and " + snapshot.Holder.Name + " is working on it"
	}
	return text
}

func (w *waiting) finish(err error) {
	release, done := "release "+w.name, map[Goal]string{GoalReady: ", is ready", GoalDeleted: " does not exist"}[w.goal]
	if w.state.Revision != 0 {
		release += fmt.Sprintf(", revision %d", w.state.Revision)
	}
	outcome := display.Outcome{Done: err == nil, Summary: release + done}
	if err != nil {
		outcome.Summary = fmt.Sprintf("release %s is not %s: %s", w.name, w.goal, releases.Summary(err))
		switch {
		case w.state.Phase == "":
			outcome.Summary = fmt.Sprintf("whether release %s is %s is not known: %s", w.name, w.goal, releases.Summary(err))
			w.state.Phase = "reading the release"
			w.printer.Update(w.state)
		case w.abandoned:
			outcome.Next = "No process is working on the release, so waiting longer will not help."
		case len(w.waits) > 0 && w.goal == GoalReady:
			namespace, name, _ := strings.Cut(w.name, "/")
			outcome.Next = fmt.Sprintf("To see why: clm status %s -n %s", name, namespace)
		}
	}
	w.printer.Finish(outcome)
}
