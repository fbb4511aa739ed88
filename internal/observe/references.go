// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package observe

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime/schema"
	apitypes "k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/internal/apiserver"
	"github.com/component-operator/runtime/pkg/cluster"
)

// ReferenceKind is a kind of referenced objects.
type ReferenceKind string

const (
	// ReferencedConfigMap is the kind of ConfigMaps.
	ReferencedConfigMap ReferenceKind = "ConfigMap"
	// ReferencedSecret is the kind of Secrets.
	ReferencedSecret ReferenceKind = "Secret"
)

func (k ReferenceKind) resource() string {
	return strings.ToLower(string(k)) + "s"
}

// ReferenceKey identifies an object.
type ReferenceKey struct {
	// Kind of the object.
	Kind ReferenceKind
	// Namespace and Name of the object.
	Namespace, Name string
}

// String formats the key as in "Secret demo/credentials".
func (k ReferenceKey) String() string {
	return string(k.Kind) + " " + k.Namespace + "/" + k.Name
}

// scope returns the key without the name: one watch covers all objects of a kind in a namespace.
func (k ReferenceKey) scope() ReferenceKey { return ReferenceKey{Kind: k.Kind, Namespace: k.Namespace} }

// ReferencedContent is the content of an object. It is shared and must not be changed.
type ReferencedContent struct {
	// ResourceVersion of the object.
	ResourceVersion string
	// UID of the object.
	UID apitypes.UID
	// Data of the object; of ConfigMaps only data, not binaryData.
	Data map[string][]byte
}

// ReferenceOptions configure a ReferenceWatcher.
type ReferenceOptions struct {
	// Reader reads content; it must not be backed by a cache. Required.
	Reader client.Reader
	// Metadata is the client for watches. Required.
	Metadata metadata.Interface
	// Notify is called with an owner when an object that it uses is added, changed or removed. It must not block, and
	// may be called from several goroutines. Required.
	Notify func(owner apitypes.NamespacedName)
	// Log receives a line when the objects of a kind in a namespace cannot be watched. Defaults to no log.
	Log logr.Logger
}

// ReferenceWatcher serves the references of many owners. It is safe for concurrent use.
type ReferenceWatcher struct {
	options ReferenceOptions
	ctx     context.Context //nolint:containedctx // the lifetime of the watches, ended by Close
	cancel  context.CancelFunc

	mu   sync.Mutex
	used map[apitypes.NamespacedName][]ReferenceKey
	// owners holds the version of an object that each owner was given last; it is empty if the object was absent, or
	// was not read yet.
	owners   map[ReferenceKey]map[apitypes.NamespacedName]string
	feeds    map[ReferenceKey]*referenceFeed // by scope
	contents map[ReferenceKey]*ReferencedContent
}

// NewReferenceWatcher returns a ReferenceWatcher that watches nothing yet.
func NewReferenceWatcher(options ReferenceOptions) *ReferenceWatcher {
	ctx, cancel := context.WithCancel(context.Background())
	return &ReferenceWatcher{
		options: options, ctx: ctx, cancel: cancel,
		used:     map[apitypes.NamespacedName][]ReferenceKey{},
		owners:   map[ReferenceKey]map[apitypes.NamespacedName]string{},
		feeds:    map[ReferenceKey]*referenceFeed{},
		contents: map[ReferenceKey]*ReferencedContent{},
	}
}

// Close ends all watches. Owners are not notified any more.
func (w *ReferenceWatcher) Close() {
	w.cancel()
}

// Use declares all objects that an owner refers to, before it reads them; those of an earlier call that are not
// repeated are dropped. It does not wait, and makes no request itself.
func (w *ReferenceWatcher) Use(owner apitypes.NamespacedName, keys []ReferenceKey) {
	w.mu.Lock()
	defer w.mu.Unlock()
	dropped := w.used[owner]
	if len(keys) == 0 {
		delete(w.used, owner)
	} else {
		w.used[owner] = slices.Clone(keys)
	}
	for _, key := range keys {
		if w.owners[key] == nil {
			w.owners[key] = map[apitypes.NamespacedName]string{}
		}
		if _, uses := w.owners[key][owner]; !uses {
			w.owners[key][owner] = ""
		}
		if w.feeds[key.scope()] == nil {
			w.feeds[key.scope()] = w.startFeed(key.scope())
		}
	}
	for _, key := range dropped {
		if !slices.Contains(keys, key) {
			w.drop(owner, key)
		}
	}
}

