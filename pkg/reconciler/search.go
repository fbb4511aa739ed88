// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package reconciler

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	apitypes "k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	"github.com/component-operator/runtime/internal/clients"
	"github.com/component-operator/runtime/internal/concurrent"
	"github.com/component-operator/runtime/internal/fieldset"
	"github.com/component-operator/runtime/internal/manifest"
	"github.com/component-operator/runtime/internal/observe"
	"github.com/component-operator/runtime/pkg/behaviors"
	"github.com/component-operator/runtime/pkg/cluster"
	"github.com/component-operator/runtime/pkg/inventory"
	"github.com/component-operator/runtime/pkg/reconciler/internal/decide"
	"github.com/component-operator/runtime/pkg/reconciler/internal/execute"
	"github.com/component-operator/runtime/pkg/reconciler/internal/guard"
	"github.com/component-operator/runtime/pkg/reconciler/internal/prepare"
	"github.com/component-operator/runtime/pkg/reconciler/internal/run"
	"github.com/component-operator/runtime/pkg/status"
	"github.com/component-operator/runtime/pkg/types"
)

// findDependents finds the dependents of the owner of a call. Unlisted are the types that could not be listed, sorted.
func findDependents(ctx context.Context, call *run.Call, request RebuildRequest) (items []*InventoryItem, unlisted []TypeInfo, err error) {
	s := &search{call: call, policies: request.Policies, namespaces: request.Namespaces, uids: map[apitypes.UID]bool{}, unlisted: map[TypeInfo]bool{}}
	found, err := s.kinds(request)
	if err != nil {
		return nil, nil, err
	}
	var failures run.Failures
	concurrent.All(call.Server.Concurrency, found, func(kind schema.GroupVersionKind) { failures.Add(s.kind(ctx, kind)) })
	if err := failures.Err(); err != nil {
		return nil, nil, fmt.Errorf("looking for dependents: %w", err)
	}
	unlisted = slices.SortedFunc(maps.Keys(s.unlisted), func(a, b TypeInfo) int {
		return cmp.Or(cmp.Compare(a.Group, b.Group), cmp.Compare(a.Kind, b.Kind))
	})
	return s.found, unlisted, nil
}

// search is one call of Rebuild.
type search struct {
	call       *run.Call
	policies   inventory.Policies
	namespaces []string

	mu       sync.Mutex
	found    []*inventory.Item
	uids     map[apitypes.UID]bool // the same object may be served by several groups
	unlisted map[inventory.TypeInfo]bool
}

// kinds returns the types to list, each in one version, preferably that of a wanted object.
func (s *search) kinds(request RebuildRequest) ([]schema.GroupVersionKind, error) {
	var found []schema.GroupVersionKind
	seen := map[schema.GroupKind]bool{}
	add := func(kind schema.GroupVersionKind) {
		if !seen[kind.GroupKind()] {
			seen[kind.GroupKind()] = true
			found = append(found, kind)
		}
	}
	for _, object := range request.Objects {
		// Apply refuses objects without a known type.
		if kind, err := apiutil.GVKForObject(behaviors.Bare(object), s.call.Server.Client.Scheme()); err == nil {
			add(kind)
		}
	}
	var patterns []inventory.TypeInfo
	for _, wanted := range request.Types {
		if wanted.Kind == prepare.Wildcard || strings.Contains(wanted.Group, prepare.Wildcard) {
			patterns = append(patterns, inventory.TypeInfo{Group: wanted.Group, Kind: wanted.Kind})
			continue
		}
		add(schema.GroupVersionKind(wanted))
	}
	if len(patterns) == 0 {
		return found, nil
	}
	discovered, err := s.discovered(patterns)
	for _, kind := range discovered {
		add(kind)
	}
	return found, err
}

// discovered returns the listable types that match one of the patterns. It notes matching groups that do not answer.
func (s *search) discovered(patterns []inventory.TypeInfo) ([]schema.GroupVersionKind, error) {
	mappings, silent, err := guard.Listable(s.call.Server, func(gvk schema.GroupVersionKind, _ metav1.APIResource) bool {
		return slices.ContainsFunc(patterns, func(pattern inventory.TypeInfo) bool { return prepare.MatchesKind(pattern, gvk.GroupKind()) })
	})
	if err != nil {
		return nil, err
	}
	for version := range silent {
		if slices.ContainsFunc(patterns, func(pattern inventory.TypeInfo) bool { return prepare.MatchesGroup(pattern.Group, version.Group) }) {
			s.unlisted[inventory.TypeInfo{Group: version.Group, Kind: prepare.Wildcard}] = true
		}
	}
	var found []schema.GroupVersionKind
	for _, mapping := range mappings {
		found = append(found, mapping.GroupVersionKind)
	}
	return found, nil
}

