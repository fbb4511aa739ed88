// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package reconciler

import (
	"context"
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	apitypes "k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/internal/flow"
	"github.com/component-operator/runtime/pkg/cluster"
	"github.com/component-operator/runtime/pkg/types"
)

// PlanOptions configure Reconciler.Plan. The zero value works.
type PlanOptions struct {
	// Compare has the server say what would become of each object that is not known to be as it should be, by dry runs.
	// Defaults to what the observer and the inventory tell, without requests.
	Compare bool
	// LeftAlone, with Compare, also compares dependents whose drift is left alone because their drift policies say so. Their changes
	// have no verb; Before, After and Changed show what would be put right otherwise. Defaults to no.
	LeftAlone bool
}

// Plan is what Apply would do with a request. It can be saved as JSON, without the content of objects.
type Plan struct {
	// Changes has an entry for each wanted object, in the order in which they are applied, and then one for each that is no
	// longer wanted, in the order in which they are deleted.
	Changes []Change `json:"changes"`
	// Inventory is what Apply records before it writes anything; nil if it need not record anything by then. Whoever has recorded it already may
	// call Apply with it, and spares a write.
	Inventory []*InventoryItem `json:"-"`
}

// Change is what Apply would do about one object.
type Change struct {
	// Object is type and name.
	Object ObjectInfo `json:"object"`
	// Wave is the apply order of the object; if it is no longer wanted, its delete order.
	Wave int `json:"wave"`
	// Verb is what would be done first; empty if nothing would be. An object that is created and purged by the same Apply is
	// created.
	Verb Verb `json:"verb,omitempty"`
	// Recreate means that the object would be deleted for that, and created anew.
	Recreate bool `json:"recreate,omitempty"`
	// Reason is a text such as "the manifest changed"; empty if there is nothing to say about an object that stays as it is.
	Reason string `json:"reason,omitempty"`
	// Refusal says why Apply would fail with the object; empty if it would not.
	Refusal string `json:"refusal,omitempty"`
	// Foreign means that the object belongs to others, and that its adoption policy protects it. That is certain, while the API server
	// may accept what it rejects now after objects before it were applied.
	Foreign bool `json:"foreign,omitempty"`
	// Notes are what the API server would change in the object or warn about, as far as that was compared: unknown fields that are left out,
	// for example.
	Notes []string `json:"notes,omitempty"`
	// Local means that After was computed from the manifest and, if the request holds it, the definition of the type, because the
	// server cannot say it: it does not know the type as it will be, or the namespace, or has a webhook that knows no dry runs.
	Local bool `json:"local,omitempty"`
	// Before and After are the object as it is and as it would be stored, without the status and what the server and the
	// reconciler keep for themselves; nil if there is none. They are there only for what would be changed, if that was
	// compared.
	Before *unstructured.Unstructured `json:"-"`
	After  *unstructured.Unstructured `json:"-"`
	// Changed are the fields that others have changed or removed since the object was written; only if the drift was compared.
	Changed []FieldChange `json:"-"`
	// Digest identifies manifest and policies; empty if the object is no longer wanted.
	Digest string `json:"digest,omitempty"`
	// UID, Fingerprint and Baseline identify the state on which the change was decided; empty if there is no such object, or if it is
	// being deleted. See InventoryItem; of an object of which we own nothing, the fingerprint is that of its content.
	UID         apitypes.UID `json:"uid,omitempty"`
	Fingerprint string       `json:"fingerprint,omitempty"`
	Baseline    string       `json:"baseline,omitempty"`
}

// FieldChange is a field that others have changed or removed.
type FieldChange struct {
	// Path of the field, such as .spec.replicas; it stands for everything below it.
	Path string `json:"path"`
	// Manager is the field manager that owns the field now; empty if the field was removed, which leaves no trace.
	Manager string `json:"manager,omitempty"`
	// Time is when that manager was last active on the object; nil if that is not recorded.
	Time *metav1.Time `json:"time,omitempty"`
}

// ObjectInfo is type and name of an object.
type ObjectInfo struct {
	TypeVersionInfo `json:",inline"`
	NameInfo        `json:",inline"`
}

var _ types.ObjectKey = ObjectInfo{}

// GetObjectKind returns the type; changes made through it do not affect the object.
func (o ObjectInfo) GetObjectKind() schema.ObjectKind {
	return types.TypeKeyFromGroupVersionKind(schema.GroupVersionKind(o.TypeVersionInfo)).GetObjectKind()
}

// GetNamespace returns the namespace; empty for cluster-scoped objects.
func (o ObjectInfo) GetNamespace() string { return o.Namespace }

// GetName returns the name.
func (o ObjectInfo) GetName() string { return o.Name }

