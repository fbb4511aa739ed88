// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package reconciler

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/go-logr/logr"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/internal/judges"
	"github.com/component-operator/runtime/internal/manifest"
	"github.com/component-operator/runtime/internal/observe"
	"github.com/component-operator/runtime/pkg/cluster"
	"github.com/component-operator/runtime/pkg/inventory"
	"github.com/component-operator/runtime/pkg/reconciler/internal/decide"
	"github.com/component-operator/runtime/pkg/reconciler/internal/execute"
	"github.com/component-operator/runtime/pkg/reconciler/internal/guard"
	"github.com/component-operator/runtime/pkg/reconciler/internal/prepare"
	"github.com/component-operator/runtime/pkg/status"
	"github.com/component-operator/runtime/pkg/types"
)

// Options configure a Reconciler. The zero value works.
type Options struct {
	// FieldOwner is the field manager of all writes. It must be unique per operator. Defaults to the name.
	FieldOwner string
	// OwnerKind is the kind of owners in messages about objects of another owner: "belongs to App demo/web". IDs must
	// then have three parts, a prefix, a namespace and a name: "prefix/demo/web". Defaults to none: messages contain
	// the ID.
	OwnerKind string
	// Finalizer is added to dependents that define types. Set it only in programs that run permanently: nothing else
	// removes it. Defaults to none.
	Finalizer string
	// FormerFinalizers are finalizers of earlier versions of the operator. They are removed from dependents that define
	// types when these are deleted or orphaned; so they must not be finalizers of other controllers or of Kubernetes.
	// Without a Finalizer, the reconciler's name is one of them. Defaults to none.
	FormerFinalizers []string
	// RetainOutcomes adds the finalizer <name>/outcome to Jobs and Pods with a decisive outcome: those that are purged,
	// those that run once for each state of the owner (ReconcilePolicyOnObjectOrComponentChange), and Jobs with
	// ttlSecondsAfterFinished. It is removed when the outcome is recorded. Until then, neither Kubernetes nor another
	// client can remove the object, so that its work is not done twice. Set it only in programs that run permanently:
	// nothing else removes the finalizer. Defaults to false.
	RetainOutcomes bool
	// FailuresAreFinal means that a failed Job or Pod is not created again when it is gone, if it runs once for each
	// state of the owner or is a Job with ttlSecondsAfterFinished. Defaults to false: it is created again.
	FailuresAreFinal bool
	// Policies apply unless the object or the request overrides them.
	Policies Policies
	// AwaitTypes makes objects wait in their waves for types that are neither served nor defined by other objects, like
	// missing-type-policy: wait. Their delete orders do not change. Defaults to false: a request with such objects is
	// refused.
	AwaitTypes bool
	// AdditionalManagedTypes are added to those of each owner. Defaults to none.
	AdditionalManagedTypes []TypeInfo
	// OwnAnnotations are the suffixes of annotations that begin with the name of the reconciler, and that others use.
	// Result.Notes warns about other unknown annotations with this prefix when their object is written, and so do
	// plans. Defaults to none.
	OwnAnnotations []string
	// ReclaimedFieldManagers are prefixes of names of field managers whose additions UpdatePolicySsaOverride
	// removes. Defaults to "kubectl".
	ReclaimedFieldManagers []string
	// ReclaimedFieldManagerNames are the exact names of further such field managers. Defaults to none.
	ReclaimedFieldManagerNames []string
	// Owner, an owner's ID, restricts watches to the dependents of this owner. The reconciler must not be used for
	// other owners then. Defaults to all owners.
	Owner string
	// WatchDelay is how long the result of the first list of a kind is used before the kind is watched, unless Follow
	// is called earlier. It is for short-lived programs, which rarely run long enough to see changes by others, and
	// need not see them. Defaults to zero: kinds are watched right away.
	WatchDelay time.Duration
	// MaxObservedBytes limits the estimated memory for observations of dependents, about 700 bytes each. If there is no
	// room for a kind, its dependents are read one by one from then on. Set it for untrusted clusters, which could send
	// endless objects. Defaults to no limit.
	MaxObservedBytes int64
	// OnStatus is called with the status of a dependent in the response to a write or single read. It must not block,
	// and may be called from several goroutines. Defaults to none.
	OnStatus func(object types.ObjectKey, found status.Status, message string)
	// Log receives a line whenever the way in which a kind is observed changes. Defaults to no log.
	Log logr.Logger
	// Judge computes the status of dependents whose owners have no judge of their own. Defaults to
	// status.NewAnalyzer(name).
	Judge status.Judge
	// AwaitReports keeps a custom resource from being ready until its controller has reported a condition or an
	// observed generation, if the CustomResourceDefinition declares conditions. The definition is read when the watch
	// of a type begins; types whose definitions the client may not read are exempt. It applies only to Judge, not to
	// judges of owners and objects. Defaults to false: then such an object is ready as soon as it exists.
	AwaitReports bool
	// InstanceValidator makes functions that validate instances of CustomResourceDefinitions; use instances.NewValidator.
	// Before a definition becomes narrower, all its instances are validated, and the change is refused if it would make
	// some of them invalid, unless the annotation crd-upgrade-policy allows that. Defaults to none: instances are not
	// validated.
	InstanceValidator InstanceValidator
	// MaxConcurrency is the maximum number of concurrent requests of one call. Defaults to 16.
	MaxConcurrency int
	// OnOperation is called for each request about a dependent with "read", "create", "update" or "delete". It may be
	// called from several goroutines. Defaults to none.
	OnOperation func(action string)
	// Clock defaults to the real time.
	Clock clock.PassiveClock
}

