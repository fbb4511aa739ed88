// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package observe

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	apitypes "k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"

	"github.com/component-operator/runtime/pkg/types"
)

// Options configure a Cache.
type Options struct {
	// Reader makes the observations. Required, unless only WatchNames is used.
	Reader *Reader
	// Config is the connection to the cluster. Required.
	Config *rest.Config
	// HTTPClient is the transport of the connection. Required.
	HTTPClient *http.Client
	// Mapper finds the resources of kinds. Required.
	Mapper meta.RESTMapper
	// Owner restricts watches to dependents with this value of the owner label. Defaults to the dependents of all
	// owners.
	Owner string
	// Delay is how long the result of the first list of a kind is used before the kind is watched, unless Follow is
	// called earlier. It is for short-lived programs, which rarely run long enough to see changes by others, and need
	// not see them. Defaults to zero: kinds are watched right away.
	Delay time.Duration
	// Patience is how long Watch waits for the first list of a kind. After that, objects of the kind are read one by
	// one until the list comes. Defaults to one minute.
	Patience time.Duration
	// MaxBytes limits the estimated memory for the observations of all kinds. If there is no room for a kind, its
	// objects are read one by one from then on. Set it for untrusted clusters. Defaults to no limit.
	MaxBytes int64
	// Prepare is called with the resource of a kind before each list of its objects. If it fails, the attempt fails.
	// Defaults to nothing.
	Prepare func(ctx context.Context, mapping *meta.RESTMapping) error
	// Notify is called with the value of the owner label whenever the observation of a dependent has changed. It must
	// not block, and may be called from several goroutines. Required.
	Notify func(owner string)
	// Log receives a line whenever the way in which a kind is observed changes. Defaults to no log.
	Log logr.Logger
}

// selector returns the label selector of all watches.
func (o Options) selector() string {
	if o.Owner == "" {
		return o.Reader.OwnerLabel
	}
	return o.Reader.OwnerLabel + "=" + o.Owner
}

// Cache observes the dependents of many owners in one cluster. It is safe for concurrent use.
type Cache struct {
	options  Options
	dynamic  dynamic.Interface
	metadata metadata.Interface
	ctx      context.Context //nolint:containedctx // the lifetime of the watches, ended by Close
	cancel   context.CancelFunc

	// kept is the size of all observations in feeds, in bytes.
	kept atomic.Int64

	types  sync.Once
	absent *absences
	// followed is closed when Options.Delay ends early.
	followed chan struct{}
	follow   sync.Once

	mu    sync.Mutex
	kinds map[schema.GroupVersionKind]*kind
	needs map[string]map[schema.GroupVersionKind]Need
	named map[Name]*named
	names map[string][]Name // those that an owner reads
}

// New returns a Cache without watches.
func New(options Options) (*Cache, error) {
	if options.Patience <= 0 {
		options.Patience = time.Minute
	}
	dynamicClient, dynamicErr := dynamic.NewForConfigAndClient(options.Config, options.HTTPClient)
	metadataClient, metadataErr := metadata.NewForConfigAndClient(metadata.ConfigFor(options.Config), options.HTTPClient)
	discoveryClient, discoveryErr := discovery.NewDiscoveryClientForConfigAndClient(options.Config, options.HTTPClient)
	if err := cmp.Or(dynamicErr, metadataErr, discoveryErr); err != nil {
		return nil, fmt.Errorf("creating a client for watches: %w", err)
	}
	absent := newAbsences(func() (served, error) {
		_, resources, _, err := discoveryClient.GroupsAndMaybeResources()
		return resources, err
	})
	ctx, cancel := context.WithCancel(context.Background())
	go absent.run(ctx)
	return &Cache{
		absent:   absent,
		options:  options,
		dynamic:  dynamicClient,
		metadata: metadataClient,
		ctx:      ctx,
		cancel:   cancel,
		followed: make(chan struct{}),
		kinds:    map[schema.GroupVersionKind]*kind{},
		needs:    map[string]map[schema.GroupVersionKind]Need{},
		named:    map[Name]*named{},
		names:    map[string][]Name{},
	}, nil
}

