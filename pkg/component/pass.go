// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package component

import (
	"context"
	"crypto/sha256"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	apitypes "k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/component-operator/runtime/internal/generating"
	"github.com/component-operator/runtime/internal/manifest"
	"github.com/component-operator/runtime/internal/shards"
	"github.com/component-operator/runtime/pkg/component/internal/generation"
	"github.com/component-operator/runtime/pkg/component/internal/outcomes"
	"github.com/component-operator/runtime/pkg/component/internal/queue"
	"github.com/component-operator/runtime/pkg/component/internal/records"
	"github.com/component-operator/runtime/pkg/component/internal/resource"
	"github.com/component-operator/runtime/pkg/component/internal/rollout"
	"github.com/component-operator/runtime/pkg/component/internal/targets"
	"github.com/component-operator/runtime/pkg/reconciler"
	"github.com/component-operator/runtime/pkg/types"
)

// pass is one reconciliation of one component. Steps store the input of later steps here.
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
	// before is the verdict at the start of the pass, observed the observed generation.
	before   verdict
	observed int64
	// tenure is the time for which this replica holds the shard of the component; nil without sharding.
	tenure *shards.Tenure

	// handle writes the component, record its inventory, and deletionHooks its deletion hooks.
	handle        *resource.Handle
	record        *records.Record
	deletionHooks *records.Hooks
	// seed is that of generated secrets.
	seed *records.Seed
	// finalized is set once the component has our finalizer, so that objects beside it can be created.
	finalized bool
	// destination is the cluster of the dependents, and the next one if they move.
	destination *targets.Destination
	// stay limits the duration of the pass.
	stay *queue.Stay

	// declared is the declaration of the component. Its digest is empty while the component is being deleted.
	declared declaration
	// orphaning is set if the component is being deleted and its dependents must be orphaned.
	orphaning bool
	// needs are the objects that have to be ready before the dependents are applied. There are none while the component
	// is being deleted.
	needs []dependency
	// turn is why the component waits for its turn in a rollout.
	turn rollout.Wait
	// engaged is set once the engine has been called for the dependents; result is its last result, nil before.
	engaged bool
	result  *reconciler.Result
	// inherited is what a former manager has installed; nil if there is none, or once all of it was ready.
	inherited *types.Inherited
	// leftovers is what a preview says about objects of a former manager that are not declared.
	leftovers string
	// posted is the run of the post-reconcile hooks that counts at the end of the pass.
	posted hookRun
	// later holds the events that announce has collected.
	later []func()
	// plan contains the changes that are held back while the component is paused; nil if it is not paused.
	plan *reconciler.Plan
}

func (w *worker) newPass(ctx context.Context, component Component, tenure *shards.Tenure) (*pass, error) {
	key := client.ObjectKeyFromObject(component)
	p := &pass{
		worker:    w,
		key:       key,
		ownerID:   w.ownerID(key),
		component: component,
		subject:   identified(w.resource.Kind, key.Namespace, key.Name),
		memory:    w.memories.of(key, component.GetUID()),
		log:       log.FromContext(ctx),
		deleting:  component.GetDeletionTimestamp() != nil,
		settings:  settings{timing: timing{requeue: defaultRequeueInterval, retry: defaultRequeueInterval, timeout: defaultRequeueInterval}},
		tenure:    tenure,
	}
	p.subject.SetUID(component.GetUID())
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
	p.observed = p.status.ObservedGeneration
	return p, nil
}

// openRooms opens the rooms for the component.
func (p *pass) openRooms() {
	stores := &records.Stores{Handle: p.handle, StateNamespace: p.worker.options.StateNamespace}
	p.record = records.Open(p.status.fields(), &p.memory.record, stores, p.worker.options.inlineLimit)
	p.deletionHooks = records.OpenHooks(&p.memory.hooks, p.record, stores, &p.status.DeletionHooks, func() bool { return p.orphaning })
	p.seed = records.OpenSeed(&p.memory.seed, p.record, stores, &p.status.Seed)
	p.destination = targets.OpenDestination(p.handle, p.record, p.deletionHooks, targets.DestinationOptions{
		Inventory: &p.status.Inventory, OwnCluster: p.worker.clusterID, Connector: p.worker.targets,
		Identity: p.identity, Local: p.localIdentity,
	})
}

// mayWrite fails unless this replica certainly holds the shard of the component since the pass began.
func (p *pass) mayWrite() error {
	if err := p.tenure.Check(); err != nil {
		return fmt.Errorf("%w: %w", resource.ErrNotOurs, err)
	}
	return nil
}

