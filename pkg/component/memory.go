// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package component

import (
	"maps"
	"slices"
	"sync"
	"time"

	apitypes "k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/pkg/component/internal/generation"
	"github.com/component-operator/runtime/pkg/component/internal/queue"
	"github.com/component-operator/runtime/pkg/component/internal/records"
	"github.com/component-operator/runtime/pkg/component/internal/resource"
	"github.com/component-operator/runtime/pkg/types"
)

// memory is what this process remembers about a component between passes. Losing it costs requests, nothing else. One
// pass at a time uses it.
type memory struct {
	uid apitypes.UID

	// The memories of the rooms.
	resource   resource.Memory
	record     records.Memory
	hooks      records.HookMemory
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
	// ungenerated means that the generator has not returned since then.
	ungenerated bool
	// noticed has the mistakes of the generator that have been reported for the declaration with the digest noticedIn.
	noticed   []string
	noticedIn string
	// drifted has the dependents whose drift has been reported.
	drifted map[string]bool
	// explained has what is known from their Pods about workloads that are not ready.
	explained map[types.ObjectID]explanation
	// posted is the last run of the post-reconcile hooks; zero if the component was not ready since, or if what they
	// have set in its status is not written.
	posted hookRun

	// The mutex of the memories protects the fields below. Trigger was called since the hooks ran.
	triggered bool
	// typed means that the dependents depend on the types in the cluster.
	typed bool
}

// hookRun says for which state of a component hooks ran, and when.
type hookRun struct {
	digest              string
	labels, annotations map[string]string
	at                  time.Time
}

// covers reports whether a run makes the next one needless: the state is the same, and the interval is not over.
func (h hookRun) covers(next hookRun, interval time.Duration) bool {
	return h.digest != "" && h.digest == next.digest && maps.Equal(h.labels, next.labels) && maps.Equal(h.annotations, next.annotations) && next.at.Sub(h.at) < interval
}

// memories has the memories of all components.
type memories struct {
	mu    sync.Mutex
	byKey map[apitypes.NamespacedName]*memory
	// orphaned has the UIDs of components whose dependents are to be orphaned.
	orphaned map[apitypes.NamespacedName]apitypes.UID
}

func newMemories() *memories {
	return &memories{byKey: map[apitypes.NamespacedName]*memory{}, orphaned: map[apitypes.NamespacedName]apitypes.UID{}}
}

// of returns the memory of a component. A component that is created again under the same name starts with a new one.
func (r *memories) of(key apitypes.NamespacedName, uid apitypes.UID) *memory {
	r.mu.Lock()
	defer r.mu.Unlock()
	found := r.byKey[key]
	if found == nil || found.uid != uid {
		found = &memory{uid: uid, drifted: map[string]bool{}}
		r.byKey[key] = found
	}
	return found
}

// keys returns the components with a memory.
func (r *memories) keys() []apitypes.NamespacedName {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Collect(maps.Keys(r.byKey))
}

func (r *memories) forget(key apitypes.NamespacedName) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.byKey, key)
	delete(r.orphaned, key)
}

// noteTrigger records that a pass was asked for, if this replica works on the component. Hooks run anyway in the first
// pass of a component.
func (r *memories) noteTrigger(key apitypes.NamespacedName) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if found := r.byKey[key]; found != nil {
		found.triggered = true
	}
}

// takeTrigger reports whether a pass was asked for since the last call.
func (r *memories) takeTrigger(m *memory) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	taken := m.triggered
	m.triggered = false
	return taken
}

// noteOrphaned records that an event shows a component whose dependents are to be orphaned, because a later read may no
// longer show that.
func (r *memories) noteOrphaned(object client.Object) {
	if !isOrphaned(object) {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.orphaned[client.ObjectKeyFromObject(object)] = object.GetUID()
}

// forgetOrphaned drops what noteOrphaned has recorded, after the component is gone.
func (r *memories) forgetOrphaned(object client.Object) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.orphaned, client.ObjectKeyFromObject(object))
}

// isOrphaned reports whether an event has shown that the dependents are to be orphaned.
func (r *memories) isOrphaned(key apitypes.NamespacedName, uid apitypes.UID) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	found, exists := r.orphaned[key]
	return exists && found == uid
}

// depends records whether the dependents of a component depend on the types in the cluster.
func (r *memories) depends(m *memory, onTypes bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	m.typed = onTypes
}

// onTypes returns the components whose dependents depend on the types in the cluster.
func (r *memories) onTypes() []apitypes.NamespacedName {
	r.mu.Lock()
	defer r.mu.Unlock()
	var keys []apitypes.NamespacedName
	for key, m := range r.byKey {
		if m.typed {
			keys = append(keys, key)
		}
	}
	return keys
}
