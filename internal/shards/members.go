// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package shards

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
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

	"github.com/component-operator/runtime/internal/clocks"
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
	// troubles are what was complained about and has not ended.
	troubles map[string]string
	// changed holds one element if somebody came or went.
	changed chan struct{}
}

func newMembers(options Options) *members {
	return &members{
		options: options, client: options.Client.Leases(options.Namespace),
		others: map[string]*member{}, troubles: map[string]string{}, changed: make(chan struct{}, 1),
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
	if err := leases.SetWatchErrorHandlerWithContext(m.troubled); err != nil {
		return fmt.Errorf("following the leases of replicas: %w", err)
	}
	go leases.RunWithContext(klog.NewContext(ctx, m.options.Log.V(1)))
	toolscache.WaitForCacheSync(ctx.Done(), registration.HasSynced)
	return nil
}

// troubled reports why the others cannot be watched; that a watch ends is part of its life.
func (m *members) troubled(_ context.Context, _ *toolscache.Reflector, err error) {
	if !errors.Is(err, io.EOF) && !apierrors.IsResourceExpired(err) && !apierrors.IsGone(err) {
		m.complain("the leases of other replicas cannot be watched", err)
	}
}

// complain logs a trouble unless it was logged already for the same reason. An error of nil ends it.
func (m *members) complain(what string, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	switch {
	case err == nil:
		delete(m.troubles, what)
	case m.troubles[what] != err.Error():
		m.troubles[what] = err.Error()
		m.options.Log.Info(what, "reason", err.Error())
	}
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
	return clocks.Elapsed(who.seen, now) < m.options.LeaseDuration
}

// live returns the identities of those that live and agree about the number of shards, sorted, and the time after which that
// may be otherwise. The one that lives longest decides about the number; those that disagree wait until it is gone. So a change of
// the number goes through all replicas, none of which begins to work on what one that ends orderly has not ended.
func (m *members) live() ([]string, time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	now, next := m.options.now(), m.options.LeaseDuration
	var alive []*member
	consider := func(who *member) {
		if who != nil && m.isAlive(who, now) {
			alive = append(alive, who)
			next = min(next, m.options.LeaseDuration-clocks.Elapsed(who.seen, now))
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
