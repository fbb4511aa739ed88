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

	"github.com/component-operator/runtime/internal/concurrent"
)

// member is a replica according to its lease.
type member struct {
	identity string
	lease    *coordinationv1.Lease
	// seen is when the last renewal of the lease was observed, by our own clock.
	seen time.Time
	// shards is the number of shards that this replica divides the work into.
	shards int
}

// members knows which replicas are alive, and renews the member lease of this one.
type members struct {
	options Options
	client  coordinationv1client.LeaseInterface

	mu sync.Mutex
	// self is nil until the lease of this replica is written.
	self *member
	// disputed is set if another client has changed or deleted the lease of this replica.
	disputed bool
	others   map[string]*member
	// problems are the logged problems that persist, with their reasons.
	problems map[string]string
	// changed holds one element if a replica has joined or left.
	changed chan struct{}
}

func newMembers(options Options) *members {
	return &members{
		options: options, client: options.Client.Leases(options.Namespace),
		others: map[string]*member{}, problems: map[string]string{}, changed: make(chan struct{}, 1),
	}
}

// shardsAnnotation is the key of the annotation with the number of shards that a replica divides the work into.
func (o Options) shardsAnnotation() string { return o.Name + "/shards" }

// memberName is the name of this replica's lease. It has a hash, because identities need not be valid names.
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

// watch watches the leases of other replicas until the context ends. It returns when the existing ones are known.
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
		AddFunc:    func(object any) { m.observe(object) },
		UpdateFunc: func(_, object any) { m.observe(object) },
		DeleteFunc: func(object any) { m.remove(object) },
	})
	if err != nil {
		return fmt.Errorf("watching the leases of replicas: %w", err)
	}
	if err := leases.SetWatchErrorHandlerWithContext(m.watchFailed); err != nil {
		return fmt.Errorf("watching the leases of replicas: %w", err)
	}
	go leases.RunWithContext(klog.NewContext(ctx, m.options.Log.V(1)))
	toolscache.WaitForCacheSync(ctx.Done(), registration.HasSynced)
	return nil
}

// watchFailed logs why the leases cannot be watched. The ordinary end of a watch is no failure.
func (m *members) watchFailed(_ context.Context, _ *toolscache.Reflector, err error) {
	if !errors.Is(err, io.EOF) && !apierrors.IsResourceExpired(err) && !apierrors.IsGone(err) {
		m.logProblem("the leases of other replicas cannot be watched", err)
	}
}

// logProblem logs a problem once for each reason. An error of nil ends the problem.
func (m *members) logProblem(what string, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	switch {
	case err == nil:
		delete(m.problems, what)
	case m.problems[what] != err.Error():
		m.problems[what] = err.Error()
		m.options.Log.Info(what, "reason", err.Error())
	}
}

// observe notes the lease of another replica.
func (m *members) observe(object any) {
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

func (m *members) remove(object any) {
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
	return concurrent.Elapsed(who.seen, now) < m.options.LeaseDuration
}

// live returns the sorted identities of replicas that are alive and use the same number of shards, and how long to wait
// until that may change. The oldest replica decides on the number of shards; replicas with another number wait until it
// is gone. So a new number takes effect only when all replicas with the former one have ended their work (or have not
// renewed their leases).
func (m *members) live() ([]string, time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	now, next := m.options.now(), m.options.LeaseDuration
	var alive []*member
	consider := func(who *member) {
		if who != nil && m.isAlive(who, now) {
			alive = append(alive, who)
			next = min(next, m.options.LeaseDuration-concurrent.Elapsed(who.seen, now))
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
	// A shard goes to no one if its share is computed for a replica that is listed twice. Only forged leases have the
	// same holder.
	return slices.Compact(identities), next
}
