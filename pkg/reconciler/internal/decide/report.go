// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package decide

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/component-operator/runtime/internal/observe"
	"github.com/component-operator/runtime/pkg/inventory"
	"github.com/component-operator/runtime/pkg/reconciler/internal/prepare"
	"github.com/component-operator/runtime/pkg/status"
	"github.com/component-operator/runtime/pkg/types"
)

// Summary is the result of a call, apart from the inventory; see reconciler.Result.
type Summary struct {
	// Wave is the order of the wave in which the call has stopped, and WaveSize the number of its dependents.
	Wave, WaveSize int
	// Waits, Failures, Drift, Notes and Errors are sorted by object and text.
	Waits, Failures, Drift, Notes, Errors []inventory.Notice
	// Unhealthy are sorted by object.
	Unhealthy []inventory.Unhealthy
	// Held are redundant dependents that are not deleted; nil if there are none.
	Held *inventory.HeldDeletions
	// Actions are sorted by wave and verb.
	Actions []inventory.Action
	// RequeueAfter is how long to wait before repeating the call if no event arrives; zero if only an event can change
	// anything.
	RequeueAfter time.Duration
}

// Reporter collects the result of a call of Apply or Delete. Its methods except StopsAt are safe for concurrent use.
type Reporter struct {
	mu      sync.Mutex
	summary Summary
	actions map[actionGroup][]act
}

type actionGroup struct {
	verb inventory.Verb
	wave int
}

// act is one action on one object, and the reason.
type act struct {
	object types.ObjectKey
	reason string
}

// NewReporter returns an empty report.
func NewReporter() *Reporter { return &Reporter{actions: map[actionGroup][]act{}} }

// Acted reports an action on a dependent, and why it was done; the reason may be empty.
func (r *Reporter) Acted(verb inventory.Verb, wave int, item *inventory.Item, reason string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	group := actionGroup{verb: verb, wave: wave}
	r.actions[group] = append(r.actions[group], act{objectRef(item), reason})
}

// Awaits reports that the call waits for a dependent, and why.
func (r *Reporter) Awaits(item *inventory.Item, message string) {
	r.AwaitsHealth(item, message, Health{})
}

// AwaitsHealth is Awaits with what is known about the health of the dependent.
func (r *Reporter) AwaitsHealth(item *inventory.Item, message string, health Health) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.summary.Waits = append(r.summary.Waits, inventory.Notice{
		Object: objectRef(item), Message: message, Reason: health.Reason, Grade: health.Grade, Grace: health.Grace, Recreating: health.Recreating, Doomed: health.Doomed,
	})
}

// Health is what is known about an object that is not ready; see the fields of inventory.Notice.
type Health struct {
	Reason string
	Grade  status.Grade
	Grace  time.Duration
	// Recreating means that it is being deleted. Doomed means that it cannot become ready, because its namespace is.
	Recreating, Doomed bool
}

// Fails reports that a dependent has failed, and does not become ready without intervention.
func (r *Reporter) Fails(item *inventory.Item, message string) {
	r.add(&r.summary.Failures, item, message)
}

// HasFailures reports whether a dependent has failed.
func (r *Reporter) HasFailures() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.summary.Failures) > 0
}

// Grades reports how well a dependent does its job, as far as that is known.
func (r *Reporter) Grades(item *inventory.Item, grade status.Grade, message string) {
	if grade == "" || grade == status.GradeHealthy {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.summary.Unhealthy = append(r.summary.Unhealthy, inventory.Unhealthy{Notice: inventory.Notice{Object: objectRef(item), Message: message}, Grade: grade})
}

// Drifts reports drift of a dependent that is not corrected.
func (r *Reporter) Drifts(item *inventory.Item, message string) {
	r.add(&r.summary.Drift, item, message)
}

// Notes reports any other message about a dependent.
func (r *Reporter) Notes(item *inventory.Item, message string) {
	r.add(&r.summary.Notes, item, message)
}

// Errs reports that the work on a dependent has ended with an error.
func (r *Reporter) Errs(item *inventory.Item, err error) {
	name, text := types.IDOf(item).String()+": ", err.Error()
	for _, prefix := range []string{"", "applying ", "deleting "} {
		text = strings.TrimPrefix(text, prefix+name)
	}
	r.add(&r.summary.Errors, item, text)
}

func (r *Reporter) add(list *[]inventory.Notice, item *inventory.Item, message string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	*list = append(*list, inventory.Notice{Object: objectRef(item), Message: message})
}

// Holds reports that redundant dependents are not deleted, because there are too many.
func (r *Reporter) Holds(held *inventory.HeldDeletions) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.summary.Held = held
}