// hookContext returns the context for hooks.
func (p *pass) hookContext(ctx context.Context) context.Context {
	ctx = generating.LocalClient.With(generating.ReconcilerName.With(ctx, p.worker.name), p.worker.local)
	if target := p.destination.Target(); target != nil {
		ctx = generating.Client.With(ctx, target.Client)
	}
	return ctx
}

func (p *pass) runHooks(ctx context.Context, kind string, hooks []HookFunc[Component]) outcomes.Outcome {
	for i, run := range hooks {
		if err := p.worker.panics.Run(p.log, func() error { return run(ctx, p.worker.resource.Client, p.component) }); err != nil {
			return outcomes.Of(fmt.Errorf("%s hook %d of the operator: %w", kind, i+1, err))
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
	return sets.List(sets.New(p.key.Namespace, p.worker.options.StateNamespace).Delete(""))
}

// took records a result of the engine, even an incomplete one.
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

// rebuild completes an inventory with gaps. Pass the generated objects, or none if all dependents will be deleted.
func (p *pass) rebuild(ctx context.Context, objects []client.Object) error {
	now := p.worker.options.Clock.Now()
	if !p.record.NeedsRebuild(now, p.settings.timing.requeue) {
		return nil
	}
	return p.record.Rebuild(ctx, records.RebuildRequest{
		RebuildRequest: reconciler.RebuildRequest{
			ID: p.ownerID, Known: p.status.Inventory, Objects: objects, Namespaces: p.namespaces(objects), Policies: p.settings.policies,
		},
		Find:       p.destination.Target().Engine.Rebuild,
		Now:        now,
		Leaving:    p.deleting || p.destination.Moving(),
		Generation: p.component.GetGeneration(),
	})
}

// namespaces returns the namespaces that may have dependents.
func (p *pass) namespaces(objects []client.Object) []string {
	found := sets.New(p.key.Namespace, p.settings.namespace)
	for _, object := range objects {
		found.Insert(object.GetNamespace())
	}
	for _, item := range p.status.Inventory {
		found.Insert(item.Namespace)
	}
	return sets.List(found.Delete(""))
}

// now returns the current time in the precision of statuses.
func (p *pass) now() metav1.Time { return metav1.NewTime(p.worker.options.Clock.Now()) }

// memory is the state of a component that this process keeps between passes. Losing it only costs requests. Only one
// pass uses it at a time.
type memory struct {
	uid apitypes.UID

	// The memories of the rooms.
	resource   resource.Memory
	record     records.Memory
	hooks      records.HookMemory
	seed       records.SeedMemory
	stay       queue.StayMemory
	declared   digestMemory
	generation generation.Memory

	// finished is set when our finalizer has been removed. The cache may still show the component with it.
	finished bool
	// refusals is the number of consecutive passes with refused input; refused is the last message about it.
	refusals int
	refused  string
	// errors is the number of consecutive passes that ended with an error.
	errors int
	// panics is the number of consecutive passes with a panic.
	panics int
	// changedAt is when the present declaration was first seen; zero after the component has become ready with it.
	changedAt time.Time
	// ungenerated means that the generator has not returned since changedAt.
	ungenerated bool
	// noticed has the mistakes of the generator that have been reported for the declaration with the digest noticedIn.
	noticed   []string
	noticedIn string
	// drifted has the dependents whose drift has been reported.
	drifted map[string]bool
	// explained holds the reasons, from their Pods, why workloads are not ready.
	explained map[types.ObjectID]explanation
	// posted is the last run of the post-reconcile hooks; zero if the component is no longer ready, or if the status
	// that they have set was not written.
	posted hookRun

	// triggered means that Trigger was called since the hooks ran, typed that the dependents depend on the types in the
	// cluster. Both may be used at any time.
	triggered, typed atomic.Bool
}

// hookRun is the state of a component that hooks ran for, and the time of the run.
type hookRun struct {
	digest              string
	labels, annotations map[string]string
	at                  time.Time
}

// covers reports whether a run makes the next one unnecessary: the state is the same, and the interval is not over.
func (h hookRun) covers(next hookRun, interval time.Duration) bool {
	return h.digest != "" && h.digest == next.digest && maps.Equal(h.labels, next.labels) && maps.Equal(h.annotations, next.annotations) && next.at.Sub(h.at) < interval
}

// memories has the memories of all components.
type memories struct {
	mu    sync.Mutex
	byKey map[apitypes.NamespacedName]*memory
	// orphaned holds the UIDs of components whose dependents must be orphaned, by key.
	orphaned sync.Map
}

func newMemories() *memories { return &memories{byKey: map[apitypes.NamespacedName]*memory{}} }

// of returns the memory of a component. A component that is created again under the same name starts with a new one.
func (r *memories) of(key apitypes.NamespacedName, uid apitypes.UID) *memory {
	r.mu.Lock()
	defer r.mu.Unlock()
	found := r.byKey[key]
	if found == nil || found.uid != uid {
		found = &memory{uid: uid}
		r.byKey[key] = found
	}
	return found
}

// all returns all memories by key.
func (r *memories) all() map[apitypes.NamespacedName]*memory {
	r.mu.Lock()
	defer r.mu.Unlock()
	return maps.Clone(r.byKey)
}

func (r *memories) forget(key apitypes.NamespacedName) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.byKey, key)
	r.orphaned.Delete(key)
}

