// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package handlers

import (
	"github.com/component-operator/runtime/pkg/resources/concepts"
)

// Grade returns the grade that follows from a status, with its reason: Healthy if the object is converged, Down if it is failing, and Degraded otherwise. It takes the results of a
// function, and passes an error on.
func Grade(status concepts.Converging, err error) (concepts.GraceStatusWithReason, error) {
	if err != nil {
		return concepts.GraceStatusWithReason{}, err
	}
	_, reason := status.Describe()
	grade := concepts.GraceStatusDegraded
	switch {
	case status.IsConverged():
		grade = concepts.GraceStatusHealthy
	case status.IsFailing():
		grade = concepts.GraceStatusDown
	}
	return concepts.GraceStatusWithReason{Status: grade, Reason: reason}, nil
}
