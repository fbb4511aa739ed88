// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package observe

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/component-operator/runtime/pkg/cluster"
)

// Name identifies an object that need not be a dependent, in the version in which it is read. The namespace of
// cluster-scoped objects is empty.
type Name struct {
	schema.GroupVersionKind

	Namespace, Name string
}

// named watches the metadata of one object, for all owners that read it. Its content is not kept: each owner reads it
// as the identity that may.
type named struct {
	cache  *Cache
	name   Name
	cancel context.CancelFunc
	// settled is closed when the object is either watched, or known not to be watchable.
	settled chan struct{}

	// The fields below are guarded by the mutex of the cache.
	owners    map[string]bool
	isSettled bool
	synced    bool
	version   string // the resource version; empty if the object does not exist
}

// WatchNames sets the objects that an owner reads without owning them, and drops those of an earlier call. The owner is
// notified of each change of these objects. It returns when each object is either watched or known not to be watchable.
func (c *Cache) WatchNames(ctx context.Context, owner string, names []Name) error {
	for _, n := range c.declareNames(owner, names) {
		select {
		case <-n.settled:
		case <-c.ctx.Done():
			return errClosed
		case <-ctx.Done():
			return fmt.Errorf("waiting for the watch of %s %s: %w", n.name.GroupKind(), n.name.Name, ctx.Err())
		}
	}
	return nil
}

func (c *Cache) declareNames(owner string, names []Name) []*named {
	c.mu.Lock()
	defer c.mu.Unlock()
	names = unique(names)
	watched := make([]*named, 0, len(names))
	for _, name := range names {
		n := c.named[name]
		if n == nil {
			ctx, cancel := context.WithCancel(c.ctx)
			n = &named{cache: c, name: name, cancel: cancel, settled: make(chan struct{}), owners: map[string]bool{}}
			c.named[name] = n
			go n.run(ctx)
		}
		n.owners[owner] = true
		watched = append(watched, n)
	}
	for _, before := range c.names[owner] {
		if !slices.Contains(names, before) {
			c.named[before].dropLocked(owner)
		}
	}
	if len(names) == 0 {
		delete(c.names, owner)
	} else {
		c.names[owner] = names
	}
	return watched
}

// unique returns the names without repetitions, as a copy.
func unique(names []Name) []Name {
	seen := map[Name]bool{}
	return slices.DeleteFunc(slices.Clone(names), func(name Name) bool {
		known := seen[name]
		seen[name] = true
		return known
	})
}

// errClosed means that the cache was closed meanwhile.
var errClosed = errors.New("the watches have ended")

// dropLocked removes an owner, and ends the watch after the last one.
func (n *named) dropLocked(owner string) {
	delete(n.owners, owner)
	if len(n.owners) == 0 {
		n.cancel()
		delete(n.cache.named, n.name)
	}
}

// Version returns the resource version of an object that an owner reads, if its watch has found it.
func (c *Cache) Version(name Name) (version string, view View) {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := c.named[name]
	switch {
	case n == nil || !n.synced:
		return "", Unseen
	case n.version == "":
		return "", Absent
	default:
		return n.version, Present
	}
}

// errOtherScope means that an object of a namespaced type has no namespace, or one of a cluster-scoped type has one.
var errOtherScope = errors.New("the type has another scope")

// run watches until it is cancelled. Where watching is not possible, it notifies the owners at growing intervals, so
// that they read the object themselves.
func (n *named) run(ctx context.Context) {
	defer time.AfterFunc(n.cache.options.Patience, n.overdue).Stop()
	repeat(ctx, n.watch, func(err error) {
		switch {
		case cluster.IsNoMatch(err):
			// No object of a type exists that is not served.
			n.set(true, "")
			n.cache.absent.await(ctx, n.name.GroupVersionKind)
		case err != nil:
			n.set(false, "")
		}
	})
}

// overdue ends waiting for the first list, which may still come.
func (n *named) overdue() {
	n.cache.mu.Lock()
	settled := n.isSettled
	n.cache.mu.Unlock()
	if !settled {
		n.set(false, "")
	}
}

func (n *named) watch(ctx context.Context) error {
	return n.cache.ofType(ctx, n.name.GroupVersionKind, func(mapping *meta.RESTMapping) error {
		if isNamespaced := mapping.Scope.Name() == meta.RESTScopeNameNamespace; isNamespaced != (n.name.Namespace != "") {
			return errOtherScope
		}
		only := fields.OneTermEqualSelector("metadata.name", n.name.Name).String()
		// The server may not select by name.
		isMeant := func(object metav1.Object) bool {
			return object.GetNamespace() == n.name.Namespace && object.GetName() == n.name.Name
		}
		return n.cache.observe(ctx, source{resource: mapping.Resource, namespace: n.name.Namespace, fields: only}, func(objects []metav1.Object) {
			version := ""
			if i := slices.IndexFunc(objects, isMeant); i >= 0 {
				version = objects[i].GetResourceVersion()
			}
			n.set(true, version)
		}, func(object metav1.Object, gone bool) {
			switch {
			case !isMeant(object):
			case gone:
				n.set(true, "")
			default:
				n.set(true, object.GetResourceVersion())
			}
		})
	})
}

// set notes what is known of the object, and notifies the owners if that is something new, or if nothing is known.
func (n *named) set(synced bool, version string) {
	n.cache.mu.Lock()
	isNews := n.isSettled && (!synced || n.synced != synced || n.version != version)
	n.synced, n.version = synced, version
	if !n.isSettled {
		n.isSettled = true
		close(n.settled)
	}
	var owners []string
	if isNews {
		for owner := range n.owners {
			owners = append(owners, owner)
		}
	}
	n.cache.mu.Unlock()
	for _, owner := range owners {
		n.cache.options.Notify(owner)
	}
}