// noteTrigger records that a pass was asked for, if this replica works on the component. Hooks run anyway in the first
// pass of a component.
func (r *memories) noteTrigger(key apitypes.NamespacedName) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if found := r.byKey[key]; found != nil {
		found.triggered.Store(true)
	}
}

// noteOrphaned records that an event shows that dependents must be orphaned, because a later read may no longer show
// it.
func (r *memories) noteOrphaned(object client.Object) {
	if isOrphaned(object) {
		r.orphaned.Store(client.ObjectKeyFromObject(object), object.GetUID())
	}
}

// isOrphaned reports whether an event has shown that the dependents must be orphaned.
func (r *memories) isOrphaned(key apitypes.NamespacedName, uid apitypes.UID) bool {
	found, _ := r.orphaned.Load(key)
	return found == uid
}

// A user who may read a status may lack the permission to read Secrets. With a plain digest of a Secret's content, that
// user could check guesses, and guess weak values quickly. So recorded digests are keyed by the UIDs of the Secrets
// that the component refers to. UIDs are random, the same for all processes, and independent of the content; and
// reading the metadata of a Secret takes the permission to read the Secret. However, events about the Secret, and owner
// references to it, also show its UID.

// digest identifies the declaration of a component.
type digest struct {
	// Value is the recorded digest.
	Value string
	// Key is the key of the digest; nil if the component refers to no Secret.
	Key []byte
	// Former is another digest of the same declaration that may be recorded: the plain one, by a version without keys,
	// or one with another key, if a Secret was created again with the same content. Empty if there is none.
	Former string
	// plain is the digest without the key.
	plain string
}

// digestInput is the input of the digest: every change causes a new revision.
type digestInput struct {
	Generation int64 `json:"generation"`
	// Annotations are those that affect dependents.
	Annotations map[string]string `json:"annotations"`
	Spec        any               `json:"spec"`
	// References are the digests of the contents.
	References map[string]string `json:"references"`
	// Generator is the fingerprint of the generator.
	Generator string `json:"generator"`
}

// digestMemory has the last digests, with and without the key. The zero value is ready for use.
type digestMemory struct {
	plain, keyed string
}

// secretUIDs are the UIDs of Secrets, by the paths of the references.
type secretUIDs map[string]apitypes.UID

// key returns nil if there are none.
func (u secretUIDs) key() []byte {
	if len(u) == 0 {
		return nil
	}
	entries := make([]string, 0, len(u))
	for path, uid := range u {
		entries = append(entries, path+"="+string(uid))
	}
	slices.Sort(entries)
	sum := sha256.Sum256([]byte(strings.Join(entries, "\n")))
	return sum[:]
}

func newDigest(plain string, uids secretUIDs) digest {
	key := uids.key()
	d := digest{Value: manifest.Keyed(key, plain), Key: key, plain: plain}
	if d.Value != plain {
		d.Former = plain
	}
	return d
}

// recognize replaces recorded former digests of the same declaration, which must not cause a new revision, and
// remembers this digest.
func (d *digest) recognize(memory *digestMemory, recorded ...*string) {
	if memory.plain == d.plain && memory.keyed != d.Value {
		d.Former = memory.keyed
	}
	for _, value := range recorded {
		if *value != "" && (*value == d.Former || *value == d.plain) {
			*value = d.Value
		}
	}
	memory.plain, memory.keyed = d.plain, d.Value
}
