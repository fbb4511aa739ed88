// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package component

import (
	"maps"
	"slices"
	"sync"

	apitypes "k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/pkg/component/internal/declared"
	"github.com/component-operator/runtime/pkg/component/internal/generation"
	"github.com/component-operator/runtime/pkg/component/internal/hooks"
	"github.com/component-operator/runtime/pkg/component/internal/records"
	"github.com/component-operator/runtime/pkg/component/internal/resource"
	"github.com/component-operator/runtime/pkg/component/internal/stays"
)

// memory is what this process remembers about a component between passes. Losing it costs requests, nothing else. One pass at a time uses it;
// resource.Memory.Awaits alone is safe for concurrent use.
type memory struct {
	uid apitypes.UID

	// The memories of the rooms.
	resource   resource.Memory
	record     records.Memory
	hooks      hooks.Memory
	stay       stays.Memory
	declared   declared.Memory
	generation generation.Memory

	// finished is set when our finalizer has been removed. The cache may still show the component with it.
	finished bool
	// refusals is the number of consecutive passes with refused input.
	refusals int
	// noticed has the mistakes of the generator that have been reported for the declaration with the digest noticedIn.
	noticed   []string
	noticedIn string
	// drifted has the dependents whose drift has been reported.
	drifted map[string]bool
}

// memories has the memories of all components.
type memories struct {
	mu    sync.Mutex
	byKey map[apitypes.NamespacedName]*memory
	// typed has the components whose dependents depend on the types in the cluster.
	typed map[apitypes.NamespacedName]bool
	// orphaned has the UIDs of components whose dependents are to be orphaned.
	orphaned map[apitypes.NamespacedName]apitypes.UID
}

func newMemories() *memories {
	return &memories{
		byKey: map[apitypes.NamespacedName]*memory{}, typed: map[apitypes.NamespacedName]bool{}, orphaned: map[apitypes.NamespacedName]apitypes.UID{},
	}
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
	delete(r.typed, key)
	delete(r.orphaned, key)
}

// noteOrphaned records that an event shows a component whose dependents are to be orphaned, because a later read may no longer show that.
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
func (r *memories) depends(key apitypes.NamespacedName, onTypes bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.typed, key)
	if onTypes {
		r.typed[key] = true
	}
}

// onTypes returns the components whose dependents depend on the types in the cluster.
func (r *memories) onTypes() []apitypes.NamespacedName {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Collect(maps.Keys(r.typed))
}

// awaits reports whether a pass waits for this version of the component, or a later one.
func (r *memories) awaits(key apitypes.NamespacedName, version string) bool {
	r.mu.Lock()
	found := r.byKey[key]
	r.mu.Unlock()
	return found != nil && found.resource.Awaits(version)
}
