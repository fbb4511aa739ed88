// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package pvc

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/component-operator/runtime/pkg/resources/concepts"
	"github.com/component-operator/runtime/pkg/resources/internal/resourcestest"
)

func sample() *corev1.PersistentVolumeClaim {
	return &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "sample"}}
}

func TestHandlers(t *testing.T) {
	t.Parallel()
	row := func(why string, phase corev1.PersistentVolumeClaimPhase, status concepts.OperationalStatus, grace concepts.GraceStatus, reason string,
	) resourcestest.State[*corev1.PersistentVolumeClaim, concepts.OperationalStatusWithReason] {
		return resourcestest.State[*corev1.PersistentVolumeClaim, concepts.OperationalStatusWithReason]{
			Why: why, Object: &corev1.PersistentVolumeClaim{Status: corev1.PersistentVolumeClaimStatus{Phase: phase}},
			Status: resourcestest.Operational(status, reason), Grace: resourcestest.Grace(grace, reason),
		}
	}
	resourcestest.CheckStates(t, NewBuilder(sample()), []resourcestest.State[*corev1.PersistentVolumeClaim, concepts.OperationalStatusWithReason]{
		row("there is a volume", corev1.ClaimBound, concepts.OperationalStatusOperational, concepts.GraceStatusHealthy, "The claim is bound"),
		row("there is no volume yet", corev1.ClaimPending, concepts.OperationalStatusPending, concepts.GraceStatusDegraded, "Waiting for a volume"),
		row("nothing is known yet", "", concepts.OperationalStatusPending, concepts.GraceStatusDegraded, "Waiting for a volume"),
		row("somebody has deleted the volume", corev1.ClaimLost, concepts.OperationalStatusFailing, concepts.GraceStatusDown, "The claim has lost its volume"),
	})
	resourcestest.CheckNoSuspension(t, NewBuilder(sample()))
	handled := NewBuilder(sample()).WithCustomSuspendMutation(DefaultSuspendMutationHandler).WithCustomSuspendStatus(DefaultSuspensionStatusHandler)
	resourcestest.CheckSuspension(t, handled.WithCustomSuspendDeletionDecision(DefaultDeleteOnSuspendHandler), resourcestest.Suspension[*corev1.PersistentVolumeClaim]{
		States: []resourcestest.SuspensionState[*corev1.PersistentVolumeClaim]{{Object: sample(), Want: resourcestest.Suspended("")}},
	})
}

func TestMutator(t *testing.T) {
	t.Parallel()
	m := NewMutator(sample())
	resourcestest.CheckOrder(t, m, resourcestest.Metadata(m), resourcestest.Recorded("claim spec", m.EditPVCSpec))

	requesting := func(requests corev1.ResourceList) *corev1.PersistentVolumeClaim {
		return &corev1.PersistentVolumeClaim{Spec: corev1.PersistentVolumeClaimSpec{Resources: corev1.VolumeResourceRequirements{Requests: requests}}}
	}
	small, large := resource.MustParse("1Gi"), resource.MustParse("2Gi")
	setLarge := func(m *Mutator) { m.SetStorageRequest(large) }
	resourcestest.CheckEdits(t, NewMutator, []resourcestest.Edit[*corev1.PersistentVolumeClaim, *Mutator]{
		{Why: "SetStorageRequest sets the request", Start: requesting(nil), Record: setLarge, Want: requesting(corev1.ResourceList{corev1.ResourceStorage: large})},
		{
			Why: "SetStorageRequest replaces the request, and leaves others", Start: requesting(corev1.ResourceList{corev1.ResourceStorage: small, "other": small}),
			Record: setLarge, Want: requesting(corev1.ResourceList{corev1.ResourceStorage: large, "other": small}),
		},
		{
			Why: "SetStorageRequest copies at once", Start: requesting(nil),
			Record: func(m *Mutator) {
				huge := resource.MustParse("100Ei") // Quantities of this size have a pointer.
				m.SetStorageRequest(huge)
				huge.Add(small)
			}, Want: requesting(corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("100Ei")}),
		},
	})
}

func TestBuild(t *testing.T) {
	t.Parallel()
	resourcestest.CheckBuild(t, NewBuilder, sample, "v1/PersistentVolumeClaim/default/sample")
}
