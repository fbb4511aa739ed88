// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package component

import (
	"maps"
	"slices"
	"sync"
	"time"

	apitypes "k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// memory is what this process remembers about a component between passes. Losing it costs requests, and nothing else.
// It is used by one pass at a time, except for the fields that are protected by the mutex of memories.
type memory struct {
	uid apitypes.UID

	// written is the resource version of our last write; protected.
	written string
	// awaiting is set while a pass waits for the cache to show our last write; protected.
	awaiting bool
	// awaitingSince is when the first pass found the cache outdated; zero if it is not.
	awaitingSince time.Time

	// confirmed is set when the component was read from the server, which is asked for only with sharding.
	confirmed bool

	// finished is set when our finalizer was removed. The cache may show the component with it for a moment.
	finished bool

	// sent is the status as we wrote it last, received what the server made of it; set only if the two differ.
	sent, received map[string]any
	// complained holds the fields that the server dropped and that were reported already.
	complained map[string]bool

	// recalled is the inventory of a component whose status does not have it; nil if it was not read yet.
	recalled *recalled
	// swept is set once no chunks are left that the status does not name; chunks of earlier processes are unknown before.
	swept bool
	// unpacked is set once the server has dropped a packed inventory: it does not know the field.
	unpacked bool
	// unkept is set as long as the server drops the reference to the chunks.
	unkept bool
	// rebuilt says what was found when this process rebuilt the inventory; empty if it did not.
	rebuilt string
	// relisted is when kinds were tried last that could not be listed.
	relisted time.Time

	// hooks are the deletion hooks as they are stored; nil if they are not known.
	hooks *rememberedHooks

	// plainDigest and keyedDigest are the digests of what was declared last, without and with the key.
	plainDigest, keyedDigest string

	// refusals counts passes in a row whose input was refused.
	refusals int
	// disguises is set while failed dependents are recorded in a way that former definitions accept.
	disguises bool
	// rejections counts attempts in a row to write a status that the server did not accept.
	rejections int

	// unanswered says why the target was not reached; silences counts passes in a row that got no answer.
	unanswered string
	silences   int

	// generated is the last result of the generator, if it may be used again.
	generated *generated
	// readReason says why the last result may not, if that is because of a look into a cluster.
	readReason string
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
		found = &memory{uid: uid, complained: map[string]bool{}, drifted: map[string]bool{}}
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

// wrote notes the resource version of a write of ours.
func (r *memories) wrote(found *memory, version string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	found.written = version
}

// isOutdated reports whether the version is older than our last write. If so, the next event about the component that is
// not will be let through, whatever it is about; see awaits.
func (r *memories) isOutdated(found *memory, version string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	found.awaiting = found.written != "" && isOlder(version, found.written)
	return found.awaiting
}

// awaits reports whether a pass waits for this version of the component, or a later one.
func (r *memories) awaits(key apitypes.NamespacedName, version string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	found := r.byKey[key]
	return found != nil && found.awaiting && !isOlder(version, found.written)
}

// isOlder compares as integers; versions that do not compare count as not older.
func isOlder(version, other string) bool {
	if version == other {
		return false
	}
	result, err := resourceversion.CompareResourceVersion(version, other)
	return err == nil && result < 0
}