// StopsAt reports the order of the wave in which the call stops, and the number of its dependents.
func (r *Reporter) StopsAt(wave, size int) { r.summary.Wave, r.summary.WaveSize = wave, size }

// RequeueAfter makes the caller repeat the call after the delay at the latest.
func (r *Reporter) RequeueAfter(delay time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if delay > 0 && (r.summary.RequeueAfter == 0 || delay < r.summary.RequeueAfter) {
		r.summary.RequeueAfter = delay
	}
}

// End returns the summary. Nothing must be reported afterwards.
func (r *Reporter) End() Summary {
	r.mu.Lock()
	defer r.mu.Unlock()
	for group, acts := range r.actions {
		slices.SortFunc(acts, func(a, b act) int { return types.IDOf(a.object).Compare(types.IDOf(b.object)) })
		action := inventory.Action{Verb: group.verb, Wave: group.wave}
		for _, each := range acts {
			action.Objects, action.Reasons = append(action.Objects, each.object), append(action.Reasons, each.reason)
		}
		r.summary.Actions = append(r.summary.Actions, action)
	}
	slices.SortFunc(r.summary.Actions, func(a, b inventory.Action) int {
		return cmp.Or(cmp.Compare(a.Wave, b.Wave), cmp.Compare(a.Verb, b.Verb))
	})
	for _, notices := range [][]inventory.Notice{r.summary.Waits, r.summary.Failures, r.summary.Drift, r.summary.Notes, r.summary.Errors} {
		sortNotices(notices)
	}
	slices.SortFunc(r.summary.Unhealthy, func(a, b inventory.Unhealthy) int { return types.IDOf(a.Object).Compare(types.IDOf(b.Object)) })
	return r.summary
}

// objectRef returns a key that does not change with the item.
func objectRef(item *inventory.Item) types.ObjectKey {
	return &inventory.Item{TypeVersionInfo: item.TypeVersionInfo, NameInfo: item.NameInfo}
}

// sortNotices orders notices by object and text.
func sortNotices(notices []inventory.Notice) {
	slices.SortFunc(notices, func(a, b inventory.Notice) int {
		return cmp.Or(types.IDOf(a.Object).Compare(types.IDOf(b.Object)), cmp.Compare(a.Message, b.Message))
	})
}

// Recollect returns an object that the owner has read without owning it, if that was the given version of it; else nil.
func (o OwnerMemory) Recollect(name observe.Name, version string) *unstructured.Unstructured {
	o.all.mu.Lock()
	defer o.all.mu.Unlock()
	if object := o.all.read[o.owner][name]; object != nil && object.GetResourceVersion() == version {
		return object
	}
	return nil
}

// Recollects remembers an object that the owner has read without owning it.
func (o OwnerMemory) Recollects(name observe.Name, object *unstructured.Unstructured) {
	o.all.mu.Lock()
	defer o.all.mu.Unlock()
	if o.all.read[o.owner] == nil {
		o.all.read[o.owner] = map[observe.Name]*unstructured.Unstructured{}
	}
	o.all.read[o.owner][name] = object
}

// Disregard forgets all objects that the owner has read without owning them, except these.
func (o OwnerMemory) Disregard(except []observe.Name) {
	o.all.mu.Lock()
	defer o.all.mu.Unlock()
	kept := make(map[observe.Name]bool, len(except))
	for _, name := range except {
		kept[name] = true
	}
	maps.DeleteFunc(o.all.read[o.owner], func(name observe.Name, _ *unstructured.Unstructured) bool { return !kept[name] })
	if len(o.all.read[o.owner]) == 0 {
		delete(o.all.read, o.owner)
	}
}

// Sort sorts items in delete order, which is also the order of inventories.
func Sort(items []*inventory.Item) {
	slices.SortFunc(items, func(a, b *inventory.Item) int {
		return cmp.Or(
			cmp.Compare(a.DeleteOrder, b.DeleteOrder),
			cmp.Compare(prepare.DeleteTier(a.GroupVersionKind().GroupKind()), prepare.DeleteTier(b.GroupVersionKind().GroupKind())),
			types.IDOf(a).Compare(types.IDOf(b)),
		)
	})
}

// Index returns items by their objects.
func Index(items []*inventory.Item) map[types.ObjectID]*inventory.Item {
	byKey := make(map[types.ObjectID]*inventory.Item, len(items))
	for _, item := range items {
		byKey[types.IDOf(item)] = item
	}
	return byKey
}