func (w *ReferenceWatcher) drop(owner apitypes.NamespacedName, key ReferenceKey) {
	delete(w.owners[key], owner)
	if len(w.owners[key]) > 0 {
		return
	}
	delete(w.owners, key)
	delete(w.contents, key)
	for other := range w.owners {
		if other.scope() == key.scope() {
			return
		}
	}
	if f := w.feeds[key.scope()]; f != nil {
		f.cancel()
		delete(w.feeds, key.scope())
	}
}

// Read returns the content of an object to an owner that uses it. If the object does not exist, the error wraps that of
// the API server.
func (w *ReferenceWatcher) Read(ctx context.Context, owner apitypes.NamespacedName, key ReferenceKey) (*ReferencedContent, error) {
	if content := w.known(owner, key); content != nil {
		return content, nil
	}
	content, err := ReadReference(ctx, w.options.Reader, key)
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case err != nil:
		delete(w.contents, key)
		if apierrors.IsNotFound(err) {
			w.give(owner, key, "")
		}
		return nil, err
	case w.owners[key] != nil:
		w.contents[key] = content
		w.give(owner, key, content.ResourceVersion)
	}
	return content, nil
}

// give records the version that an owner was given (empty if the object does not exist), if it uses the object.
func (w *ReferenceWatcher) give(owner apitypes.NamespacedName, key ReferenceKey, version string) {
	if _, uses := w.owners[key][owner]; uses {
		w.owners[key][owner] = version
	}
}

// known returns the stored content if it is not older than the version reported by the watch; otherwise nil.
func (w *ReferenceWatcher) known(owner apitypes.NamespacedName, key ReferenceKey) *ReferencedContent {
	w.mu.Lock()
	defer w.mu.Unlock()
	content, f := w.contents[key], w.feeds[key.scope()]
	if content == nil || f == nil || !f.synced {
		return nil
	}
	version, ok := f.versions[key.Name]
	if !ok || isNewer(version, content.ResourceVersion) {
		return nil
	}
	w.give(owner, key, content.ResourceVersion)
	return content
}

// ReadReference reads an object. If it does not exist, the error wraps that of the API server.
func ReadReference(ctx context.Context, reader client.Reader, key ReferenceKey) (*ReferencedContent, error) {
	name := client.ObjectKey{Namespace: key.Namespace, Name: key.Name}
	switch key.Kind {
	case ReferencedConfigMap:
		configMap := &corev1.ConfigMap{}
		if err := reader.Get(ctx, name, configMap); err != nil {
			return nil, fmt.Errorf("reading %s: %w", key, err)
		}
		data := make(map[string][]byte, len(configMap.Data))
		for name, value := range configMap.Data {
			data[name] = []byte(value)
		}
		return &ReferencedContent{ResourceVersion: configMap.ResourceVersion, UID: configMap.UID, Data: data}, nil
	case ReferencedSecret:
		secret := &corev1.Secret{}
		if err := reader.Get(ctx, name, secret); err != nil {
			return nil, fmt.Errorf("reading %s: %w", key, err)
		}
		return &ReferencedContent{ResourceVersion: secret.ResourceVersion, UID: secret.UID, Data: secret.Data}, nil
	default:
		return nil, fmt.Errorf("reading %s: unknown kind", key)
	}
}

// Unwatched returns the kinds of used objects that are read each time because they must not be watched, in the plural,
// sorted.
func (w *ReferenceWatcher) Unwatched(owner apitypes.NamespacedName) []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	var kinds []string
	for _, key := range w.used[owner] {
		if f := w.feeds[key.scope()]; f != nil && f.forbidden {
			kinds = append(kinds, string(key.Kind)+"s")
		}
	}
	slices.Sort(kinds)
	return slices.Compact(kinds)
}

// seen handles an event about one object.
func (f *referenceFeed) seen(object metav1.Object, gone bool) {
	w, version := f.watcher, object.GetResourceVersion()
	w.mu.Lock()
	if gone {
		version = ""
		delete(f.versions, object.GetName())
	} else {
		f.versions[object.GetName()] = version
	}
	owners := map[apitypes.NamespacedName]bool{}
	w.concern(owners, ReferenceKey{Kind: f.scope.Kind, Namespace: f.scope.Namespace, Name: object.GetName()}, version)
	w.mu.Unlock()
	w.notify(owners)
}

