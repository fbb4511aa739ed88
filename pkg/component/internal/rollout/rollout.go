// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

// Package rollout decides which components take a new version of their generator.
//
// All replicas of an operator decide alike, without a request: they sort the components that have not arrived at the
// version in the same way, and the first ones may take it. A replica whose cache is behind sees fewer arrivals. What it
// allows has arrived in the meantime, or is among the first in any case, because the rank of a component only falls.
package rollout

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"fmt"
	"maps"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/robfig/cron/v3"
	"k8s.io/apimachinery/pkg/labels"
	apitypes "k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// Options are the options of a Fleet.
type Options struct {
	// Version is the present version of the generator.
	Version string
	// MaxUpdating is the maximum number or share of components on their way to the version; nil for all.
	MaxUpdating *intstr.IntOrString
	// Canary selects the components that go first; nil for none.
	Canary labels.Selector
	// BakeTime is the time between the arrival of the last canary and the update of all others.
	BakeTime time.Duration
	// Windows are the times at which components may take the version; empty for always.
	Windows []Window
	// Count is called with a state and the number of components in it whenever that has changed; may be nil.
	Count func(state string, components int)
	// StopOnFailure means that no component takes the version after one has failed with it.
	StopOnFailure bool
}

// Window is a time that comes again.
type Window struct {
	Opens    cron.Schedule
	Duration time.Duration
}

// The states of components in a rollout.
const (
	StateWaiting  = "Waiting"
	StateUpdating = "Updating"
	StateArrived  = "Arrived"
	StateFailed   = "Failed"
)

// Member is a component as the rollout sees it.
type Member struct {
	Key    apitypes.NamespacedName
	Labels labels.Set
	// Version is the one that the component has taken; empty if none is recorded.
	Version string
	// Arrived is when the component became ready with its version; zero before.
	Arrived time.Time
	// Failure says why the component has failed with its version; empty if it has not.
	Failure string
	// Idle means that the component takes no version at present: it is suspended, paused, archived or being deleted.
	Idle bool
}

// Fleet has all components of an operator. It is safe for concurrent use.
type Fleet struct {
	options Options

	mu      sync.Mutex
	members map[apitypes.NamespacedName]Member
	// ahead are the components that have not arrived at the version, in the order in which they take it.
	ahead []place
	// failed are those that have failed with the version.
	failed map[apitypes.NamespacedName]bool
	// called are the components ahead whose turn was announced.
	called map[apitypes.NamespacedName]bool
	counts map[string]int
}

// place is the place of a component in the order.
type place struct {
	later bool // no canary
	hash  [sha256.Size]byte
	key   apitypes.NamespacedName
}

func (p place) compare(other place) int {
	switch {
	case p.later != other.later && p.later:
		return 1
	case p.later != other.later:
		return -1
	default:
		return cmp.Or(bytes.Compare(p.hash[:], other.hash[:]), cmp.Compare(p.key.String(), other.key.String()))
	}
}

// New returns a fleet without components.
func New(options Options) *Fleet {
	f := &Fleet{
		options: options, members: map[apitypes.NamespacedName]Member{}, failed: map[apitypes.NamespacedName]bool{}, called: map[apitypes.NamespacedName]bool{},
		counts: map[string]int{},
	}
	for _, state := range []string{StateWaiting, StateUpdating, StateArrived, StateFailed} {
		f.countLocked(state, 0)
	}
	return f
}

func (f *Fleet) isCanary(m Member) bool {
	return f.options.Canary != nil && f.options.Canary.Matches(m.Labels)
}

func (f *Fleet) placeOf(m Member) place {
	return place{later: !f.isCanary(m), hash: sha256.Sum256([]byte(m.Key.String())), key: m.Key}
}

func (f *Fleet) hasArrived(m Member) bool {
	return m.Version == f.options.Version && !m.Arrived.IsZero()
}

func (f *Fleet) stateOf(m Member) string {
	switch {
	case m.Version != f.options.Version:
		return StateWaiting
	case m.Failure != "":
		return StateFailed
	case m.Arrived.IsZero():
		return StateUpdating
	default:
		return StateArrived
	}
}

func (f *Fleet) countLocked(state string, more int) {
	f.counts[state] += more
	if f.options.Count != nil {
		f.options.Count(state, f.counts[state])
	}
}

// Set takes over the state of a component. It returns the components that may take the version because of it: they have
// to be woken.
func (f *Fleet) Set(m Member) []apitypes.NamespacedName {
	f.mu.Lock()
	defer f.mu.Unlock()
	before, known := f.members[m.Key]
	wasCanary, hadFailed := known && f.isCanary(before), f.failed[m.Key]
	f.removeLocked(m.Key)
	f.members[m.Key] = m
	f.countLocked(f.stateOf(m), 1)
	if m.Version == f.options.Version && m.Failure != "" && !m.Idle {
		f.failed[m.Key] = true
	}
	if !m.Idle && !f.hasArrived(m) {
		at := f.placeOf(m)
		i, _ := slices.BinarySearchFunc(f.ahead, at, place.compare)
		f.ahead = slices.Insert(f.ahead, i, at)
	}
	if hadFailed != f.failed[m.Key] && f.options.StopOnFailure {
		return f.callAllLocked()
	}
	if !known || f.hasArrived(m) == f.hasArrived(before) && m.Idle == before.Idle && wasCanary == f.isCanary(m) {
		return nil
	}
	return f.callLocked()
}

