// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package component

import (
	"context"
	"sync"

	"k8s.io/apimachinery/pkg/runtime/schema"
	apitypes "k8s.io/apimachinery/pkg/types"

	"github.com/component-operator/runtime/internal/clients"
	"github.com/component-operator/runtime/pkg/cluster"
	"github.com/component-operator/runtime/pkg/manifests"
	"github.com/component-operator/runtime/pkg/reconciler"
)

// engine is what this package uses of reconciler.Reconciler.
type engine interface {
	Apply(ctx context.Context, request reconciler.ApplyRequest) (reconciler.Result, error)
	Delete(ctx context.Context, request reconciler.DeleteRequest) (reconciler.Result, error)
	CheckDeletion(ctx context.Context, request reconciler.DeleteRequest) ([]reconciler.Blocker, error)
	LiftBarriers(ctx context.Context, request reconciler.DeleteRequest) ([]*reconciler.InventoryItem, error)
	Rebuild(ctx context.Context, request reconciler.RebuildRequest) (reconciler.RebuildResult, error)
}

// target is a cluster and an identity by which dependents are written.
type target struct {
	// id is the same for the same cluster and identity.
	id     string
	client cluster.Client
	engine engine
	// unwatchable returns the kinds of dependents that cannot be watched; see reconciler.Reconciler.Unwatched. May be nil.
	unwatchable func() []schema.GroupKind
	// types has changes of the types of the cluster noticed from now on. May be nil.
	types func()
}

// watchTypes has changes of the types of the cluster noticed from now on.
func (t *target) watchTypes() {
	if t.types != nil {
		t.types()
	}
}

// unwatched returns those of the kinds that are not watched, sorted.
func (t *target) unwatched(kinds map[string]bool) []string {
	if t == nil || t.unwatchable == nil {
		return nil
	}
	var found []string
	for _, kind := range t.unwatchable() {
		if name := kind.String(); kinds[name] {
			found = append(found, name)
		}
	}
	return found
}

// connector finds targets.
type connector interface {
	// connect returns the target for an identity. It makes no request. The owner is a component, and has one target at a
	// time; what an earlier target holds for it is released.
	connect(owner apitypes.NamespacedName, ownerID string, id identity) (*target, error)
	// identify returns the cluster to which an identity with a kubeconfig leads. It makes one request for each connection.
	identify(ctx context.Context, id identity) (clusterIdentity, error)
	// held returns the target that the owner has now, and its cluster; nil if it has none.
	held(owner apitypes.NamespacedName) (*target, clusterIdentity)
	// release says that the owner needs no target any longer.
	release(owner apitypes.NamespacedName, ownerID string)
}

// targets is the connector over real connections. Each cluster is observed once, as the operator itself or as the kubeconfig
// says, and kept as long as a component uses it.
type targets struct {
	factory *clients.Factory
	name    string
	options reconciler.Options
	// changed is called with the owner whose dependents have changed.
	changed func(owner apitypes.NamespacedName)
	// typesChanged is called some time after the types of a cluster have changed.
	typesChanged func()
	// dropped is called with the id of a target that nobody uses any more.
	dropped func(id string)

	mu   sync.Mutex
	kept map[string]*keptTarget
	// engines have one that observes for each view; others share what it sees.
	engines map[string]*reconciler.Reconciler
	usedBy  map[apitypes.NamespacedName]string
	// clusters are those of connections, by their ids.
	clusters map[string]clusterIdentity
}

type keptTarget struct {
	target
	view   string
	owners map[apitypes.NamespacedName]bool
	own    *reconciler.Reconciler // the engine of the target
}

// localView is the key of the view of the local cluster, which all identities share.
const localView = "local"

var _ connector = &targets{}

func newTargets(factory *clients.Factory, name string, options reconciler.Options) *targets {
	return &targets{
		factory: factory, name: name, options: options,
		changed: func(apitypes.NamespacedName) {}, typesChanged: func() {}, dropped: func(string) {},
		kept:     map[string]*keptTarget{},
		engines:  map[string]*reconciler.Reconciler{},
		usedBy:   map[apitypes.NamespacedName]string{},
		clusters: map[string]clusterIdentity{},
	}
}

func (t *targets) connect(owner apitypes.NamespacedName, ownerID string, id identity) (*target, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	// With the lock held, so that nobody drops it meanwhile. That makes no request, and waits for nothing.
	connection, err := t.factory.Get(clients.Key{KubeConfig: id.kubeConfig, User: id.user, Groups: id.groups})
	if err != nil {
		return nil, err
	}
	found := t.kept[connection.ID]
	if found == nil {
		if found, err = t.make(connection, len(id.kubeConfig) > 0); err != nil {
			return nil, err
		}
		t.kept[connection.ID] = found
	}
	// The factory may have made the connection anew; the old one still works, but sends no events.
	found.client = connection
	if previous := t.usedBy[owner]; previous != "" && previous != connection.ID {
		t.releaseLocked(owner, ownerID)
	}
	t.usedBy[owner] = connection.ID
	found.owners[owner] = true
	found.own.Subscribe(ownerID, func() { t.changed(owner) })
	current := found.target
	return &current, nil
}

func (t *targets) make(connection *clients.Connection, remote bool) (*keptTarget, error) {
	view, observer := localView, t.factory.Local()
	if remote {
		view, observer = connection.ID, connection
	}
	own, err := t.engineLocked(view, observer)
	if err != nil {
		return nil, err
	}
	if connection != observer {
		// Whoever is impersonated may lose rights with the namespace that is deleted.
		own = own.As(connection)
	}
	return &keptTarget{
		target: target{
			id: connection.ID, client: connection, engine: own, unwatchable: own.Unwatched,
			types: func() {
				own.WatchTypes(func(watched bool) { manifests.KeepDiscovery(observer, watched) }, newTypeChanges(observer, t.typesChanged).happened)
			},
		},
		view:   view,
		owners: map[apitypes.NamespacedName]bool{},
		own:    own,
	}, nil
}

// local returns the engine that observes the local cluster.
func (t *targets) local() (*reconciler.Reconciler, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.engineLocked(localView, t.factory.Local())
}

// engineLocked returns the engine that observes a cluster, as the observer.
func (t *targets) engineLocked(view string, observer *clients.Connection) (*reconciler.Reconciler, error) {
	if found := t.engines[view]; found != nil {
		return found, nil
	}
	made, err := reconciler.New(t.name, observer, t.options)
	if err != nil {
		return nil, err
	}
	t.engines[view] = made
	return made, nil
}

func (t *targets) release(owner apitypes.NamespacedName, ownerID string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.releaseLocked(owner, ownerID)
}

func (t *targets) releaseLocked(owner apitypes.NamespacedName, ownerID string) {
	id := t.usedBy[owner]
	delete(t.usedBy, owner)
	found := t.kept[id]
	if found == nil {
		return
	}
	found.own.Forget(ownerID)
	delete(found.owners, owner)
	if len(found.owners) > 0 {
		return
	}
	delete(t.kept, id)
	if found.view != localView {
		found.own.Close()
		delete(t.engines, found.view)
	}
	if id != t.factory.Local().ID {
		manifests.ForgetDiscovery(found.client)
		t.factory.Drop(id)
	}
	t.dropped(id)
}

// close ends all observation.
func (t *targets) close() {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, made := range t.engines {
		made.Close()
	}
}
