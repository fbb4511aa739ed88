// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"cmp"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/component-operator/runtime/pkg/inventory"
	"github.com/component-operator/runtime/pkg/types"
)

// Summary is what a call has to tell; see the result of Apply.
type Summary struct {
	// Wave is the order of the wave in which the call has stopped, WaveSize the number of its dependents.
	Wave, WaveSize int
	// Waits, Failures, Drift and Notes are sorted by object and text.
	Waits, Failures, Drift, Notes []inventory.Notice
	// Actions are sorted by wave and verb.
	Actions []inventory.Action
	// RequeueAfter is the time after which the call should be repeated even if no event arrives; zero if there is no such time.
	RequeueAfter time.Duration
	// Guarded are the resources of which it is to be noticed when the last foreign instance goes.
	Guarded []schema.GroupVersionResource
}

// Report collects what a call of Apply or Delete has to tell, while dependents are worked upon side by side.
type Report struct {
	mu      sync.Mutex
	summary Summary
	actions map[actionGroup][]types.ObjectKey
}

type actionGroup struct {
	verb inventory.Verb
	wave int
}

// New returns an empty report.
func New() *Report { return &Report{actions: map[actionGroup][]types.ObjectKey{}} }

// Acted tells what was done to a dependent.
func (r *Report) Acted(verb inventory.Verb, wave int, item *inventory.Item) {
	r.mu.Lock()
	defer r.mu.Unlock()
	group := actionGroup{verb: verb, wave: wave}
	r.actions[group] = append(r.actions[group], objectRef(item))
}

// Awaits tells what a dependent lacks.
func (r *Report) Awaits(item *inventory.Item, message string) { r.add(&r.summary.Waits, item, message) }

// AwaitsInVain is awaits for a dependent that cannot get what it lacks, because its namespace is being deleted.
func (r *Report) AwaitsInVain(item *inventory.Item, message string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.summary.Waits = append(r.summary.Waits, inventory.Notice{Object: objectRef(item), Message: message, Doomed: true})
}

// Fails tells that a dependent will not become ready by itself.
func (r *Report) Fails(item *inventory.Item, message string) {
	r.add(&r.summary.Failures, item, message)
}

// Drifts tells that others have changed a dependent, and that this is left alone.
func (r *Report) Drifts(item *inventory.Item, message string) {
	r.add(&r.summary.Drift, item, message)
}

// Notes tells whatever else there is to be told about a dependent.
func (r *Report) Notes(item *inventory.Item, message string) { r.add(&r.summary.Notes, item, message) }

func (r *Report) add(list *[]inventory.Notice, item *inventory.Item, message string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	*list = append(*list, inventory.Notice{Object: objectRef(item), Message: message})
}

// StopsAt tells the order of the wave in which the call stops, and how many dependents it has.
func (r *Report) StopsAt(wave, size int) { r.summary.Wave, r.summary.WaveSize = wave, size }

// RequeueAfter makes sure that the caller calls again after the delay.
func (r *Report) RequeueAfter(delay time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if delay > 0 && (r.summary.RequeueAfter == 0 || delay < r.summary.RequeueAfter) {
		r.summary.RequeueAfter = delay
	}
}

// Guards has it noticed when foreign instances of the resources go.
func (r *Report) Guards(resources []schema.GroupVersionResource) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.summary.Guarded = append(r.summary.Guarded, resources...)
}

// End returns what was collected. Nothing must be collected afterwards.
func (r *Report) End() Summary {
	r.mu.Lock()
	defer r.mu.Unlock()
	for group, objects := range r.actions {
		slices.SortFunc(objects, func(a, b types.ObjectKey) int { return types.IDOf(a).Compare(types.IDOf(b)) })
		r.summary.Actions = append(r.summary.Actions, inventory.Action{Verb: group.verb, Wave: group.wave, Objects: objects})
	}
	slices.SortFunc(r.summary.Actions, func(a, b inventory.Action) int {
		return cmp.Or(cmp.Compare(a.Wave, b.Wave), cmp.Compare(a.Verb, b.Verb))
	})
	for _, notices := range [][]inventory.Notice{r.summary.Waits, r.summary.Failures, r.summary.Drift, r.summary.Notes} {
		sortNotices(notices)
	}
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
