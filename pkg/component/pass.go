// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package component

import (
	"context"
	"fmt"
	"slices"

	"github.com/go-logr/logr"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	apitypes "k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/component-operator/runtime/internal/generating"
	"github.com/component-operator/runtime/internal/shards"
	"github.com/component-operator/runtime/pkg/component/internal/outcomes"
	"github.com/component-operator/runtime/pkg/component/internal/queue"
	"github.com/component-operator/runtime/pkg/component/internal/records"
	"github.com/component-operator/runtime/pkg/component/internal/resource"
	"github.com/component-operator/runtime/pkg/component/internal/targets"
	"github.com/component-operator/runtime/pkg/reconciler"
	"github.com/component-operator/runtime/pkg/types"
)

// pass is one reconciliation of one component. Steps store here what later steps need.
type pass struct {
	worker    *worker
	key       apitypes.NamespacedName
	ownerID   string
	component Component
	// status is the status of the component.
	status *Status
	// subject only identifies the component.
	subject  *unstructured.Unstructured
	memory   *memory
	log      logr.Logger
	deleting bool
	settings settings
	// before is the verdict at the start of the pass.
	before verdict
	// tenure is the time for which this replica holds the shard of the component; nil without sharding.
	tenure *shards.Tenure

	// handle writes the component, record its inventory, and deletionHooks its deletion hooks.
	handle        *resource.Handle
	record        *records.Record
	deletionHooks *records.Hooks
	// destination is the cluster of the dependents, and the next one if they move.
	destination *targets.Destination
	// stay limits the duration of the pass.
	stay *queue.Stay

	// declared is what the component declares. Its digest is empty while the component is being deleted.
	declared declaration
	// orphaning is set if the component is being deleted and its dependents are to be orphaned.
	orphaning bool
	// engaged is set once the engine has been called for the dependents; result is its last result, nil before.
	engaged bool
	result  *reconciler.Result
	// posted is the run of the post-reconcile hooks that counts at the end of the pass.
	posted hookRun
	// later has the events that announce has collected.
	later []func()
	// plan is what would be done if the component were not paused; nil if it is not.
	plan *reconciler.Plan
}

func (w *worker) newPass(ctx context.Context, component Component, tenure *shards.Tenure) (*pass, error) {
	key := client.ObjectKeyFromObject(component)
	p := &pass{
		worker:    w,
		key:       key,
		ownerID:   w.ownerID(key),
		component: component,
		subject:   w.subject(key, component.GetUID()),
		memory:    w.memories.of(key, component.GetUID()),
		log:       log.FromContext(ctx),
		deleting:  component.GetDeletionTimestamp() != nil,
		settings:  settings{timing: timing{requeue: defaultRequeueInterval, retry: defaultRequeueInterval, timeout: defaultRequeueInterval}},
		tenure:    tenure,
	}
	handle, err := w.resource.Open(component, &p.memory.resource, resource.Subject{
		OwnerID: p.ownerID, Reconciler: w.name, Deleting: p.deleting, Log: p.log, Warn: p.warn, Inform: p.tell, Fence: p.mayWrite,
	})
	if err != nil {
		return nil, err
	}
	p.handle = handle
	p.status = component.GetStatus()
	p.openRooms()
	p.before.state, p.before.reason, p.before.message = p.status.GetState()
	return p, nil
}

// openRooms opens the rooms for the component.
func (p *pass) openRooms() {
	stores := &records.Stores{Handle: p.handle, StateNamespace: p.worker.options.StateNamespace}
	p.record = records.Open(p.status.fields(), &p.memory.record, stores, p.worker.options.inlineLimit)
	p.deletionHooks = records.OpenHooks(&p.memory.hooks, p.record, stores, &p.status.DeletionHooks, func() bool { return p.orphaning })
	p.destination = targets.OpenDestination(p.handle, p.record, p.deletionHooks, targets.DestinationOptions{
		Inventory: &p.status.Inventory, OwnCluster: p.worker.clusterID, Connector: p.worker.targets, Identity: p.identity,
		Local: func() targets.Identity {
			return localIdentityOf(p.component, ptr.Deref(p.worker.options.DefaultServiceAccount, ""))
		},
	})
}

// identity returns the identity that writes the dependents. References must be loaded before.
func (p *pass) identity() targets.Identity {
	return identityOf(p.component, ptr.Deref(p.worker.options.DefaultServiceAccount, ""))
}

// mayWrite fails unless this replica certainly holds the shard of the component since the pass began.
func (p *pass) mayWrite() error {
	if err := p.tenure.Check(); err != nil {
		return fmt.Errorf("%w: %w", resource.ErrNotOurs, err)
	}
	return nil
}