// String formats type and name as messages name objects, for example "Deployment default/web".
func (o ObjectInfo) String() string { return keyOf(o).String() }

// Plan returns what Apply would do with the same request, from now until it is done, without changing anything. It supposes that
// all objects become ready, and that nobody else changes them.
//
// Without PlanOptions.Compare there are no requests besides those of the observer, and for objects of which it cannot tell anything.
// Then an object that exists without our label counts as absent, although it may be adopted, corrected or refused; and one of which it
// is not certain that nobody changed it is said to stay as it is, with that as the reason.
//
// What Apply would refuse as a whole (objects that contradict each other, bad annotations) is a *RefusedError; what it would
// refuse about one object is a Change.Refusal.
func (r *Reconciler) Plan(ctx context.Context, request ApplyRequest, options PlanOptions) (Plan, error) {
	request.Fence = nil
	c, err := r.rehearsing().begin(request)
	if err != nil {
		return Plan{}, err
	}
	var inventory []*InventoryItem
	if c.grown {
		inventory = c.pass.snapshot()
	}
	planner := newPlanner(c, request.Inventory, depthTold)
	if options.Compare {
		planner.depth = depthCompared
		planner.leftAlone = options.LeftAlone
	}
	// That a namespace is missing is to be seen.
	planner.createsNamespaces, c.pass.createNamespaces = c.pass.createNamespaces, false
	plan, err := planner.plan(flow.WithLimiter(ctx, c.pass.flow))
	if err == nil && !c.pass.misplaced {
		// Apply mostly follows.
		c.prepared.objects = c.pass.objects()
		r.memory.retain(request.ID, c.prepared)
	}
	plan.Inventory = inventory
	return plan, err
}

// rehearsing returns a reconciler whose writes change nothing.
func (r *Reconciler) rehearsing() *Reconciler {
	dry := *r
	dry.client = cluster.NewClient(client.NewDryRunClient(r.client), r.client.DiscoveryClient(), r.client.EventRecorder(), r.client.Config(), r.client.HttpClient())
	dry.options.OnOperation = func(string) { r.options.OnOperation("read") }
	return &dry
}

// plan looks at all dependents. Those on which others depend come first: what is to be said about an object in a namespace that is
// going to be created depends on that.
func (p *planner) plan(ctx context.Context) (Plan, error) {
	if err := p.watchServed(ctx); err != nil {
		return Plan{}, err
	}
	p.tiers = arrange(p.targets, p.works, p.cache)
	changes := make([]Change, len(p.targets))
	var first, rest []int
	for i, t := range p.targets {
		if definesTypes(t.key.GroupKind) || isNamespace(t.key.GroupKind) {
			first = append(first, i)
		} else {
			rest = append(rest, i)
		}
	}
	wanted := func(i int) (err error) {
		changes[i], err = p.wanted(ctx, p.targets[i])
		return err
	}
	if err := p.all(ctx, first, wanted); err != nil {
		return Plan{}, err
	}
	for _, i := range first {
		if err := p.comes(p.targets[i], changes[i]); err != nil {
			return Plan{}, err
		}
	}
	if err := p.all(ctx, rest, wanted); err != nil {
		return Plan{}, err
	}
	p.refuseAliases(changes)
	var items []*InventoryItem
	for _, item := range p.items {
		if item.unwanted() {
			items = append(items, item)
		}
	}
	p.sortDeletion(items)
	last := make([]Change, len(items))
	indexes := make([]int, len(items))
	for i := range items {
		indexes[i] = i
	}
	err := p.all(ctx, indexes, func(i int) (err error) {
		last[i], err = p.redundant(ctx, items[i])
		return err
	})
	return Plan{Changes: p.noted(append(changes, last...))}, err
}

// noted adds to changes what was noted about their objects.
func (p *planner) noted(changes []Change) []Change {
	notes := map[objectKey][]string{}
	for _, notice := range p.result.Notes {
		notes[keyOf(notice.Object)] = append(notes[keyOf(notice.Object)], notice.Message)
	}
	for i := range changes {
		object := &changes[i].Object
		messages := notes[keyOf(&InventoryItem{TypeVersionInfo: object.TypeVersionInfo, NameInfo: object.NameInfo})]
		slices.Sort(messages)
		changes[i].Notes = slices.Compact(messages)
	}
	return changes
}

// all does the work for all indexes side by side.
func (p *planner) all(ctx context.Context, indexes []int, work func(int) error) error {
	var t tally
	each(ctx, p.flow, indexes, func(i int) { t.add(outcome{ready: true}, work(i)) })
	if err := t.err(); err != nil {
		return fmt.Errorf("planning: %w", err)
	}
	return nil
}
