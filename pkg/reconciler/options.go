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
	// OwnerKind is what owners are called in messages about objects that belong to another one: "belongs to App
	// demo/web". Their IDs must then have three parts, a prefix, a namespace and a name: "prefix/demo/web". Defaults to
	// none: messages have the ID.
	OwnerKind string
	// Finalizer is put on dependents that define types. It is for programs that run all the time: nobody else removes
	// it. Defaults to none.
	Finalizer string
	// FormerFinalizers are finalizers of earlier versions of the operator. They are removed from dependents that define
	// types when these are deleted or orphaned; so they must not be finalizers of other controllers, nor of Kubernetes.
	// Without a Finalizer, the name is one of them. Defaults to none.
	FormerFinalizers []string
	// RetainOutcomes puts the finalizer <name>/outcome on Jobs and Pods whose outcome decides something: those that are
	// purged, those that run once for each state of the owner (ReconcilePolicyOnObjectOrComponentChange), and Jobs with
	// ttlSecondsAfterFinished. It is removed when the outcome is recorded. Until then, neither Kubernetes nor another
	// client can make the object disappear, so that its work is not done twice. It is for programs that run all the
	// time: nobody else removes the finalizer. Defaults to false.
	RetainOutcomes bool
	// FailuresAreFinal means that a Job or Pod that has failed is not created again when it is gone, if it is one that
	// runs once for each state of the owner, or a Job with ttlSecondsAfterFinished. Defaults to false: it is created
	// again.
	FailuresAreFinal bool
	// Policies apply where neither the object nor the request says otherwise.
	Policies Policies
	// AwaitTypes lets objects whose types are not served, and not defined by other objects, wait for their types when
	// their waves have come, as missing-type-policy: wait does. Their delete orders stay the same. Defaults to false:
	// such objects are refused, with all others.
	AwaitTypes bool
	// AdditionalManagedTypes are added to those of each owner. Defaults to none.
	AdditionalManagedTypes []TypeInfo
	// OwnAnnotations are the suffixes of annotations that begin with the name of the reconciler, and mean something to
	// others. Result.Notes warns about other ones that are not known when their object is written, and plans do.
	// Defaults to none.
	OwnAnnotations []string
	// ReclaimedFieldManagers are prefixes of names of field managers whose additions UpdatePolicySsaOverride
	// removes. Defaults to "kubectl".
	ReclaimedFieldManagers []string
	// ReclaimedFieldManagerNames are names of further such field managers, in full: another one whose name begins with
	// one of them is not meant. Defaults to none.
	ReclaimedFieldManagerNames []string
	// Owner, an owner's ID, restricts watches to the dependents of this owner. The reconciler must not be used for
	// other owners then. Defaults to all owners.
	Owner string
	// WatchDelay is how long the result of the first list of a kind is used before the kind is watched, unless Follow
	// is called earlier. It is for short-lived programs, which rarely run long enough to see changes by others, and
	// need not see them. Defaults to zero: kinds are watched right away.
	WatchDelay time.Duration
	// MaxObservedBytes limits the memory that the observations of dependents take, estimated: some 700 bytes for each.
	// The dependents of a kind for which there is no room are read one by one from then on. It is for clusters that are
	// not trusted, which could send objects without end. Defaults to no limit.
	MaxObservedBytes int64
	// OnStatus is called with the status of a dependent that the response of a write or of a single read shows. It must
	// not block, and may be called from several goroutines. Defaults to none.
	OnStatus func(object types.ObjectKey, found status.Status, message string)
	// Log receives a line whenever the way in which a kind is observed changes. Defaults to no log.
	Log logr.Logger
	// Judge computes the status of dependents of all owners that name no other one. Defaults to
	// status.NewAnalyzer(name).
	Judge status.Judge
	// AwaitReports keeps a custom resource from being ready as long as its controller has reported neither a condition
	// nor a generation that it has observed, if the CustomResourceDefinition declares conditions. The definition is
	// read when the watch of a type begins; types whose definition the client may not read do not count. It applies
	// only to Judge, not to judges of owners and objects. Defaults to false: then such an object is ready as soon as it
	// exists.
	AwaitReports bool
	// MaxConcurrency is the maximum number of concurrent requests of one call. Defaults to 16.
	MaxConcurrency int
	// OnOperation is called for each request about a dependent with "read", "create", "update" or "delete". It may be
	// called from several goroutines. Defaults to none.
	OnOperation func(action string)
	// Clock defaults to the real time.
	Clock clock.PassiveClock
}

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
	// barrierPause is how long a barrier must be in force before the type is deleted: other instances of the API server
	// may learn of it later than the one that created it.
	barrierPause time.Duration
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
	options.Policies = prepare.Or(declared, prepare.Defaults())
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
		name: name, options: options, memory: decide.NewMemory(), definitions: definitions, barrierPause: guard.DefaultPause,
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

