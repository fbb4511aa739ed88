// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package reconciler

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/internal/digest"
	"github.com/component-operator/runtime/internal/flow"
	"github.com/component-operator/runtime/internal/observe"
	"github.com/component-operator/runtime/pkg/types"
)

// saveInterval is the time after which the end of a wave is worth a save of its own. A save costs by the size of
// the object that holds the inventory.
const saveInterval = 2 * time.Second

// pass is one call of Apply or Delete.
type pass struct {
	*Reconciler
	owner            Owner
	label            string // value of the owner label
	items            []*InventoryItem
	gone             map[*InventoryItem]bool // items that are no longer to be recorded
	works            []work                  // by the index of the target
	tiers            tiers                   // of the targets
	sources          []client.Object         // the objects of the request
	misplaced        bool                    // there are objects whose namespace could not be known yet
	createNamespaces bool
	takeOver         map[objectKey]bool // objects that are adopted whoever owns them
	recordAdoptions  bool
	saved            time.Time
	releases         bool                                        // there are items to be released of which the saved inventory does not say so
	expected         map[objectKey]*Change                       // nil if anything may be done
	watched          map[schema.GroupVersionKind]map[string]bool // kinds and namespaces that the observer was told of
	flow             *flow.Limiter

	mu         sync.Mutex // guards what follows; items are touched by one worker at a time
	result     Result
	actions    map[actionGroup][]types.ObjectKey
	namespaces map[string]error // outcome of creating missing namespaces
	guarded    []schema.GroupVersionResource
	reached    map[*InventoryItem]bool // items with a barrier that were looked at

	denial atomic.Pointer[FencedError] // why the owner did not confirm; nil if it did, or was not asked
	asking sync.Mutex                  // held while the owner is asked; guards what follows
	asked  bool

	aliases         *aliases // nil if nothing is to be written
	groups          groups
	definitionsOnce sync.Once // guards what follows; see definition
	definitions     unstructured.UnstructuredList
	definitionsErr  error
}

type actionGroup struct {
	verb Verb
	wave int
}

func (r *Reconciler) newPass(owner Owner, items []*InventoryItem) *pass {
	return &pass{
		Reconciler: r,
		owner:      owner,
		label:      digest.OwnerLabel(owner.ID),
		items:      items,
		gone:       map[*InventoryItem]bool{},
		saved:      r.options.Clock.Now(),
		watched:    map[schema.GroupVersionKind]map[string]bool{},
		flow:       flow.NewLimiter(r.options.MaxConcurrency),
		actions:    map[actionGroup][]types.ObjectKey{},
		namespaces: map[string]error{},
	}
}

// work is what a pass knows about a target.
type work struct {
	item    *InventoryItem
	object  *unstructured.Unstructured // nil until somebody needs it
	visited bool                       // it was worked upon
	// confirmed means that the object had vanished when the owner confirmed what is wanted; guarded by asking.
	confirmed bool
	written   bool // in this pass
}

// assign gives targets their records and, if they were looked at already, their objects.
func (p *pass) assign(targets []*target, items []*InventoryItem, objects []*unstructured.Unstructured, sources []client.Object) {
	p.sources = sources
	p.works = make([]work, len(targets))
	for i, t := range targets {
		p.works[t.index].item = items[i]
		if objects != nil {
			p.works[t.index].object = objects[t.index]
		}
	}
}

// objects returns what assign was given; nil if any is missing.
func (p *pass) objects() []*unstructured.Unstructured {
	objects := make([]*unstructured.Unstructured, len(p.works))
	for i := range p.works {
		if objects[i] = p.works[i].object; objects[i] == nil {
			return nil
		}
	}
	return objects
}

// item returns the record of a target.
func (p *pass) item(t *target) *InventoryItem { return p.works[t.index].item }

