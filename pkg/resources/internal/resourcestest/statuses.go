// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package resourcestest

import (
	"github.com/component-operator/runtime/pkg/resources/concepts"
)

// Alive returns a status with a reason.
func Alive(status concepts.AliveConvergingStatus, reason string) concepts.AliveStatusWithReason {
	return concepts.AliveStatusWithReason{Status: status, Reason: reason}
}

// Unready returns the statuses of a workload that is not ready: Creating and Updating after these operations, and otherwise the given one.
func Unready(otherwise concepts.AliveConvergingStatus, reason string) map[concepts.ConvergingOperation]concepts.AliveStatusWithReason {
	return map[concepts.ConvergingOperation]concepts.AliveStatusWithReason{
		concepts.ConvergingOperationCreated: Alive(concepts.AliveConvergingStatusCreating, reason),
		concepts.ConvergingOperationUpdated: Alive(concepts.AliveConvergingStatusUpdating, reason),
		concepts.ConvergingOperationNone:    Alive(otherwise, reason),
	}
}

// Completion returns a status with a reason.
func Completion(status concepts.CompletionStatus, reason string) concepts.CompletionStatusWithReason {
	return concepts.CompletionStatusWithReason{Status: status, Reason: reason}
}

// Operational returns a status with a reason.
func Operational(status concepts.OperationalStatus, reason string) concepts.OperationalStatusWithReason {
	return concepts.OperationalStatusWithReason{Status: status, Reason: reason}
}

// Grace returns a status with a reason.
func Grace(status concepts.GraceStatus, reason string) concepts.GraceStatusWithReason {
	return concepts.GraceStatusWithReason{Status: status, Reason: reason}
}

// Suspended is the status of an object that does no work, with a reason.
func Suspended(reason string) concepts.SuspensionStatusWithReason {
	return concepts.SuspensionStatusWithReason{Status: concepts.SuspensionStatusSuspended, Reason: reason}
}

// Suspending is the status of an object that still does work, with a reason.
func Suspending(reason string) concepts.SuspensionStatusWithReason {
	return concepts.SuspensionStatusWithReason{Status: concepts.SuspensionStatusSuspending, Reason: reason}
}
