// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package memory

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	apitypes "k8s.io/apimachinery/pkg/types"

	"github.com/component-operator/runtime/pkg/inventory"
	"github.com/component-operator/runtime/pkg/reconciler/internal/records"
	"github.com/component-operator/runtime/pkg/reconciler/internal/targets"
	"github.com/component-operator/runtime/pkg/types"
)

// All remembers per object what only serves to save requests: when it was corrected, verified and retried. Nothing
// is lost if it is.
type All struct {
	mu     sync.Mutex
	owners map[string]map[types.ObjectID]*Object
	// prepared holds per owner what was computed from the objects of the last call.
	prepared map[string]*targets.Set
}

// Object is what is remembered about one object. It is used by one goroutine at a time.
type Object struct {
	Corrections   Repetition
	Verifications Repetition
	Retries       Repetition
	// Fight names who changes which fields again and again; empty if nobody does.
	Fight string
	// Consumer remembers whether a claim waits for its first consumer, by its UID.
	Consumer map[apitypes.UID]bool
	// Barrier is what is known about the barrier before the deletion of the object.
	Barrier Barrier
	// Content is the type of which there were objects in the namespace that keep it from being deleted.
	Content *meta.RESTMapping
}

// New returns a memory of nothing.
func New() *All {
	return &All{owners: map[string]map[types.ObjectID]*Object{}, prepared: map[string]*targets.Set{}}
}

// For returns what is remembered about the objects of one owner.
func (m *All) For(owner string) Owner { return Owner{all: m, owner: owner} }

// Owner is what is remembered about the objects of one owner. It is safe for concurrent use.
type Owner struct {
	all   *All
	owner string
}

// Of returns what is remembered about an object; from now on, there is something.
func (o Owner) Of(key types.ObjectID) *Object {
	m := o.all
	m.mu.Lock()
	defer m.mu.Unlock()
	objects := m.owners[o.owner]
	if objects == nil {
		objects = map[types.ObjectID]*Object{}
		m.owners[o.owner] = objects
	}
	if objects[key] == nil {
		objects[key] = &Object{}
	}
	return objects[key]
}

// Peek returns nil if nothing is remembered.
func (o Owner) Peek(key types.ObjectID) *Object {
	o.all.mu.Lock()
	defer o.all.mu.Unlock()
	return o.all.owners[o.owner][key]
}

// Recall returns what was computed from the objects of the last call; nil if that is not known.
func (o Owner) Recall() *targets.Set {
	o.all.mu.Lock()
	defer o.all.mu.Unlock()
	return o.all.prepared[o.owner]
}

// Retain remembers what was computed from the objects of a call; nil: nothing.
func (o Owner) Retain(computed *targets.Set) {
	o.all.mu.Lock()
	defer o.all.mu.Unlock()
	if computed == nil || computed.Version == "" {
		delete(o.all.prepared, o.owner)
		return
	}
	o.all.prepared[o.owner] = computed
}

// Keep forgets all objects of the owner that are not recorded.
func (o Owner) Keep(recorded []*inventory.Item) {
	m, owner := o.all, o.owner
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(recorded) == 0 {
		delete(m.prepared, owner)
	}
	if len(m.owners[owner]) == 0 {
		return
	}
	kept := records.Index(recorded)
	for key := range m.owners[owner] {
		if kept[key] == nil {
			delete(m.owners[owner], key)
		}
	}
	if len(m.owners[owner]) == 0 {
		delete(m.owners, owner)
	}
}

// Repetition spaces out something that should not happen again and again.
type Repetition struct {
	Count int
	last  time.Time
}

// Pacing says how a repetition is spaced out: the first free times at once, then after step, doubling up to limit.
// After a time without an occurrence that is longer than the longest delay so far and than calm, it starts afresh.
type Pacing struct {
	free  int
	Step  time.Duration
	limit time.Duration
	calm  time.Duration
}

func (r *Repetition) delay(p Pacing) time.Duration {
	if r.Count < p.free {
		return 0
	}
	return min(p.Step<<min(r.Count-p.free, 30), p.limit)
}

// Wait returns how long to wait before the next occurrence; zero if it may happen now.
func (r *Repetition) Wait(now time.Time, p Pacing) time.Duration {
	if r.Count == 0 || now.Sub(r.last) > max(p.calm, 2*r.delay(p)) {
		r.Count = 0
		return 0
	}
	return max(0, r.last.Add(r.delay(p)).Sub(now))
}

// Happened counts an occurrence.
func (r *Repetition) Happened(now time.Time) {
	r.Count++
	r.last = now
}

// What is repeated because others write all the time is put off up to the reapply interval, but for so long at least if that is shorter: manifests
// and components must not be able to have the operator take part in a hot loop.
const (
	leastCorrectionLimit   = 10 * time.Minute
	leastVerificationLimit = time.Minute
)

// CorrectionPacing spaces out corrections of an object.
func CorrectionPacing(reapplyInterval time.Duration) Pacing {
	return Pacing{free: 3, Step: time.Second, limit: max(reapplyInterval, leastCorrectionLimit), calm: time.Minute}
}

// VerificationPacing spaces out verifications of an object.
func VerificationPacing(reapplyInterval time.Duration) Pacing {
	return Pacing{free: 3, Step: 5 * time.Second, limit: max(reapplyInterval, leastVerificationLimit), calm: 5 * time.Minute}
}

func retryPacing() Pacing {
	return Pacing{Step: 500 * time.Millisecond, limit: 30 * time.Second, calm: 2 * time.Minute}
}

// Retry returns how long to wait before something about an object is tried again that failed for a reason that is expected to go away.
func (o Owner) Retry(key types.ObjectID, now time.Time) time.Duration {
	recalled := o.Of(key)
	recalled.Retries.Wait(now, retryPacing())
	delay := recalled.Retries.delay(retryPacing())
	recalled.Retries.Happened(now)
	return delay
}

// Barrier is what a process knows about a barrier. A process that knows nothing begins anew.
type Barrier struct {
	Name     string
	Raised   time.Time // when it was put up, or put right
	Enforced time.Time // when it was first seen to be enforced, without an interruption since; zero if it was not
	// Missing says why there cannot be a barrier; empty if there can.
	Missing string
}
