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

// memory is what this process remembers about a component between passes. Losing it costs requests, and nothing else.
// It is used by one pass at a time, apart from resource.Memory.Awaits.
type memory struct {
	uid apitypes.UID

	// What the rooms remember.
	resource   resource.Memory
	record     records.Memory
	hooks      hooks.Memory
	stay       stays.Memory
	declared   declared.Memory
	generation generation.Memory

	// finished is set when our finalizer was removed. The cache may show the component with it for a moment.
	finished bool
	// refusals counts passes in a row whose input was refused.
	refusals int
	// drifted holds the dependents whose drift was reported already.
	drifted map[string]bool
}

// memories holds what is remembered of all components.
type memories struct {
	mu    sync.Mutex
	byKey map[apitypes.NamespacedName]*memory
	// typed are the components whose dependents depend on which types the cluster has.
	typed map[apitypes.NamespacedName]bool
	// orphaned has the UIDs of components whose deletion is to leave their dependents.
	orphaned map[apitypes.NamespacedName]apitypes.UID
}

func newMemories() *memories {
	return &memories{
		byKey: map[apitypes.NamespacedName]*memory{}, typed: map[apitypes.NamespacedName]bool{}, orphaned: map[apitypes.NamespacedName]apitypes.UID{},
	}
}

// of returns what is remembered of a component. A component of the same name that was created anew starts afresh.
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

// keys returns the components of which something is remembered.
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

// saw notes what an event shows of a component that may not be seen any more when it is read.
func (r *memories) saw(object client.Object) {
	if !isOrphaned(object) {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.orphaned[client.ObjectKeyFromObject(object)] = object.GetUID()
}

// unsee forgets what was noted of a component that is gone.
func (r *memories) unsee(object client.Object) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.orphaned, client.ObjectKeyFromObject(object))
}

// isOrphaned reports whether an event has shown that the dependents of the component are to stay.
func (r *memories) isOrphaned(key apitypes.NamespacedName, uid apitypes.UID) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	found, exists := r.orphaned[key]
	return exists && found == uid
}

// depends notes whether the dependents of a component depend on which types the cluster has.
func (r *memories) depends(key apitypes.NamespacedName, onTypes bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.typed, key)
	if onTypes {
		r.typed[key] = true
	}
}

// onTypes returns the components whose dependents depend on which types the cluster has.
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
