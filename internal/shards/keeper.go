// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package shards

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/go-logr/logr"
	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	coordinationv1client "k8s.io/client-go/kubernetes/typed/coordination/v1"
	"k8s.io/utils/ptr"

	"github.com/component-operator/runtime/internal/concurrent"
)

// Options configure a Keeper. All fields but Log are required.
type Options struct {
	// Name is the prefix of the names of all leases, and of their label.
	Name string
	// Namespace of the leases.
	Namespace string
	// Identity of this replica; unique among all replicas that ever run at the same time.
	Identity string
	// Shards is the number of shards.
	Shards int
	// LeaseDuration is how long after the last renewal another replica may take a lease; whole seconds, and at most
	// LongestLease. RenewDeadline is how long a replica trusts its own renewal; at least one second less, because other
	// replicas see renewal times in whole seconds. RetryPeriod is the time between two renewals, or attempts to acquire
	// a lease.
	LeaseDuration, RenewDeadline, RetryPeriod time.Duration
	// Client reads and writes leases.
	Client coordinationv1client.LeasesGetter
	// Acquired is called when work on a shard may begin, Lost when all of it has ended. Calls for one shard do not
	// overlap.
	Acquired, Lost func(shard int)
	// Log defaults to no log.
	Log logr.Logger
}

// LongestLease is the maximum of Options.LeaseDuration.
const LongestLease = time.Hour

// The values of the label that all leases carry.
const (
	roleShard  = "shard"
	roleMember = "member"
)

// label is the key of the label that all leases carry.
func (o Options) label() string { return o.Name + "/lease" }

// Keeper acquires and holds the shards of this replica. It is safe for concurrent use.
type Keeper struct {
	options Options
	members *members

	// tenures are the tenures of shards on which work may begin, by shard.
	tenures sync.Map

	mu sync.Mutex
	// holders cancel the goroutines that hold shards.
	holders map[int]context.CancelFunc
	running sync.WaitGroup
}

// New returns a Keeper, which holds nothing until Run is called.
func New(options Options) *Keeper {
	return &Keeper{options: options, members: newMembers(options), holders: map[int]context.CancelFunc{}}
}

// Of returns the shard of an object.
func (k *Keeper) Of(namespace, name string) int {
	return Of(namespace, name, k.options.Shards)
}

// Holds reports whether work on the shard may begin.
func (k *Keeper) Holds(shard int) bool {
	_, held := k.tenures.Load(shard)
	return held
}

// Enter begins work on a shard, which Leave must end. It returns false if the shard is not held.
func (k *Keeper) Enter(shard int) (*Tenure, bool) {
	found, _ := k.tenures.Load(shard)
	tenure, held := found.(*Tenure)
	return tenure, held && tenure.enter()
}

// Run holds the shards of this replica until the context ends, and then releases them.
func (k *Keeper) Run(ctx context.Context) {
	ticker := time.NewTicker(k.options.RetryPeriod)
	defer ticker.Stop()
	problem := ""
	for ctx.Err() == nil {
		err := k.members.refresh(ctx)
		if text := fmt.Sprint(err); err != nil && text != problem && ctx.Err() == nil {
			problem = text
			k.options.Log.Info("shards cannot be divided", "reason", text)
		} else if err == nil {
			problem = ""
		}
		k.want(ctx, k.members.live())
		select {
		case <-ctx.Done():
		case <-ticker.C:
		}
	}
	k.running.Wait()
	// This must come last: replicas with another number of shards begin when this lease is gone, even if shards are
	// still held.
	k.members.resign(context.WithoutCancel(ctx))
}

// want starts holding the shards that this replica should hold among the given live members, and gives up others.
func (k *Keeper) want(ctx context.Context, live []string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for shard, owner := range assign(live, k.options.Shards) {
		stop := k.holders[shard]
		switch {
		case owner == k.options.Identity && stop == nil:
			holding, stop := context.WithCancel(ctx)
			k.holders[shard] = stop
			k.running.Go(func() {
				k.hold(holding, shard)
				k.retire(shard)
			})
		case owner != k.options.Identity && stop != nil:
			stop()
		}
	}
}

// retire removes a stopped holder, so that the shard can be held again.
func (k *Keeper) retire(shard int) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.holders[shard]()
	delete(k.holders, shard)
}

