// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package releases

import (
	"cmp"
	"strconv"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// lockAnnotation tells one lock from another one of the same holder.
const lockAnnotation = ReconcilerName + "/lock"

// isOurs reports whether a lease was written by this process for this lock.
func (l *Lock) isOurs(lease *coordinationv1.Lease) bool {
	return lease.Annotations[lockAnnotation] == l.identity
}

// describe makes a lease ours.
func (l *Lock) describe(lease *coordinationv1.Lease, now time.Time) {
	metav1.SetMetaDataAnnotation(&lease.ObjectMeta, lockAnnotation, l.identity)
	metav1.SetMetaDataAnnotation(&lease.ObjectMeta, operationAnnotation, l.options.Operation)
	metav1.SetMetaDataAnnotation(&lease.ObjectMeta, cancelableAnnotation, strconv.FormatBool(l.options.Cancelable))
	metav1.SetMetaDataAnnotation(&lease.ObjectMeta, startedAnnotation, l.options.Started.UTC().Format(time.RFC3339Nano))
	// A process that was asked to end has lost the lock.
	delete(lease.Annotations, cancelAnnotation)
	transitions := int32(0)
	if lease.Spec.LeaseTransitions != nil {
		transitions = *lease.Spec.LeaseTransitions + 1
	}
	lease.Spec = coordinationv1.LeaseSpec{
		HolderIdentity:       &l.options.Holder,
		LeaseDurationSeconds: new(int32(l.options.validity / time.Second)), //nolint:gosec // less than 68 years
		AcquireTime:          &metav1.MicroTime{Time: now},
		RenewTime:            &metav1.MicroTime{Time: now},
		LeaseTransitions:     &transitions,
	}
}

func (l *Lock) lockedBy(lease *coordinationv1.Lease) error {
	return &LockedError{
		Release: l.release, Holder: cmp.Or(holderOf(lease), "an unknown process"), Age: max(0, l.now().Sub(acquiredAt(lease))), validity: l.validityOf(lease),
	}
}

// validityOf is how long a lease lasts that is not renewed.
func (l *Lock) validityOf(lease *coordinationv1.Lease) time.Duration {
	return validity(lease, l.options.validity)
}

func validity(lease *coordinationv1.Lease, unless time.Duration) time.Duration {
	if seconds := lease.Spec.LeaseDurationSeconds; seconds != nil && *seconds > 0 {
		return time.Duration(*seconds) * time.Second
	}
	return unless
}

func holderOf(lease *coordinationv1.Lease) string {
	if lease.Spec.HolderIdentity == nil {
		return ""
	}
	return *lease.Spec.HolderIdentity
}

// acquiredAt is by the clock of the holder.
func acquiredAt(lease *coordinationv1.Lease) time.Time {
	if lease.Spec.AcquireTime == nil {
		return lease.CreationTimestamp.Time
	}
	return lease.Spec.AcquireTime.Time
}
