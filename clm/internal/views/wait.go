// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package views

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/component-operator/runtime/clm/internal/connection"
	"github.com/component-operator/runtime/clm/internal/failures"
	"github.com/component-operator/runtime/clm/internal/progress"
	"github.com/component-operator/runtime/clm/internal/releases"
	"github.com/component-operator/runtime/clm/internal/runner"
	"github.com/component-operator/runtime/pkg/reconciler"
)

// Goal is what to wait for.
type Goal string

const (
	// GoalReady is reached when the release exists, was applied with success, and all its dependents are ready.
	GoalReady Goal = "ready"
	// GoalDeleted is reached when there is no such release.
	GoalDeleted Goal = "deleted"
)

// WaitRequest says what to wait for.
type WaitRequest struct {
	// Namespace and Name of the release, which need not exist.
	Namespace, Name string
	// Goal is what is to become of it. Required.
	Goal Goal
	// Timeout is how long to wait; zero if there is no limit.
	Timeout time.Duration
}

// Wait waits for what others do with a release. The error is a NotReadyError if the time is over, and an InterruptedError if the context has ended.
func Wait(ctx context.Context, c *connection.Connection, request WaitRequest) error {
	name := request.Namespace + "/" + request.Name
	w := &waiting{goal: request.Goal, name: name, printer: c.Printer(), state: progress.State{Operation: "wait", Release: name}}
	ctx, stop := runner.Limited(ctx, request.Timeout)
	defer stop()
	err := Follow(ctx, c, Following{Namespace: request.Namespace, Name: request.Name, SkipReasons: true, Show: w.show, Trouble: w.trouble})
	switch {
	case errors.Is(err, runner.ErrTimeout):
		err = &failures.NotReadyError{Timeout: request.Timeout, Waits: w.waits}
	case err != nil && ctx.Err() != nil:
		err = &failures.InterruptedError{Waits: w.waits}
	}
	w.finish(err)
	return err
}

// waiting shows what is waited for as an operation is shown.
type waiting struct {
	goal    Goal
	name    string
	printer progress.Printer
	state   progress.State
	waits   []reconciler.Notice
	// since is when a dependent has come where it is.
	since map[progress.Key]time.Time
	// abandoned means that nobody does what is left to be done.
	abandoned bool
}

func (w *waiting) trouble(err error) {
	troubled := w.state
	troubled.Message = err.Error()
	w.printer.Update(troubled)
}

// show tells whether the goal is reached.
func (w *waiting) show(standing *Standing) bool {
	reached := standing.Ready()
	if w.goal == GoalDeleted {
		reached = standing.Release == nil
	}
	w.take(standing)
	w.printer.Update(w.state)
	return reached
}

func (w *waiting) take(standing *Standing) {
	now, since := time.Now(), map[progress.Key]time.Time{}
	before := map[progress.Key]progress.Object{}
	for _, object := range w.state.Objects {
		before[object.Key] = object
	}
	w.waits, w.abandoned = nil, standing.Abandoned() && !standing.Complete()
	w.state.Phase, w.state.Revision, w.state.Objects = w.situation(standing), 0, nil
	if standing.Release != nil && standing.Release.Current() != nil && w.goal == GoalReady {
		w.state.Revision = standing.Release.Current().Number
	}
	for _, d := range standing.Dependents {
		object := w.object(d)
		since[object.Key] = now
		if was, known := before[object.Key]; known && was.Phase == object.Phase && was.Status == object.Status {
			since[object.Key] = w.since[object.Key]
		}
		object.Since = since[object.Key]
		w.state.Objects = append(w.state.Objects, object)
		if object.Wait != "" {
			w.waits = append(w.waits, reconciler.Notice{Object: d.Item, Message: object.Wait})
		}
	}
	w.since = since
}

// object shows a dependent as one that an operation has to do with.
func (w *waiting) object(d Dependent) progress.Object {
	object := progress.Object{Key: progress.KeyOf(d.Item), Wave: d.Wave, Phase: d.Item.Phase, Status: d.Status}
	if w.goal == GoalDeleted {
		w.leaving(d, &object)
		return object
	}
	switch d.Place {
	case PlaceReady:
		object.Phase = reconciler.PhaseReady
	case PlaceCompleted, PlaceGone, PlaceStays:
		object.Phase = reconciler.PhaseCompleted
	case PlacePending:
		object.Phase = reconciler.PhaseScheduledForApplication
		if w.abandoned {
			object.Wait = toDo(d)
		}
	case PlaceUnready, PlaceFailed:
		object.Wait, object.Failed = d.Message, d.Place == PlaceFailed
		if object.Wait == "" {
			object.Wait = d.Status.String()
		}
	}
	return object
}

// toDo says what nobody does about a dependent.
func toDo(d Dependent) string {
	if d.Item.Phase == reconciler.PhaseScheduledForApplication {
		return "it is still to be applied"
	}
	return "it is still to be deleted"
}

func (w *waiting) leaving(d Dependent, object *progress.Object) {
	object.Phase = reconciler.PhaseScheduledForDeletion
	switch {
	case d.Place == PlaceStays:
		object.Verb = reconciler.VerbOrphaned
	case d.Place == PlaceCompleted:
		object.Phase = reconciler.PhaseCompleted
	case d.Missing:
		object.Verb = reconciler.VerbDeleted
	case d.Place == PlaceUnready:
		object.Phase, object.Wait = reconciler.PhaseDeleting, d.Message
	}
}

// situation says what is waited for as a whole.
func (w *waiting) situation(standing *Standing) string {
	release := standing.Release
	switch {
	case release == nil && w.goal == GoalDeleted:
		return ""
	case release == nil:
		return "waiting until the release exists"
	case release.State == releases.StateReady && w.goal == GoalReady:
		if standing.Ready() {
			return ""
		}
		return "waiting until all dependents are ready again"
	}
	if standing.Complete() && w.goal == GoalReady {
		if standing.Ready() {
			return ""
		}
		return "waiting until all dependents are ready"
	}
	text := fmt.Sprintf("waiting until the release is %s; it is %s", w.goal, release.State)
	switch {
	case w.abandoned:
		text += ", and nobody is working on it; to go on: clm " + map[releases.State]string{releases.StateApplying: "apply", releases.StateDeleting: "delete"}[release.State]
	case standing.Holder != nil:
		text += ", and " + standing.Holder.Name + " is working on it"
	}
	return text
}

func (w *waiting) finish(err error) {
	release, done := "release "+w.name, map[Goal]string{GoalReady: ", is ready", GoalDeleted: " does not exist"}[w.goal]
	if w.state.Revision != 0 {
		release += fmt.Sprintf(", revision %d", w.state.Revision)
	}
	outcome := progress.Outcome{Done: err == nil, Summary: release + done}
	if err != nil {
		outcome.Summary = fmt.Sprintf("release %s is not %s: %s", w.name, w.goal, failures.Summary(err))
		switch {
		case w.abandoned:
			outcome.Next = "Nobody is working on the release: waiting alone does not help."
		case len(w.waits) > 0 && w.goal == GoalReady:
			outcome.Next = "clm status shows more."
		}
	}
	w.printer.Finish(outcome)
}
