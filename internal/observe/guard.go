// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package observe

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

// guard watches the instances of one type, for all owners that wait until all foreign instances (those that do not
// belong to the owner) are deleted. It watches metadata only, and keeps only what it needs to count instances.
type guard struct {
	cache    *Cache
	resource schema.GroupVersionResource
	cancel   context.CancelFunc

	// The fields below are guarded by the mutex of the cache.
	owners map[string]*guarded
	// listed is set once the instances were counted.
	listed bool
	total  int
	// labels are the values of the owner label, by the instances that have it; own is the number of instances by label
	// value.
	labels map[types.UID]string
	own    map[string]int
}

// guarded is an owner that waits.
type guarded struct {
	// emptied spaces out notifications that no foreign instance is left, and touched those that there are fewer.
	emptied, touched spacing
}

// Guard notifies the owner when the last foreign instance of one of the resources is deleted or becomes the owner's
// and, at growing intervals, when their number decreases. The resources replace those of an earlier call. Each resource
// is watched once for all owners.
func (c *Cache) Guard(owner string, resources []schema.GroupVersionResource) {
	c.mu.Lock()
	wanted := make(map[schema.GroupVersionResource]bool, len(resources))
	for _, resource := range resources {
		wanted[resource] = true
	}
	for resource, g := range c.guards {
		if !wanted[resource] {
			g.drop(owner)
		}
	}
	over := false
	for resource := range wanted {
		over = c.guardLocked(resource).add(owner) || over
	}
	c.mu.Unlock()
	if over {
		c.options.Notify(owner)
	}
}

// guardLocked returns the guard of a resource, and starts it if there is none.
func (c *Cache) guardLocked(resource schema.GroupVersionResource) *guard {
	g := c.guards[resource]
	if g == nil {
		ctx, cancel := context.WithCancel(c.ctx)
		g = &guard{cache: c, resource: resource, cancel: cancel, owners: map[string]*guarded{}, labels: map[types.UID]string{}, own: map[string]int{}}
		c.guards[resource] = g
		go g.run(ctx)
	}
	return g
}

// add adds an owner, and reports whether there are no foreign instances already. The mutex must be held.
func (g *guard) add(owner string) (over bool) {
	if g.owners[owner] != nil {
		return false
	}
	g.owners[owner] = &guarded{}
	return g.listed && g.foreign(owner) == 0
}

// drop removes an owner, and ends the watch after the last one. The mutex must be held.
func (g *guard) drop(owner string) {
	delete(g.owners, owner)
	if len(g.owners) == 0 {
		g.cancel()
		delete(g.cache.guards, g.resource)
	}
}

// foreign returns the number of foreign instances of an owner. The mutex must be held.
func (g *guard) foreign(owner string) int { return g.total - g.own[owner] }

// run watches until the guard is cancelled. Where watching is not possible, it notifies the owners at growing
// intervals, so that they list the instances themselves.
func (g *guard) run(ctx context.Context) {
	delay := time.Second
	for ctx.Err() == nil {
		err := g.cache.listAndWatchMetadata(ctx, source{resource: g.resource}, &guardStore{guard: g})
		if err == nil {
			delay = time.Second
		}
		select {
		case <-ctx.Done():
		case <-time.After(jitter(delay)):
			delay = min(2*delay, time.Minute)
			g.notifyAll()
		}
	}
}

func (g *guard) notifyAll() {
	g.cache.mu.Lock()
	owners := make([]string, 0, len(g.owners))
	for owner := range g.owners {
		owners = append(owners, owner)
	}
	g.cache.mu.Unlock()
	for _, owner := range owners {
		g.cache.options.Notify(owner)
	}
}

// recount changes the numbers, and notifies owners that have fewer foreign instances than before; after an unknown
// change, it notifies all of them.
func (g *guard) recount(unknown bool, change func()) {
	g.cache.mu.Lock()
	before := make(map[string]int, len(g.owners))
	for owner := range g.owners {
		before[owner] = g.foreign(owner)
	}
	change()
	var due []string
	for owner, waiting := range g.owners {
		left := g.foreign(owner)
		if (unknown || left < before[owner]) && g.isDue(owner, waiting, left) {
			due = append(due, owner)
		}
	}
	g.cache.mu.Unlock()
	for _, owner := range due {
		g.cache.options.Notify(owner)
	}
}

