// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package decide

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	apitypes "k8s.io/apimachinery/pkg/types"

	"github.com/component-operator/runtime/internal/observe"
	"github.com/component-operator/runtime/pkg/inventory"
	"github.com/component-operator/runtime/pkg/reconciler/internal/prepare"
	"github.com/component-operator/runtime/pkg/types"
)

// Memory is the memory of a reconciler, for all owners.
type Memory struct {
	mu     sync.Mutex
	owners map[string]map[types.ObjectID]*ObjectMemory
	// prepared holds the desired objects of each owner's last call.
	prepared map[string]*prepare.Set
	// read holds the objects that owners have read without owning them.
	read map[string]map[observe.Name]*unstructured.Unstructured
}

// ObjectMemory is what is remembered about one object. It is used by one goroutine at a time.
type ObjectMemory struct {
	Corrections   Repetition
	Verifications Repetition
	Retries       Repetition
	// Deletion is what is known about failures of the API server to delete the object.
	Deletion FailedDeletion
	// Fight names, for repeated corrections, the clients and the fields that they changed before the last one; empty if
	// that is not known.
	Fight string
	// Consumer remembers whether a claim waits for its first consumer, by the UID of the claim.
	Consumer map[apitypes.UID]bool
	// Barrier is what is known about the object's deletion barrier.
	Barrier Barrier
	// Content is the type whose objects kept this namespace from being deleted the last time; nil if there were none.
	Content *meta.RESTMapping
}

// NewMemory returns an empty memory.
func NewMemory() *Memory {
	return &Memory{
		owners: map[string]map[types.ObjectID]*ObjectMemory{}, prepared: map[string]*prepare.Set{}, read: map[string]map[observe.Name]*unstructured.Unstructured{},
	}
}

// For returns the memory of one owner.
func (m *Memory) For(owner string) OwnerMemory { return OwnerMemory{all: m, owner: owner} }

// OwnerMemory is the memory of one owner. It is safe for concurrent use.
type OwnerMemory struct {
	all   *Memory
	owner string
}

// Of returns the memory of an object, and creates it if there is none.
func (o OwnerMemory) Of(key types.ObjectID) *ObjectMemory {
	m := o.all
	m.mu.Lock()
	defer m.mu.Unlock()
	objects := m.owners[o.owner]
	if objects == nil {
		objects = map[types.ObjectID]*ObjectMemory{}
		m.owners[o.owner] = objects
	}
	if objects[key] == nil {
		objects[key] = &ObjectMemory{}
	}
	return objects[key]
}

// Peek returns the memory of an object; nil if there is none.
func (o OwnerMemory) Peek(key types.ObjectID) *ObjectMemory {
	o.all.mu.Lock()
	defer o.all.mu.Unlock()
	return o.all.owners[o.owner][key]
}

// Recall returns the desired objects of the last call; nil if they were not retained.
func (o OwnerMemory) Recall() *prepare.Set {
	o.all.mu.Lock()
	defer o.all.mu.Unlock()
	return o.all.prepared[o.owner]
}

// Retain remembers the desired objects of a call for the next one. It forgets the former ones if computed is nil or has
// no version.
func (o OwnerMemory) Retain(computed *prepare.Set) {
	o.all.mu.Lock()
	defer o.all.mu.Unlock()
	if computed == nil || computed.Source.Version == "" {
		delete(o.all.prepared, o.owner)
		return
	}
	o.all.prepared[o.owner] = computed
}

// Keep forgets all objects of the owner that are not recorded.
func (o OwnerMemory) Keep(recorded []*inventory.Item) {
	m, owner := o.all, o.owner
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(recorded) == 0 {
		delete(m.prepared, owner)
		delete(m.read, owner)
	}
	if len(m.owners[owner]) == 0 {
		return
	}
	kept := Index(recorded)
	for key := range m.owners[owner] {
		if kept[key] == nil {
			delete(m.owners[owner], key)
		}
	}
	if len(m.owners[owner]) == 0 {
		delete(m.owners, owner)
	}
}

// Repetition spaces out an operation that should not be repeated in quick succession.
type Repetition struct {
	Count int
	last  time.Time
}

// Pacing says how a repetition is spaced out: the first free times at once, then after Step, doubling up to limit. It
// starts over after a pause that is longer than calm and than twice the current delay.
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

// Operations that are repeated because others keep writing are delayed up to the reapply interval, but up to these
// durations at least: a short reapply interval in a manifest or component must not put the operator into a hot loop.
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

// Retry counts a failed operation on an object, and returns how long to wait before retrying.
func (o OwnerMemory) Retry(key types.ObjectID, now time.Time) time.Duration {
	recalled := o.Of(key)
	recalled.Retries.Wait(now, retryPacing())
	delay := recalled.Retries.delay(retryPacing())
	recalled.Retries.Happened(now)
	return delay
}

// Barrier is what this process knows about a barrier. A process that knows nothing applies the barrier again.
type Barrier struct {
	Name     string
	Raised   time.Time // when it was last applied
	Enforced time.Time // since when it has been enforced without interruption; zero if it is not
	// Missing says why there cannot be a barrier; empty if there can.
	Missing string
}
