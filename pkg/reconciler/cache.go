// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package reconciler

import (
	"context"
	"sync"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"github.com/component-operator/runtime/internal/clients"
	"github.com/component-operator/runtime/internal/digest"
	"github.com/component-operator/runtime/internal/observe"
	"github.com/component-operator/runtime/pkg/cluster"
	"github.com/component-operator/runtime/pkg/reconciler/internal/memory"
	"github.com/component-operator/runtime/pkg/reconciler/internal/server"
	"github.com/component-operator/runtime/pkg/status"
	"github.com/component-operator/runtime/pkg/types"
)

// cache is what reconcilers share that work on the same cluster as different identities: what is known about dependents, and who is told when
// that changes.
type cache struct {
	server.Observer

	watches  *observe.Cache
	onStatus func(object types.ObjectKey, found status.Status, message string)

	mu          sync.Mutex
	subscribers map[string]func() // by the value of the owner label
}

func newCache(clnt cluster.Client, options Options, reader *observe.Reader) (*cache, error) {
	c := &cache{onStatus: options.OnStatus, subscribers: map[string]func(){}}
	var owner string
	if options.Owner != "" {
		owner = digest.OwnerLabel(options.Owner)
	}
	watches, err := observe.New(observe.Options{
		Reader: reader, Config: clnt.Config(), HTTPClient: clnt.HttpClient(), Mapper: clnt.RESTMapper(),
		Owner: owner, Delay: options.WatchDelay, Notify: c.notify, Log: options.Log,
	})
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

// Record takes the response of a write into account, or that a state was read and judged anew, and tells of it first.
func (c *cache) Record(gvk schema.GroupVersionKind, namespace, name string, seen observe.Observation) {
	if c.onStatus != nil {
		c.onStatus(ObjectInfo{TypeVersionInfo: TypeVersionInfo(gvk), NameInfo: NameInfo{Namespace: namespace, Name: name}}, seen.Status, seen.Message)
	}
	c.Observer.Record(gvk, namespace, name, seen)
}

// Connect returns a client by which a Reconciler can work on the cluster to which a configuration leads. It makes no request, and records no
// events. Without QPS in the configuration, nothing but the reconciler itself limits requests. Programs that have clients of another make bundle them by cluster.NewClient.
func Connect(config *rest.Config) (cluster.Client, error) { return clients.Plain(config) }

// As returns a reconciler that reads and writes as the identity of another client for the same cluster, and shares with this one what is known about
// dependents: each kind is watched once, as the identity of this one. It shares the subscriptions as well, and ends with this one.
//
// Where the other identity may not ask what a deletion depends on, this one does: whether dependents still exist, which types are served, and
// whether the types of Options.AdditionalManagedTypes, and those that dependents define, have instances. A deletion would never end otherwise once
// the rights of the other identity are gone with what was deleted. Types that owners name are not looked at for it, and no name of an instance
// is told that only this one may see.
func (r *Reconciler) As(clnt cluster.Client) *Reconciler {
	other := *r
	other.client, other.reading, other.memory = clnt, r.client, memory.New()
	return &other
}

// Subscribe has the function called whenever something that is known about a dependent of the owner has changed, or about what blocks its deletion,
// so that Apply or Delete are worth another call. The function must not block, and may be called from several goroutines. It replaces the
// one of an earlier call. Forget ends it.
func (r *Reconciler) Subscribe(ownerID string, changed func()) {
	r.cache.mu.Lock()
	defer r.cache.mu.Unlock()
	r.cache.subscribers[digest.OwnerLabel(ownerID)] = changed
}

// Forget drops what is remembered about an owner that this process does not work for any longer, ends its subscription, and stops watching what nobody
// else needs. Should the process work for it again, that costs computations and perhaps requests, and nothing else. No call for
// the owner may be under way.
func (r *Reconciler) Forget(ownerID string) {
	label := digest.OwnerLabel(ownerID)
	r.cache.mu.Lock()
	delete(r.cache.subscribers, label)
	r.cache.mu.Unlock()
	r.cache.Guard(label, nil)
	// Without needs there is nothing to wait for, hence nothing that could fail.
	_ = r.cache.Watch(context.Background(), label, nil)
	r.memory.For(ownerID).Keep(nil)
}

// Need says that an owner has, or is about to have, dependents of a kind.
type Need struct {
	// Kind is the type.
	Kind schema.GroupVersionKind
	// Namespaces are those of the dependents; empty for cluster-scoped kinds. They matter only if the kind must not be watched in the
	// whole cluster.
	Namespaces []string
}

// Watch begins to watch what an owner is going to need, before Apply or Delete ask for it: so they find in memory what is there. What an earlier call
// for the owner has named is not watched for it any longer. The function that it returns waits until each kind is either watched,
// or known not to be watchable.
func (r *Reconciler) Watch(ownerID string, needs []Need) (await func(ctx context.Context) error) {
	wanted := make([]observe.Need, len(needs))
	for i, need := range needs {
		wanted[i] = observe.Need(need)
	}
	return r.cache.watches.Begin(digest.OwnerLabel(ownerID), wanted)
}

// Follow ends Options.WatchDelay. Whoever is going to wait for news calls it.
func (r *Reconciler) Follow() { r.cache.watches.Follow() }

// WatchTypes watches what brings types into the cluster: CustomResourceDefinitions and APIServices. It calls watched with true once both are watched,
// and with false when one of the watches ends. It calls changed when a definition is added, changed or removed. The functions may be called from
// several goroutines. The second and later calls have no effect.
func (r *Reconciler) WatchTypes(watched func(bool), changed func()) {
	r.cache.watches.WatchTypes(observe.TypeListener{Watched: watched, Changed: changed})
}

// Kinds returns the kinds that are observed now, sorted.
func (r *Reconciler) Kinds() []schema.GroupVersionKind { return r.cache.watches.Kinds() }

// Unwatched returns those of the kinds whose dependents have to be read one by one now; sorted. Mostly that is because the identity of the client may
// watch them neither in the cluster nor in the namespaces of the dependents; but the type may also not be served, or not have been listed yet.
func (r *Reconciler) Unwatched() []schema.GroupKind { return r.cache.watches.Unwatched() }

// Close ends all watches, those of reconcilers that As has returned included. Nobody is told of anything any more. The reconcilers
// must not be used afterwards.
func (r *Reconciler) Close() { r.cache.watches.Close() }
