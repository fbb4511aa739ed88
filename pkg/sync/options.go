// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package sync

import (
	"github.com/go-logr/logr"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/component-operator/runtime/pkg/reconciler"
)

// A PermissionValidator returns an error if an object must not be in an operation, such as one of a type that the owner
// may not have.
type PermissionValidator func(un *unstructured.Unstructured, res *metav1.APIResource) error

// A SyncWaveHook is called after a wave; see WithSyncWaveHook.
type SyncWaveHook func(phase SyncPhase, wave int, final bool) error

// A SyncOpt configures a SyncContext.
type SyncOpt func(ctx *settings)

// settings are what SyncOpts set.
type settings struct {
	log               logr.Logger
	ownerID, manager  string
	store             reconciler.Store
	inventory         []*reconciler.InventoryItem
	health            HealthOverride
	permission        PermissionValidator
	filter            func(key ResourceKey, target, live *unstructured.Unstructured) bool
	waveHook          SyncWaveHook
	namespaceModifier func(managedNs, liveNs *unstructured.Unstructured) (bool, error)
	initial           *initialState
	propagation       metav1.DeletionPropagation

	dryRun, prune, pruneConfirmed, pruneLast, force, replace, skipHooks, lenient bool
}

type initialState struct {
	phase     OperationPhase
	message   string
	results   []ResourceSyncResult
	startedAt metav1.Time
}

// WithOwner sets the ID of the owner of the objects, which is written into their labels and annotations. It must be
// unique in a cluster. Defaults to the namespace, which serves if there is one owner for each namespace.
func WithOwner(id string) SyncOpt { return func(s *settings) { s.ownerID = id } }

// WithStore sets where the inventory is kept, which says how far an operation is; see the documentation of the package.
// Defaults to none.
func WithStore(store reconciler.Store) SyncOpt { return func(s *settings) { s.store = store } }

// WithInventory sets the inventory that the store has received last. Defaults to none.
func WithInventory(inventory []*reconciler.InventoryItem) SyncOpt {
	return func(s *settings) { s.inventory = inventory }
}

// WithInitialState continues an operation that another process has begun, with what GetState of that one returned last,
// and the time at which it was started. A different start time means a different operation, whose hooks run again. So
// the process that begins an operation also uses this option, without phase and results, and records the time;
// fractions of a second are ignored. By default, the operation starts when the context is created.
func WithInitialState(phase OperationPhase, message string, results []ResourceSyncResult, startedAt metav1.Time) SyncOpt {
	return func(s *settings) {
		s.initial = &initialState{phase: phase, message: message, results: results, startedAt: startedAt}
	}
}

// WithOperationSettings is WithPrune and WithSkipHooks, and more: dryRun changes nothing and reports what would be
// done, and force recreates objects that cannot be updated because a field is immutable, as the option Force=true does
// for one object.
func WithOperationSettings(dryRun, prune, force, skipHooks bool) SyncOpt {
	return func(s *settings) { s.dryRun, s.prune, s.force, s.skipHooks = dryRun, prune, force, skipHooks }
}

// WithPrune deletes objects that exist without being declared. Defaults to false: they stay, and the results say so.
func WithPrune(prune bool) SyncOpt { return func(s *settings) { s.prune = prune } }

// WithPruneConfirmed approves the deletion of objects with the option Prune=confirm. Defaults to false: they stay,
// everything else but PostSync is done, and the operation waits.
func WithPruneConfirmed(confirmed bool) SyncOpt {
	return func(s *settings) { s.pruneConfirmed = confirmed }
}

// WithPruneLast prunes when everything is applied and healthy. Defaults to false: objects are pruned between waves, in
// the reverse order of their waves.
func WithPruneLast(enabled bool) SyncOpt { return func(s *settings) { s.pruneLast = enabled } }

