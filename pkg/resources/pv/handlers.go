// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package pv

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/component-operator/runtime/pkg/resources/concepts"
	"github.com/component-operator/runtime/pkg/resources/internal/handlers"
)

// DefaultConvergingStatusHandler returns the progress of a PersistentVolume: Operational if it is available or bound to
// a claim; OperationFailing if it has failed or is released, because no other claim can use it then; and
// OperationPending otherwise.
func DefaultConvergingStatusHandler(_ concepts.ConvergingOperation, pv *corev1.PersistentVolume) (concepts.OperationalStatusWithReason, error) {
	switch phase := pv.Status.Phase; phase {
	case corev1.VolumeAvailable, corev1.VolumeBound:
		return concepts.OperationalStatusWithReason{Status: concepts.OperationalStatusOperational, Reason: "The volume is " + string(phase)}, nil
	case corev1.VolumeReleased, corev1.VolumeFailed:
		return concepts.OperationalStatusWithReason{Status: concepts.OperationalStatusFailing, Reason: handlers.Text("The volume is "+string(phase), pv.Status.Message)}, nil
	default:
		return concepts.OperationalStatusWithReason{Status: concepts.OperationalStatusPending, Reason: "Waiting for the volume to be available"}, nil
	}
}
