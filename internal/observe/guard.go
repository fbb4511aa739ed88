// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package observe

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// guard watches the instances of one type that do not belong to an owner, and notifies the owner when one of them
// goes. Only metadata is watched.
type guard struct {
	cache    *Cache
	owner    string
	resource schema.GroupVersionResource
	cancel   context.CancelFunc
}

// Guard notifies the owner whenever an object of one of the resources that does not belong to it goes, or loses or
// gains its label. The resources of an earlier call that are not repeated are not watched any longer.
func (c *Cache) Guard(owner string, resources []schema.GroupVersionResource) {
	c.mu.Lock()
	defer c.mu.Unlock()
	var kept []*guard
	known := map[schema.GroupVersionResource]bool{}
	wanted := map[schema.GroupVersionResource]bool{}
	for _, resource := range resources {
		wanted[resource] = true
	}
	for _, g := range c.guards[owner] {
		if !wanted[g.resource] {
			g.cancel()
			continue
		}
		known[g.resource] = true
		kept = append(kept, g)
	}
	for resource := range wanted {
		if !known[resource] {
			ctx, cancel := context.WithCancel(c.ctx)
			g := &guard{cache: c, owner: owner, resource: resource, cancel: cancel}
			kept = append(kept, g)
			go g.run(ctx)
		}
	}
	if len(kept) == 0 {
		delete(c.guards, owner)
		return
	}
	c.guards[owner] = kept
}

// run watches until the guard is cancelled. Where watching is not possible, the owner is notified now and then, so that
// it looks for itself.
func (g *guard) run(ctx context.Context) {
	delay := time.Second
	for ctx.Err() == nil {
		err := g.listAndWatch(ctx)
		if err == nil {
			delay = time.Second
		}
		select {
		case <-ctx.Done():
		case <-time.After(jitter(delay)):
			delay = min(2*delay, time.Minute)
			g.cache.options.Notify(g.owner)
		}
	}
}

func (g *guard) listAndWatch(ctx context.Context) error {
	foreign := source{resource: g.resource, selector: g.cache.options.Reader.OwnerLabel + "!=" + g.owner}
	return g.cache.listAndWatchMetadata(ctx, foreign, &guardStore{guard: g})
}

// guardStore keeps nothing: whether instances remain is asked of the server.
type guardStore struct {
	guard *guard
}

// Add ignores that there is one more instance.
func (s *guardStore) Add(any) error { return nil }

// Update ignores that an instance changed.
func (s *guardStore) Update(any) error { return nil }

// Delete notifies the owner.
func (s *guardStore) Delete(any) error {
	s.guard.cache.options.Notify(s.guard.owner)
	return nil
}

// Replace notifies the owner: instances may have gone since it looked.
func (s *guardStore) Replace([]any, string) error {
	s.guard.cache.options.Notify(s.guard.owner)
	return nil
}

// Resync has nothing to do.
func (s *guardStore) Resync() error { return nil }