// WithPrunePropagationPolicy says what happens to the objects that a pruned object owns. Defaults to foreground; nil is
// the default.
func WithPrunePropagationPolicy(policy *metav1.DeletionPropagation) SyncOpt {
	return func(s *settings) {
		s.propagation = ""
		if policy != nil {
			s.propagation = *policy
		}
	}
}

// WithSkipHooks leaves out all hooks; those of earlier operations stay, and so does what they would be deleted with.
// Defaults to false.
func WithSkipHooks(skipHooks bool) SyncOpt { return func(s *settings) { s.skipHooks = skipHooks } }

// WithReplace removes the fields of other managers from objects that are updated. Defaults to false: they stay, except
// those that client-side apply of kubectl or Argo CD has set.
func WithReplace(replace bool) SyncOpt { return func(s *settings) { s.replace = replace } }

// WithManifestValidation refuses objects with fields that the API server does not know, before anything is written.
// Defaults to true. Without it, as with the option Validate=false of one object, such fields are left out.
func WithManifestValidation(enabled bool) SyncOpt {
	return func(s *settings) { s.lenient = !enabled }
}

// WithHealthOverride sets health rules that come before those of the runtime. Defaults to none.
func WithHealthOverride(override HealthOverride) SyncOpt {
	return func(s *settings) { s.health = override }
}

// WithPermissionValidator sets a function that is asked about each object to be applied, and each live object to be
// pruned, before this process writes anything. The operation fails with all its errors. The function must not call the
// context. Defaults to none.
func WithPermissionValidator(validator PermissionValidator) SyncOpt {
	return func(s *settings) { s.permission = validator }
}

// WithResourcesFilter sets a function that says of each pair of a declared and an existing object, of which one may be
// nil, whether the operation is about it. Others are neither written nor pruned; what they would be deleted with is not
// pruned either. It is not asked about hooks; see WithSkipHooks. Defaults to all.
func WithResourcesFilter(resourcesFilter func(key ResourceKey, target *unstructured.Unstructured, live *unstructured.Unstructured) bool) SyncOpt {
	return func(s *settings) { s.filter = resourcesFilter }
}

// WithNamespaceModifier sets a function that gets the namespace of the operation as it would be created, and as it
// exists (nil if it does not), and may change the former. If it returns true, the namespace is applied first. It is not
// called if the namespace is declared. Defaults to none: the namespace has to exist.
func WithNamespaceModifier(namespaceModifier func(managedNs *unstructured.Unstructured, liveNs *unstructured.Unstructured) (bool, error)) SyncOpt {
	return func(s *settings) { s.namespaceModifier = namespaceModifier }
}

// WithSyncWaveHook sets a function that is called when an operation has changed objects of a wave and none of them is
// left to be written, whether they are healthy or not; final means that no later wave follows. It is not called for
// SyncFail hooks, and must not call the context. If it returns an error, hooks that are running are deleted, and the
// operation ends with OperationError. Defaults to none.
func WithSyncWaveHook(syncWaveHook SyncWaveHook) SyncOpt {
	return func(s *settings) { s.waveHook = syncWaveHook }
}

// WithServerSideApplyManager sets the field manager of all writes. Defaults to Name.
func WithServerSideApplyManager(manager string) SyncOpt {
	return func(s *settings) { s.manager = manager }
}

// WithLogr sets the logger. Defaults to none.
func WithLogr(log logr.Logger) SyncOpt { return func(s *settings) { s.log = log } }

// WithServerSideApply has no effect: objects are always applied by the API server.
func WithServerSideApply(bool) SyncOpt { return func(*settings) {} }

// WithResourceModificationChecker has no effect: objects that are as declared are never written, and operations
// recognize them without a diff.
func WithResourceModificationChecker(bool, *DiffResultList) SyncOpt { return func(*settings) {} }

// DiffResultList is for WithResourceModificationChecker.
type DiffResultList struct {
	Diffs    []DiffResult
	Modified bool
}

// DiffResult is the difference between a declared object and one that exists.
type DiffResult struct {
	Modified                      bool
	NormalizedLive, PredictedLive []byte
}