// annotated reports whether an annotation of this reconciler is "true" on the component.
func (p *pass) annotated(suffix string) bool {
	return p.handle.Annotation(suffix) == "true"
}

// hookContext returns the context for hooks.
func (p *pass) hookContext(ctx context.Context) context.Context {
	ctx = generating.LocalClient.With(generating.ReconcilerName.With(ctx, p.worker.name), p.worker.local)
	if target := p.destination.Target(); target != nil {
		ctx = generating.Client.With(ctx, target.Client)
	}
	return ctx
}

func (p *pass) runHooks(ctx context.Context, kind string, hooks []hook) outcomes.Outcome {
	for i, run := range hooks {
		if err := p.worker.panics.Run(p.log, func() error { return run(ctx, p.worker.resource.Client, p.component) }); err != nil {
			return outcomes.Of(fmt.Errorf("running %s hook (%d): %w", kind, i, err))
		}
	}
	return outcomes.Proceed
}

// owner returns the component as an owner for the engine.
func (p *pass) owner() reconciler.Owner {
	owner := reconciler.Owner{
		ID:                     p.ownerID,
		Namespace:              p.settings.namespace,
		Inventory:              p.status.Inventory,
		Store:                  p.record,
		Home:                   p.home(),
		AdditionalManagedTypes: p.settings.managedTypes,
		Fence:                  p.mayWrite,
		Confirm:                p.handle.Confirm,
	}
	if !p.destination.IsElsewhere() {
		owner.Self = p.subject
	}
	return owner
}

// departing returns the owner for deleting or orphaning all dependents.
func (p *pass) departing() reconciler.Owner {
	owner := p.owner()
	if !p.orphaning {
		return owner
	}
	owner.Inventory = make([]*reconciler.InventoryItem, len(p.status.Inventory))
	for i, item := range p.status.Inventory {
		released := *item
		released.DeletePolicy = reconciler.DeletePolicyOrphan
		owner.Inventory[i] = &released
	}
	return owner
}

// home returns the namespaces that the component and its objects beside it need. It ignores namespaces in other
// clusters.
func (p *pass) home() []string {
	if p.destination.IsElsewhere() {
		return nil
	}
	var namespaces []string
	for _, namespace := range []string{p.key.Namespace, p.worker.options.StateNamespace} {
		if namespace != "" && !slices.Contains(namespaces, namespace) {
			namespaces = append(namespaces, namespace)
		}
	}
	return namespaces
}

// took records a result of the engine, whether complete or not.
func (p *pass) took(result *reconciler.Result) {
	p.engaged = true
	p.status.Inventory = result.Inventory
	p.announce(result, p.worker.waves(p.component))
	if definesTypes(*result) {
		// Cached discovery information of generators is outdated.
		generating.InvalidateDiscovery()
	}
}

// definesTypes reports whether the actions created or deleted types.
func definesTypes(result reconciler.Result) bool {
	return slices.ContainsFunc(result.Actions, func(action reconciler.Action) bool {
		return slices.ContainsFunc(action.Objects, func(object types.ObjectKey) bool {
			group := object.GetObjectKind().GroupVersionKind().Group
			return group == "apiextensions.k8s.io" || group == "apiregistration.k8s.io"
		})
	})
}

// rebuild completes the inventory if it is not known. Pass the generated objects, or none if all dependents are to be
// found.
func (p *pass) rebuild(ctx context.Context, objects []client.Object) error {
	return p.record.Rebuild(ctx, records.RebuildRequest{
		Engine:     p.destination.Target().Engine,
		OwnerID:    p.ownerID,
		Objects:    objects,
		Namespaces: func() []string { return p.namespaces(objects) },
		Policies:   p.settings.policies,
		Now:        p.worker.options.Clock.Now(),
		Relist:     p.settings.timing.requeue,
		Leaving:    p.deleting || p.destination.Moving(),
		Generation: p.component.GetGeneration(),
	})
}

// namespaces returns the namespaces that may have dependents.
func (p *pass) namespaces(objects []client.Object) []string {
	found := []string{p.key.Namespace, p.settings.namespace}
	for _, object := range objects {
		found = append(found, object.GetNamespace())
	}
	for _, item := range p.status.Inventory {
		found = append(found, item.Namespace)
	}
	found = slices.DeleteFunc(found, func(namespace string) bool { return namespace == "" })
	slices.Sort(found)
	return slices.Compact(found)
}

// now returns the current time in the precision of statuses.
func (p *pass) now() metav1.Time { return metav1.NewTime(p.worker.options.Clock.Now()) }
