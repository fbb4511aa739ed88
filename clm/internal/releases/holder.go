// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package releases

import (
	"context"
	"fmt"
	"strings"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apitypes "k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Holder is a process that has the lock of a release.
type Holder struct {
	// Release is namespace and name of the release.
	Release apitypes.NamespacedName
	// Name is that of LockOptions.
	Name string
	// Since is when the lock was taken, Renewed when it was renewed last, both by the clock of the holder.
	Since, Renewed time.Time
	// Validity is how long the lock lasts without a renewal.
	Validity time.Duration
	// Dead means that the lock was not renewed for several times as long as it lasts. Clocks differ.
	Dead bool

	uid             apitypes.UID
	resourceVersion string
}

// deadAfter is the number of validities without a renewal after which a lock counts as that of a dead process.
const deadAfter = 4

// heldBy returns the holder of a lease; nil if there is none.
func (s *Store) heldBy(lease *coordinationv1.Lease) *Holder {
	name := holderOf(lease)
	if name == "" {
		return nil
	}
	h := &Holder{
		Release: apitypes.NamespacedName{Namespace: lease.Namespace, Name: strings.TrimPrefix(lease.Name, prefix)}, Name: name,
		Since: acquiredAt(lease), Renewed: acquiredAt(lease), Validity: validity(lease, defaultValidity), uid: lease.UID, resourceVersion: lease.ResourceVersion,
	}
	if lease.Spec.RenewTime != nil {
		h.Renewed = lease.Spec.RenewTime.Time
	}
	h.Dead = s.options.Clock.Since(h.Renewed) > deadAfter*h.Validity
	return h
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
	return s.heldBy(lease), nil
}

// Holders lists the holders of the locks of a namespace, or of all namespaces if it is empty.
func (s *Store) Holders(ctx context.Context, namespace string) ([]*Holder, error) {
	list := &coordinationv1.LeaseList{}
	if err := s.options.Client.List(ctx, list, client.InNamespace(namespace)); err != nil {
		return nil, fmt.Errorf("listing locks: %w", err)
	}
	var holders []*Holder
	for i := range list.Items {
		lease := &list.Items[i]
		if !strings.HasPrefix(lease.Name, prefix) || lease.Annotations[lockAnnotation] == "" {
			continue
		}
		if holder := s.heldBy(lease); holder != nil {
			holders = append(holders, holder)
		}
	}
	return holders, nil
}

// RemoveLock removes the lock of a holder if it has not changed since it was read.
func (s *Store) RemoveLock(ctx context.Context, holder *Holder) error {
	lease := &coordinationv1.Lease{}
	lease.Namespace, lease.Name = holder.Release.Namespace, prefix+holder.Release.Name
	err := s.options.Client.Delete(ctx, lease, client.Preconditions{UID: &holder.uid, ResourceVersion: &holder.resourceVersion})
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("removing the lock of release %s: %w", holder.Release, err)
	}
	return nil
}
