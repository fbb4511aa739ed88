// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package handlers

import (
	"fmt"
	"strings"

	"github.com/component-operator/runtime/pkg/resources/concepts"
)

// Workload are the numbers in the spec and status of a workload.
type Workload struct {
	// Kind is the kind of the object, as in "Deployment".
	Kind string
	// Generation is that of the object, and Observed the one that its controller has observed last.
	Generation, Observed int64
	// Desired, Ready and Current are numbers of replicas: declared, ready, existing.
	Desired, Ready, Current int32
	// Rollout says what is missing before all replicas have the declared form; empty if all have it.
	Rollout string
	// Failure says why the workload will not become ready; empty if nothing is known.
	Failure string
}

// Converging returns how far the workload is. It is Healthy if the controller has observed the spec, all replicas have
// the declared form and are ready, and there are no others.
func (w Workload) Converging(op concepts.ConvergingOperation) concepts.AliveStatusWithReason {
	switch {
	case w.Observed < w.Generation:
		return unready(op, concepts.AliveConvergingStatusUpdating, w.unobserved())
	case w.Ready == w.Desired && w.Rollout == "":
		return concepts.AliveStatusWithReason{Status: concepts.AliveConvergingStatusHealthy, Reason: "All replicas are ready"}
	case w.Failure != "":
		return concepts.AliveStatusWithReason{Status: concepts.AliveConvergingStatusFailing, Reason: w.Failure}
	case w.Ready != w.Desired:
		return unready(op, concepts.AliveConvergingStatusScaling, fmt.Sprintf("Waiting for replicas: %d/%d ready", w.Ready, w.Desired))
	default:
		return unready(op, concepts.AliveConvergingStatusUpdating, "Waiting for rollout: "+w.Rollout)
	}
}

// unready returns the status that fits the operation, or otherwise the given one.
func unready(op concepts.ConvergingOperation, otherwise concepts.AliveConvergingStatus, reason string) concepts.AliveStatusWithReason {
	switch op {
	case concepts.ConvergingOperationCreated:
		return concepts.AliveStatusWithReason{Status: concepts.AliveConvergingStatusCreating, Reason: reason}
	case concepts.ConvergingOperationUpdated:
		return concepts.AliveStatusWithReason{Status: concepts.AliveConvergingStatusUpdating, Reason: reason}
	case concepts.ConvergingOperationNone:
	}
	return concepts.AliveStatusWithReason{Status: otherwise, Reason: reason}
}

// Grace returns how well the workload does its job: by the number of ready replicas, whichever form they have.
func (w Workload) Grace() concepts.GraceStatusWithReason {
	switch {
	case w.Ready == w.Desired:
		return concepts.GraceStatusWithReason{Status: concepts.GraceStatusHealthy, Reason: "All replicas are ready"}
	case w.Ready > 0:
		return concepts.GraceStatusWithReason{Status: concepts.GraceStatusDegraded, Reason: w.Kind + " partially available"}
	default:
		return concepts.GraceStatusWithReason{Status: concepts.GraceStatusDown, Reason: "No replicas are ready"}
	}
}

// Suspension returns how far the suspension is: it is Suspended if no replicas exist any more.
func (w Workload) Suspension() concepts.SuspensionStatusWithReason {
	switch {
	case w.Observed < w.Generation:
		return concepts.SuspensionStatusWithReason{Status: concepts.SuspensionStatusSuspending, Reason: w.unobserved()}
	case w.Current == 0:
		return concepts.SuspensionStatusWithReason{Status: concepts.SuspensionStatusSuspended, Reason: w.Kind + " scaled to zero"}
	default:
		reason := fmt.Sprintf("Waiting for replicas to scale down, %d replicas still running.", w.Current)
		return concepts.SuspensionStatusWithReason{Status: concepts.SuspensionStatusSuspending, Reason: reason}
	}
}

func (w Workload) unobserved() string {
	return "Waiting for " + strings.ToLower(w.Kind) + " controller to observe latest spec"
}
