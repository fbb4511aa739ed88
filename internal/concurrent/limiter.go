// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package concurrent

import (
	"context"
	"math"
	"sync"
	"time"
)

const (
	// initialLevel is the level of a new limiter. It is below what saturates a small API server, so that the first
	// latencies show the cost of a request that does not have to queue.
	initialLevel = 8
	// shortestRound is the least number of latencies whose mean is trusted.
	shortestRound = 8
	// tolerance is how much slower than the fastest round requests may be before the level sinks. Up to there, more
	// parallel requests still raise the throughput.
	tolerance = 1.5
	// longestPause bounds how long the limiter obeys a server's request to come back later.
	longestPause = 30 * time.Second
)

// Limiter admits tasks while fewer than its level are running. The level rises while requests do not become slower by
// it, sinks when they do, halves at each rejection, and stays between 1 and a maximum. It is safe for concurrent use.
type Limiter struct {
	maximum float64

	mu      sync.Mutex
	level   float64
	active  int
	waiting []chan struct{}
	// paused is the time before which no task is admitted.
	paused time.Time
	// halved is when the level was last halved: requests sent before that say nothing about the current level.
	halved time.Time
	round  round
	// fastest is the mean latency of the fastest round, in seconds; zero if there was none.
	fastest float64
}

// round collects latencies, in seconds.
type round struct {
	count int
	sum   float64
}

// NewLimiter returns a limiter with a maximum, which is at least 1.
func NewLimiter(maximum int) *Limiter {
	limit := float64(max(maximum, 1))
	return &Limiter{maximum: limit, level: min(initialLevel, limit)}
}

// Level is the number of tasks that may run in parallel now.
func (l *Limiter) Level() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return int(l.level)
}

// Acquire waits until a task may begin. Release must follow, unless Acquire returns an error, which is that of the
// context.
func (l *Limiter) Acquire(ctx context.Context) error {
	for {
		turn, delay := l.admit(time.Now())
		if turn == nil && delay <= 0 {
			return nil
		}
		var timer <-chan time.Time
		if delay > 0 {
			timer = time.After(delay)
		}
		select {
		case <-turn:
		case <-timer:
		case <-ctx.Done():
			l.abandon(turn)
			return context.Cause(ctx)
		}
	}
}

// admit returns a channel to wait for, or a delay after which to try again; neither if the task is admitted.
func (l *Limiter) admit(now time.Time) (turn chan struct{}, delay time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if delay := l.paused.Sub(now); delay > 0 {
		return nil, delay
	}
	if l.active < int(l.level) {
		l.active++
		return nil, 0
	}
	turn = make(chan struct{})
	l.waiting = append(l.waiting, turn)
	return turn, 0
}

// abandon passes on the turn of a task that no longer waits.
func (l *Limiter) abandon(turn chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for i, other := range l.waiting {
		if other == turn {
			l.waiting = append(l.waiting[:i], l.waiting[i+1:]...)
			return
		}
	}
	l.wakeLocked()
}

// Release ends a task.
func (l *Limiter) Release() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.active--
	l.wakeLocked()
}

// wakeLocked wakes as many waiting tasks as there is room for.
func (l *Limiter) wakeLocked() {
	for room := int(l.level) - l.active; room > 0 && len(l.waiting) > 0; room-- {
		close(l.waiting[0])
		l.waiting = l.waiting[1:]
	}
}

// Answered reports the response to a request that was sent at the given time; its latency counts.
func (l *Limiter) Answered(sent time.Time, latency time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if sent.Before(l.halved) {
		return
	}
	l.round.count++
	l.round.sum += latency.Seconds()
	if l.round.count < max(int(l.level), shortestRound) {
		return
	}
	mean := l.round.sum / float64(l.round.count)
	l.round = round{}
	if l.fastest == 0 || mean < l.fastest {
		l.fastest = mean
	}
	if mean > 0 {
		gradient := min(1, max(0.5, tolerance*l.fastest/mean))
		l.level = min(l.maximum, max(1, l.level*gradient+math.Sqrt(l.level)))
	}
	l.wakeLocked()
}

// Rejected reports that the server rejected a request that was sent at the given time, and asked to come
// back after a while (zero if it did not say when).
func (l *Limiter) Rejected(sent time.Time, after time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	if pause := now.Add(min(after, longestPause)); pause.After(l.paused) {
		l.paused = pause
	}
	if sent.Before(l.halved) {
		return
	}
	l.halved = now
	l.round = round{}
	l.level = max(1, l.level/2)
}

// Calm begins a stage of different requests: the speed of the earlier ones no longer counts.
func (l *Limiter) Calm() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.round, l.fastest = round{}, 0
}
