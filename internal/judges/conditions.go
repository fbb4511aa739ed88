// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package judges

import (
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/component-operator/runtime/pkg/status"
	"github.com/component-operator/runtime/pkg/types"
)

// conditions are the annotations ready-when and fail-when of objects.
type conditions struct {
	readyWhen, failWhen string // keys
}

func newConditions(reconcilerName string) conditions {
	return conditions{
		readyWhen: reconcilerName + "/" + types.AnnotationKeySuffixReadyWhen,
		failWhen:  reconcilerName + "/" + types.AnnotationKeySuffixFailWhen,
	}
}

// judge returns the status of an object that is not being deleted by its annotations, and by a judge where these say
// nothing. The first row that applies counts:
//
//	no annotation                                             as the judge says
//	the controller has not observed the current spec          InProgress, or Failed as the judge says
//	fail-when holds                                           Failed
//	the judge overrules ready-when, or there is no ready-when as the judge says
//	ready-when holds                                          Current
//	ready-when does not hold, or cannot be evaluated          InProgress, or Failed as the judge says
//
// If an annotation is not a valid expression, or costs more than the limit to evaluate, the status is Unknown. It
// reports false if any rule costs more than the limit.
func (c conditions) judge(object *unstructured.Unstructured, judge guarded, limit uint64) (result status.Result, within bool) {
	result, within = judge.judge(object, limit)
	budget := NewBudget(limit)
	result = c.annotated(object, judge, result, budget)
	return result, within && budget.Spend(0) == nil
}

// annotated returns the status of an object by its annotations; result is the one without them.
func (c conditions) annotated(object *unstructured.Unstructured, judge guarded, result status.Result, budget *Budget) status.Result {
	values := object.GetAnnotations()
	readyWhen, isReadyWhen := values[c.readyWhen]
	failWhen, isFailWhen := values[c.failWhen]
	if !isReadyWhen && !isFailWhen {
		return result
	}
	if _, outdated := status.Outdated(object); outdated {
		return unready(result, fmt.Sprintf("generation %d is not observed yet", object.GetGeneration()))
	}
	if isFailWhen {
		switch failed, err := holds(failWhen, object, budget); {
		case failed:
			return status.Result{Status: status.FailedStatus, Message: status.Clip("fail-when holds: " + failWhen)}
		case isInvalid(err):
			return unknown(c.failWhen, err)
		}
	}
	if !isReadyWhen || judge.overrules(object) {
		return result
	}
	return c.byReadyWhen(object, readyWhen, result, budget)
}

// byReadyWhen returns the status of an object by its annotation ready-when; base is the status without it.
func (c conditions) byReadyWhen(object *unstructured.Unstructured, readyWhen string, base status.Result, budget *Budget) status.Result {
	switch ready, err := holds(readyWhen, object, budget); {
	case ready:
		return status.Result{Status: status.CurrentStatus, Message: "ready-when holds"}
	case isInvalid(err):
		return unknown(c.readyWhen, err)
	case err != nil:
		return unready(base, fmt.Sprintf("ready-when cannot be evaluated (%v): %s", err, readyWhen))
	default:
		return unready(base, "ready-when does not hold: "+readyWhen)
	}
}

// unknown returns the result for an object whose annotation cannot be evaluated for any object.
func unknown(annotation string, err error) status.Result {
	return status.Result{Status: status.UnknownStatus, Message: status.Clip(annotation + ": " + err.Error())}
}

// unready returns the result for an object that is not ready for the given reason. It stays failed if it has failed.
func unready(result status.Result, reason string) status.Result {
	if result.Status == status.FailedStatus {
		return result
	}
	return status.Result{Status: status.InProgressStatus, Message: status.Clip(reason), Grade: result.Grade, Deadline: result.Deadline}
}

// invalidError means that an annotation cannot be evaluated, whatever the object is.
type invalidError struct{ error }

func isInvalid(err error) bool {
	var invalid invalidError
	return errors.As(err, &invalid)
}

// holds evaluates the expression of an annotation.
func holds(text string, object *unstructured.Unstructured, budget *Budget) (bool, error) {
	expression, err := CompileWithin(text, budget)
	if err != nil {
		return false, invalidError{err}
	}
	answer, err := expression.Holds(object, budget)
	if errors.Is(err, ErrTooExpensive) {
		return false, invalidError{err}
	}
	return answer, err //nolint:wrapcheck // the caller names the annotation
}
