// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package reconciler

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	apitypes "k8s.io/apimachinery/pkg/types"
)

// memory remembers per object what only serves to save requests: when it was corrected, verified and retried. Nothing
// is lost if it is.
type memory struct {
	mu     sync.Mutex
	owners map[string]map[objectKey]*recollection
	// prepared holds per owner what was computed from the objects of the last call.
	prepared map[string]*prepared
}

// recollection is what is remembered about one object. It is used by one goroutine at a time.
type recollection struct {
	corrections   repetition
	verifications repetition
	retries       repetition
	// fight names who changes which fields again and again; empty if nobody does.
	fight string
	// consumer remembers whether a claim waits for its first consumer, by its UID.
	consumer map[apitypes.UID]bool
	// barrier is what is known about the barrier before the deletion of the object.
	barrier barrierState
	// content is the type of which there were objects in the namespace that keep it from being deleted.
	content *meta.RESTMapping
}

func newMemory() *memory {
	return &memory{owners: map[string]map[objectKey]*recollection{}, prepared: map[string]*prepared{}}
}

func (m *memory) of(owner string, key objectKey) *recollection {
	m.mu.Lock()
	defer m.mu.Unlock()
	objects := m.owners[owner]
	if objects == nil {
		objects = map[objectKey]*recollection{}
		m.owners[owner] = objects
	}
	if objects[key] == nil {
		objects[key] = &recollection{}
	}
	return objects[key]
}

// peek returns nil if nothing is remembered.
func (m *memory) peek(owner string, key objectKey) *recollection {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.owners[owner][key]
}

// recall returns what was computed from the objects of the last call; nil if that is not known.
func (m *memory) recall(owner string) *prepared {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.prepared[owner]
}

// retain remembers what was computed from the objects of a call; nil: nothing.
func (m *memory) retain(owner string, computed *prepared) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if computed == nil || computed.version == "" {
		delete(m.prepared, owner)
		return
	}
	m.prepared[owner] = computed
}

// keep forgets all objects of the owner that are not recorded.
func (m *memory) keep(owner string, recorded []*InventoryItem) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(recorded) == 0 {
		delete(m.prepared, owner)
	}
	if len(m.owners[owner]) == 0 {
		return
	}
	kept := index(recorded)
	for key := range m.owners[owner] {
		if kept[key] == nil {
			delete(m.owners[owner], key)
		}
	}
	if len(m.owners[owner]) == 0 {
		delete(m.owners, owner)
	}
}

// repetition spaces out something that should not happen again and again.
type repetition struct {
	count int
	last  time.Time
}

// pacing says how a repetition is spaced out: the first free times at once, then after step, doubling up to limit.
// After a time without an occurrence that is longer than the longest delay so far and than calm, it starts afresh.
type pacing struct {
	free  int
	step  time.Duration
	limit time.Duration
	calm  time.Duration
}

func (r *repetition) delay(p pacing) time.Duration {
	if r.count < p.free {
		return 0
	}
	return min(p.step<<min(r.count-p.free, 30), p.limit)
}

// wait returns how long to wait before the next occurrence; zero if it may happen now.
func (r *repetition) wait(now time.Time, p pacing) time.Duration {
	if r.count == 0 || now.Sub(r.last) > max(p.calm, 2*r.delay(p)) {
		r.count = 0
		return 0
	}
	return max(0, r.last.Add(r.delay(p)).Sub(now))
}

func (r *repetition) happened(now time.Time) {
	r.count++
	r.last = now
}

// What is repeated because others write all the time is put off up to the reapply interval, but for so long at least if that is shorter: manifests
// and components must not be able to have the operator take part in a hot loop.
const (
	leastCorrectionLimit   = 10 * time.Minute
	leastVerificationLimit = time.Minute
)

func correctionPacing(reapplyInterval time.Duration) pacing {
	return pacing{free: 3, step: time.Second, limit: max(reapplyInterval, leastCorrectionLimit), calm: time.Minute}
}

func verificationPacing(reapplyInterval time.Duration) pacing {
	return pacing{free: 3, step: 5 * time.Second, limit: max(reapplyInterval, leastVerificationLimit), calm: 5 * time.Minute}
}

func retryPacing() pacing {
	return pacing{step: 500 * time.Millisecond, limit: 30 * time.Second, calm: 2 * time.Minute}
}
