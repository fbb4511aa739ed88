// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package generation

import (
	"slices"
	"sync"
)

// slots limit how many calls run at the same time. Urgent calls come before others, and otherwise those come first that have waited longest.
type slots struct {
	limit int

	mu      sync.Mutex
	taken   int
	waiting []*seeker
}

// seeker is a call that has a slot, or waits for one.
type seeker struct {
	urgent bool
	// granted is closed when it has one.
	granted chan struct{}
}

// seek asks for a slot. Whoever seeks one has to call leave, whether it was granted or not.
func (s *slots) seek(urgent bool) *seeker {
	s.mu.Lock()
	defer s.mu.Unlock()
	asking := &seeker{urgent: urgent, granted: make(chan struct{})}
	s.waiting = append(s.waiting, asking)
	s.grantLocked()
	return asking
}

// leave gives a slot back, or ends the wait for one.
func (s *slots) leave(leaving *seeker) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if at := slices.Index(s.waiting, leaving); at >= 0 {
		s.waiting = slices.Delete(s.waiting, at, at+1)
		return
	}
	s.taken--
	s.grantLocked()
}

// grantLocked hands out what is free.
func (s *slots) grantLocked() {
	for s.taken < s.limit && len(s.waiting) > 0 {
		next := max(slices.IndexFunc(s.waiting, func(waiting *seeker) bool { return waiting.urgent }), 0)
		close(s.waiting[next].granted)
		s.waiting = slices.Delete(s.waiting, next, next+1)
		s.taken++
	}
}