// forDecisions returns the owner as decisions need it.
func (o Owner) forDecisions() decide.Owner {
	return decide.Owner{
		ID: o.ID, Label: manifest.OwnerLabel(o.ID), Namespace: o.Namespace, Home: o.Home, Self: o.Self, AdditionalManagedTypes: o.AdditionalManagedTypes,
	}
}

// Owner is what dependents belong to.
type Owner struct {
	// ID identifies the owner; unique per field manager and cluster. Required.
	ID string
	// Namespace is the namespace of namespaced objects that do not name one.
	Namespace string
	// Inventory is what the last call returned, or the last saved inventory. It is not changed.
	Inventory []*InventoryItem
	// Store receives the inventory before writes that depend on it. Required.
	Store Store
	// Fence is called right before each request that may change something, after the engine has observed all that the
	// request is guarded by. An error ends the call with a FencedError. A caller that hands owners over from one
	// process to another returns an error as soon as the owner may belong to another process. Fence may be called from
	// several goroutines. Defaults to none.
	Fence func() error
	// Confirm is called before an object that was written before and has vanished is created again: the process that
	// deleted it may work for the same owner, on newer input. Confirm reads the source of this call's input, not from a
	// cache, and returns an error if that has changed. Then nothing more is written, and the call ends with a
	// FencedError. One call of Confirm covers all objects that are known to have vanished before it. Calls for one
	// owner do not overlap each other, but may overlap requests about other dependents. Defaults to none.
	Confirm func(ctx context.Context) error
	// Home are the namespaces that hold what the owner itself needs, such as its custom resource or its record. If such
	// a namespace is a dependent, it is applied like any other, but orphaned instead of deleted: deleting it would
	// delete the owner before its other dependents, or have the owner wait for itself. Defaults to none.
	Home []string
	// Self is the owner's own object, if it is in the cluster of the dependents. It does not count as a foreign
	// instance of its type, and a dependent that defines this type is orphaned instead of deleted, because the owner
	// would be deleted with it. Defaults to none.
	Self types.ObjectKey
	// AdditionalManagedTypes are types (or patterns of types) that exist because of this owner although none of its
	// objects defines them. They are listed only with the identity of the client (see Reconciler.As).
	AdditionalManagedTypes []TypeInfo
}

