// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package crd

import (
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/component-operator/runtime/pkg/resources/concepts"
	"github.com/component-operator/runtime/pkg/resources/internal/handlers"
)

// rule interprets the conditions of a CustomResourceDefinition.
var rule = handlers.Rule{Works: string(apiextensionsv1.Established), Fails: []string{string(apiextensionsv1.NamesAccepted)}}

// DefaultConvergingStatusHandler returns the progress of a CustomResourceDefinition: OperationFailing if its names
// conflict with another definition (NamesAccepted is False), Operational if objects can be created (Established is
// True), and OperationPending otherwise.
func DefaultConvergingStatusHandler(_ concepts.ConvergingOperation, crd *apiextensionsv1.CustomResourceDefinition) (concepts.OperationalStatusWithReason, error) {
	found := make([]metav1.Condition, 0, len(crd.Status.Conditions))
	for _, c := range crd.Status.Conditions {
		found = append(found, metav1.Condition{Type: string(c.Type), Status: metav1.ConditionStatus(c.Status), Reason: c.Reason, Message: c.Message})
	}
	return rule.Operational(found), nil
}
