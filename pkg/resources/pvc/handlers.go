// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package pvc

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/component-operator/runtime/pkg/resources/concepts"
)

// DefaultConvergingStatusHandler returns the progress of a PersistentVolumeClaim: Operational if it is bound to a
// volume, OperationFailing if the volume is lost, and OperationPending otherwise.
func DefaultConvergingStatusHandler(_ concepts.ConvergingOperation, pvc *corev1.PersistentVolumeClaim) (concepts.OperationalStatusWithReason, error) {
	switch pvc.Status.Phase {
	case corev1.ClaimBound:
		return concepts.OperationalStatusWithReason{Status: concepts.OperationalStatusOperational, Reason: "The claim is bound"}, nil
	case corev1.ClaimLost:
		return concepts.OperationalStatusWithReason{Status: concepts.OperationalStatusFailing, Reason: "The claim has lost its volume"}, nil
	default:
		return concepts.OperationalStatusWithReason{Status: concepts.OperationalStatusPending, Reason: "Waiting for a volume"}, nil
	}
}