// replaced handles a complete list.
func (f *referenceFeed) replaced(objects []metav1.Object) {
	w := f.watcher
	w.mu.Lock()
	f.versions, f.synced, f.forbidden = make(map[string]string, len(objects)), true, false
	for _, object := range objects {
		f.versions[object.GetName()] = object.GetResourceVersion()
	}
	owners := map[apitypes.NamespacedName]bool{}
	for key := range w.owners {
		if key.scope() == f.scope {
			w.concern(owners, key, f.versions[key.Name])
		}
	}
	w.mu.Unlock()
	w.notify(owners)
}

// concern adds the owners for which the version (empty if the object is gone) is news. While nothing is watched, each
// owner may have read a different version.
func (w *ReferenceWatcher) concern(owners map[apitypes.NamespacedName]bool, key ReferenceKey, version string) {
	for owner, given := range w.owners[key] {
		if (version == "") != (given == "") || isNewer(version, given) {
			owners[owner] = true
		}
	}
}

func (w *ReferenceWatcher) notify(owners map[apitypes.NamespacedName]bool) {
	if w.ctx.Err() != nil {
		return
	}
	for owner := range owners {
		w.options.Notify(owner)
	}
}

// isNewer reports whether the version differs from the known one and is not known to be older.
func isNewer(version string, known string) bool {
	return version != known && !apiserver.Older(version, known)
}

// referenceFeed watches one kind in one namespace. Its state is protected by the mutex of the ReferenceWatcher.
type referenceFeed struct {
	watcher *ReferenceWatcher
	scope   ReferenceKey
	cancel  context.CancelFunc

	synced    bool
	forbidden bool
	versions  map[string]string
}

func (w *ReferenceWatcher) startFeed(s ReferenceKey) *referenceFeed {
	ctx, cancel := context.WithCancel(w.ctx)
	f := &referenceFeed{watcher: w, scope: s, cancel: cancel, versions: map[string]string{}}
	go f.run(ctx)
	return f
}

func (f *referenceFeed) run(ctx context.Context) { repeat(ctx, f.listAndWatch, f.ended) }

// ended records that a watch has ended, with or without an error. The server ends watches now and then; until the next
// one is established, versions may be outdated for a moment, as they may be during a watch.
func (f *referenceFeed) ended(err error) {
	if err == nil {
		return
	}
	w := f.watcher
	w.mu.Lock()
	forbidden := apierrors.IsForbidden(err)
	news := forbidden && !f.forbidden
	f.synced, f.forbidden = false, forbidden
	w.mu.Unlock()
	if news {
		w.options.Log.Info("referenced objects cannot be watched; they are read each time", "kind", f.scope.Kind, "namespace", f.scope.Namespace, "error", err.Error())
	}
}

func (f *referenceFeed) listAndWatch(ctx context.Context) error {
	gvr := schema.GroupVersionResource{Version: "v1", Resource: f.scope.Kind.resource()}
	resource := f.watcher.options.Metadata.Resource(gvr).Namespace(f.scope.Namespace)
	name := "references to " + gvr.Resource + " in " + f.scope.Namespace
	all := apiserver.ListWatch(resource, apiserver.ListSelection{})
	store := &events{all: f.replaced, one: f.seen}
	return cache.NewReflectorWithOptions(all, &metav1.PartialObjectMetadata{}, store, cache.ReflectorOptions{Name: name}).ListAndWatchWithContext(ctx)
}

// Name identifies an object that need not be a dependent, in the version in which it is read. The namespace of
// cluster-scoped objects is empty.
type Name struct {
	schema.GroupVersionKind

	Namespace, Name string
}

// named watches the metadata of one object, for all owners that read it. Its content is not kept: each owner reads it
// with its own identity.
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

// run watches until it is canceled. Where watching is not possible, it notifies the owners at growing intervals, so
// that they read the object themselves.
func (n *named) run(ctx context.Context) {
	defer time.AfterFunc(n.cache.options.Patience, n.overdue).Stop()
	repeat(ctx, n.watch, func(err error) {
		switch {
		case cluster.IsNoMatch(err):
			// There are no objects of a type that is not served.
			n.set(true, "")
			n.cache.absent.await(ctx, n.name.GroupVersionKind)
		case err != nil:
			n.set(false, "")
		}
	})
}

// overdue ends the wait for the first list, which may still arrive.
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

// set records the state of the object. Except for the first time, it notifies the owners if the state is new or
// unknown.
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

// unique returns the names without repetitions, as a copy.
func unique(names []Name) []Name {
	seen := map[Name]bool{}
	return slices.DeleteFunc(slices.Clone(names), func(name Name) bool {
		known := seen[name]
		seen[name] = true
		return known
	})
}
