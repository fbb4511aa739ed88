// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package resources

import (
	"errors"

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

// Rules identifies the handlers: those of this module by a version, and others by the input of the generator, on which
// they may depend.
func (j *judge) Rules() string {
	rules := rulesVersion
	if j.suspended {
		rules += " suspended"
	}
	if j.member.registration.Custom {
		rules += " " + j.member.set.input
	}
	return rules
}

// Judge returns the status of an object.
func (j *judge) Judge(object *unstructured.Unstructured) status.Result {
	if j.suspended {
		suspension, err := j.suspensionOf(object)
		if err == nil {
			err = suspension.Check()
		}
		if err != nil {
			return unknown(err)
		}
		// A resource that is being suspended need not do its job.
		result := status.Result{Status: status.InProgressStatus, Reason: string(suspension.Status), Message: suspension.Reason, Grade: status.GradeHealthy}
		if suspension.Status == concepts.SuspensionStatusSuspended {
			result.Status = status.CurrentStatus
		}
		return result
	}
	if !j.member.registration.Judged {
		return status.Result{Status: status.CurrentStatus}
	}
	converging, grace, err := j.statusOf(object)
	if err != nil {
		return unknown(err)
	}
	if err := checkStatus(converging, grace); err != nil {
		return unknown(err)
	}
	reason, message := converging.Describe()
	result := status.Result{Status: status.InProgressStatus, Reason: reason, Message: message, Grade: status.Grade(grace.Status)}
	switch {
	case converging.IsConverged():
		result.Status = status.CurrentStatus
	case converging.IsFailing():
		result.Status = status.FailedStatus
	}
	return result
}

// checkStatus refuses statuses that a handler has made up. A resource that is not graceful has no grade.
func checkStatus(converging concepts.Converging, grace concepts.GraceStatusWithReason) error {
	if checked, ok := converging.(interface{ Check() error }); ok {
		if err := checked.Check(); err != nil {
			return err
		}
	}
	if grace.Status == "" {
		return nil
	}
	return grace.Check()
}

// statusOf asks the resource how far an object is, and how well it does its job.
func (j *judge) statusOf(object *unstructured.Unstructured) (converging concepts.Converging, grace concepts.GraceStatusWithReason, err error) {
	j.member.set.mu.Lock()
	defer j.member.set.mu.Unlock()
	if err := j.member.record(object); err != nil {
		return nil, grace, err
	}
	ask := statusOf(j.member.resource)
	if ask == nil {
		return nil, grace, errors.New("the resource says that it has a status, and has no ConvergingStatus")
	}
	if converging, err = ask(operationOf(object)); err != nil {
		return nil, grace, err
	}
	if graceful, ok := j.member.resource.(concepts.Graceful); ok {
		grace, err = graceful.GraceStatus()
	}
	return converging, grace, err
}

// suspensionOf asks the resource how far the suspension of an object is.
func (j *judge) suspensionOf(object *unstructured.Unstructured) (suspension concepts.SuspensionStatusWithReason, err error) {
	j.member.set.mu.Lock()
	defer j.member.set.mu.Unlock()
	if err := j.member.record(object); err != nil {
		return suspension, err
	}
	if suspendable, ok := j.member.resource.(concepts.Suspendable); ok {
		return suspendable.SuspensionStatus() //nolint:wrapcheck // the reconciler names the object
	}
	return concepts.SuspensionStatusWithReason{Status: concepts.SuspensionStatusSuspended}, nil
}

func unknown(err error) status.Result {
	return status.Result{Status: status.UnknownStatus, Message: err.Error()}
}

// operationOf says how an object got its present spec, as far as it tells: one that was never changed was created; one
// whose controller has not observed the last change was updated.
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
