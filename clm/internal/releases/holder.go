// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package releases

import (
	"cmp"
	"context"
	"fmt"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Holder is a process that has the lock of a release.
type Holder struct {
	// Name is that of LockOptions.
	Name string
	// Since is when the lock was taken, Renewed when it was renewed last, both by the clock of the holder.
	Since, Renewed time.Time
	// Validity is how long the lock lasts without a renewal.
	Validity time.Duration
}

// Holder returns the holder of the lock of a release; nil if there is none, or if the user may not read the lease.
func (s *Store) Holder(ctx context.Context, namespace, name string) (*Holder, error) {
	lease := &coordinationv1.Lease{}
	err := s.options.Client.Get(ctx, client.ObjectKey{Namespace: namespace, Name: prefix + name}, lease)
	switch {
	case apierrors.IsNotFound(err), apierrors.IsForbidden(err):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("reading Lease %s/%s: %w", namespace, prefix+name, err)
	}
	if holderOf(lease) == "" {
		return nil, nil
	}
	return &Holder{
		Name: holderOf(lease), Since: acquiredAt(lease), Renewed: cmp.Or(ptr.Deref(lease.Spec.RenewTime, metav1.MicroTime{}).Time, acquiredAt(lease)),
		Validity: validity(lease, defaultValidity),
	}, nil
}