// InstanceValidator makes a function that validates instances of a CustomResourceDefinition against the schema of one of
// its versions. Both may be called from several goroutines.
type InstanceValidator func(schema *apiextensionsv1.JSONSchemaProps) (func(instance map[string]any) field.ErrorList, error)

const defaultConcurrency = 16

// Reconciler applies, deletes and watches the dependents of many owners in one cluster, as one identity. It is safe for
// concurrent use for different owners; calls for one owner must not overlap.
type Reconciler struct {
	name    string
	options Options
	config  execute.Config
	cache   *cache
	memory  *decide.Memory
	// definitions are nil unless AwaitReports is set.
	definitions *judges.Definitions
	// barrierPause is how long a barrier must be in force before the type is deleted: it may take effect later in other
	// instances of the API server.
	barrierPause time.Duration
	// storagePause is how long all API servers take to store instances in the version that a definition says.
	storagePause time.Duration
}

// New returns a Reconciler that reads, watches and writes through the client. The name is the prefix of all labels and
// annotations. Watches begin when calls need them, and end with Close.
//
// Kinds that the client may not watch in the whole cluster are watched in the namespaces of the dependents; where that
// is forbidden too, dependents are read one by one.
func New(name string, clnt cluster.Client, options Options) (*Reconciler, error) {
	r, err := assemble(name, clnt, options)
	if err == nil {
		r.cache, err = newCache(r)
	}
	if err != nil {
		return nil, fmt.Errorf("creating the reconciler %q: %w", name, err)
	}
	r.config.Observer = r.cache
	return r, nil
}

// assemble returns a Reconciler without a cache.
func assemble(name string, clnt cluster.Client, options Options) (*Reconciler, error) {
	if name == "" || clnt == nil {
		return nil, errors.New("name and client are required")
	}
	options.FieldOwner = cmp.Or(options.FieldOwner, name)
	if options.Finalizer == "" {
		options.FormerFinalizers = append(slices.Clone(options.FormerFinalizers), name)
	}
	if options.MaxConcurrency <= 0 {
		options.MaxConcurrency = defaultConcurrency
	}
	options.Clock = cmp.Or[clock.PassiveClock](options.Clock, clock.RealClock{})
	if options.Judge == nil {
		options.Judge = status.NewAnalyzer(name, status.Options{Clock: options.Clock})
	}
	if options.OnOperation == nil {
		options.OnOperation = func(string) {}
	}
	if options.ReclaimedFieldManagers == nil {
		options.ReclaimedFieldManagers = []string{"kubectl"}
	}
	declared, err := prepare.Validate(options.Policies)
	if err != nil {
		return nil, err
	}
	options.Policies = manifest.Or(declared, prepare.Defaults())
	if err := prepare.CheckManagedTypes(options.AdditionalManagedTypes); err != nil {
		return nil, err
	}
	var definitions *judges.Definitions
	if options.AwaitReports {
		definitions = judges.NewDefinitions(clnt)
		options.Judge = judges.Await(options.Judge, definitions)
	}
	owners, keys := judges.New(name, options.Judge), prepare.NewKeys(name)
	reader := &observe.Reader{
		OwnerLabel: keys.OwnerLabel, PrunePolicyAnnotation: keys.PrunePolicy, DigestAnnotation: keys.Digest, SuspendedDigest: prepare.DigestSuspended,
		IgnoreFieldsAnnotation: keys.Prefix + types.AnnotationKeySuffixIgnoreFields, Manager: options.FieldOwner, Judges: owners, Clock: options.Clock,
	}
	return &Reconciler{
		name: name, options: options, memory: decide.NewMemory(), definitions: definitions, barrierPause: guard.DefaultPause, storagePause: guard.StoragePause,
		config: execute.Config{
			Client: clnt, Reader: reader, Judges: owners, Keys: keys, OwnerKind: options.OwnerKind, FieldOwner: options.FieldOwner,
			OnOperation: options.OnOperation, Clock: options.Clock,
		},
	}, nil
}