// watch tells the observer which kinds this owner has. Kinds of targets beyond the given stage are left out, because they
// may not exist yet, unless dependents of them are recorded.
func (p *pass) watch(ctx context.Context, targets []*target, upTo stage) error {
	told, more := len(p.watched) > 0, false
	var last *target
	for _, t := range targets {
		if last != nil && last.gvk() == t.gvk() && last.key.namespace == t.key.namespace {
			continue
		}
		if t.stage() <= upTo || p.item(t).UID != "" {
			more = p.needed(t.gvk(), t.key.namespace) || more
			last = t
		}
	}
	for _, item := range p.items {
		if item.unwanted() {
			more = p.needed(item.GroupVersionKind(), item.Namespace) || more
		}
	}
	if told && !more {
		return nil
	}
	return p.cache.Watch(ctx, p.label, p.needs())
}

// needs are all kinds and namespaces that were needed so far.
func (p *pass) needs() []observe.Need {
	needs := make([]observe.Need, 0, len(p.watched))
	for kind, namespaces := range p.watched {
		need := observe.Need{Kind: kind}
		for namespace := range namespaces {
			if namespace != "" {
				need.Namespaces = append(need.Namespaces, namespace)
			}
		}
		needs = append(needs, need)
	}
	slices.SortFunc(needs, func(a, b observe.Need) int { return cmp.Compare(a.Kind.String(), b.Kind.String()) })
	return needs
}

// needed tells whether this kind and namespace were not needed before.
func (p *pass) needed(kind schema.GroupVersionKind, namespace string) bool {
	if p.watched[kind] == nil {
		p.watched[kind] = map[string]bool{}
	}
	more := !p.watched[kind][namespace]
	p.watched[kind][namespace] = true
	return more
}

// save persists the inventory as it is now.
func (p *pass) save(ctx context.Context) error {
	if err := p.owner.Store.Save(ctx, p.snapshot()); err != nil {
		return fmt.Errorf("saving the inventory: %w", err)
	}
	p.saved, p.releases = p.options.Clock.Now(), false
	return nil
}

// checkpoint saves at the end of a wave that took time.
func (p *pass) checkpoint(ctx context.Context) error {
	if p.options.Clock.Since(p.saved) < saveInterval {
		return nil
	}
	return p.save(ctx)
}

func (p *pass) snapshot() []*InventoryItem {
	items := p.remaining()
	copies := make([]InventoryItem, len(items))
	for i, item := range items {
		copies[i] = *item
		items[i] = &copies[i]
	}
	return items
}

// remaining returns the items that are to be recorded.
func (p *pass) remaining() []*InventoryItem {
	items := make([]*InventoryItem, 0, len(p.items))
	for _, item := range p.items {
		if !p.gone[item] {
			items = append(items, item)
		}
	}
	return items
}

// finish returns the result of the pass.
func (p *pass) finish() Result {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.cache.Guard(p.label, p.guarded)
	p.result.Inventory = p.remaining()
	p.memory.keep(p.owner.ID, p.result.Inventory)
	for group, objects := range p.actions {
		slices.SortFunc(objects, func(a, b types.ObjectKey) int { return compareKeys(keyOf(a), keyOf(b)) })
		p.result.Actions = append(p.result.Actions, Action{Verb: group.verb, Wave: group.wave, Objects: objects})
	}
	slices.SortFunc(p.result.Actions, func(a, b Action) int { return cmp.Or(cmp.Compare(a.Wave, b.Wave), cmp.Compare(a.Verb, b.Verb)) })
	sortNotices(p.result.Waits)
	sortNotices(p.result.Failures)
	sortNotices(p.result.Drift)
	sortNotices(p.result.Notes)
	return p.result
}

// acted reports what was done to a dependent.
func (p *pass) acted(verb Verb, wave int, item *InventoryItem) {
	p.mu.Lock()
	defer p.mu.Unlock()
	group := actionGroup{verb: verb, wave: wave}
	p.actions[group] = append(p.actions[group], objectRef(item))
}

// requeueAfter makes sure that the caller calls again after the delay.
func (p *pass) requeueAfter(delay time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if delay > 0 && (p.result.RequeueAfter == 0 || delay < p.result.RequeueAfter) {
		p.result.RequeueAfter = delay
	}
}

