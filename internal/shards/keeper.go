// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package shards

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/go-logr/logr"
	coordinationv1client "k8s.io/client-go/kubernetes/typed/coordination/v1"
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

	// now is the clock for the validity of leases.
	now func() time.Time
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

	mu sync.Mutex
	// tenures are those of shards on which work may begin.
	tenures map[int]*Tenure
	// holders cancel the goroutines that hold shards.
	holders map[int]context.CancelFunc
	running sync.WaitGroup
}

// New returns a Keeper, which holds nothing until Run is called.
func New(options Options) *Keeper {
	if options.now == nil {
		options.now = time.Now
	}
	return &Keeper{
		options: options,
		members: newMembers(options),
		tenures: map[int]*Tenure{},
		holders: map[int]context.CancelFunc{},
	}
}

// Of returns the shard of an object.
func (k *Keeper) Of(namespace, name string) int {
	return Of(namespace, name, k.options.Shards)
}

// Holds reports whether work on the shard may begin.
func (k *Keeper) Holds(shard int) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.tenures[shard] != nil
}

// Enter begins work on a shard, which Leave must end. It returns false if the shard is not held.
func (k *Keeper) Enter(shard int) (*Tenure, bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	tenure := k.tenures[shard]
	return tenure, tenure != nil && tenure.enter()
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
	// This must come last: replicas with another number of shards begin when this lease is gone, whatever shards are
	// still held.
	k.members.resign(context.WithoutCancel(ctx))
}

// want holds the shards that this replica should hold among the given live members, and gives up others.
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

// retire ends a holder, so that the shard can be held again if that is wanted by now.
func (k *Keeper) retire(shard int) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.holders[shard]()
	delete(k.holders, shard)
}

func (k *Keeper) publish(tenure *Tenure) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.tenures[tenure.shard] = tenure
}

func (k *Keeper) withdraw(tenure *Tenure) {
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.tenures, tenure.shard)
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