// Remove forgets a component. It returns the components that have to be woken.
func (f *Fleet) Remove(key apitypes.NamespacedName) []apitypes.NamespacedName {
	f.mu.Lock()
	defer f.mu.Unlock()
	if _, known := f.members[key]; !known {
		return nil
	}
	hadFailed := f.failed[key]
	f.removeLocked(key)
	delete(f.called, key)
	if hadFailed && f.options.StopOnFailure {
		return f.callAllLocked()
	}
	return f.callLocked()
}

func (f *Fleet) removeLocked(key apitypes.NamespacedName) {
	m, known := f.members[key]
	if !known {
		return
	}
	f.countLocked(f.stateOf(m), -1)
	delete(f.members, key)
	delete(f.failed, key)
	if i, found := slices.BinarySearchFunc(f.ahead, f.placeOf(m), place.compare); found {
		f.ahead = slices.Delete(f.ahead, i, i+1)
	}
}

// room returns how many components may be on their way.
func (f *Fleet) room() int {
	if f.options.MaxUpdating == nil {
		return math.MaxInt
	}
	// The options were validated.
	room, _ := intstr.GetScaledValueFromIntOrPercent(f.options.MaxUpdating, len(f.members), true)
	return max(room, 1)
}

// callAllLocked returns all components that have not arrived: they begin to wait, or wait no longer, whether their turn
// had come or not.
func (f *Fleet) callAllLocked() []apitypes.NamespacedName {
	clear(f.called)
	keys := make([]apitypes.NamespacedName, len(f.ahead))
	for i, at := range f.ahead {
		keys[i] = at.key
	}
	return keys
}

// callLocked returns the components whose turn has come, each once.
func (f *Fleet) callLocked() []apitypes.NamespacedName {
	first := f.ahead[:min(f.room(), len(f.ahead))]
	if canaries := f.canariesAheadLocked(); canaries > 0 {
		first = first[:min(canaries, len(first))]
	}
	var next []apitypes.NamespacedName
	for _, at := range first {
		if !f.called[at.key] {
			f.called[at.key] = true
			next = append(next, at.key)
		}
	}
	return next
}

// Wait is why a component may not take the version yet; empty if it may.
type Wait struct {
	Message string
	// Stopped means that another component has failed, Paused that a user has paused the rollout.
	Stopped, Paused bool
	// Wake is the delay after which the answer may be another one without an event; zero if there is none.
	Wake time.Duration
}

// Decide says whether a component may take the version.
func (f *Fleet) Decide(m Member, now time.Time) Wait {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.options.StopOnFailure && len(f.failed) > 0 {
		first := slices.MinFunc(slices.Collect(maps.Keys(f.failed)), func(a, b apitypes.NamespacedName) int { return cmp.Compare(a.String(), b.String()) })
		const stopped = "the rollout has stopped, because %s failed with this version: %s; repair it, or deploy another version of the operator"
		return Wait{Message: fmt.Sprintf(stopped, first, f.members[first].Failure), Stopped: true}
	}
	if left := f.closedLocked(now); left > 0 {
		return Wait{Message: "waiting: the next window opens at " + now.Add(left).UTC().Format(time.RFC3339), Wake: left}
	}
	rank, _ := slices.BinarySearchFunc(f.ahead, f.placeOf(m), place.compare)
	if !f.isCanary(m) {
		if canaries := f.canariesAheadLocked(); canaries > 0 {
			return Wait{Message: fmt.Sprintf("waiting: %d of the canaries are not ready yet", canaries)}
		}
		if left := f.bakingLocked(now); left > 0 {
			return Wait{Message: "waiting: the canaries are observed until " + now.Add(left).UTC().Format(time.RFC3339), Wake: left}
		}
	}
	if room := f.room(); rank >= room {
		return Wait{Message: fmt.Sprintf("waiting: at most %d of %d components take the version at the same time, and %d that have not finished come first", room, len(f.members), rank)}
	}
	return Wait{}
}

// closedLocked returns the time until a window opens; zero if one is open, or if there are none.
func (f *Fleet) closedLocked(now time.Time) time.Duration {
	var next time.Time
	for _, window := range f.options.Windows {
		opens := window.Opens.Next(now.Add(-window.Duration))
		if opens.IsZero() {
			continue
		}
		if !opens.After(now) {
			return 0
		}
		if next.IsZero() || opens.Before(next) {
			next = opens
		}
	}
	if next.IsZero() {
		return 0
	}
	return next.Sub(now)
}

// canariesAheadLocked returns the number of canaries that have not arrived. They are the first in the order.
func (f *Fleet) canariesAheadLocked() int {
	count, _ := slices.BinarySearchFunc(f.ahead, true, func(at place, later bool) int {
		if at.later == later {
			return 1
		}
		return -1
	})
	return count
}

// bakingLocked returns how long the canaries are still observed.
func (f *Fleet) bakingLocked(now time.Time) time.Duration {
	var last time.Time
	if f.options.Canary == nil || f.options.BakeTime == 0 {
		return 0
	}
	for _, m := range f.members {
		if f.isCanary(m) && f.hasArrived(m) && m.Arrived.After(last) {
			last = m.Arrived
		}
	}
	if last.IsZero() {
		return 0
	}
	return last.Add(f.options.BakeTime).Sub(now)
}