// isDue reports whether an owner is notified now. Otherwise it schedules the notification. The mutex must be held.
func (g *guard) isDue(owner string, waiting *guarded, left int) bool {
	kind := &waiting.touched
	if left == 0 {
		kind = &waiting.emptied
	}
	if kind.pending {
		return false
	}
	delay := kind.next(time.Now())
	if delay == 0 {
		return true
	}
	kind.pending = true
	time.AfterFunc(delay, func() {
		g.cache.mu.Lock()
		kind.pending = false
		waits := g.owners[owner] == waiting && g.cache.ctx.Err() == nil
		g.cache.mu.Unlock()
		if waits {
			g.cache.options.Notify(owner)
		}
	})
	return false
}

// guardStore counts for a guard.
type guardStore struct {
	guard *guard
}

// Add counts a new instance.
func (s *guardStore) Add(object any) error {
	return s.count(object, func(uid types.UID, label string) {
		s.guard.total++
		s.guard.mark(uid, label)
	})
}

// Update notes that an instance may have another owner now.
func (s *guardStore) Update(object any) error {
	return s.count(object, s.guard.mark)
}

// Delete counts a deleted instance.
func (s *guardStore) Delete(object any) error {
	return s.count(object, func(uid types.UID, _ string) {
		s.guard.total--
		s.guard.mark(uid, "")
	})
}

func (s *guardStore) count(object any, change func(uid types.UID, label string)) error {
	instance, err := meta.Accessor(object)
	if err != nil {
		return fmt.Errorf("counting %s: %w", s.guard.resource.GroupResource(), err)
	}
	s.guard.recount(false, func() { change(instance.GetUID(), s.guard.label(instance)) })
	return nil
}

// Replace counts all instances again. Some may have been deleted unnoticed.
func (s *guardStore) Replace(objects []any, _ string) error {
	g := s.guard
	g.recount(true, func() {
		g.listed, g.total = true, len(objects)
		g.labels, g.own = map[types.UID]string{}, map[string]int{}
		for _, object := range objects {
			if instance, err := meta.Accessor(object); err == nil {
				g.mark(instance.GetUID(), g.label(instance))
			}
		}
	})
	return nil
}

// Resync does nothing.
func (s *guardStore) Resync() error { return nil }

func (g *guard) label(instance metav1.Object) string {
	return instance.GetLabels()[g.cache.options.Reader.OwnerLabel]
}

// mark notes the owner label of an instance; empty if it has none. An instance for which there is no room counts as
// foreign. The mutex must be held.
func (g *guard) mark(uid types.UID, label string) {
	if former := g.labels[uid]; former != "" {
		if g.own[former]--; g.own[former] == 0 {
			delete(g.own, former)
		}
		delete(g.labels, uid)
	}
	if label != "" && g.cache.options.fits(int64(len(g.labels)+1)*fixedSize) {
		g.labels[uid] = label
		g.own[label]++
	}
}

const (
	shortestSpacing = time.Second
	longestSpacing  = time.Minute
)

// spacing spaces out repeated notifications: the first one comes at once, and each further one after twice the pause
// before the last one, up to longestSpacing. It starts over when there was none for twice the current pause.
type spacing struct {
	last  time.Time
	pause time.Duration
	// pending is set while a notification is scheduled.
	pending bool
}

// next returns the delay of the next notification, which the caller must then send.
func (s *spacing) next(now time.Time) time.Duration {
	if now.Sub(s.last) > 2*s.pause {
		s.pause = 0
	}
	delay := max(0, s.last.Add(s.pause).Sub(now))
	s.last = now.Add(delay)
	s.pause = min(max(2*s.pause, shortestSpacing), longestSpacing)
	return delay
}
