// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"time"

	kstatus "github.com/fluxcd/cli-utils/pkg/kstatus/status"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Status is the status of an object in the vocabulary of kstatus. It is part of the persisted inventory.
type Status kstatus.Status

const (
	// InProgressStatus means that a controller is still working on the object, or has not observed it yet.
	InProgressStatus = Status(kstatus.InProgressStatus)
	// FailedStatus means that a controller has given up; waiting alone does not help.
	FailedStatus = Status(kstatus.FailedStatus)
	// CurrentStatus means that the object is as its spec asks.
	CurrentStatus = Status(kstatus.CurrentStatus)
	// TerminatingStatus means that the object is being deleted.
	TerminatingStatus = Status(kstatus.TerminatingStatus)
	// NotFoundStatus means that the object does not exist. An Analyzer never returns it.
	NotFoundStatus = Status(kstatus.NotFoundStatus)
	// UnknownStatus means that the object's status has an unexpected form.
	UnknownStatus = Status(kstatus.UnknownStatus)
)

// String returns the status as it is persisted.
func (s Status) String() string {
	return string(s)
}

// StatusAnalyzer computes statuses. Implementations must be safe for concurrent use and must not change the object.
// Analyzer is the implementation of this package; Adapt makes an Analyzer of another one.
type StatusAnalyzer interface { //nolint:revive // existing operators use this name
	ComputeStatus(object *unstructured.Unstructured) (Status, error)
}

// NewStatusAnalyzer returns an Analyzer with default options. It reads hints from the annotation
// "<reconcilerName>/status-hint".
func NewStatusAnalyzer(reconcilerName string) StatusAnalyzer {
	return NewAnalyzer(reconcilerName, Options{})
}

// Result is the status of one object.
type Result struct {
	Status Status
	// Message explains the status, for example "1/3 replicas available". It names neither the object nor times, and has
	// at most MaxMessageLength bytes.
	Message string
	// Reason is the status in one word of the judge's own vocabulary, such as "Scaling"; empty if it has none.
	Reason string
	// Grade says how well the object does its job; empty if this follows from the status, see Health.
	Grade Grade
	// Deadline is how long after the analysis the status may change although the object does not. Zero means that it
	// changes only with the object.
	Deadline time.Duration
}
