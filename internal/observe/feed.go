// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package observe

import (
	"context"
	"errors"
	"maps"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"

	"github.com/component-operator/runtime/internal/apiserver"
	"github.com/component-operator/runtime/pkg/cluster"
)

// feed watches one kind in one namespace (or in all, if namespace is empty), and keeps the observations.
type feed struct {
	kind      *kind
	namespace string
	// cancel ends the feed; set when it is started.
	cancel context.CancelFunc

	mu      sync.Mutex
	state   feedState
	err     error
	version string // resource version that the feed is up to date with
	objects map[types.NamespacedName]Observation
	own     map[types.NamespacedName]Observation // responses of our writes that the feed has not received yet
	ended   map[types.NamespacedName]Observation // Jobs and Pods that are gone and had ended before: UID and outcome
	refused bool                                 // the server has last forbidden to watch
	listed  bool                                 // a list has come that counts once the watch is open
	listing int64                                // size of the list that is being received, in bytes
	full    bool                                 // there is no room for the objects
	// replacing is set while a complete list is stored.
	replacing bool
}

type feedState int

const (
	feedStarting feedState = iota // the first list has not returned yet
	feedSynced                    // objects is complete
	feedBroken                    // the last attempt has failed
)

func newFeed(k *kind, namespace string) *feed {
	return &feed{kind: k, namespace: namespace, objects: map[types.NamespacedName]Observation{}, own: map[types.NamespacedName]Observation{}}
}

func (f *feed) pending() bool { f.mu.Lock(); defer f.mu.Unlock(); return f.state == feedStarting }
func (f *feed) synced() bool  { f.mu.Lock(); defer f.mu.Unlock(); return f.state == feedSynced }
func (f *feed) forbidden() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return apierrors.IsForbidden(f.err)
}

// lasting reports whether the feed is broken for long.
func (f *feed) lasting() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.full || apierrors.IsForbidden(f.err)
}

func (f *feed) reason() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.err == nil {
		return "not synchronised yet"
	}
	return f.err.Error()
}

// inherit takes over the responses of our writes that another feed has not received yet.
func (f *feed) inherit(other *feed) {
	other.mu.Lock()
	own := maps.Clone(other.own)
	other.mu.Unlock()
	f.mu.Lock()
	defer f.mu.Unlock()
	for key, observation := range own {
		if _, known := f.own[key]; !known {
			f.own[key] = observation
			f.kind.cache.keep(&entry{key, observation}, nil)
		}
	}
}

// errOverdue means that the server has accepted the first list, but does not complete it.
var errOverdue = errors.New("the first list takes too long")

// overdue ends waiting for the first list, which may still come.
func (f *feed) overdue() {
	f.mu.Lock()
	overdue := f.state == feedStarting
	if overdue {
		f.state, f.err = feedBroken, errOverdue
	}
	f.mu.Unlock()
	if overdue {
		f.kind.settle(f)
	}
}

func (f *feed) run(ctx context.Context) {
	defer f.end()
	defer time.AfterFunc(f.kind.cache.options.Patience, f.overdue).Stop()
	repeat(ctx, f.listAndWatch, func(err error) {
		f.failed(err)
		if cluster.IsNoMatch(err) {
			f.kind.cache.absent.await(ctx, f.kind.gvk)
		}
	})
}

// end forgets the objects of a feed that has ended.
func (f *feed) end() {
	f.release()
	f.mu.Lock()
	full := f.full
	if full {
		f.err = errTooMany
	}
	f.mu.Unlock()
	if full {
		f.kind.settle(f)
	}
}

// release forgets the objects. The responses of our writes stay, for a feed that takes the place of this one.
func (f *feed) release() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.state = feedBroken
	if f.objects == nil {
		return
	}
	for _, known := range []map[types.NamespacedName]Observation{f.objects, f.own} {
		for key, observation := range known {
			f.kind.cache.keep(nil, &entry{key, observation})
		}
	}
	f.received()
	f.objects = nil
}

// listAndWatch returns when the watch cannot be continued. The ordinary end of a watch is no error.
func (f *feed) listAndWatch(ctx context.Context) error {
	c := f.kind.cache
	return c.ofType(ctx, f.kind.gvk, func(mapping *meta.RESTMapping) error {
		if c.options.Prepare != nil {
			if err := c.options.Prepare(ctx, mapping); err != nil {
				return err
			}
		}
		source := source{resource: mapping.Resource, namespace: f.namespace, selector: c.options.selector()}
		if !f.kind.watchesContent() {
			// The content of such objects is not needed, and may be large, or secret.
			return c.listAndWatchMetadata(ctx, source, f)
		}
		return c.listAndWatch(ctx, source, f.kind.gvk, f)
	})
}

// failed records the end of an attempt.
func (f *feed) failed(err error) {
	f.mu.Lock()
	if err == nil && f.state == feedSynced {
		// The watch has ended and is going to be resumed. The observations stay valid, since a watch may lag anyway.
		f.mu.Unlock()
		return
	}
	f.state, f.err, f.listed = feedBroken, err, false
	f.mu.Unlock()
	f.kind.settle(f)
}

func (f *feed) get(namespace, name string) (Observation, View) {
	key := types.NamespacedName{Namespace: namespace, Name: name}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.state != feedSynced {
		return Observation{}, Unseen // it has ended just now
	}
	seen, ok := f.objects[key]
	written, wrote := f.own[key]
	if !wrote {
		if ok {
			return seen, Present
		}
		return f.ended[key], Absent
	}
	switch {
	case ok && !seen.OlderThan(written.ResourceVersion):
		f.forgetOwn(key)
		return seen, Present
	case !ok && !apiserver.Older(f.version, written.ResourceVersion):
		f.forgetOwn(key)
		return f.ended[key], Absent
	default:
		return written, Present
	}
}

func (f *feed) record(namespace, name string, observation Observation) {
	key := types.NamespacedName{Namespace: namespace, Name: name}
	f.mu.Lock()
	defer f.mu.Unlock()
	seen, ok := f.objects[key]
	switch {
	case ok && seen.ResourceVersion == observation.ResourceVersion:
		// The same state, but its status may have changed by the passing of time.
		f.store(key, &observation)
		return
	case ok && !seen.OlderThan(observation.ResourceVersion), f.objects == nil:
		return
	}
	f.forgetOwn(key)
	f.own[key] = observation
	if !f.kind.cache.keep(&entry{key, observation}, nil) {
		f.overflow()
	}
}
