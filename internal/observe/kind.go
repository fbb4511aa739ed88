// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package observe

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/component-operator/runtime/internal/apiserver"
	"github.com/component-operator/runtime/pkg/cluster"
)

// kind watches all labeled objects of one type: by one feed for the whole cluster where that is allowed, otherwise by
// one feed for each needed namespace where that is allowed.
type kind struct {
	cache  *Cache
	gvk    schema.GroupVersionKind
	ctx    context.Context //nolint:containedctx // the lifetime of the feeds
	cancel context.CancelFunc
	// owners is the number of owners that need the kind; the mutex of the cache guards it.
	owners int

	// mu guards the fields below, and the state of all feeds.
	mu sync.Mutex
	// namespaces counts, by namespace, the owners that have dependents in it.
	namespaces map[string]int
	// whole counts, by dependent, the owners that need the object itself.
	whole   map[types.NamespacedName]int
	feeds   map[string]*feed
	changed chan struct{} // closed and replaced when feeds change their state
	logged  string        // the last logged mode; nothing is logged while it is wholeCluster from the beginning
	// content means that objects are watched with their content, not by their metadata only.
	content bool
}

func newKind(cache *Cache, gvk schema.GroupVersionKind, content bool) *kind {
	ctx, cancel := context.WithCancel(cache.ctx)
	k := &kind{
		cache: cache, gvk: gvk, ctx: ctx, cancel: cancel, namespaces: map[string]int{}, whole: map[types.NamespacedName]int{}, feeds: map[string]*feed{},
		changed: make(chan struct{}), logged: wholeCluster,
	}
	k.content = content || !cache.options.Reader.Judges.JudgesMetadata(gvk.GroupKind())
	k.addLocked("")
	return k
}

// need replaces the need of an owner.
func (k *kind) need(now, before Need) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, key := range now.Whole {
		k.whole[key]++
	}
	for _, key := range before.Whole {
		if k.whole[key]--; k.whole[key] <= 0 {
			delete(k.whole, key)
		}
	}
	for _, namespace := range now.Namespaces {
		k.namespaces[namespace]++
	}
	for _, namespace := range before.Namespaces {
		if k.namespaces[namespace]--; k.namespaces[namespace] <= 0 {
			delete(k.namespaces, namespace)
			k.dropLocked(namespace)
		}
	}
	if k.feeds[""].forbidden() {
		k.splitLocked()
	}
}

// watchesContent reports whether objects are watched with their content.
func (k *kind) watchesContent() bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.content
}

// watchContent switches to watching objects with their content. If the kind was watched by metadata only, all feeds
// start again, because their observations were judged without the content.
func (k *kind) watchContent() {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.content {
		return
	}
	k.content = true
	for namespace, f := range k.feeds {
		f.cancel()
		k.addLocked(namespace)
		k.feeds[namespace].inheritLocked(f)
		f.releaseLocked()
	}
}

// splitLocked adds a feed for each needed namespace, after the feed for the whole cluster was forbidden.
func (k *kind) splitLocked() {
	for namespace := range k.namespaces {
		if namespace != "" && k.feeds[namespace] == nil {
			k.addLocked(namespace)
		}
	}
}

func (k *kind) addLocked(namespace string) {
	f := newFeed(k, namespace)
	k.feeds[namespace] = f
	ctx, cancel := context.WithCancel(k.ctx)
	f.cancel = cancel
	go f.run(ctx)
}

// dropLocked ends the feed of a namespace, if there is one.
func (k *kind) dropLocked(namespace string) {
	if f := k.feeds[namespace]; f != nil && namespace != "" {
		f.cancel()
		f.releaseLocked()
		delete(k.feeds, namespace)
	}
}

// wholeCluster is the mode of kinds without restrictions.
const wholeCluster = "watched in the whole cluster"

// settle changes the state of a feed. If change reports news, settle wakes all waiters, and logs a changed mode.
func (k *kind) settle(f *feed, change func() (news bool)) {
	k.mu.Lock()
	mode := ""
	if change() && k.feeds[f.namespace] == f { // else, another feed has taken its place
		mode = k.settledLocked(f)
	}
	k.mu.Unlock()
	switch mode {
	case "":
	case wholeCluster:
		k.cache.options.Log.Info("dependents can now be watched in the whole cluster", "kind", k.gvk.Kind, "group", k.gvk.Group)
	default:
		k.cache.options.Log.Info("dependents cannot be watched in the whole cluster", "kind", k.gvk.Kind, "group", k.gvk.Group, "mode", mode)
	}
}

// settledLocked updates the feeds after one of them has changed its state, and wakes all waiters. It returns the mode
// if that has to be logged; otherwise "". The mode is not final while other feeds are starting, and does not change
// while the server is temporarily unreachable.
func (k *kind) settledLocked(f *feed) (mode string) {
	if f.namespace == "" && f.forbidden() {
		k.splitLocked()
	}
	if f.namespace == "" && f.synced() {
		for namespace := range k.feeds {
			k.dropLocked(namespace)
		}
	}
	close(k.changed)
	k.changed = make(chan struct{})
	mode = k.modeLocked()
	isLasting := f.full || f.forbidden()
	if mode == k.logged || k.pendingLocked() || (f.namespace == "" && !isLasting && mode != wholeCluster) {
		return ""
	}
	k.logged = mode
	return mode
}