// additionalTypes returns the managed types of the owner that none of its objects defines.
func (r *Reconciler) additionalTypes(owner Owner) []TypeInfo {
	return slices.Concat(r.options.AdditionalManagedTypes, owner.AdditionalManagedTypes)
}

func (r *Reconciler) preparer() prepare.Preparer {
	return prepare.Preparer{
		Scheme: r.config.Client.Scheme(), Mapper: r.config.Client.RESTMapper(), Keys: r.config.Keys, OwnAnnotations: r.options.OwnAnnotations,
		FailuresAreFinal: r.options.FailuresAreFinal, AwaitTypes: r.options.AwaitTypes,
	}
}

// forDecisions returns the parts of the owner that decisions need.
func (o Owner) forDecisions() decide.Owner {
	return decide.Owner{
		ID: o.ID, Label: manifest.OwnerLabel(o.ID), Namespace: o.Namespace, Home: o.Home, Self: o.Self, AdditionalManagedTypes: o.AdditionalManagedTypes,
	}
}

// Owner is an owner of dependents, with its inventory and callbacks.
type Owner struct {
	// ID identifies the owner; unique per field manager and cluster. Required.
	ID string
	// Namespace is the default namespace of namespaced objects.
	Namespace string
	// Inventory is the inventory that the last call returned, or that was saved last. It is not changed.
	Inventory []*InventoryItem
	// Store receives the inventory before writes that depend on it. Required.
	Store Store
	// Fence is called immediately before each request that may change something, after the engine has observed the
	// state that guards the request. An error ends the call with a FencedError. If owners move between processes, Fence
	// must return an error as soon as the owner may belong to another process. Fence may be called from several
	// goroutines. Defaults to none.
	Fence func() error
	// Confirm is called before an object that was written before and has vanished is created again: another process may
	// have deleted it for the same owner, based on newer input. Confirm must read the source of this call's input, not
	// from a cache, and return an error if it has changed. The call then writes nothing more and ends with a
	// FencedError. One call of Confirm covers all objects already known to have vanished. Calls for one owner do not
	// overlap, but may run concurrently with requests about other dependents. Defaults to none.
	Confirm func(ctx context.Context) error
	// Home are the namespaces of objects that the owner itself needs, such as its custom resource or its record. If
	// such a namespace is a dependent, it is applied like any other, but orphaned instead of deleted: deleting it would
	// delete the owner before its other dependents, or have the owner wait for itself. Defaults to none.
	Home []string
	// Self is the owner's own object, if it is in the cluster of the dependents. It does not count as a foreign
	// instance of its type, and a dependent that defines this type is orphaned instead of deleted, because the owner
	// would be deleted with it. If it is an object with a UID, adopted dependents lose their references to it, which
	// would have them deleted with it, unless their update policy is ssa-merge or recreate. Defaults to none.
	Self types.ObjectKey
	// AdditionalManagedTypes are types (or patterns of types) that exist because of this owner, but that none of its
	// objects defines. They are listed only with the identity of the client (see Reconciler.As).
	AdditionalManagedTypes []TypeInfo
}

