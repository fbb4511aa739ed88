// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package shards

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apitypes "k8s.io/apimachinery/pkg/types"
	coordinationv1client "k8s.io/client-go/kubernetes/typed/coordination/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/internal/testenv"
)

func TestReplicasShareAndTakeOver(t *testing.T) {
	t.Parallel()
	f := newFleet(t)
	a, b, c := f.startWith("a", 12, late), f.startWith("b", 12, late), f.startWith("c", 12, late)
	f.awaitShares(a, b, c)
	before := f.acquisitions(a, b)
	c.stop()
	f.awaitShares(a, b)
	owners, after := assign([]string{"a", "b", "c"}, 12), assign([]string{"a", "b"}, 12)
	changed := 0
	for shard := range owners {
		if owners[shard] != after[shard] {
			changed++
		}
	}
	if got := f.acquisitions(a, b) - before; got != changed {
		t.Errorf("want %d shards to be acquired after the end of a replica, got %d", changed, got)
	}
	leases := &coordinationv1.LeaseList{}
	if err := testenv.Client(t).List(t.Context(), leases, client.InNamespace(f.namespace)); err != nil {
		t.Fatal(err)
	}
	members := 0
	for _, lease := range leases.Items {
		if strings.Contains(lease.Name, "-member-") {
			members++
		}
	}
	if members != 2 {
		t.Errorf("want the lease of the replica that has ended to be gone, there are %d", members)
	}
}

func TestAShardIsGivenBackWhenWorkHasEnded(t *testing.T) {
	t.Parallel()
	f := newFleet(t)
	a := f.startWith("a", 4, late)
	f.awaitShares(a)
	owners := assign([]string{"a", "b"}, 4)
	busy := slices.Index(owners, "b")
	tenure, ok := a.Enter(busy)
	if !ok {
		t.Fatal("want the shard to be held")
	}
	b := f.startWith("b", 4, late)
	testenv.Eventually(t, func() (bool, string) {
		return !a.Holds(busy) && len(b.held()) == 1, fmt.Sprintf("the second one holds %v", b.held())
	})
	if _, ok := a.Enter(busy); ok {
		t.Error("work has begun on a shard that is being given up")
	}
	if err := tenure.Check(); err != nil || b.Holds(busy) {
		t.Errorf("want work that has begun to come to its end, got %v", err)
	}
	tenure.Leave()
	f.awaitShares(a, b)
}

func TestAReplicaThatCannotRenew(t *testing.T) {
	t.Parallel()
	f := newFleet(t)
	a, b := f.start("a", 6), f.start("b", 6)
	f.awaitShares(a, b)
	held := a.held()[0]
	tenure, ok := a.Enter(held)
	if !ok {
		t.Fatal("want the shard to be held")
	}
	ctx, cancel := tenure.Context(t.Context())
	defer cancel()
	a.cut.Store(true)
	// What runs is cut off, and what does not notice that does not keep the others from going on.
	<-ctx.Done()
	f.awaitShares(b)
	if tenure.Check() == nil {
		t.Error("want the work that was cut off not to go on")
	}
	tenure.Leave()
	a.cut.Store(false)
	f.awaitShares(a, b)
}

// TestTheNumberOfShardsChangesWhileSomethingRuns has something end late that was begun under the old number.
func TestTheNumberOfShardsChangesWhileSomethingRuns(t *testing.T) {
	t.Parallel()
	f := newFleet(t)
	old := f.start("a-old", 1)
	f.awaitShares(old)
	tenure, entered := old.Enter(0)
	if !entered {
		t.Fatal("the shard is not held")
	}
	next := f.start("b-new", 2)
	testenv.Eventually(t, func() (bool, string) {
		live := next.members.live()
		_, known := next.members.self()
		return known && slices.Equal(live, []string{"a-old"}), fmt.Sprint(live)
	})
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		old.stop()
	}()
	testenv.Eventually(t, func() (bool, string) { return !old.Holds(0), "the replica does not end" })
	// It has ended to renew that lease; what it may still do is to delete it.
	if _, err := old.members.client.Get(t.Context(), old.members.options.memberName(), metav1.GetOptions{}); err != nil {
		t.Errorf("want the replica to be known as long as something runs, got %v", err)
	}
	tenure.Leave()
	<-stopped
	if _, err := old.members.client.Get(t.Context(), old.members.options.memberName(), metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("want the replica to be forgotten, got %v", err)
	}
	f.awaitShares(next)
}

