// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package concepts

import (
	"fmt"
	"slices"
	"strings"
)

// ConvergingOperation is how an object got its current spec.
type ConvergingOperation string

const (
	// ConvergingOperationCreated means that the object still has the spec that it was created with.
	ConvergingOperationCreated ConvergingOperation = "Created"
	// ConvergingOperationUpdated means that the spec was changed, and that the object's controller has not observed the
	// change yet.
	ConvergingOperationUpdated ConvergingOperation = "Updated"
	// ConvergingOperationNone means that the spec has not changed since it was observed.
	ConvergingOperationNone ConvergingOperation = "None"
)

// Converging is implemented by AliveStatusWithReason, CompletionStatusWithReason and OperationalStatusWithReason.
type Converging interface {
	// IsConverged reports whether the object matches its spec.
	IsConverged() bool
	// IsFailing reports whether the object is known not to converge without intervention.
	IsFailing() bool
	// Describe returns the status as one word, and a human-readable reason.
	Describe() (status, reason string)
}

// AliveConvergingStatus is the progress of an object that runs something.
type AliveConvergingStatus string

const (
	// AliveConvergingStatusHealthy means that all of it runs as declared.
	AliveConvergingStatusHealthy AliveConvergingStatus = "Healthy"
	// AliveConvergingStatusCreating means that it was created, and does not run completely yet.
	AliveConvergingStatusCreating AliveConvergingStatus = "Creating"
	// AliveConvergingStatusUpdating means that it was changed, and does not run in the new form yet.
	AliveConvergingStatusUpdating AliveConvergingStatus = "Updating"
	// AliveConvergingStatusScaling means that the number of running instances is not the declared one.
	AliveConvergingStatusScaling AliveConvergingStatus = "Scaling"
	// AliveConvergingStatusFailing means that it will not run without intervention.
	AliveConvergingStatusFailing AliveConvergingStatus = "Failing"
)

// AliveStatusWithReason is an AliveConvergingStatus with its reason.
type AliveStatusWithReason struct {
	Status AliveConvergingStatus
	Reason string
}

// IsConverged reports whether the status is Healthy.
func (s AliveStatusWithReason) IsConverged() bool { return s.Status == AliveConvergingStatusHealthy }

// IsFailing reports whether the status is Failing.
func (s AliveStatusWithReason) IsFailing() bool { return s.Status == AliveConvergingStatusFailing }

// Describe returns status and reason.
func (s AliveStatusWithReason) Describe() (status, reason string) { return string(s.Status), s.Reason }

// CompletionStatus is the progress of an object that runs to completion.
type CompletionStatus string

const (
	// CompletionStatusCompleted means that it is done.
	CompletionStatusCompleted CompletionStatus = "Completed"
	// CompletionStatusRunning means that it runs.
	CompletionStatusRunning CompletionStatus = "TaskRunning"
	// CompletionStatusPending means that it does not run yet.
	CompletionStatusPending CompletionStatus = "TaskPending"
	// CompletionStatusFailing means that it has failed.
	CompletionStatusFailing CompletionStatus = "TaskFailing"
)

// CompletionStatusWithReason is a CompletionStatus with its reason.
type CompletionStatusWithReason struct {
	Status CompletionStatus
	Reason string
}

// IsConverged reports whether the status is Completed.
func (s CompletionStatusWithReason) IsConverged() bool {
	return s.Status == CompletionStatusCompleted
}

// IsFailing reports whether the status is TaskFailing.
func (s CompletionStatusWithReason) IsFailing() bool { return s.Status == CompletionStatusFailing }

// Describe returns status and reason.
func (s CompletionStatusWithReason) Describe() (status, reason string) {
	return string(s.Status), s.Reason
}

// OperationalStatus is the progress of an object that works without running anything.
type OperationalStatus string

const (
	// OperationalStatusOperational means that it works.
	OperationalStatusOperational OperationalStatus = "Operational"
	// OperationalStatusPending means that it does not work yet.
	OperationalStatusPending OperationalStatus = "OperationPending"
	// OperationalStatusFailing means that it will not work without intervention.
	OperationalStatusFailing OperationalStatus = "OperationFailing"
)