// ApplyRequest is the input of Reconciler.Apply.
type ApplyRequest struct {
	Owner
	// Objects is the complete set of wanted objects, in any order. They are not changed.
	Objects []client.Object
	// Version identifies Objects: the next call for the same owner with the same Version must have the same objects in
	// the same order, and reuses the results computed from them. Defaults to none: each call processes all objects.
	Version string
	// Digest identifies the state of the owner. Objects with ReconcilePolicyOnObjectOrComponentChange are applied
	// when it changes.
	Digest string
	// FormerDigest is another digest of the same state of the owner, which the inventory may still record. Objects that
	// were applied with it are not applied again. Defaults to none.
	FormerDigest string
	// DigestKey keys the recorded digests of Secrets, so that a user who may read the inventory cannot guess their
	// content. Digests that were recorded without a key are still recognized. Defaults to none.
	DigestKey []byte
	// Policies of this owner.
	Policies Policies
	// Judge computes the status of the dependents of this owner. If its rules differ from those of the last call, each
	// dependent is read once. Defaults to Options.Judge.
	Judge status.Judge
	// Expected is the result of Plan for the same request. Apply follows this plan or ends with a *StaleError; only
	// on-failure hooks, which are not part of plans, are applied anyway. Each object that the plan creates costs a
	// read, because objects without our label are not watched.
	//
	// It is meant for the start of an operation: a failed call may be repeated with it (completed changes are not
	// compared again), but the caller must drop it after a call without an error. From then on, the engine handles
	// changes by others according to the policies. Defaults to none.
	Expected *Plan
	// TakeOver are wanted objects that are adopted from any owner, regardless of their adoption policies, and never
	// deleted for that. The owner label changes in one write, so that an object always has an owner. An object with
	// ReconcilePolicyOnce that was applied according to the inventory keeps its content. Defaults to none.
	TakeOver []types.ObjectKey
	// Siblings are other owners, by ID, with their relation to this one: revisions of the same set that are both
	// applied, where the newer one takes over objects from the older one. The state of an object when this call reaches
	// it counts. Defaults to none.
	Siblings map[string]Relation
	// Deletions limits how many redundant dependents are deleted. If there are more, none of them is deleted;
	// everything else is done as usual, and Result.Held lists them. Defaults to no limit.
	Deletions Deletions
	// RecordAdoptions records InventoryItem.Adopted before an object is adopted; this costs one save for each tier with
	// such objects. The mark stays as long as the item. Defaults to false: the inventory does not show which dependents
	// existed before.
	RecordAdoptions bool
	// CarryOn starts each wave when the objects of the previous one are written, even if they are not ready. The result
	// is Done only if all objects are ready; redundant dependents are deleted only then. Defaults to no.
	CarryOn bool
	// Suspend brings the objects with the behavior Suspending into their suspended form, wave by wave in reversed apply
	// order, and deletes those whose behavior requests that. Objects that do not exist are not created. All other
	// dependents are left alone: nothing is corrected, and nothing pruned. The result is Done when all are suspended.
	// The next call without Suspend resumes them. Defaults to no.
	Suspend bool
	// Failed applies the on-failure hooks even if the call itself finds no failure, because the caller has found one.
	// Defaults to no.
	Failed bool
	// RerunFailed runs Jobs and Pods again that have failed, if their update policy is UpdatePolicyRecreate or they
	// were deleted because they had failed (PurgeOnFailure). Set it when a user requests another attempt, and only in
	// the first call of that attempt: objects that fail again must not run a third time. Defaults to no.
	RerunFailed bool
	// AfterWave is called when the call has changed objects of a wave and all objects of the wave are written, even if
	// they are not ready; order is the apply order, and final means that no later wave has objects. An error ends the
	// call with a FencedError, before the next wave. It is not called for on-failure hooks. Defaults to none.
	AfterWave func(ctx context.Context, order int, final bool) error
	// RunOnce keeps Jobs and Pods that were ready and are gone from being created again. Defaults to false: then this
	// applies only to Jobs with ttlSecondsAfterFinished, and to Jobs, and Pods with the status hint run-to-completion,
	// that are hooks or run once for each state of the owner (ReconcilePolicyOnObjectOrComponentChange).
	RunOnce bool
}

// DeleteRequest is the input of Reconciler.Delete and Reconciler.CheckDeletion.
type DeleteRequest struct {
	Owner

	// Approved is the digest of the dependents with DeletePolicyConfirmOnDelete that may be deleted; see HeldDeletions.
	// Defaults to none.
	Approved string
	// Occasion distinguishes this deletion from others of the same objects, so that an approval holds for one of them
	// only: the digests of two occasions differ. Defaults to none.
	Occasion string
	// Departing are other owners whose dependents the caller deletes first: CheckDeletion does not count objects in
	// their inventories as instances of managed types. An object whose UID differs from the recorded one still counts.
	// If no UID is recorded, because the process that created the object ended too early, the object must have its
	// owner's label and must have been written by us. Only the IDs and inventories of the owners matter. Delete ignores
	// it. Defaults to none.
	Departing []Owner
	// Unasked deletes dependents with DeletePolicyConfirmOnDelete without approval, because the caller has obtained the
	// approval itself, or created them only temporarily. Defaults to false.
	Unasked bool
}

