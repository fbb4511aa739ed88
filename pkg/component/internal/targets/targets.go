// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package targets

import (
	"context"
	"sync"

	"k8s.io/apimachinery/pkg/runtime/schema"
	apitypes "k8s.io/apimachinery/pkg/types"

	"github.com/component-operator/runtime/internal/clients"
	"github.com/component-operator/runtime/internal/generating"
	"github.com/component-operator/runtime/pkg/cluster"
	"github.com/component-operator/runtime/pkg/reconciler"
)

// Engine has the methods of a reconciler.Reconciler that components use.
type Engine interface {
	Apply(ctx context.Context, request reconciler.ApplyRequest) (reconciler.Result, error)
	Plan(ctx context.Context, request reconciler.ApplyRequest, options reconciler.PlanOptions) (reconciler.Plan, error)
	Delete(ctx context.Context, request reconciler.DeleteRequest) (reconciler.Result, error)
	CheckDeletion(ctx context.Context, request reconciler.DeleteRequest) ([]reconciler.Blocker, error)
	HeldDeletion(ctx context.Context, request reconciler.DeleteRequest) (*reconciler.HeldDeletions, error)
	LiftBarriers(ctx context.Context, request reconciler.DeleteRequest) ([]*reconciler.InventoryItem, error)
	Rebuild(ctx context.Context, request reconciler.RebuildRequest) (reconciler.RebuildResult, error)
}

// Target is a cluster, and an identity that writes the dependents.
type Target struct {
	// ID is equal for equal clusters and identities.
	ID     string
	Client cluster.Client
	Engine Engine
	// unwatchable returns the kinds of dependents that cannot be watched; see reconciler.Reconciler.Unwatched. May be
	// nil.
	unwatchable func() []schema.GroupKind
	// types starts watching the types of the cluster. May be nil.
	types func()
}

// WatchTypes starts watching the types of the cluster.
func (t *Target) WatchTypes() {
	if t.types != nil {
		t.types()
	}
}

// Unwatched returns the kinds among them that are not watched, sorted.
func (t *Target) Unwatched(kinds map[string]bool) []string {
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

// Connector connects components to targets.
type Connector interface {
	// Connect returns the target for an identity, without a request. The owner, a component, has one target at a time;
	// Connect releases the earlier one.
	Connect(owner apitypes.NamespacedName, ownerID string, id Identity) (*Target, error)
	// Identify returns the cluster that the kubeconfig of an identity refers to, with one request per connection.
	Identify(ctx context.Context, id Identity) (Cluster, error)
	// Held returns the present target of the owner, and its cluster; nil if it has none.
	Held(owner apitypes.NamespacedName) (*Target, Cluster)
	// Release says that the owner no longer needs a target.
	Release(owner apitypes.NamespacedName, ownerID string)
}

// Targets implements Connector.
type Targets struct {
	options Options

	mu   sync.Mutex
	kept map[string]*keptTarget
	// engines has one that watches for each view; the other engines of the view share its observations.
	engines map[string]*reconciler.Reconciler
	usedBy  map[apitypes.NamespacedName]string
	// clusters has the clusters of connections, by their IDs.
	clusters map[string]Cluster
}

type keptTarget struct {
	Target
	view   string
	owners map[apitypes.NamespacedName]bool
	own    *reconciler.Reconciler // the engine of the target
}

// localView is the key of the view of the local cluster, which all identities share.
const localView = "local"

var _ Connector = &Targets{}

// Options configure Targets. All are required.
type Options struct {
	Factory *clients.Factory
	// Name of the reconciler, and the options of its engines.
	Name   string
	Engine reconciler.Options
	// Changed receives the owner whose dependents have changed.
	Changed func(owner apitypes.NamespacedName)
	// TypesChanged is called some time after the types of a cluster have changed.
	TypesChanged func()
	// Dropped receives the ID of a target that is no longer used.
	Dropped func(id string)
}

// New returns targets without connections. They must be closed.
func New(options Options) *Targets {
	return &Targets{
		options:  options,
		kept:     map[string]*keptTarget{},
		engines:  map[string]*reconciler.Reconciler{},
		usedBy:   map[apitypes.NamespacedName]string{},
		clusters: map[string]Cluster{},
	}
}

// Connect implements Connector.
func (t *Targets) Connect(owner apitypes.NamespacedName, ownerID string, id Identity) (*Target, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	// The lock keeps the connection from being dropped meanwhile. The call makes no request, and waits for nothing.
	connection, err := t.options.Factory.Get(id.key())
	if err != nil {
		return nil, err
	}
	found := t.kept[connection.ID]
	if found == nil {
		if found, err = t.make(connection, len(id.KubeConfig) > 0); err != nil {
			return nil, err
		}
		t.kept[connection.ID] = found
	}
	// After an error of another owner, the factory has created the connection again. The old one works, but sends no events.
	found.Client = connection
	if previous := t.usedBy[owner]; previous != "" && previous != connection.ID {
		t.releaseLocked(owner, ownerID)
	}
	t.usedBy[owner] = connection.ID
	found.owners[owner] = true
	found.own.Subscribe(ownerID, func() { t.options.Changed(owner) })
	current := found.Target
	return &current, nil
}

func (t *Targets) make(connection *clients.Connection, remote bool) (*keptTarget, error) {
	view, observer := localView, t.options.Factory.Local()
	if remote {
		view, observer = connection.ID, connection
	}
	own, err := t.engineLocked(view, observer)
	if err != nil {
		return nil, err
	}
	if connection != observer {
		// The impersonated user may lose permissions along with the namespace that is being deleted.
		own = own.As(connection)
	}
	return &keptTarget{
		Target: Target{
			ID: connection.ID, Client: connection, Engine: own, unwatchable: own.Unwatched,
			types: func() {
				// What was read before the watch began may be outdated.
				own.WatchTypes(func(bool) { generating.InvalidateDiscovery() }, newTypeChanges(t.options.TypesChanged).noteChange)
			},
		},
		view:   view,
		owners: map[apitypes.NamespacedName]bool{},
		own:    own,
	}, nil
}

// Local returns the engine that watches the local cluster.
func (t *Targets) Local() (*reconciler.Reconciler, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.engineLocked(localView, t.options.Factory.Local())
}

// maxObservedBytes is how much memory the observations of the dependents in one remote cluster may take: enough for
// some 90,000.
const maxObservedBytes = 64 << 20

// engineLocked returns the engine that watches a cluster, as the observer.
func (t *Targets) engineLocked(view string, observer *clients.Connection) (*reconciler.Reconciler, error) {
	if found := t.engines[view]; found != nil {
		return found, nil
	}
	options := t.options.Engine
	if view != localView {
		options.MaxObservedBytes = maxObservedBytes
	}
	made, err := reconciler.New(t.options.Name, observer, options)
	if err != nil {
		return nil, err
	}
	t.engines[view] = made
	return made, nil
}

// Release implements Connector.
func (t *Targets) Release(owner apitypes.NamespacedName, ownerID string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.releaseLocked(owner, ownerID)
}

func (t *Targets) releaseLocked(owner apitypes.NamespacedName, ownerID string) {
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
	if id != t.options.Factory.Local().ID {
		t.options.Factory.Drop(id)
	}
	t.options.Dropped(id)
}

// Close ends all watches.
func (t *Targets) Close() {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, made := range t.engines {
		made.Close()
	}
}
