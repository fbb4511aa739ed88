// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package targets

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/internal/apiserver"
	"github.com/component-operator/runtime/internal/clients"
	"github.com/component-operator/runtime/pkg/component/internal/outcomes"
	"github.com/component-operator/runtime/pkg/component/internal/records"
	"github.com/component-operator/runtime/pkg/component/internal/resource"
	"github.com/component-operator/runtime/pkg/inventory"
	"github.com/component-operator/runtime/pkg/reconciler"
	"github.com/component-operator/runtime/pkg/types"
)

// Destination is the cluster of a component's dependents during one pass, and the next one if they move.
type Destination struct {
	options DestinationOptions
	handle  *resource.Handle
	record  *records.Record
	hooks   *records.Hooks

	// target is the connection to the cluster of the dependents; nil until it is connected, or if it is lost.
	target *Target
	// cluster is the cluster of the dependents, if it is known; next is the one that they move to, if any.
	cluster Cluster
	next    *Cluster
	// held is set if the target is the connection of an earlier pass, because the kubeconfig is lost.
	held bool
	// abandoned is set if the dependents are given up.
	abandoned bool
}

// DestinationOptions configure the destination of one component.
type DestinationOptions struct {
	// Inventory has the dependents.
	Inventory *[]*reconciler.InventoryItem
	// OwnCluster is the UID of the cluster of the component.
	OwnCluster string
	Connector  Connector
	// Identity returns the identity that writes the dependents; references must be loaded before. Local returns the
	// identity in the component's own cluster, even if the dependents are elsewhere.
	Identity func() Identity
	Local    func() Identity
}

// OpenDestination returns the destination of a component for one pass.
func OpenDestination(handle *resource.Handle, record *records.Record, deletionHooks *records.Hooks, options DestinationOptions) *Destination {
	return &Destination{options: options, handle: handle, record: record, hooks: deletionHooks, cluster: ParseCluster(record.Cluster)}
}

// Target returns the connection to the cluster of the dependents; nil if there is none, or if it is lost.
func (d *Destination) Target() *Target { return d.target }

// Abandoned reports whether the dependents are given up.
func (d *Destination) Abandoned() bool { return d.abandoned }

// Moving reports whether the dependents move to another cluster.
func (d *Destination) Moving() bool { return d.next != nil }

// Move describes the move for messages.
func (d *Destination) Move() string {
	return fmt.Sprintf("moving from %s to %s", d.cluster.Describe(), d.next.Describe())
}

// IsRemote reports whether a kubeconfig determines the cluster of the dependents.
func (d *Destination) IsRemote() bool { return len(d.options.Identity().KubeConfig) > 0 }

// Server returns the address of the cluster of the dependents, for messages; empty if it is the cluster of the
// component, or not known.
func (d *Destination) Server() string {
	switch {
	case !d.IsRemote():
		return ""
	case d.target != nil && d.target.Client != nil:
		return HostOf(d.target.Client.Config().Host)
	default:
		return d.cluster.Host
	}
}

// IsElsewhere reports whether the dependents are in another cluster than the component. A kubeconfig may refer to the
// same one.
func (d *Destination) IsElsewhere() bool {
	return d.IsRemote() && d.cluster.UID != LocalCluster && d.cluster.UID != d.options.OwnCluster
}

func (d *Destination) setCluster(cluster Cluster) {
	d.cluster = cluster
	d.record.Cluster = cluster.String()
}

// leftBehind returns the objects that remain if the target is abandoned.
func (d *Destination) leftBehind() []*reconciler.InventoryItem {
	var items []*reconciler.InventoryItem
	if !d.handle.Deleting || !d.hooks.Reached(inventory.DeletionStagePostDelete) {
		items = append(items, *d.options.Inventory...)
	}
	return append(items, d.hooks.Applied()...)
}

// isOccupied reports whether the cluster of the dependents has any, or may have.
func (d *Destination) isOccupied() bool {
	return len(d.leftBehind()) > 0 || d.record.Gap() != "" || d.handle.Deleting && d.hooks.Awaited()
}