// The types of package inventory, under the engine's own name.
type (
	// TypeInfo is a type of objects, or a pattern of types. In a pattern, Group may be "*" (any group) or
	// "*.<suffix>" (one or more labels before the suffix), and Kind may be "*".
	TypeInfo = inventory.TypeInfo
	// TypeVersionInfo is a type of objects in one version, or a pattern of types; each field may be "*".
	TypeVersionInfo = inventory.TypeVersionInfo
	// NameInfo is the name of an object.
	NameInfo = inventory.NameInfo
	// Phase is a dependent's position in its life cycle.
	Phase = inventory.Phase
	// Store keeps an inventory.
	Store = inventory.Store
	// InventoryItem records one dependent.
	InventoryItem = inventory.Item
	// AdoptionPolicy determines what happens if an object to be created already exists.
	AdoptionPolicy = inventory.AdoptionPolicy
	// ReconcilePolicy determines which changes cause an object to be applied again.
	ReconcilePolicy = inventory.ReconcilePolicy
	// UpdatePolicy determines how an existing object is updated.
	UpdatePolicy = inventory.UpdatePolicy
	// DeletePolicy determines what happens to an object that is removed from the manifests, or whose owner is deleted.
	DeletePolicy = inventory.DeletePolicy
	// MissingNamespacesPolicy determines what happens if the namespace of an object does not exist and is not among the
	// objects.
	MissingNamespacesPolicy = inventory.MissingNamespacesPolicy
	// PrunePolicy determines what happens to an object that would be deleted because its manifest is removed.
	PrunePolicy = inventory.PrunePolicy
	// PruneAt determines when redundant objects are deleted.
	PruneAt = inventory.PruneAt
	// DriftPolicy determines what happens if others change a dependent.
	DriftPolicy = inventory.DriftPolicy
	// DeleteOrder determines the delete order of objects without the delete-order annotation.
	DeleteOrder = inventory.DeleteOrder
	// MaxDeletions is how many redundant dependents may be deleted without approval: a number ("5"), a percentage of
	// the dependents ("25%", rounded down), or MaxDeletionsAllButOne. Empty means any number.
	MaxDeletions = inventory.MaxDeletions
	// Deletions limits how many redundant dependents are deleted. It does not apply to the deletion of the owner, or to
	// dependents that are orphaned or have served their purpose. The zero value is no limit.
	Deletions = inventory.Deletions
	// HeldDeletions are dependents that are not deleted without approval.
	HeldDeletions = inventory.HeldDeletions
	// Policies apply to objects whose annotations do not override them. An empty field defaults to the field of
	// Options.Policies, which defaults to the documented value.
	Policies = inventory.Policies
	// Verb is the kind of an action on an object.
	Verb = inventory.Verb
	// Action is an action on objects of one wave.
	Action = inventory.Action
	// Notice is a message about one object.
	Notice = inventory.Notice
	// Result reports the progress of a call of Apply or Delete. It is valid even if the call returned an error.
	Result = inventory.Result
	// Aftermath reports the progress of an owner's on-failure hooks. It is empty unless they have been applied.
	Aftermath = inventory.Aftermath
	// Blocker is an object that does not belong to the owner, and forbids the deletion of its type.
	Blocker = inventory.Blocker
	// RefusedError means that objects cannot be accepted. The objects that it names were not written; if objects
	// contradict each other, or an annotation is invalid, no object was written. Retrying is useless until the input,
	// or the object of the other owner, changes.
	RefusedError = inventory.RefusedError
	// FencedError ends a call because Owner.Fence or Owner.Confirm returned an error. Earlier requests of the call
	// stand.
	FencedError = inventory.FencedError
	// StaleError ends a call of Apply that would deviate from the plan. If that was detected at the start, nothing was
	// written; otherwise an object changed while the call was about to write it, and earlier writes stand.
	//
	// An object counts as changed if it was created again, or if others changed or removed fields that we own (any
	// field, if we own none). Where field ownership is not tracked, its generation counts. A change of the status does
	// not count.
	StaleError = inventory.StaleError
	// Relation is the relation of another owner of the same objects to an owner.
	Relation = inventory.Relation
	// ObjectInfo is the type and name of an object.
	ObjectInfo = inventory.ObjectInfo
	// Plan contains the changes that Apply would make for a request. It can be saved as JSON, without the content of
	// objects.
	Plan = inventory.Plan
	// PlanOptions configure Reconciler.Plan. The zero value works.
	PlanOptions = inventory.PlanOptions
	// Change is the planned change of one object.
	Change = inventory.Change
	// FieldChange is a field that others have changed or removed.
	FieldChange = inventory.FieldChange
)