// kind searches one type.
func (s *search) kind(ctx context.Context, kind schema.GroupVersionKind) error {
	err := s.list(ctx, kind, "")
	if execute.IsTypeless(err) {
		// Another version may be served. If none is, there are no objects.
		mapping, servedErr := s.call.Server.ServedNow(ctx, kind.GroupKind())
		if err = servedErr; err == nil && mapping != nil {
			kind = mapping.GroupVersionKind
			err = s.list(ctx, kind, "")
		}
	}
	if apierrors.IsForbidden(err) && len(s.namespaces) > 0 && s.call.Server.IsNamespaced(kind) {
		err = nil
		for _, namespace := range s.namespaces {
			err = errors.Join(err, s.list(ctx, kind, namespace))
		}
	}
	if apierrors.IsForbidden(err) || apierrors.IsMethodNotSupported(err) || execute.Is[*execute.UnknownTypeError](err) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.unlisted[inventory.TypeInfo{Group: kind.Group, Kind: kind.Kind}] = true
		return nil
	}
	return err
}

// list records the dependents of a type in one namespace, or in all if namespace is empty. It reads whole objects only
// if they define types, because these types are recorded.
func (s *search) list(ctx context.Context, kind schema.GroupVersionKind, namespace string) error {
	err := s.call.Server.Each(ctx, s.call.Server.Client, kind, prepare.DefinesTypes(kind.GroupKind()), func(object client.Object) (bool, error) {
		return true, s.take(kind, object)
	}, client.InNamespace(namespace), client.MatchingLabels{s.call.Server.Keys.OwnerLabel: s.call.Owner.Label})
	if err != nil {
		return fmt.Errorf("listing %s: %w", kind.GroupKind(), err)
	}
	return nil
}

// take records an object if it belongs to the owner.
func (s *search) take(kind schema.GroupVersionKind, listed client.Object) error {
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(listed)
	if err != nil {
		return err
	}
	object := &unstructured.Unstructured{Object: content}
	if object.GetAnnotations()[s.call.Server.Keys.OwnerAnnotation] != s.call.Owner.ID || fieldset.IsCopy(object, s.call.Server.FieldOwner) ||
		observe.RecordLabel(object.GetLabels()) != "" {
		return nil
	}
	object.SetGroupVersionKind(kind)
	// An annotation that has become invalid counts as missing.
	parsed, _ := prepare.Parse(s.call.Server.Keys.Prefix, object, prepare.Policies(kind.GroupKind(), s.policies))
	item := &inventory.Item{
		NameInfo: inventory.NameInfo{Namespace: object.GetNamespace(), Name: object.GetName()},
		Digest:   object.GetAnnotations()[s.call.Server.Keys.Digest],
		// Without a UID and a baseline, Apply verifies the object and does not recreate it.
		Phase:         inventory.PhaseReady,
		LastAppliedAt: new(object.GetCreationTimestamp()),
	}
	decide.Describe(&prepare.Object{Effective: parsed, Key: types.IDOf(object), Version: kind.Version, ManagedTypes: prepare.ManagedTypesOf(object)}, item)
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.uids[object.GetUID()] {
		s.uids[object.GetUID()] = true
		s.found = append(s.found, item)
	}
	return nil
}

// cache holds the observations of dependents, and the subscriptions to them. Reconcilers that work on the same cluster
// as different identities share it.
type cache struct {
	execute.Observer

	watches  *observe.Cache
	onStatus func(object types.ObjectKey, found status.Status, message string)

	mu          sync.Mutex
	subscribers map[string]func()      // by the value of the owner label
	later       map[string]*time.Timer // likewise; of notifyAfter
}

// newCache returns a cache for a Reconciler that has none yet.
func newCache(r *Reconciler) (*cache, error) {
	options := r.options
	c := &cache{onStatus: options.OnStatus, subscribers: map[string]func(){}, later: map[string]*time.Timer{}}
	var owner string
	if options.Owner != "" {
		owner = manifest.OwnerLabel(options.Owner)
	}
	watching := observe.Options{
		Reader: r.config.Reader, Config: r.config.Client.Config(), HTTPClient: r.config.Client.HttpClient(), Mapper: r.config.Client.RESTMapper(),
		Owner: owner, Delay: options.WatchDelay, MaxBytes: options.MaxObservedBytes, Notify: c.notify, Log: options.Log,
	}
	if r.definitions != nil {
		watching.Prepare = func(ctx context.Context, mapping *meta.RESTMapping) error {
			return r.definitions.Learn(ctx, mapping.GroupVersionKind, mapping.Resource.Resource)
		}
	}
	watches, err := observe.New(watching)
	c.watches, c.Observer = watches, watches
	return c, err
}

func (c *cache) notify(owner string) {
	c.mu.Lock()
	changed := c.subscribers[owner]
	c.mu.Unlock()
	if changed != nil {
		changed()
	}
}

// notifyAfter notifies an owner after a delay, instead of an earlier call for it.
func (c *cache) notifyAfter(owner string, delay time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if timer := c.later[owner]; timer != nil {
		timer.Stop()
	}
	c.later[owner] = time.AfterFunc(delay, func() { c.notify(owner) })
}