// Close ends all watches and notifications.
func (c *Cache) Close() {
	c.cancel()
}

// quiet raises the verbosity of a reflector's ordinary messages, such as the end of a watch.
func (c *Cache) quiet(ctx context.Context) context.Context {
	return klog.NewContext(ctx, c.options.Log.V(1))
}

// Follow ends Options.Delay: all watches start now. Call it before waiting for changes.
func (c *Cache) Follow() { c.follow.Do(func() { close(c.followed) }) }

// awaitFollow returns when the delay is over.
func (c *Cache) awaitFollow(ctx context.Context) error {
	select {
	case <-c.followed:
	case <-time.After(c.options.Delay):
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	return nil
}

// Need declares that an owner has, or will have, dependents of a kind.
type Need struct {
	// Kind is the kind in the version to watch.
	Kind schema.GroupVersionKind
	// Namespaces are the namespaces of the dependents; empty for cluster-scoped kinds. They matter only if the kind
	// cannot be watched in the whole cluster.
	Namespaces []string
	// Content means that the status of some of the dependents depends on their content, although Judges.JudgesMetadata
	// reports otherwise. From then on, the kind is watched with its content as long as there is an owner that needs the
	// kind.
	Content bool
	// Whole are dependents whose observations have the object itself, and whose owner is notified of each change of
	// them.
	Whole []apitypes.NamespacedName
}

// Watch sets the needs of an owner, and drops those of an earlier call. It returns when each kind is either watched or
// known not to be watchable.
func (c *Cache) Watch(ctx context.Context, owner string, needs []Need) error {
	return c.Begin(owner, needs)(ctx)
}

// Begin is Watch without waiting. The returned function waits.
func (c *Cache) Begin(owner string, needs []Need) (await func(context.Context) error) {
	kinds := c.declare(owner, needs)
	return func(ctx context.Context) error {
		for _, k := range kinds {
			if err := k.awaitFeeds(ctx); err != nil {
				return fmt.Errorf("waiting for the watch of %s: %w", k.gvk, err)
			}
		}
		return nil
	}
}

func (c *Cache) declare(owner string, needs []Need) []*kind {
	c.mu.Lock()
	defer c.mu.Unlock()
	dropped := c.needs[owner]
	wanted := make(map[schema.GroupVersionKind]Need, len(needs))
	for _, n := range needs {
		all := wanted[n.Kind]
		all.Namespaces, all.Whole = slices.Concat(all.Namespaces, n.Namespaces), slices.Concat(all.Whole, n.Whole)
		all.Content = all.Content || n.Content || len(n.Whole) > 0
		wanted[n.Kind] = all
	}
	kinds := make([]*kind, 0, len(wanted))
	for gvk, now := range wanted {
		k := c.kinds[gvk]
		if k == nil {
			k = newKind(c, gvk, now.Content)
			c.kinds[gvk] = k
		}
		before, needed := dropped[gvk]
		if !needed {
			k.owners++
		}
		k.need(now, before)
		if now.Content {
			k.watchContent()
		}
		kinds = append(kinds, k)
	}
	if len(wanted) == 0 {
		delete(c.needs, owner)
	} else {
		c.needs[owner] = wanted
	}
	for gvk, before := range dropped {
		if _, still := wanted[gvk]; still {
			continue
		}
		k := c.kinds[gvk]
		if k.owners--; k.owners > 0 {
			k.need(Need{}, before)
			continue
		}
		k.cancel()
		delete(c.kinds, gvk)
	}
	return kinds
}

// View is the kind of knowledge that the cache has of an object.
type View int

const (
	// Unseen means that the object's kind is not watched; only the server knows the object's state.
	Unseen View = iota
	// Absent means that no such object has our label, according to a watch that is not older than our own last write.
	Absent
	// Present means that there is an observation.
	Present
)

// Get returns the observation of an object. For an absent Job or Pod, the observation has the UID and the outcome of
// the last object of that name, if that had ended before it was gone, and a short while ago.
func (c *Cache) Get(gvk schema.GroupVersionKind, namespace, name string) (observation Observation, view View) {
	c.withFeed(gvk, namespace, func(f *feed) {
		observation, view = f.getLocked(apitypes.NamespacedName{Namespace: namespace, Name: name})
	})
	return observation, view
}

// Record records the observation from a read or from the response to a write.
func (c *Cache) Record(gvk schema.GroupVersionKind, namespace, name string, observation Observation) {
	c.withFeed(gvk, namespace, func(f *feed) {
		f.recordLocked(apitypes.NamespacedName{Namespace: namespace, Name: name}, observation)
	})
}

// withFeed calls a function with the synchronized feed that covers the namespace, if there is one.
func (c *Cache) withFeed(gvk schema.GroupVersionKind, namespace string, use func(*feed)) {
	c.mu.Lock()
	k := c.kinds[gvk]
	c.mu.Unlock()
	if k == nil {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, place := range []string{"", namespace} {
		if f := k.feeds[place]; f != nil && f.synced() {
			use(f)
			return
		}
	}
}

// Unwatched returns the needed kinds whose objects have to be read one by one now, because they are not watched
// anywhere, sorted.
func (c *Cache) Unwatched() []schema.GroupKind {
	c.mu.Lock()
	defer c.mu.Unlock()
	var found []schema.GroupKind
	for gvk, k := range c.kinds {
		if k.isUnwatched() {
			found = append(found, gvk.GroupKind())
		}
	}
	slices.SortFunc(found, func(a, b schema.GroupKind) int { return cmp.Compare(a.String(), b.String()) })
	return slices.Compact(found) // dependents may be recorded in several versions
}

// typeSources are the resources that define types.
var typeSources = []schema.GroupVersionResource{
	{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"},
	{Group: "apiregistration.k8s.io", Version: "v1", Resource: "apiservices"},
}

// WatchTypes calls watched with true when all resources that define types are watched, and with false when one watch
// ends; and changed when an object that defines types was added, changed or removed. The functions may be called from
// several goroutines, until the cache is closed. WatchTypes watches metadata only. The second and later calls have no
// effect.
func (c *Cache) WatchTypes(watched func(bool), changed func()) {
	c.types.Do(func() {
		w := &typeWatch{cache: c, watched: watched, changed: changed, missing: len(typeSources)}
		for _, resource := range typeSources {
			go w.run(resource)
		}
	})
}

// typeWatch combines the watches of all sources.
type typeWatch struct {
	cache   *Cache
	watched func(bool)
	changed func()

	mu      sync.Mutex
	missing int
}

func (w *typeWatch) count(missing int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	before := w.missing == 0
	w.missing += missing
	if after := w.missing == 0; after != before {
		w.cache.absent.follow(after)
		w.watched(after)
	}
}

// change notes that types have changed.
func (w *typeWatch) change() {
	w.cache.absent.expect()
	w.changed()
}

// run watches one source. Objects may have changed between two lists.
func (w *typeWatch) run(resource schema.GroupVersionResource) {
	synced, known := false, false
	repeat(w.cache.ctx, func(ctx context.Context) error {
		return w.cache.observe(ctx, source{resource: resource}, func([]metav1.Object) {
			if !synced {
				synced = true
				w.count(-1)
			}
			if known {
				w.change()
			}
			known = true
		}, func(metav1.Object, bool) { w.change() })
	}, func(error) {
		if synced {
			synced = false
			w.count(1)
		}
	})
}

// RecordLabel returns the key of the label that marks an object as a record of dependents, of any operator or clm;
// empty if there is none. Such an object must not be a dependent: deleting it, or restoring an earlier state, would
// make its owner lose or confuse its record.
func RecordLabel(labels map[string]string) string {
	found := ""
	for key, value := range labels {
		isRecord := strings.HasSuffix(key, "/"+types.LabelKeySuffixInventoryOwnerId) ||
			value == types.LabelValueRecordRelease && strings.HasSuffix(key, "/"+types.LabelKeySuffixRecord)
		if isRecord && (found == "" || key < found) {
			found = key
		}
	}
	return found
}