func TestLeasesThatWereLeftBehind(t *testing.T) {
	t.Parallel()
	f := newFleet(t)
	left := &coordinationv1.Lease{}
	left.Namespace, left.Name = f.namespace, f.namespace+".example.io-member-0"
	left.Labels = map[string]string{f.namespace + ".example.io/lease": roleMember}
	left.Annotations = map[string]string{f.namespace + ".example.io/shards": "3"}
	left.Spec.HolderIdentity = new("gone")
	if err := testenv.Client(t).Create(t.Context(), left); err != nil {
		t.Fatal(err)
	}
	a := f.start("a", 3)
	// For a while it has its share, because it may live.
	f.awaitShares(a)
	a.members.mu.Lock()
	forgotten := a.members.all[left.Name]
	forgotten.seen = time.Now().Add(-time.Hour)
	a.members.all[left.Name] = forgotten
	a.members.mu.Unlock()
	testenv.Eventually(t, func() (bool, string) {
		err := testenv.Client(t).Get(t.Context(), client.ObjectKeyFromObject(left), left)
		return client.IgnoreNotFound(err) == nil && err != nil, "the lease is still there"
	})
}

// TestALeaseThatHasLostItsLabel has the label restored, without which the replica would not be known.
func TestALeaseThatHasLostItsLabel(t *testing.T) {
	t.Parallel()
	f := newFleet(t)
	a := f.start("a", 2)
	f.awaitShares(a)
	key := client.ObjectKey{Namespace: f.namespace, Name: a.members.options.memberName()}
	lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name}}
	without := client.RawPatch(apitypes.MergePatchType, []byte(`{"metadata":{"labels":null}}`))
	if err := testenv.Client(t).Patch(t.Context(), lease, without); err != nil {
		t.Fatal(err)
	}
	testenv.Eventually(t, func() (bool, string) {
		err := testenv.Client(t).Get(t.Context(), key, lease)
		return err == nil && lease.Labels[a.members.options.label()] == roleMember, fmt.Sprint(err, lease.Labels)
	})
	f.awaitShares(a)
}

// TestForgedLeases has leases that another client has written once.
func TestForgedLeases(t *testing.T) {
	t.Parallel()
	f := newFleet(t)
	forge := func(shard int, seconds int32) {
		t.Helper()
		lease := &coordinationv1.Lease{}
		lease.Namespace, lease.Name = f.namespace, LeaseName(f.namespace+".example.io", shard)
		lease.Spec.HolderIdentity, lease.Spec.LeaseDurationSeconds, lease.Spec.LeaseTransitions = new("nobody"), &seconds, new(int32(math.MaxInt32))
		lease.Spec.RenewTime = &metav1.MicroTime{Time: time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC)}
		if err := testenv.Client(t).Create(t.Context(), lease); err != nil {
			t.Fatal(err)
		}
	}
	forge(0, 1)
	a := f.start("a", 1)
	f.awaitShares(a)

	forge(1, math.MaxInt32)
	record, _, err := a.newLock(1, newTenure(1, time.Minute, time.Now)).Get(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if got := time.Duration(record.LeaseDurationSeconds) * time.Second; got != LongestLease {
		t.Errorf("want the lease to last %s without a renewal, got %s", LongestLease, got)
	}
}

// TestReplicasAreListedOnce has two leases of one holder.
func TestReplicasAreListedOnce(t *testing.T) {
	t.Parallel()
	m := newMembers(Options{Name: "example.io", Client: coordinationv1client.New(nil), LeaseDuration: time.Minute})
	var leases []coordinationv1.Lease
	for i, identity := range []string{"b", "b", "c"} {
		lease := coordinationv1.Lease{}
		lease.Name, lease.Spec.HolderIdentity = strconv.Itoa(i), new(identity)
		leases = append(leases, lease)
	}
	m.take(leases)
	if live := m.live(); !slices.Equal(live, []string{"b", "c"}) {
		t.Errorf("want each replica once, since shards of others would go to no one, got %v", live)
	}
}
