// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package pv

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/component-operator/runtime/pkg/resources/concepts"
	"github.com/component-operator/runtime/pkg/resources/internal/resourcestest"
)

func sample() *corev1.PersistentVolume {
	return &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: "sample"}}
}

type state = resourcestest.State[*corev1.PersistentVolume, concepts.OperationalStatusWithReason]

// row returns a row whose reasons are equal.
func row(why string, status corev1.PersistentVolumeStatus, wanted concepts.OperationalStatus, grace concepts.GraceStatus, reason string) state {
	return state{Why: why, Object: &corev1.PersistentVolume{Status: status}, Status: resourcestest.Operational(wanted, reason), Grace: resourcestest.Grace(grace, reason)}
}

func TestHandlers(t *testing.T) {
	t.Parallel()
	in := func(phase corev1.PersistentVolumePhase) corev1.PersistentVolumeStatus {
		return corev1.PersistentVolumeStatus{Phase: phase}
	}
	broken := corev1.PersistentVolumeStatus{Phase: corev1.VolumeFailed, Message: "cannot be deleted"}
	const works, waits, fails = concepts.OperationalStatusOperational, concepts.OperationalStatusPending, concepts.OperationalStatusFailing
	resourcestest.CheckStates(t, NewBuilder(sample()), []state{
		row("no claim uses it yet", in(corev1.VolumeAvailable), works, concepts.GraceStatusHealthy, "The volume is Available"),
		row("a claim uses it", in(corev1.VolumeBound), works, concepts.GraceStatusHealthy, "The volume is Bound"),
		row("it is not available yet", in(corev1.VolumePending), waits, concepts.GraceStatusDegraded, "Waiting for the volume to be available"),
		row("nothing is known yet", in(""), waits, concepts.GraceStatusDegraded, "Waiting for the volume to be available"),
		row("its claim was deleted", in(corev1.VolumeReleased), fails, concepts.GraceStatusDown, "The volume is Released"),
		row("it could not be recycled", broken, fails, concepts.GraceStatusDown, "The volume is Failed: cannot be deleted"),
	})
	resourcestest.CheckNoSuspension(t, NewBuilder(sample()))
	handled := NewBuilder(sample()).WithCustomSuspendMutation(DefaultSuspendMutationHandler).WithCustomSuspendStatus(DefaultSuspensionStatusHandler)
	resourcestest.CheckSuspension(t, handled.WithCustomSuspendDeletionDecision(DefaultDeleteOnSuspendHandler), resourcestest.Suspension[*corev1.PersistentVolume]{
		States: []resourcestest.SuspensionState[*corev1.PersistentVolume]{{Object: sample(), Want: resourcestest.Suspended("")}},
	})
}

func TestMutator(t *testing.T) {
	t.Parallel()
	m := NewMutator(sample())
	resourcestest.CheckOrder(t, m, resourcestest.Metadata(m), resourcestest.Recorded("volume spec", m.EditPVSpec))

	having := func(spec corev1.PersistentVolumeSpec) *corev1.PersistentVolume {
		return &corev1.PersistentVolume{Spec: spec}
	}
	resourcestest.CheckEdits(t, NewMutator, []resourcestest.Edit[*corev1.PersistentVolume, *Mutator]{
		{
			Why: "SetStorageClassName replaces the class", Start: having(corev1.PersistentVolumeSpec{StorageClassName: "slow"}),
			Record: func(m *Mutator) { m.SetStorageClassName("fast") }, Want: having(corev1.PersistentVolumeSpec{StorageClassName: "fast"}),
		},
		{
			Why: "SetReclaimPolicy replaces the policy", Start: having(corev1.PersistentVolumeSpec{PersistentVolumeReclaimPolicy: corev1.PersistentVolumeReclaimDelete}),
			Record: func(m *Mutator) { m.SetReclaimPolicy(corev1.PersistentVolumeReclaimRetain) },
			Want:   having(corev1.PersistentVolumeSpec{PersistentVolumeReclaimPolicy: corev1.PersistentVolumeReclaimRetain}),
		},
		{
			Why: "SetMountOptions replaces all options, and copies them at once", Start: having(corev1.PersistentVolumeSpec{MountOptions: []string{"ro"}}),
			Record: func(m *Mutator) {
				options := []string{"hard", "noatime"}
				m.SetMountOptions(options)
				options[0] = "soft"
			}, Want: having(corev1.PersistentVolumeSpec{MountOptions: []string{"hard", "noatime"}}),
		},
		{
			Why: "SetMountOptions without options removes all", Start: having(corev1.PersistentVolumeSpec{MountOptions: []string{"ro"}}),
			Record: func(m *Mutator) { m.SetMountOptions(nil) }, Want: having(corev1.PersistentVolumeSpec{}),
		},
	})
}

func TestBuild(t *testing.T) {
	t.Parallel()
	resourcestest.CheckBuild(t, NewBuilder, sample, "v1/PersistentVolume/sample")
}
