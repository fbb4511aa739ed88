// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package component

import (
	"context"
	"fmt"
	"strings"
	"sync"

	"github.com/go-logr/logr"
	apitypes "k8s.io/apimachinery/pkg/types"

	"github.com/component-operator/runtime/internal/clients"
	"github.com/component-operator/runtime/internal/digest"
	"github.com/component-operator/runtime/internal/observe"
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
	// modes tells how each kind of dependents is observed; see observe.Cache.Modes. May be nil.
	modes func() []string
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
	if t == nil || t.modes == nil {
		return nil
	}
	var found []string
	for _, mode := range t.modes() {
		kind, how, _ := strings.Cut(mode, ": ")
		if kinds[kind] && strings.HasPrefix(how, "read one by one") {
			found = append(found, kind)
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
	// options are those of engines, apart from the observer.
	name    string
	options reconciler.Options
	notify  func(ownerLabel string)
	// typesChanged is called some time after the types of a cluster have changed.
	typesChanged func()
	// dropped is called with the id of a target that nobody uses any more.
	dropped func(id string)
	log     logr.Logger

	mu     sync.Mutex
	kept   map[string]*keptTarget
	views  map[string]*observe.Cache
	usedBy map[apitypes.NamespacedName]string
	// clusters are those of connections, by their ids.
	clusters map[string]clusterIdentity
}

type keptTarget struct {
	target
	view   string
	owners map[apitypes.NamespacedName]bool
	// forget drops what the engine remembers of an owner.
	forget func(ownerID string)
}

// localView is the key of the view of the local cluster, which all identities share.
const localView = "local"

var _ connector = &targets{}

func newTargets(factory *clients.Factory, name string, options reconciler.Options, log logr.Logger) *targets {
	return &targets{
		factory: factory, name: name, options: options, log: log,
		notify: func(string) {}, typesChanged: func() {}, dropped: func(string) {},
		kept:     map[string]*keptTarget{},
		views:    map[string]*observe.Cache{},
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
	current := found.target
	return &current, nil
}

func (t *targets) make(connection *clients.Connection, remote bool) (*keptTarget, error) {
	view, observer := localView, t.factory.Local()
	if remote {
		view, observer = connection.ID, connection
	}
	observed, err := t.viewLocked(view, observer)
	if err != nil {
		return nil, err
	}
	options := t.options
	options.Observer = observed
	if !remote && connection != observer {
		// Whoever is impersonated may lose rights with the namespace that is deleted.
		options.DeletionReader = observer
	}
	made, err := reconciler.New(t.name, connection, options)
	if err != nil {
		return nil, err
	}
	return &keptTarget{
		target: target{
			id: connection.ID, client: connection, engine: made, modes: observed.Modes,
			types: func() { observed.WatchTypes(newTypeListener(observer, t.typesChanged)) },
		},
		view:   view,
		owners: map[apitypes.NamespacedName]bool{},
		forget: made.Forget,
	}, nil
}

// local returns the view of the local cluster.
func (t *targets) local() (*observe.Cache, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.viewLocked(localView, t.factory.Local())
}

// viewLocked returns the view of a cluster, as seen by the observer.
func (t *targets) viewLocked(view string, observer *clients.Connection) (*observe.Cache, error) {
	if found := t.views[view]; found != nil {
		return found, nil
	}
	observed, err := observe.New(observe.Options{
		Reader:     reconciler.NewReader(t.name, t.options.FieldOwner, t.options.Analyzer, t.options.Clock),
		Config:     observer.Config(),
		HTTPClient: observer.HttpClient(),
		Mapper:     observer.RESTMapper(),
		Notify:     t.notify,
		Log:        t.log,
	})
	if err != nil {
		return nil, fmt.Errorf("observing the cluster: %w", err)
	}
	t.views[view] = observed
	return observed, nil
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
	label := digest.OwnerLabel(ownerID)
	view := t.views[found.view]
	view.Guard(label, nil)
	// Without needs there is nothing to wait for, hence nothing that could fail.
	_ = view.Watch(context.Background(), label, nil) //nolint:contextcheck // see above
	found.forget(ownerID)
	delete(found.owners, owner)
	if len(found.owners) > 0 {
		return
	}
	delete(t.kept, id)
	if found.view != localView {
		view.Close()
		delete(t.views, found.view)
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
	for _, view := range t.views {
		view.Close()
	}
}