// OperationalStatusWithReason is an OperationalStatus with its reason.
type OperationalStatusWithReason struct {
	Status OperationalStatus
	Reason string
}

// IsConverged reports whether the status is Operational.
func (s OperationalStatusWithReason) IsConverged() bool {
	return s.Status == OperationalStatusOperational
}

// IsFailing reports whether the status is OperationFailing.
func (s OperationalStatusWithReason) IsFailing() bool { return s.Status == OperationalStatusFailing }

// Describe returns status and reason.
func (s OperationalStatusWithReason) Describe() (status, reason string) {
	return string(s.Status), s.Reason
}

// GraceStatus is how well an object does its job while it does not match its spec.
type GraceStatus string

const (
	// GraceStatusHealthy means that it does its job.
	GraceStatusHealthy GraceStatus = "Healthy"
	// GraceStatusDegraded means that it does only part of its job.
	GraceStatusDegraded GraceStatus = "Degraded"
	// GraceStatusDown means that it does not do its job.
	GraceStatusDown GraceStatus = "Down"
)

// GraceStatusWithReason is a GraceStatus with its reason.
type GraceStatusWithReason struct {
	Status GraceStatus
	Reason string
}

// SuspensionStatus is the progress of an object's suspension.
type SuspensionStatus string

const (
	// SuspensionStatusPending means that the suspension has not begun yet.
	SuspensionStatusPending SuspensionStatus = "PendingSuspension"
	// SuspensionStatusSuspending means that the object still does work.
	SuspensionStatusSuspending SuspensionStatus = "Suspending"
	// SuspensionStatusSuspended means that the object does no work.
	SuspensionStatusSuspended SuspensionStatus = "Suspended"
)

// SuspensionStatusWithReason is a SuspensionStatus with its reason.
type SuspensionStatusWithReason struct {
	Status SuspensionStatus
	Reason string
}

// GuardStatus is whether an object may be applied.
type GuardStatus string

const (
	// GuardStatusBlocked means that neither the object nor later ones may be applied yet.
	GuardStatusBlocked GuardStatus = "Blocked"
	// GuardStatusUnblocked means that the object may be applied.
	GuardStatusUnblocked GuardStatus = "Unblocked"
)

// GuardStatusWithReason is a GuardStatus with its reason.
type GuardStatusWithReason struct {
	Status GuardStatus
	Reason string
}

// Check returns an error if the status is none of the constants.
func (s AliveStatusWithReason) Check() error {
	return check("converging status", s.Status, AliveConvergingStatusHealthy, AliveConvergingStatusCreating, AliveConvergingStatusUpdating, AliveConvergingStatusScaling,
		AliveConvergingStatusFailing)
}

// Check returns an error if the status is none of the constants.
func (s CompletionStatusWithReason) Check() error {
	return check("converging status", s.Status, CompletionStatusCompleted, CompletionStatusRunning, CompletionStatusPending, CompletionStatusFailing)
}

// Check returns an error if the status is none of the constants.
func (s OperationalStatusWithReason) Check() error {
	return check("converging status", s.Status, OperationalStatusOperational, OperationalStatusPending, OperationalStatusFailing)
}

// Check returns an error if the status is none of the constants.
func (s GraceStatusWithReason) Check() error {
	return check("grace status", s.Status, GraceStatusHealthy, GraceStatusDegraded, GraceStatusDown)
}

// Check returns an error if the status is none of the constants.
func (s SuspensionStatusWithReason) Check() error {
	return check("suspension status", s.Status, SuspensionStatusPending, SuspensionStatusSuspending, SuspensionStatusSuspended)
}

// Check returns an error if the status is none of the constants.
func (s GuardStatusWithReason) Check() error {
	return check("guard status", s.Status, GuardStatusBlocked, GuardStatusUnblocked)
}

func check[S ~string](what string, status S, allowed ...S) error {
	if slices.Contains(allowed, status) {
		return nil
	}
	names := make([]string, len(allowed))
	for i, name := range allowed {
		names[i] = string(name)
	}
	return fmt.Errorf("%s: invalid value %q; must be one of: %s", what, status, strings.Join(names, ", "))
}