// pendingLocked reports whether a feed is starting.
func (k *kind) pendingLocked() bool {
	for _, f := range k.feeds {
		if f.state == feedStarting {
			return true
		}
	}
	return false
}

// awaitFeeds waits until no feed is starting.
func (k *kind) awaitFeeds(ctx context.Context) error {
	for {
		k.mu.Lock()
		pending, changed := k.pendingLocked(), k.changed
		k.mu.Unlock()
		if !pending {
			return nil
		}
		select {
		case <-changed:
		case <-k.ctx.Done():
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// modeLocked describes how the kind is observed.
func (k *kind) modeLocked() string {
	watched := k.watchedLocked()
	switch {
	case len(watched) == 0:
		return "read one by one (" + cmp.Or(k.feeds[""].err, errStarting).Error() + ")"
	case watched[0] == "":
		return wholeCluster
	default:
		return "watched in namespaces " + strings.Join(watched, ", ")
	}
}

func (k *kind) isUnwatched() bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return len(k.watchedLocked()) == 0
}

// watchedLocked returns the watched namespaces, sorted; the empty one stands for the whole cluster.
func (k *kind) watchedLocked() []string {
	var watched []string
	for namespace, f := range k.feeds {
		if f.synced() {
			watched = append(watched, namespace)
		}
	}
	slices.Sort(watched)
	return watched
}

// feed watches one kind in one namespace (or in all, if namespace is empty), and keeps the observations. The mutex of
// the kind guards its state.
type feed struct {
	kind      *kind
	namespace string
	// cancel ends the feed; set when it is started.
	cancel context.CancelFunc

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

func (f *feed) synced() bool { return f.state == feedSynced }

func (f *feed) forbidden() bool { return apierrors.IsForbidden(f.err) }

// inheritLocked takes over the responses of our writes that another feed has not received yet.
func (f *feed) inheritLocked(other *feed) {
	for key, observation := range other.own {
		f.own[key] = observation
		f.kind.cache.keep(&entry{key, observation}, nil)
	}
}

var (
	// errStarting is the reason for reading objects one by one before the first list has arrived.
	errStarting = errors.New("not synchronised yet")
	// errOverdue means that the server has accepted the first list, but does not complete it.
	errOverdue = errors.New("the first list takes too long")
)

// overdue ends the wait for the first list, which may still arrive.
func (f *feed) overdue() {
	f.kind.settle(f, func() (news bool) {
		if news = f.state == feedStarting; news {
			f.state, f.err = feedBroken, errOverdue
		}
		return news
	})
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

// end drops the objects of a feed that has ended.
func (f *feed) end() {
	f.kind.settle(f, func() (news bool) {
		f.releaseLocked()
		if f.full {
			f.err = errTooMany
		}
		return f.full
	})
}

// releaseLocked drops the objects. The responses of our writes stay, for a feed that replaces this one.
func (f *feed) releaseLocked() {
	f.state = feedBroken
	if f.objects == nil {
		return
	}
	for _, known := range []map[types.NamespacedName]Observation{f.objects, f.own} {
		for key, observation := range known {
			f.kind.cache.keep(nil, &entry{key, observation})
		}
	}
	f.receivedLocked()
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
	f.kind.settle(f, func() (news bool) {
		if err == nil && f.synced() {
			// The watch has ended and will be resumed. The observations stay valid, since a watch may lag anyway.
			return false
		}
		f.state, f.err, f.listed = feedBroken, err, false
		return true
	})
}

// getLocked returns the observation of an object by a synchronized feed.
func (f *feed) getLocked(key types.NamespacedName) (Observation, View) {
	seen, ok := f.objects[key]
	written, wrote := f.own[key]
	isKnown := ok && !seen.OlderThan(written.ResourceVersion)
	isGone := !ok && !apiserver.Older(f.version, written.ResourceVersion)
	if wrote && !isKnown && !isGone {
		return written, Present
	}
	f.forgetOwnLocked(key)
	if ok {
		return seen, Present
	}
	return f.ended[key], Absent
}

// recordLocked adds the observation from a read or from the response to a write to a synchronized feed.
func (f *feed) recordLocked(key types.NamespacedName, observation Observation) {
	seen, ok := f.objects[key]
	switch {
	case ok && seen.ResourceVersion == observation.ResourceVersion:
		// The same state, but its status may have changed by the passing of time.
		f.storeLocked(key, &observation)
		return
	case ok && !seen.OlderThan(observation.ResourceVersion):
		return
	}
	f.forgetOwnLocked(key)
	f.own[key] = observation
	if !f.kind.cache.keep(&entry{key, observation}, nil) {
		f.overflowLocked()
	}
}