// ApplyRequest is the input of Reconciler.Apply.
type ApplyRequest struct {
	Owner
	// Objects is the complete set of wanted objects, in any order. They are not changed.
	Objects []client.Object
	// Version identifies Objects: the next call for the same owner with the same Version must have the same objects in
	// the same order, and uses the results computed from them again. Defaults to none: each call processes all objects.
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
	// Expected is what Plan returned for the same request. Apply does that, or ends with a *StaleError; only on-failure
	// hooks, which no plan foresees, are applied all the same. Each object that the plan creates costs a read, because
	// objects without our label are not watched.
	//
	// It is for the beginning of an operation: a call that failed may be repeated with it (changes that were made are
	// not compared again), but the caller drops it once a call has returned without an error. After that, the engine
	// reacts to changes by others as the policies say. Defaults to none.
	Expected *Plan
	// TakeOver are wanted objects that are adopted from any owner, whatever their adoption policies say, and never
	// deleted for it. The owner label changes in one write, so that an object always has an owner. An object that
	// should be applied only once, and was according to the inventory, keeps its content. Defaults to none.
	TakeOver []types.ObjectKey
	// Siblings are other owners, by ID, of which one takes over objects from the other while both are applied:
	// revisions of the same set. What an object is when this call comes to it counts. Defaults to none.
	Siblings map[string]Relation
	// Deletions limits how many redundant dependents are deleted. If there are more, none of them is; everything else
	// is done as usual, and Result.Held names them. Defaults to no limit.
	Deletions Deletions
	// RecordAdoptions records InventoryItem.Adopted before an object is adopted; this costs one save for each tier with
	// such objects. The mark stays as long as the item. Defaults to no: then the inventory does not tell which
	// dependents existed before.
	RecordAdoptions bool
	// CarryOn begins each wave when the objects of the one before are written, whether they are ready or not. The
	// result is Done only if all objects are ready; redundant dependents are deleted only then. Defaults to no.
	CarryOn bool
	// Suspend brings the objects with the behavior Suspending into their suspended form, wave by wave in reversed apply
	// order, and deletes those that want to be deleted then. Objects that do not exist are not created. All other
	// dependents are left alone: nothing is corrected, and nothing pruned. The result is Done when all are suspended.
	// The next call without Suspend brings them back. Defaults to no.
	Suspend bool
	// Failed applies the on-failure hooks although the call itself may find no failure: the caller has found one.
	// Defaults to no.
	Failed bool
	// RerunFailed runs Jobs and Pods again that have failed, if their update policy is UpdatePolicyRecreate or they
	// were deleted because they had failed (PurgeOnFailure). It is for callers whose users ask for another attempt, and
	// for the first call of it only: what fails again must not run a third time. Defaults to no.
	RerunFailed bool
	// AfterWave is called when the call has changed objects of a wave and none of the wave is left to be written,
	// whether they are ready or not; order is the apply order, and final means that no later wave has objects. An error
	// ends the call with a FencedError, before the next wave. It is not called for on-failure hooks. Defaults to none.
	AfterWave func(ctx context.Context, order int, final bool) error
	// RunOnce keeps Jobs and Pods that were ready and are gone from being created again: they have served their
	// purpose. Defaults to no: then this holds only for Jobs that delete themselves, and for what runs once for each
	// state of the owner (ReconcilePolicyOnObjectOrComponentChange): Jobs, and Pods with the status hint
	// run-to-completion.
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
	// Departing are other owners whose dependents the caller deletes before: CheckDeletion does not count what is in
	// their inventories as instances of managed types. An object with another UID than the recorded one counts
	// nevertheless. If no UID is recorded, because whoever created the object ended before it could record that, the
	// object must have the label of its owner, and must have been written by us. Only the IDs and inventories of the
	// owners matter. Delete ignores it. Defaults to none.
	Departing []Owner
	// Unasked deletes dependents with DeletePolicyConfirmOnDelete without approval, because the caller has asked
	// already, or has created them only for a time. Defaults to no.
	Unasked bool
}

