// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package resources

import (
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/component-operator/runtime/pkg/resources/concepts"
	"github.com/component-operator/runtime/pkg/status"
)

// rulesVersion is part of the rules of all judges. It changes with the rules of the default handlers.
const rulesVersion = "resources/1"

// judge computes the status of the object of a member by the handlers of its resource.
type judge struct {
	member *member
	// suspended means that the object should be suspended.
	suspended bool
}

// Rules identifies the handlers: those of this module by a version, and others by the input of the generator, on which they may depend.
func (j *judge) Rules() string {
	rules := rulesVersion
	if j.suspended {
		rules += " suspended"
	}
	if j.member.registration.Addressed {
		rules += " addressed"
	}
	if j.member.registration.Custom {
		rules += " " + j.member.set.input
	}
	return rules
}

// Judge returns the status of an object.
func (j *judge) Judge(object *unstructured.Unstructured) status.Result {
	j.member.set.mu.Lock()
	defer j.member.set.mu.Unlock()
	if err := j.member.record(object); err != nil {
		return unknown(err)
	}
	if j.suspended {
		return j.suspension()
	}
	return j.converging(operationOf(object))
}

func (j *judge) converging(op concepts.ConvergingOperation) status.Result {
	statusOf := statusOf(j.member.resource)
	if statusOf == nil || !j.member.registration.Judged {
		return status.Result{Status: status.CurrentStatus}
	}
	converging, err := statusOf(op)
	if err != nil {
		return unknown(err)
	}
	reason, message := converging.Describe()
	result := status.Result{Status: status.InProgressStatus, Reason: reason, Message: message}
	switch {
	case converging.IsConverged():
		result.Status = status.CurrentStatus
	case converging.IsFailing():
		result.Status = status.FailedStatus
	}
	graceful, ok := j.member.resource.(concepts.Graceful)
	if !ok {
		return result
	}
	grace, err := graceful.GraceStatus()
	if err != nil {
		return unknown(fmt.Errorf("grace status: %w", err))
	}
	result.Grade = status.Grade(grace.Status)
	return result
}

func (j *judge) suspension() status.Result {
	suspendable, ok := j.member.resource.(concepts.Suspendable)
	if !ok {
		return status.Result{Status: status.CurrentStatus}
	}
	suspension, err := suspendable.SuspensionStatus()
	if err != nil {
		return unknown(err)
	}
	result := status.Result{Status: status.InProgressStatus, Reason: string(suspension.Status), Message: suspension.Reason}
	if suspension.Status == concepts.SuspensionStatusSuspended {
		result.Status = status.CurrentStatus
	}
	return result
}

func unknown(err error) status.Result {
	return status.Result{Status: status.UnknownStatus, Message: err.Error()}
}

// operationOf says how an object got its present spec, as far as it tells: one that was never changed was created; one whose controller has not observed the last change
// was updated.
func operationOf(object *unstructured.Unstructured) concepts.ConvergingOperation {
	observed, found, err := unstructured.NestedInt64(object.Object, "status", "observedGeneration")
	switch {
	case object.GetGeneration() <= 1:
		return concepts.ConvergingOperationCreated
	case err == nil && found && observed < object.GetGeneration():
		return concepts.ConvergingOperationUpdated
	default:
		return concepts.ConvergingOperationNone
	}
}