// drop ends all notifications of an owner.
func (c *cache) drop(owner string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.subscribers, owner)
	if timer := c.later[owner]; timer != nil {
		timer.Stop()
		delete(c.later, owner)
	}
}

// Record calls Options.OnStatus, and then records the observation from a read or from the response to a write.
func (c *cache) Record(gvk schema.GroupVersionKind, namespace, name string, seen observe.Observation) {
	if c.onStatus != nil {
		c.onStatus(ObjectInfo{TypeVersionInfo: TypeVersionInfo(gvk), NameInfo: NameInfo{Namespace: namespace, Name: name}}, seen.Status, seen.Message)
	}
	c.Observer.Record(gvk, namespace, name, seen)
}

// Connect returns a client for the cluster of the configuration. It makes no request, and records no events. Unless the
// configuration sets QPS, only the reconciler itself limits requests.
//
// Programs with their own clients combine them with cluster.NewClient.
func Connect(config *rest.Config) (cluster.Client, error) { return clients.Plain(config) }

// As returns a reconciler that reads and writes as the identity of another client for the same cluster. It shares the
// watches and subscriptions of r: each kind is watched once, as the identity of r. Closing r ends both.
//
// If the other identity may not read the state that a deletion depends on, r reads it: whether dependents still exist,
// which types are served, and whether there are instances of types that dependents define or
// Options.AdditionalManagedTypes names. Otherwise a deletion could not finish after deleting the permissions of the
// other identity. r does not list types in Owner.AdditionalManagedTypes, and names of instances that only r may read
// are not disclosed.
func (r *Reconciler) As(clnt cluster.Client) *Reconciler {
	other := *r
	other.config.Client, other.config.Reading, other.memory = clnt, r.config.Client, decide.NewMemory()
	return &other
}

// Subscribe registers a function that is called whenever a dependent or a blocker of the owner has changed, so that
// another call of Apply or Delete may make progress. The function must not block, and may be called from several
// goroutines. Subscribe replaces the function of an earlier call. Forget ends the subscription.
func (r *Reconciler) Subscribe(ownerID string, changed func()) {
	r.cache.mu.Lock()
	defer r.cache.mu.Unlock()
	r.cache.subscribers[manifest.OwnerLabel(ownerID)] = changed
}

// Forget drops all memory of an owner that this process no longer works for, ends its subscription, and stops watches
// that no other owner needs. Working for the owner again later only costs computation and perhaps requests. No call for
// the owner may be in progress.
func (r *Reconciler) Forget(ownerID string) {
	label := manifest.OwnerLabel(ownerID)
	r.cache.drop(label)
	// Without needs, Watch waits for nothing and cannot fail.
	_ = r.cache.Watch(context.Background(), label, nil)
	_ = r.cache.WatchNames(context.Background(), label, nil)
	r.memory.For(ownerID).Keep(nil)
	r.config.Judges.Forget(label)
}

// Need declares that an owner has, or will have, dependents of a kind.
type Need struct {
	// Kind is the kind in the version to watch.
	Kind schema.GroupVersionKind
	// Namespaces are the namespaces of the dependents; empty for cluster-scoped kinds. They matter only if the client
	// may not watch the kind in the whole cluster.
	Namespaces []string
}

// Watch starts the watches that an owner will need, so that Apply or Delete find its dependents in memory. The needs
// replace those of an earlier call for the owner. The returned function waits until each kind is either watched or
// known not to be watchable.
func (r *Reconciler) Watch(ownerID string, needs []Need) (await func(ctx context.Context) error) {
	wanted := make([]observe.Need, len(needs))
	for i, need := range needs {
		wanted[i] = observe.Need{Kind: need.Kind, Namespaces: need.Namespaces}
	}
	return r.cache.watches.Begin(manifest.OwnerLabel(ownerID), wanted)
}

// Follow ends Options.WatchDelay: all watches start now. Call it before waiting for changes.
func (r *Reconciler) Follow() { r.cache.watches.Follow() }

// WatchTypes watches CustomResourceDefinitions and APIServices. It calls watched with true once both are watched, and
// with false when one of the watches ends. It calls changed when one of these objects is added, changed or removed. The
// functions may be called from several goroutines. The second and later calls have no effect.
func (r *Reconciler) WatchTypes(watched func(bool), changed func()) {
	r.cache.watches.WatchTypes(watched, changed)
}

// Unwatched returns the needed kinds whose dependents the engine reads one by one, sorted. Usually the client may watch
// them neither in the whole cluster nor in the namespaces of the dependents; or the type is not served, or its first
// list has not returned yet.
func (r *Reconciler) Unwatched() []schema.GroupKind { return r.cache.watches.Unwatched() }

// Close ends all watches and notifications, also those of reconcilers returned by As. These reconcilers must not be
// used afterwards.
func (r *Reconciler) Close() {
	r.cache.watches.Close()
	r.cache.mu.Lock()
	defer r.cache.mu.Unlock()
	clear(r.cache.subscribers)
}
