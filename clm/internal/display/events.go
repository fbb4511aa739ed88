// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package display

import (
	"encoding/json"
	"sync"
	"time"

	"k8s.io/utils/clock"

	"github.com/component-operator/runtime/pkg/reconciler"
	"github.com/component-operator/runtime/pkg/status"
)

// operationEvent says something about the operation.
type operationEvent struct {
	Time      string `json:"time"`
	Type      string `json:"type"`
	Operation string `json:"operation,omitempty"`
	Release   string `json:"release,omitempty"`
	Revision  int64  `json:"revision"`
	Phase     string `json:"phase,omitempty"`
	Message   string `json:"message,omitempty"`
	Summary   string `json:"summary,omitempty"`
	Next      string `json:"next,omitempty"`
	// Notes come with the last event.
	Notes []string `json:"notes,omitempty"`
}

// objectEvent says something about a dependent.
type objectEvent struct {
	Time   string           `json:"time"`
	Type   string           `json:"type"`
	Object Object           `json:"object"`
	Wave   int              `json:"wave"`
	State  string           `json:"state"`
	Phase  reconciler.Phase `json:"phase,omitempty"`
	Status status.Status    `json:"status,omitempty"`
	Verb   reconciler.Verb  `json:"verb,omitempty"`
	Reason string           `json:"reason,omitempty"`
}

// events writes an event per line, for programs.
type events struct {
	clock clock.PassiveClock

	mu      sync.Mutex
	encoder *json.Encoder
	ended   bool
	last    Progress
	said    history
}

func newEvents(options PrinterOptions) *events {
	encoder := json.NewEncoder(options.Out)
	encoder.SetEscapeHTML(false)
	return &events{clock: options.Clock, encoder: encoder}
}

func (e *events) Update(state Progress) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.ended {
		return
	}
	now := e.now()
	phase, message, changes := e.said.advance(state)
	if phase || message {
		e.emit(operationEvent{
			Time: now, Type: "phase", Operation: state.Operation, Release: state.Release, Revision: state.Revision,
			Phase: state.Phase, Message: state.Message,
		})
	}
	for _, change := range changes {
		kind := "object"
		if !change.isNew && isSameButMessage(change.before, change.after) {
			kind = "wait"
		}
		after := change.after
		e.emit(objectEvent{
			Time: now, Type: kind, Object: after.Object, Wave: after.Wave, State: word(after.State),
			Phase: after.Phase, Status: after.Status, Verb: after.Verb, Reason: after.Message,
		})
	}
	state.Objects = nil
	e.last = state
}

func (e *events) Finish(outcome Outcome) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.ended {
		return
	}
	e.ended = true
	kind := "failed"
	if outcome.Done {
		kind = "done"
	}
	e.emit(operationEvent{
		Time: e.now(), Type: kind, Operation: e.last.Operation, Release: e.last.Release, Revision: e.last.Revision,
		Message: e.last.Message, Summary: outcome.Summary, Next: outcome.Next, Notes: outcome.Notes,
	})
}

// emit writes the line at once, so that a reader at the other end of a pipe follows the operation.
func (e *events) emit(event any) { _ = e.encoder.Encode(event) }

func (e *events) now() string { return e.clock.Now().UTC().Format(time.RFC3339Nano) }