// The phases and policies; see package inventory.
const (
	PhaseScheduledForApplication             = inventory.PhaseScheduledForApplication
	PhaseScheduledForDeletion                = inventory.PhaseScheduledForDeletion
	PhaseScheduledForCompletion              = inventory.PhaseScheduledForCompletion
	PhaseCreating                            = inventory.PhaseCreating
	PhaseUpdating                            = inventory.PhaseUpdating
	PhaseDeleting                            = inventory.PhaseDeleting
	PhaseCompleting                          = inventory.PhaseCompleting
	PhaseReady                               = inventory.PhaseReady
	PhaseFailed                              = inventory.PhaseFailed
	PhaseKept                                = inventory.PhaseKept
	PhaseCompleted                           = inventory.PhaseCompleted
	AdoptionPolicyNever                      = inventory.AdoptionPolicyNever
	AdoptionPolicyIfUnowned                  = inventory.AdoptionPolicyIfUnowned
	AdoptionPolicyAlways                     = inventory.AdoptionPolicyAlways
	ReconcilePolicyOnObjectChange            = inventory.ReconcilePolicyOnObjectChange
	ReconcilePolicyOnObjectOrComponentChange = inventory.ReconcilePolicyOnObjectOrComponentChange
	ReconcilePolicyOnce                      = inventory.ReconcilePolicyOnce
	UpdatePolicyRecreate                     = inventory.UpdatePolicyRecreate
	UpdatePolicyReplace                      = inventory.UpdatePolicyReplace
	UpdatePolicySsaMerge                     = inventory.UpdatePolicySsaMerge
	UpdatePolicySsaOverride                  = inventory.UpdatePolicySsaOverride
	DeletePolicyDelete                       = inventory.DeletePolicyDelete
	DeletePolicyOrphan                       = inventory.DeletePolicyOrphan
	DeletePolicyOrphanOnApply                = inventory.DeletePolicyOrphanOnApply
	DeletePolicyOrphanOnDelete               = inventory.DeletePolicyOrphanOnDelete
	DeletePolicyConfirmOnDelete              = inventory.DeletePolicyConfirmOnDelete
	MissingNamespacesPolicyDoNotCreate       = inventory.MissingNamespacesPolicyDoNotCreate
	MissingNamespacesPolicyCreate            = inventory.MissingNamespacesPolicyCreate
	PrunePolicyDelete                        = inventory.PrunePolicyDelete
	PrunePolicyKeep                          = inventory.PrunePolicyKeep
	PrunePolicyConfirm                       = inventory.PrunePolicyConfirm
	PruneAtEnd                               = inventory.PruneAtEnd
	PruneAtWaves                             = inventory.PruneAtWaves
	DriftPolicyCorrect                       = inventory.DriftPolicyCorrect
	DriftPolicyReport                        = inventory.DriftPolicyReport
	DriftPolicyIgnore                        = inventory.DriftPolicyIgnore
	DeleteOrderExplicit                      = inventory.DeleteOrderExplicit
	DeleteOrderReversed                      = inventory.DeleteOrderReversed
	MaxDeletionsAllButOne                    = inventory.MaxDeletionsAllButOne
	RelationOlder                            = inventory.RelationOlder
	RelationNewer                            = inventory.RelationNewer
	VerbCreated                              = inventory.VerbCreated
	VerbAdopted                              = inventory.VerbAdopted
	VerbUpdated                              = inventory.VerbUpdated
	VerbCorrected                            = inventory.VerbCorrected
	VerbRestored                             = inventory.VerbRestored
	VerbDeleted                              = inventory.VerbDeleted
	VerbCompleted                            = inventory.VerbCompleted
	VerbOrphaned                             = inventory.VerbOrphaned
	ReasonMissing                            = inventory.ReasonMissing
	ReasonUnchanged                          = inventory.ReasonUnchanged
)