// The types of package inventory, under the engine's own name.
type (
	// TypeInfo is a type of objects, or a pattern of types. In a pattern, Group may be "*" (any group) or
	// "*.<suffix>" (one or more labels before the suffix), and Kind may be "*".
	TypeInfo = inventory.TypeInfo
	// TypeVersionInfo is a type of objects in one version, or a pattern of such; each field may be "*".
	TypeVersionInfo = inventory.TypeVersionInfo
	// NameInfo is the name of an object.
	NameInfo = inventory.NameInfo
	// Phase is where a dependent is in its life.
	Phase = inventory.Phase
	// Store keeps an inventory.
	Store = inventory.Store
	// InventoryItem records one dependent.
	InventoryItem = inventory.Item
	// AdoptionPolicy says what happens if an object to be created already exists.
	AdoptionPolicy = inventory.AdoptionPolicy
	// ReconcilePolicy says which changes cause an object to be applied again.
	ReconcilePolicy = inventory.ReconcilePolicy
	// UpdatePolicy says how an existing object is updated.
	UpdatePolicy = inventory.UpdatePolicy
	// DeletePolicy says what happens to an object that is removed from the manifests, or whose owner is deleted.
	DeletePolicy = inventory.DeletePolicy
	// MissingNamespacesPolicy says what happens if the namespace of an object does not exist and is not among the
	// objects.
	MissingNamespacesPolicy = inventory.MissingNamespacesPolicy
	// PrunePolicy says what happens to an object that would be deleted because its manifest is removed.
	PrunePolicy = inventory.PrunePolicy
	// PruneAt says when redundant objects are deleted.
	PruneAt = inventory.PruneAt
	// DriftPolicy says what happens if others change a dependent.
	DriftPolicy = inventory.DriftPolicy
	// DeleteOrder says in which wave an object without the delete-order annotation is deleted.
	DeleteOrder = inventory.DeleteOrder
	// MaxDeletions is how many redundant dependents may be deleted without approval: a number ("5"), a percentage of
	// the dependents ("25%", rounded down), or MaxDeletionsAllButOne. Empty means any number.
	MaxDeletions = inventory.MaxDeletions
	// Deletions limits how many redundant dependents are deleted. It does not concern the deletion of the owner,
	// dependents that are orphaned, or those that have served their purpose. The zero value is no limit.
	Deletions = inventory.Deletions
	// HeldDeletions are dependents that are not deleted without approval.
	HeldDeletions = inventory.HeldDeletions
	// Policies apply to objects whose annotations do not say otherwise. An empty field defaults to the one of
	// Options.Policies, and that to the documented default.
	Policies = inventory.Policies
	// Verb says what was done to an object.
	Verb = inventory.Verb
	// Action says what was done to the objects of one wave.
	Action = inventory.Action
	// Notice says something about one object.
	Notice = inventory.Notice
	// Result says how far a call of Apply or Delete came. It is valid even if the call returned an error.
	Result = inventory.Result
	// Aftermath says how far the on-failure hooks of an owner are. It is empty unless they have been applied.
	Aftermath = inventory.Aftermath
	// Blocker is an object that does not belong to the owner, and forbids the deletion of its type.
	Blocker = inventory.Blocker
	// RefusedError says that objects cannot be accepted. The objects that it names were not written; if the objects
	// contradict each other, or an annotation is invalid, none was. Retrying is useless until the input, or the object
	// of the other owner, changes.
	RefusedError = inventory.RefusedError
	// FencedError ends a call because Owner.Fence or Owner.Confirm returned an error. Earlier requests of the call
	// stand.
	FencedError = inventory.FencedError
	// StaleError ends a call of Apply because it would do something else than planned. If that was clear from the
	// beginning, nothing was written; otherwise an object changed while the call was about to write it, and earlier
	// writes stand.
	//
	// An object counts as changed if it was created again, or if others changed or removed fields that we own (any
	// field, if we own none). Where field ownership is not tracked, its generation counts. A change of the status does
	// not count.
	StaleError = inventory.StaleError
	// Relation is what another owner of the same objects is to an owner.
	Relation = inventory.Relation
	// ObjectInfo is type and name of an object.
	ObjectInfo = inventory.ObjectInfo
	// Plan is what Apply would do with a request. It can be saved as JSON, without the content of objects.
	Plan = inventory.Plan
	// PlanOptions configure Reconciler.Plan. The zero value works.
	PlanOptions = inventory.PlanOptions
	// Change is what Apply would do about one object.
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