// Connect connects to the cluster of the dependents. While the component is being deleted, the kubeconfig may be
// missing: lost is then the reason; otherwise it is nil.
func (d *Destination) Connect(ctx context.Context, lost error) outcomes.Outcome {
	if lost != nil {
		return d.holdOrLose(lost)
	}
	id := d.options.Identity()
	if moved, o := d.connectFormer(ctx, id); moved || o.Kind != outcomes.Continue {
		return o
	}
	found, err := d.options.Connector.Connect(d.handle.Key, d.handle.OwnerID, id)
	switch {
	case errors.Is(err, clients.ErrClosed):
		// The operator is stopping, so the error does not concern the target.
		return outcomes.Outcome{Kind: outcomes.Abandoned, Message: err.Error()}
	case err != nil && d.handle.Deleting:
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

// holdOrLose makes the deletion continue with the connection of an earlier pass. If there is none to the cluster of the
// dependents, the target is lost.
func (d *Destination) holdOrLose(reason error) outcomes.Outcome {
	held, cluster := d.options.Connector.Held(d.handle.Key)
	if held == nil || d.isGivenUp() || d.cluster.UID != "" && cluster.UID != d.cluster.UID {
		return d.loseTarget(reason)
	}
	d.target, d.held = held, true
	return outcomes.Proceed
}

// identify returns the cluster that an identity connects to, with at most one request per connection. The result is
// unknown if the identity may not read the namespace kube-system.
func (d *Destination) identify(ctx context.Context, id Identity) (Cluster, error) {
	if len(id.KubeConfig) == 0 {
		return Cluster{UID: LocalCluster}, nil
	}
	return d.options.Connector.Identify(ctx, id)
}

// connectFormer connects to the former cluster of dependents that move, and reports whether they do. A former cluster
// without a connection is lost.
func (d *Destination) connectFormer(ctx context.Context, id Identity) (moved bool, o outcomes.Outcome) {
	occupied, deleting := d.isOccupied(), d.handle.Deleting
	if deleting && (!occupied || d.cluster.UID == "") {
		return false, outcomes.Proceed
	}
	present, err := d.identify(ctx, id)
	_, notConnected := errors.AsType[NotConnectedError](err)
	_, noAnswer := errors.AsType[*clients.NoAnswerError](err)
	switch {
	case noAnswer && !deleting:
		// The next step would wait just as long.
		return true, outcomes.Of(fmt.Errorf("identifying the cluster of the dependents: %w", err))
	case notConnected, err != nil && (!occupied || d.cluster.UID == ""):
		// The next step reports the error.
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

// reachFormer connects to the former cluster of dependents that move.
func (d *Destination) reachFormer() outcomes.Outcome {
	if d.cluster.UID == LocalCluster {
		var err error
		d.target, err = d.options.Connector.Connect(d.handle.Key, d.handle.OwnerID, d.options.Local())
		return outcomes.Of(err)
	}
	if held, cluster := d.options.Connector.Held(d.handle.Key); held != nil && cluster.UID == d.cluster.UID {
		d.target = held
		return outcomes.Proceed
	}
	reason := fmt.Errorf("the dependents are in %s, but the kubeconfig now refers to %s", d.cluster.Describe(), d.next.Describe())
	if d.handle.Deleting || !d.isGivenUp() {
		return d.loseTarget(reason)
	}
	d.abandon(reason)
	return d.Arrive()
}

// Arrive starts work in the new cluster. The first write records that it has no dependents yet.
func (d *Destination) Arrive() outcomes.Outcome {
	d.handle.Inform("Moved", fmt.Sprintf("the dependents move to %s; they were in %s", d.next.Describe(), d.cluster.Describe()))
	d.setCluster(*d.next)
	d.next, d.abandoned = nil, false
	d.record.Clear()
	found, err := d.options.Connector.Connect(d.handle.Key, d.handle.OwnerID, d.options.Identity())
	if err != nil {
		return notConnected(err)
	}
	d.target = found
	return outcomes.Proceed
}

// loseTarget returns the outcome for a component whose dependents are unreachable during its deletion or their move.
func (d *Destination) loseTarget(reason error) outcomes.Outcome {
	left, gap, awaited := d.leftBehind(), d.record.Gap(), d.hooks.Awaited()
	switch {
	case len(left) == 0 && gap == "" && !awaited:
		// Nothing was ever deployed, so nothing can remain.
		d.handle.Log.Info("the cluster of the dependents is unreachable, but there are no dependents", "reason", reason.Error())
		return outcomes.Proceed
	case d.isGivenUp():
		d.abandon(reason)
		return outcomes.Proceed
	}
	content, consequence := "that has "+outcomes.Dependents(len(left)), "gives up these dependents without deleting them"
	switch {
	case gap != "":
		content = "of the dependents, whose number is not known because " + gap
	case len(left) == 0:
		content, consequence = "of the deletion hooks", "goes on"
	}
	if awaited {
		consequence += ", and skips the unfinished deletion hooks"
	}
	return outcomes.Retry(fmt.Sprintf("cannot reach the cluster %s: %s; restore the access, or set the annotation %s of the component to \"true\": then the operator %s",
		content, reason, d.abandonAnnotation(), consequence), outcomes.MissingDelay)
}

func (d *Destination) abandonAnnotation() string {
	return d.handle.AnnotationKey(types.AnnotationKeySuffixAbandonTarget)
}

// isGivenUp reports whether the user has allowed unreachable dependents to be abandoned.
func (d *Destination) isGivenUp() bool {
	return d.handle.IsAnnotated(types.AnnotationKeySuffixAbandonTarget)
}

// abandon gives up the dependents, and reports the remaining ones.
func (d *Destination) abandon(reason error) {
	d.target, d.abandoned = nil, true
	left := d.leftBehind()
	names := make([]string, len(left))
	for i, item := range left {
		names[i] = outcomes.Name(item)
	}
	slices.Sort(names)
	d.handle.Log.Info("dependents are abandoned", "reason", reason.Error(), "dependents", names)
	message := fmt.Sprintf("the operator has given up %s, which may still exist: %s; delete them yourself if nobody needs them",
		outcomes.Dependents(len(names)), outcomes.Join(names, ", "))
	switch gap := d.record.Gap(); {
	case gap != "":
		message = "the operator has given up dependents whose number is not known because " + gap + "; known are: " + cmp.Or(outcomes.Join(names, ", "), "none")
	case len(names) == 0:
		message = "the operator has given up the cluster of the dependents"
	}
	d.handle.Warn("Abandoned", message)
	if d.hooks.Awaited() {
		d.handle.Warn("HooksSkipped", "unfinished deletion hooks are skipped, because the cluster of the dependents is abandoned")
	}
}

// Unreachable handles an error of the engine while dependents are deleted. If the error means that the target is
// unreachable, the target may be abandoned.
func (d *Destination) Unreachable(ctx context.Context, err error) outcomes.Outcome {
	o := outcomes.Of(err)
	switch {
	case apiserver.IsAdmission(err):
		o.Message += fmt.Sprintf("; allow it, or set the annotation %s to \"true\" to orphan all dependents instead of deleting them",
			d.handle.AnnotationKey(types.AnnotationKeySuffixOrphanDependents))
	case err == nil || !d.isOutOfReach(ctx, err):
	case d.isGivenUp():
		d.abandon(err)
		return outcomes.Proceed
	case apierrors.IsForbidden(err):
		o.Message += fmt.Sprintf("; grant the permission, or set the annotation %s to \"true\" to abandon the dependents", d.abandonAnnotation())
	}
	return o
}

// Held returns the outcome of a step that waits for the approval of deletions. If the user has allowed the dependents
// to be abandoned, it first tries to delete one of them in a dry run: if the target is out of reach, they are
// abandoned.
func (d *Destination) Held(ctx context.Context, held *reconciler.HeldDeletions, o outcomes.Outcome) outcomes.Outcome {
	if !d.isGivenUp() || d.target == nil {
		return o
	}
	if err := d.rehearseDeletion(ctx, held.Objects[0]); err != nil && d.isOutOfReach(ctx, err) {
		return d.Unreachable(ctx, err)
	}
	return o
}

// rehearseDeletion asks the server to delete an object in a dry run.
func (d *Destination) rehearseDeletion(ctx context.Context, of reconciler.ObjectInfo) error {
	object := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Namespace: of.Namespace, Name: of.Name}}
	object.SetGroupVersionKind(of.GetObjectKind().GroupVersionKind())
	return d.target.Client.Delete(ctx, object, client.DryRunAll)
}

// isOutOfReach reports whether an error of the engine means that another cluster does not answer, or that a permission
// is missing. A failure to read the component, or to write its status, is no sign of that.
func (d *Destination) isOutOfReach(ctx context.Context, err error) bool {
	var status apierrors.APIStatus
	_, refused := errors.AsType[*reconciler.RefusedError](err)
	_, fenced := errors.AsType[*reconciler.FencedError](err)
	isRemote := d.IsRemote() || d.held || d.next != nil && d.cluster.UID != LocalCluster
	switch {
	case fenced || refused || ctx.Err() != nil || d.record.Unsaved():
		return false
	case apierrors.IsForbidden(err):
		return true
	case !isRemote:
		return false
	case apierrors.IsUnauthorized(err):
		return true
	default:
		return !errors.As(err, &status)
	}
}

// CheckUnlisted blocks the deletion while there may be unrecorded dependents.
func (d *Destination) CheckUnlisted(context.Context) outcomes.Outcome {
	unlisted := d.record.Unlisted()
	if len(unlisted) == 0 || d.abandoned {
		return outcomes.Proceed
	}
	kinds := records.KindTexts(unlisted)
	if !d.isGivenUp() {
		return outcomes.Retry(fmt.Sprintf("dependents may be left that the operator cannot list; grant it the permission to list their kinds, or make their API available again; "+
			"or set the annotation %s of the component to \"true\" to end the deletion without them", d.abandonAnnotation()), outcomes.MissingDelay)
	}
	d.abandoned = true
	d.handle.Log.Info("dependents may be abandoned", "kinds", kinds)
	d.handle.Warn("Abandoned", "dependents of these kinds may be abandoned, because they cannot be listed: "+kinds)
	return outcomes.Proceed
}