func (p *pass) note(list *[]Notice, item *InventoryItem, message string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	*list = append(*list, Notice{Object: objectRef(item), Message: message})
}

// objectRef returns a key that does not change with the item.
func objectRef(item *InventoryItem) types.ObjectKey {
	return &InventoryItem{TypeVersionInfo: item.TypeVersionInfo, NameInfo: item.NameInfo}
}

// look returns what is known about a dependent, asking the server only if the observer cannot tell.
func (p *pass) look(ctx context.Context, item *InventoryItem) (situation, error) {
	s := situation{owner: p.label}
	seen, view := p.cache.Get(item.GroupVersionKind(), item.Namespace, item.Name)
	switch view {
	case observe.Present:
		if p.expired(seen) {
			return p.judge(ctx, item)
		}
		if seen.Owner == "" {
			// The observer does not follow objects without our label.
			return p.ask(ctx, item)
		}
		s.exists, s.seen = true, seen
		return s, nil
	case observe.Absent:
		return s, nil
	case observe.Unseen:
		return p.ask(ctx, item)
	default:
		return p.ask(ctx, item)
	}
}

// expired tells whether the verdict about an object may be another one by now, although nothing happened to it.
func (p *pass) expired(seen observe.Observation) bool {
	return !seen.Deadline.IsZero() && !p.options.Clock.Now().Before(seen.Deadline)
}

// judge has the object judged anew, and the observer know the verdict.
func (p *pass) judge(ctx context.Context, item *InventoryItem) (situation, error) {
	s, err := p.ask(ctx, item)
	if err == nil && s.exists {
		p.cache.Record(item.GroupVersionKind(), item.Namespace, item.Name, s.seen)
	}
	return s, err
}

// ask returns what the server says about a dependent.
func (p *pass) ask(ctx context.Context, item *InventoryItem) (situation, error) {
	s, _, err := p.fetch(ctx, item)
	return s, err
}

// fetch is ask that also returns the object; nil if there is none.
func (p *pass) fetch(ctx context.Context, item *InventoryItem) (situation, *unstructured.Unstructured, error) {
	object, err := p.get(ctx, item)
	s, err := p.situationOf(object, err)
	if !s.exists {
		object = nil
	}
	return s, object, err
}

// situationOf is what the answer to a request for an object says.
func (p *pass) situationOf(object *unstructured.Unstructured, err error) (situation, error) {
	s := situation{owner: p.label, proven: true}
	if isGone(err) {
		s.typed = !isTypeless(err)
		return s, nil
	}
	if err != nil {
		return s, err
	}
	s.exists, s.seen, s.whose = true, p.reader.Read(object), object.GetAnnotations()[p.keys.ownerAnnotation]
	s.rival = rivalOf(object, p.keys)
	return s, nil
}

func (p *pass) get(ctx context.Context, item *InventoryItem) (*unstructured.Unstructured, error) {
	var object *unstructured.Unstructured
	err := p.read(func() (err error) {
		object, err = lookUp(ctx, p.client, item)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", keyOf(item), err)
	}
	return object, nil
}

// each runs work for all items, as many side by side as the API server serves well, and waits for all of them.
func each[T any](ctx context.Context, limiter *flow.Limiter, items []T, work func(T)) {
	if len(items) == 1 {
		work(items[0])
		return
	}
	limiter.Calm()
	var group sync.WaitGroup
	next := make(chan T)
	for _, item := range items {
		if limiter.Acquire(ctx) != nil {
			// The context has ended, which the requests of this item are going to say.
			work(item)
			continue
		}
		select {
		case next <- item:
		default:
			// Goroutines go on with further items: the stack that a request needs grows once for each of them.
			group.Go(func() {
				work(item)
				limiter.Release()
				for item := range next {
					work(item)
					limiter.Release()
				}
			})
		}
	}
	close(next)
	group.Wait()
}