// Of returns the shard of an object: the first eight bytes of the SHA-256 sum of "<namespace>/<name>", as a big-endian
// number, modulo the number of shards. All replicas get the same result.
func Of(namespace, name string, shards int) int {
	return int(hash(namespace+"/"+name) % uint64(shards)) //nolint:gosec // less than shards, which is an int
}

func hash(text string) uint64 {
	sum := sha256.Sum256([]byte(text))
	return binary.BigEndian.Uint64(sum[:8])
}

// assign returns the member that should hold each shard. All members get the same number of shards, or one more. Each
// pair of member and shard has a pseudo-random, fixed score, and the pairs with the highest scores win. So when a
// member joins, most shards that move go to it, and when one leaves, most shards that move are its own.
func assign(members []string, shards int) []string {
	owners := make([]string, shards)
	if len(members) == 0 {
		return owners
	}
	quota, extra := shards/len(members), shards%len(members)
	loads := make(map[string]int, len(members))
	for _, p := range ranking(members, shards) {
		load := loads[p.member]
		switch {
		case owners[p.shard] != "" || load > quota:
			continue
		case load == quota:
			if extra == 0 {
				continue
			}
			extra--
		}
		owners[p.shard] = p.member
		loads[p.member]++
	}
	return owners
}

type pair struct {
	member string
	shard  int
	score  uint64
}

func ranking(members []string, shards int) []pair {
	pairs := make([]pair, 0, len(members)*shards)
	for _, member := range members {
		for shard := range shards {
			pairs = append(pairs, pair{member: member, shard: shard, score: hash(member + "/" + strconv.Itoa(shard))})
		}
	}
	slices.SortFunc(pairs, func(a, b pair) int {
		return cmp.Or(cmp.Compare(b.score, a.score), cmp.Compare(a.member, b.member), cmp.Compare(a.shard, b.shard))
	})
	return pairs
}

// member is a replica according to its lease.
type member struct {
	lease *coordinationv1.Lease
	// seen is when the last renewal of the lease was observed or, for our own lease, sent, by our own clock.
	seen time.Time
}

func (m member) identity() string { return ptr.Deref(m.lease.Spec.HolderIdentity, "") }

// silent returns the time since the last renewal of the lease.
func (m member) silent() time.Duration { return concurrent.Elapsed(m.seen, time.Now()) }

// members tracks which replicas are alive, and renews the member lease of this one.
type members struct {
	options Options
	client  coordinationv1client.LeaseInterface

	mu sync.Mutex
	// all has the members by the names of their leases, this replica included.
	all map[string]member
}

func newMembers(options Options) *members {
	return &members{options: options, client: options.Client.Leases(options.Namespace), all: map[string]member{}}
}

// shardsAnnotation is the key of the annotation with the number of shards that a replica divides the work into.
func (o Options) shardsAnnotation() string { return o.Name + "/shards" }

// memberName is the name of this replica's lease. It has a hash, because identities need not be valid names.
func (o Options) memberName() string {
	sum := sha256.Sum256([]byte(o.Identity))
	return o.Name + "-member-" + hex.EncodeToString(sum[:5])
}

// refresh reads the leases of all replicas, renews that of this one, and deletes leases that were left behind. It
// renews the lease even if the list fails: otherwise, other replicas would consider this one dead.
func (m *members) refresh(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, m.options.RenewDeadline)
	defer cancel()
	listed := m.list(ctx)
	if err := m.renew(ctx); err != nil {
		return errors.Join(listed, fmt.Errorf("renewing the lease of this replica: %w", err))
	}
	if listed == nil {
		m.sweep(ctx)
	}
	return listed
}

// list reads the leases of all replicas, in half of the available time, so that enough is left for the renewal.
func (m *members) list(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, m.options.RenewDeadline/2)
	defer cancel()
	found, err := m.client.List(ctx, metav1.ListOptions{LabelSelector: m.options.label() + "=" + roleMember})
	if err != nil {
		return fmt.Errorf("listing the leases of replicas: %w", err)
	}
	m.take(found.Items)
	return nil
}

// take replaces the members by the listed leases.
func (m *members) take(leases []coordinationv1.Lease) {
	m.mu.Lock()
	defer m.mu.Unlock()
	all := map[string]member{}
	for i := range leases {
		found := member{lease: &leases[i], seen: time.Now()}
		if known, exists := m.all[found.lease.Name]; exists && known.lease.UID == found.lease.UID && known.lease.Spec.RenewTime.Equal(found.lease.Spec.RenewTime) {
			found.seen = known.seen
		}
		all[found.lease.Name] = found
	}
	m.all = all
}

