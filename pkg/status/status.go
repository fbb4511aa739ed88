// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"time"

	kstatus "github.com/fluxcd/cli-utils/pkg/kstatus/status"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Status says how far an object is. It is the vocabulary of kstatus and part of the persisted inventory.
type Status kstatus.Status

const (
	// InProgressStatus means that a controller still works on the object, or has not seen it yet.
	InProgressStatus = Status(kstatus.InProgressStatus)
	// FailedStatus means that a controller has given up, and that waiting alone will not help.
	FailedStatus = Status(kstatus.FailedStatus)
	// CurrentStatus means that the object is what its spec asks for.
	CurrentStatus = Status(kstatus.CurrentStatus)
	// TerminatingStatus means that the object is being deleted.
	TerminatingStatus = Status(kstatus.TerminatingStatus)
	// NotFoundStatus means that there is no such object. An Analyzer never returns it.
	NotFoundStatus = Status(kstatus.NotFoundStatus)
	// UnknownStatus means that the object's status has a form that cannot be judged.
	UnknownStatus = Status(kstatus.UnknownStatus)
)

// String returns the status as it is persisted.
func (s Status) String() string {
	return string(s)
}

// StatusAnalyzer judges objects. Implementations must be safe for concurrent use and must not change the
// object. Analyzer is the implementation of this package; Adapt makes an Analyzer of any other one.
type StatusAnalyzer interface { //nolint:revive // existing operators use this name
	ComputeStatus(object *unstructured.Unstructured) (Status, error)
}

// NewStatusAnalyzer returns an Analyzer with default options. It reads hints from the objects' annotation
// "<reconcilerName>/status-hint".
func NewStatusAnalyzer(reconcilerName string) StatusAnalyzer {
	return NewAnalyzer(reconcilerName, Options{})
}

// Result is what the analysis of one object found.
type Result struct {
	// Status is the verdict.
	Status Status
	// Message explains the verdict in plain words, for example "1/3 replicas available". It names neither
	// the object nor points in time, and has at most MaxMessageLength bytes.
	Message string
	// Deadline is the time, counted from the analysis, after which the verdict may change although the
	// object does not. Zero means that it changes only with the object.
	Deadline time.Duration
}
