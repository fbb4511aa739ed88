// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package shards

import (
	"context"
	"strconv"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/component-operator/runtime/internal/concurrent"
)

// keep renews the lease of this replica, and deletes stale leases, until the context ends.
func (m *members) keep(ctx context.Context) {
	ticker := time.NewTicker(m.options.RetryPeriod)
	defer ticker.Stop()
	for ctx.Err() == nil {
		if err := m.renew(ctx); ctx.Err() == nil {
			m.logProblem("the lease of this replica cannot be renewed", err)
		}
		m.sweep(ctx)
		select {
		case <-ctx.Done():
		case <-ticker.C:
		}
	}
}

// renew renews the lease of this replica.
func (m *members) renew(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, m.options.RenewDeadline)
	defer cancel()
	sent := m.options.now()
	lease, err := m.write(ctx, sent)
	if err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	isNews := m.self == nil || !m.isAlive(m.self, sent)
	m.self = &member{identity: m.options.Identity, lease: lease, seen: sent, shards: m.options.Shards}
	m.disputed = false
	if isNews {
		m.signal()
	}
	return nil
}

func (m *members) write(ctx context.Context, now time.Time) (*coordinationv1.Lease, error) {
	lease := m.known()
	if lease == nil {
		var err error
		lease, err = m.client.Get(ctx, m.options.memberName(), metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			lease = &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Name: m.options.memberName()}}
			m.describe(lease, now)
			return m.client.Create(ctx, lease, metav1.CreateOptions{})
		}
		if err != nil {
			return nil, err
		}
	}
	m.describe(lease, now)
	updated, err := m.client.Update(ctx, lease, metav1.UpdateOptions{})
	if apierrors.IsConflict(err) || apierrors.IsNotFound(err) {
		m.mu.Lock()
		defer m.mu.Unlock()
		m.disputed = true
	}
	return updated, err
}

// known returns a copy of the last written lease; nil if the server may have another one.
func (m *members) known() *coordinationv1.Lease {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.self == nil || m.disputed {
		return nil
	}
	return m.self.lease.DeepCopy()
}

func (m *members) describe(lease *coordinationv1.Lease, now time.Time) {
	metav1.SetMetaDataLabel(&lease.ObjectMeta, m.options.label(), roleMember)
	metav1.SetMetaDataAnnotation(&lease.ObjectMeta, m.options.shardsAnnotation(), strconv.Itoa(m.options.Shards))
	lease.Spec.HolderIdentity = &m.options.Identity
	lease.Spec.LeaseDurationSeconds = new(int32(m.options.LeaseDuration / time.Second)) //nolint:gosec // less than 68 years
	lease.Spec.RenewTime = &metav1.MicroTime{Time: now}
}

// forgottenAfter is the number of lease durations without a renewal after which a member lease is deleted.
const forgottenAfter = 10

// sweep deletes the leases of replicas that have ended without doing so. Only one replica does this.
func (m *members) sweep(ctx context.Context) {
	live, _ := m.live()
	if len(live) == 0 || live[0] != m.options.Identity {
		return
	}
	for _, left := range m.stale() {
		err := m.client.Delete(ctx, left.Name, metav1.DeleteOptions{
			Preconditions: &metav1.Preconditions{UID: &left.UID, ResourceVersion: &left.ResourceVersion},
		})
		if err != nil && ctx.Err() == nil {
			m.options.Log.V(1).Info("the lease of a replica that has ended cannot be deleted yet", "lease", left.Name, "reason", err.Error())
		}
	}
}

func (m *members) stale() []*coordinationv1.Lease {
	m.mu.Lock()
	defer m.mu.Unlock()
	var leases []*coordinationv1.Lease
	for _, other := range m.others {
		if concurrent.Elapsed(other.seen, m.options.now()) > forgottenAfter*m.options.LeaseDuration {
			leases = append(leases, other.lease)
		}
	}
	return leases
}

// resign deletes the lease of this replica. If that fails, the lease expires.
func (m *members) resign(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, m.options.RenewDeadline)
	defer cancel()
	if lease := m.known(); lease != nil {
		_ = m.client.Delete(ctx, lease.Name, metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &lease.UID}})
	}
}
