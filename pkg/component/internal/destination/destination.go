// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package destination

import (
	"context"
	"errors"
	"fmt"

	"github.com/go-logr/logr"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apitypes "k8s.io/apimachinery/pkg/types"

	"github.com/component-operator/runtime/internal/clients"
	"github.com/component-operator/runtime/pkg/component/internal/hooks"
	"github.com/component-operator/runtime/pkg/component/internal/outcomes"
	"github.com/component-operator/runtime/pkg/component/internal/records"
	"github.com/component-operator/runtime/pkg/component/internal/targets"
	"github.com/component-operator/runtime/pkg/component/internal/texts"
	"github.com/component-operator/runtime/pkg/inventory"
	"github.com/component-operator/runtime/pkg/reconciler"
)

// Destination is where the dependents of a component are, and where they go, during one pass.
type Destination struct {
	options Options
	record  *records.Record
	hooks   *hooks.Hooks

	// target is where dependents live; nil until it is connected, or if it is lost.
	target *targets.Target
	// cluster is the one that has the dependents, as far as it is known; next the one that is to have them, if that is another one.
	cluster targets.Cluster
	next    *targets.Cluster
	// held is set if the target is that of an earlier pass, because what leads to it is lost.
	held bool
	// abandoned is set if the dependents are left behind.
	abandoned bool
}

// Options configure the destination of one component.
type Options struct {
	Key     apitypes.NamespacedName
	OwnerID string
	// Reconciler is the name of the reconciler, which prefixes annotations.
	Reconciler string
	Component  metav1.Object
	// Inventory has the dependents.
	Inventory *[]*reconciler.InventoryItem
	// OwnCluster is the UID of the cluster of the component.
	OwnCluster string
	Connector  targets.Connector
	// Identity is that by which dependents are written; it is called after references were loaded. Local is that in the cluster of the component, whether dependents are
	// written there or not.
	Identity func() targets.Identity
	Local    func() targets.Identity
	Deleting bool
	Log      logr.Logger
	// Warn and Tell write events about the component.
	Warn, Tell func(reason, message string)
}

// Open begins to deal with the destination of a component.
func Open(record *records.Record, deletionHooks *hooks.Hooks, options Options) *Destination {
	return &Destination{options: options, record: record, hooks: deletionHooks, cluster: targets.ParseCluster(record.Cluster())}
}

// Target returns where dependents live; nil if it is not connected, or lost.
func (d *Destination) Target() *targets.Target { return d.target }

// Abandoned reports whether dependents are left behind.
func (d *Destination) Abandoned() bool { return d.abandoned }

// Moving reports whether dependents are in another cluster than the one that is to have them.
func (d *Destination) Moving() bool { return d.next != nil }

// Move describes the move from one cluster to another.
func (d *Destination) Move() string {
	return fmt.Sprintf("moving from %s to %s", d.cluster.Describe(), d.next.Describe())
}

// IsRemote reports whether dependents are to live where a kubeconfig leads.
func (d *Destination) IsRemote() bool { return len(d.options.Identity().KubeConfig) > 0 }

// IsElsewhere reports whether the dependents are in another cluster than the component. A kubeconfig may lead to the same one.
func (d *Destination) IsElsewhere() bool {
	return d.IsRemote() && d.cluster.UID != targets.LocalCluster && d.cluster.UID != d.options.OwnCluster
}

func (d *Destination) setCluster(cluster targets.Cluster) {
	d.cluster = cluster
	d.record.SetCluster(cluster.String())
}

// leftBehind are the objects that stay behind if the target is abandoned.
func (d *Destination) leftBehind() []*reconciler.InventoryItem {
	var items []*reconciler.InventoryItem
	if !d.options.Deleting || !d.hooks.Reached(inventory.DeletionStagePostDelete) {
		items = append(items, *d.options.Inventory...)
	}
	return append(items, d.hooks.Applied()...)
}

// isOccupied reports whether something is, or may be, in the cluster of the dependents.
func (d *Destination) isOccupied() bool {
	return len(d.leftBehind()) > 0 || d.record.Gap() != "" || d.options.Deleting && d.hooks.Awaited()
}

// Connect connects to the cluster that has the dependents. While the component is being deleted, what leads there may be missing: then lost says what; otherwise it
// is nil.
func (d *Destination) Connect(ctx context.Context, lost error) outcomes.Outcome {
	if lost != nil {
		return d.holdOrLose(lost)
	}
	id := d.options.Identity()
	if moved, o := d.connectFormer(ctx, id); moved || o.Kind != outcomes.Continue {
		return o
	}
	found, err := d.options.Connector.Connect(d.options.Key, d.options.OwnerID, id)
	switch {
	case errors.Is(err, clients.ErrClosed):
		// The operator is about to end, which says nothing about the target.
		return outcomes.Outcome{Kind: outcomes.Abandoned, Message: err.Error()}
	case err != nil && d.options.Deleting:
		return d.holdOrLose(err)
	case err != nil:
		return notConnected(err)
	}
	d.target = found
	return outcomes.Proceed
}

