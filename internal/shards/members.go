// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package shards

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	coordinationv1client "k8s.io/client-go/kubernetes/typed/coordination/v1"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
)

// member is a replica, as its lease shows it.
type member struct {
	identity string
	lease    *coordinationv1.Lease
	// seen is when a renewal of the lease was noticed last, by our own clock.
	seen time.Time
	// shards is the number of shards into which this replica divides the work.
	shards int
}

// members knows which replicas live, and makes known that this one does.
type members struct {
	options Options
	client  coordinationv1client.LeaseInterface

	mu sync.Mutex
	// self is nil until this replica has made itself known.
	self *member
	// disputed is set if somebody else has changed or removed the lease of this replica.
	disputed bool
	others   map[string]*member
	// changed holds one element if somebody came or went.
	changed chan struct{}
}

func newMembers(options Options) *members {
	return &members{
		options: options, client: options.Client.Leases(options.Namespace),
		others: map[string]*member{}, changed: make(chan struct{}, 1),
	}
}

// shardsAnnotation is the key under which a replica tells into how many shards it divides the work.
func (o Options) shardsAnnotation() string { return o.Name + "/shards" }

// memberName is the name of the lease of this replica. Identities need not be names.
func (o Options) memberName() string {
	sum := sha256.Sum256([]byte(o.Identity))
	return o.Name + "-member-" + hex.EncodeToString(sum[:5])
}

func (m *members) signal() {
	select {
	case m.changed <- struct{}{}:
	default:
	}
}

// watch follows the leases of the others until the context ends. It returns when those that exist are known.
func (m *members) watch(ctx context.Context) error {
	selector := m.options.label() + "=" + roleMember
	leases := toolscache.NewSharedIndexInformer(&toolscache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
			options.LabelSelector = selector
			return m.client.List(ctx, options)
		},
		WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
			options.LabelSelector = selector
			return m.client.Watch(ctx, options)
		},
	}, &coordinationv1.Lease{}, 0, toolscache.Indexers{})
	registration, err := leases.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
		AddFunc:    func(object any) { m.notice(object) },
		UpdateFunc: func(_, object any) { m.notice(object) },
		DeleteFunc: func(object any) { m.miss(object) },
	})
	if err != nil {
		return fmt.Errorf("following the leases of replicas: %w", err)
	}
	go leases.RunWithContext(klog.NewContext(ctx, m.options.Log.V(1)))
	toolscache.WaitForCacheSync(ctx.Done(), registration.HasSynced)
	return nil
}

// notice takes over the lease of another replica.
func (m *members) notice(object any) {
	lease, ok := object.(*coordinationv1.Lease)
	if !ok || lease.Spec.HolderIdentity == nil || *lease.Spec.HolderIdentity == m.options.Identity {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	known := m.others[lease.Name]
	if known != nil && known.lease.UID == lease.UID && known.lease.Spec.RenewTime.Equal(lease.Spec.RenewTime) {
		return
	}
	now := m.options.now()
	isNews := known == nil || known.lease.UID != lease.UID || !m.isAlive(known, now)
	shards, _ := strconv.Atoi(lease.Annotations[m.options.shardsAnnotation()])
	m.others[lease.Name] = &member{identity: *lease.Spec.HolderIdentity, lease: lease, seen: now, shards: shards}
	if isNews {
		m.signal()
	}
}

func (m *members) miss(object any) {
	if unknown, ok := object.(toolscache.DeletedFinalStateUnknown); ok {
		object = unknown.Obj
	}
	if lease, ok := object.(*coordinationv1.Lease); ok {
		m.mu.Lock()
		defer m.mu.Unlock()
		delete(m.others, lease.Name)
		m.signal()
	}
}

func (m *members) isAlive(who *member, now time.Time) bool {
	return elapsed(who.seen, now) < m.options.LeaseDuration
}

// live returns the identities of those that live and agree about the number of shards, sorted, and the time after which that
// may be otherwise. The one that lives longest decides about the number; those that disagree wait until it is gone. So a change of
// the number goes through all replicas without two of them working on the same.
func (m *members) live() ([]string, time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	now, next := m.options.now(), m.options.LeaseDuration
	var alive []*member
	consider := func(who *member) {
		if who != nil && m.isAlive(who, now) {
			alive = append(alive, who)
			next = min(next, m.options.LeaseDuration-elapsed(who.seen, now))
		}
	}
	consider(m.self)
	for _, other := range m.others {
		consider(other)
	}
	slices.SortFunc(alive, func(a, b *member) int {
		return cmp.Or(a.lease.CreationTimestamp.Compare(b.lease.CreationTimestamp.Time), cmp.Compare(a.identity, b.identity))
	})
	var identities []string
	for _, who := range alive {
		if who.shards == alive[0].shards {
			identities = append(identities, who.identity)
		}
	}
	slices.Sort(identities)
	return identities, next
}

// keep renews the lease of this replica, and removes those that others have left behind, until the context ends.
func (m *members) keep(ctx context.Context) {
	ticker := time.NewTicker(m.options.RetryPeriod)
	defer ticker.Stop()
	for ctx.Err() == nil {
		if err := m.renew(ctx); err != nil {
			m.options.Log.V(1).Info("the lease of this replica was not renewed", "reason", err.Error())
		}
		m.sweep(ctx)
		select {
		case <-ctx.Done():
		case <-ticker.C:
		}
	}
}

// renew makes known that this replica lives.
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

// known returns a copy of the lease as it was written last, or nil if that is not what the server has.
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

// forgottenAfter is after how many durations a lease is removed whose replica has not renewed it.
const forgottenAfter = 10

// sweep removes what replicas have left behind that ended without saying so. One replica is enough for that.
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
			m.options.Log.V(1).Info("a lease that was left behind is not removed yet", "lease", left.Name, "reason", err.Error())
		}
	}
}

func (m *members) stale() []*coordinationv1.Lease {
	m.mu.Lock()
	defer m.mu.Unlock()
	var leases []*coordinationv1.Lease
	for _, other := range m.others {
		if elapsed(other.seen, m.options.now()) > forgottenAfter*m.options.LeaseDuration {
			leases = append(leases, other.lease)
		}
	}
	return leases
}

// resign makes known that this replica goes. If it fails, the others notice some time later.
func (m *members) resign(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, m.options.RenewDeadline)
	defer cancel()
	if lease := m.known(); lease != nil {
		_ = m.client.Delete(ctx, lease.Name, metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &lease.UID}})
	}
}