// renew renews the lease of this replica.
func (m *members) renew(ctx context.Context) error {
	own, exists := m.self()
	if !exists {
		err := m.write(ctx, &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Name: m.options.memberName()}})
		if !apierrors.IsAlreadyExists(err) {
			return err
		}
		// The lease has lost its label, so it was not listed.
		if own.lease, err = m.client.Get(ctx, m.options.memberName(), metav1.GetOptions{}); err != nil {
			return err
		}
	}
	return m.write(ctx, own.lease.DeepCopy())
}

// write writes the lease of this replica, which has a UID if it exists.
func (m *members) write(ctx context.Context, lease *coordinationv1.Lease) error {
	sent := time.Now()
	metav1.SetMetaDataLabel(&lease.ObjectMeta, m.options.label(), roleMember)
	metav1.SetMetaDataAnnotation(&lease.ObjectMeta, m.options.shardsAnnotation(), strconv.Itoa(m.options.Shards))
	lease.Spec.HolderIdentity = &m.options.Identity
	lease.Spec.LeaseDurationSeconds = new(int32(m.options.LeaseDuration / time.Second)) //nolint:gosec // less than 68 years
	lease.Spec.RenewTime = &metav1.MicroTime{Time: sent}
	var err error
	if lease.UID == "" {
		lease, err = m.client.Create(ctx, lease, metav1.CreateOptions{})
	} else {
		lease, err = m.client.Update(ctx, lease, metav1.UpdateOptions{})
	}
	if err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.all[lease.Name] = member{lease: lease, seen: sent}
	return nil
}

// self returns this replica; false if it has no lease.
func (m *members) self() (member, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	own, exists := m.all[m.options.memberName()]
	return own, exists
}

// known returns all replicas that have a lease.
func (m *members) known() []member {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Collect(maps.Values(m.all))
}

// live returns the sorted identities of replicas that are alive and use the same number of shards. The oldest replica
// decides on the number of shards; replicas with another number wait until it is gone. So a new number takes effect
// only after all replicas with the former one have ended their work (or stopped renewing their leases).
func (m *members) live() []string {
	alive := slices.DeleteFunc(m.known(), func(each member) bool { return each.silent() >= m.options.LeaseDuration })
	slices.SortFunc(alive, func(a, b member) int {
		return cmp.Or(a.lease.CreationTimestamp.Compare(b.lease.CreationTimestamp.Time), cmp.Compare(a.identity(), b.identity()))
	})
	shards := func(of member) string { return of.lease.Annotations[m.options.shardsAnnotation()] }
	var identities []string
	for _, each := range alive {
		if shards(each) == shards(alive[0]) {
			identities = append(identities, each.identity())
		}
	}
	slices.Sort(identities)
	// If a replica were listed twice, some shards would have no holder. Only forged leases have the same holder.
	return slices.Compact(identities)
}

// forgottenAfter is the number of lease durations without a renewal after which a member lease is deleted.
const forgottenAfter = 10

// sweep deletes the leases of replicas that have ended without deleting them. Only one replica does this.
func (m *members) sweep(ctx context.Context) {
	if live := m.live(); len(live) == 0 || live[0] != m.options.Identity {
		return
	}
	for _, each := range m.known() {
		if each.silent() <= forgottenAfter*m.options.LeaseDuration {
			continue
		}
		left := each.lease
		err := m.client.Delete(ctx, left.Name, metav1.DeleteOptions{
			Preconditions: &metav1.Preconditions{UID: &left.UID, ResourceVersion: &left.ResourceVersion},
		})
		if err != nil && ctx.Err() == nil {
			m.options.Log.V(1).Info("the lease of a replica that has ended cannot be deleted yet", "lease", left.Name, "reason", err.Error())
		}
	}
}

// resign deletes the lease of this replica. If that fails, the lease expires.
func (m *members) resign(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, m.options.RenewDeadline)
	defer cancel()
	if own, exists := m.self(); exists {
		_ = m.client.Delete(ctx, own.lease.Name, metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &own.lease.UID}})
	}
}