func notConnected(err error) outcomes.Outcome {
	return outcomes.Outcome{Kind: outcomes.Refused, Message: "connecting to the cluster of the dependents: " + err.Error()}
}

// holdOrLose goes on with the connection that is held, if there is one; otherwise the target is lost.
func (d *Destination) holdOrLose(reason error) outcomes.Outcome {
	if d.hold() {
		return outcomes.Proceed
	}
	return d.lose(reason)
}

// hold has the deletion go on with the connection that this process has, although what leads to the target is lost. It reports
// whether there is one, and whether it leads to the cluster that has the dependents.
func (d *Destination) hold() bool {
	held, cluster := d.options.Connector.Held(d.options.Key)
	if held == nil || d.isGivenUp() || d.cluster.UID != "" && cluster.UID != d.cluster.UID {
		return false
	}
	d.target, d.held = held, true
	return true
}

// identify finds out to which cluster an identity leads. It makes at most one request per connection. The result is unknown if
// the identity must not read the namespace kube-system.
func (d *Destination) identify(ctx context.Context, id targets.Identity) (targets.Cluster, error) {
	if len(id.KubeConfig) == 0 {
		return targets.Cluster{UID: targets.LocalCluster}, nil
	}
	return d.options.Connector.Identify(ctx, id)
}

// connectFormer connects to the cluster that has the dependents, if it is another one than the one that is to have them. It
// reports whether that is so. A cluster to which no connection is held any more is lost.
func (d *Destination) connectFormer(ctx context.Context, id targets.Identity) (moved bool, o outcomes.Outcome) {
	occupied, deleting := d.isOccupied(), d.options.Deleting
	if deleting && (!occupied || d.cluster.UID == "") {
		return false, outcomes.Proceed
	}
	present, err := d.identify(ctx, id)
	var notConnected targets.NotConnectedError
	var noAnswer *clients.NoAnswerError
	switch {
	case errors.As(err, &noAnswer) && !deleting:
		// Whoever goes on would wait for as long again.
		return true, outcomes.Of(fmt.Errorf("identifying the cluster of the dependents: %w", err))
	case errors.As(err, &notConnected), err != nil && (!occupied || d.cluster.UID == ""):
		// Whoever goes on finds out what is wrong.
		return false, outcomes.Proceed
	case err != nil && deleting:
		return true, d.Unreachable(ctx, fmt.Errorf("identifying the cluster of the dependents: %w", err))
	case err != nil:
		return true, outcomes.Of(fmt.Errorf("identifying the cluster of the dependents: %w", err))
	case !occupied || !d.cluster.IsOther(present, d.options.OwnCluster):
		d.setCluster(present)
		return false, outcomes.Proceed
	}
	d.next = &present
	return true, d.reachFormer()
}

// reachFormer connects to the cluster that has the dependents, and is not the one that is to have them.
func (d *Destination) reachFormer() outcomes.Outcome {
	if d.cluster.UID == targets.LocalCluster {
		var err error
		d.target, err = d.options.Connector.Connect(d.options.Key, d.options.OwnerID, d.options.Local())
		return outcomes.Of(err)
	}
	if held, cluster := d.options.Connector.Held(d.options.Key); held != nil && cluster.UID == d.cluster.UID {
		d.target = held
		return outcomes.Proceed
	}
	reason := fmt.Errorf("the dependents are in %s, and the kubeconfig now leads to %s", d.cluster.Describe(), d.next.Describe())
	if d.options.Deleting || !d.isGivenUp() {
		return d.lose(reason)
	}
	d.abandon(reason)
	return d.Arrive()
}

// Arrive begins anew in the cluster that is to have the dependents. That nothing is there yet is recorded with the first write.
func (d *Destination) Arrive() outcomes.Outcome {
	d.options.Tell("Moved", texts.Bound(fmt.Sprintf("the dependents go to %s; before, they were in %s", d.next.Describe(), d.cluster.Describe())))
	d.setCluster(*d.next)
	d.next, d.abandoned = nil, false
	d.record.Clear()
	found, err := d.options.Connector.Connect(d.options.Key, d.options.OwnerID, d.options.Identity())
	if err != nil {
		return notConnected(err)
	}
	d.target = found
	return outcomes.Proceed
}
