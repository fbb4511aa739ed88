// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package targets

import (
	"context"
	"fmt"
	"maps"
	"net/url"
	"strings"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apitypes "k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"

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
	// own is the engine; nil if the target was not made by Targets.
	own     *reconciler.Reconciler
	changes *typeChanges
}

// WatchTypes starts watching the types of the cluster.
func (t *Target) WatchTypes() {
	if t.own != nil {
		// What was read before the watch began may be outdated.
		t.own.WatchTypes(func(bool) { generating.InvalidateDiscovery() }, t.changes.noteChange)
	}
}

// Unwatched returns the kinds among them that are not watched, sorted.
func (t *Target) Unwatched(kinds map[string]bool) []string {
	if t == nil || t.own == nil {
		return nil
	}
	var found []string
	for _, kind := range t.own.Unwatched() {
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
	// Release ends the owner's use of its target.
	Release(owner apitypes.NamespacedName, ownerID string)
}

// Targets implements Connector.
type Targets struct {
	options Options

	mu   sync.Mutex
	kept map[string]*keptTarget
	// engines contains the watching engine of each view; the other engines of the view share its observations.
	engines map[string]*reconciler.Reconciler
	usedBy  map[apitypes.NamespacedName]string
	// clusters has the clusters of connections, by their IDs.
	clusters map[string]Cluster
}

type keptTarget struct {
	Target
	view   string
	owners map[apitypes.NamespacedName]bool
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
	connection, err := t.options.Factory.Get(id)
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
	changes := &typeChanges{settled: func() {
		generating.InvalidateDiscovery()
		t.options.TypesChanged()
	}}
	return &keptTarget{
		Target: Target{ID: connection.ID, Client: connection, Engine: own, own: own, changes: changes},
		view:   view,
		owners: map[apitypes.NamespacedName]bool{},
	}, nil
}

// Local returns the engine that watches the local cluster.
func (t *Targets) Local() (*reconciler.Reconciler, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.engineLocked(localView, t.options.Factory.Local())
}

// maxObservedBytes is the maximum size of the observations of the dependents in one remote cluster: enough for about
// 90,000.
const maxObservedBytes = 64 << 20

// engineLocked returns the engine that watches a cluster with the observer's identity.
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

// firstLook and lastLook are the delays before reading types again after a change of a definition: usually, they are
// served after the first, but the API server reports aggregated types seconds later.
const firstLook, lastLook = time.Second, 10 * time.Second

// typeChanges combines changes of types in quick succession.
type typeChanges struct {
	// settled is called when types have settled.
	settled func()

	mu sync.Mutex
	// pending is set until the last look; again is set by a further change until then.
	pending, again bool
}

func (c *typeChanges) noteChange() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.pending {
		c.again = true
		return
	}
	c.pending = true
	time.AfterFunc(firstLook, c.settled)
	time.AfterFunc(lastLook, func() {
		c.mu.Lock()
		again := c.again
		c.pending, c.again = false, false
		c.mu.Unlock()
		c.settled()
		if again {
			c.noteChange()
		}
	})
}

// spareClusters is the number of unused connections whose clusters are remembered.
const spareClusters = 100

// Identify implements Connector. Without permission to read the namespace, the cluster remains unknown.
func (t *Targets) Identify(ctx context.Context, id Identity) (Cluster, error) {
	connection, err := t.options.Factory.Get(id)
	if err != nil {
		return Cluster{}, NotConnectedError{err}
	}
	t.mu.Lock()
	found, known := t.clusters[connection.ID]
	t.mu.Unlock()
	if known {
		return found, nil
	}
	uid, err := cluster.UIDOf(ctx, connection)
	if err != nil {
		t.dropUnknown(connection.ID)
		return Cluster{}, err
	}
	if uid == LocalCluster || len(validation.IsValidLabelValue(string(uid))) > 0 {
		// Otherwise, a server could pass for the cluster of the component, and the dependents would never be deleted
		// through their server.
		t.dropUnknown(connection.ID)
		return Cluster{}, fmt.Errorf("the cluster at %s: the UID of namespace %s is not valid; must be a UUID", HostOf(connection.Config().Host), metav1.NamespaceSystem)
	}
	if uid != "" {
		found = Cluster{UID: string(uid), Host: HostOf(connection.Config().Host)}
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.clusters) >= len(t.kept)+spareClusters {
		maps.DeleteFunc(t.clusters, func(id string, _ Cluster) bool {
			if t.kept[id] != nil || id == connection.ID {
				return false
			}
			t.options.Factory.Drop(id)
			return true
		})
	}
	t.clusters[connection.ID] = found
	return found, nil
}

// dropUnknown drops an unusable connection, unless another owner has used it successfully meanwhile.
func (t *Targets) dropUnknown(id string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if _, known := t.clusters[id]; !known && t.kept[id] == nil && id != t.options.Factory.Local().ID {
		t.options.Factory.Drop(id)
	}
}

// HostOf returns the address of a server without parts that could be secret.
func HostOf(address string) string {
	parsed, err := url.Parse(address)
	if err != nil || parsed.Host == "" {
		return ""
	}
	return parsed.Scheme + "://" + parsed.Host
}

// Held implements Connector.
func (t *Targets) Held(owner apitypes.NamespacedName) (*Target, Cluster) {
	t.mu.Lock()
	defer t.mu.Unlock()
	found := t.kept[t.usedBy[owner]]
	if found == nil {
		return nil, Cluster{}
	}
	current := found.Target
	return &current, t.clusters[current.ID]
}

// Identity identifies the cluster of the dependents, and the user that writes them.
type Identity = clients.Key

// Cluster identifies a cluster; the zero value is an unknown one.
type Cluster struct {
	// UID is that of the namespace kube-system, or LocalCluster.
	UID string
	// Host is the address of the API server, for messages; empty for the cluster of the component.
	Host string
}

// LocalCluster stands for the cluster of the component.
const LocalCluster = "local"

// ParseCluster is the inverse of Cluster.String.
func ParseCluster(text string) Cluster {
	uid, host, _ := strings.Cut(text, "@")
	return Cluster{UID: uid, Host: host}
}

// String returns the form in the status.
func (c Cluster) String() string {
	if c.Host == "" {
		return c.UID
	}
	return c.UID + "@" + c.Host
}

// Describe formats the cluster for messages.
func (c Cluster) Describe() string {
	switch {
	case c.UID == LocalCluster:
		return "the cluster of the component"
	case c.Host == "":
		return "the cluster whose namespace kube-system has the UID " + c.UID
	default:
		return fmt.Sprintf("the cluster at %s, whose namespace kube-system has the UID %s", c.Host, c.UID)
	}
}

// IsOther reports whether two clusters are certainly different. A kubeconfig may refer to the cluster of the component,
// whose UID is own.
func (c Cluster) IsOther(other Cluster, own string) bool {
	uid := func(c Cluster) string {
		if c.UID == LocalCluster {
			return own
		}
		return c.UID
	}
	return c.UID != "" && other.UID != "" && uid(c) != uid(other)
}

// NotConnectedError means that no connection can be made with an identity.
type NotConnectedError struct{ error }
