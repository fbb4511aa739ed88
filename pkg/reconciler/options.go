// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package reconciler

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/utils/clock"

	"github.com/component-operator/runtime/internal/annotations"
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
	client  cluster.Client
	options Options
	keys    prepare.Keys
	reader  *observe.Reader
	judges  *judges.Judges
	cache   *cache
	memory  *decide.Memory
	// definitions are nil unless AwaitReports is set.
	definitions *judges.Definitions
	// reading makes the reads that client may not make; nil if there is no other client. See As.
	reading cluster.Client
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
	if err != nil {
		return nil, err
	}
	if r.cache, err = newCache(r); err != nil {
		return nil, fmt.Errorf("creating the reconciler %s: %w", name, err)
	}
	return r, nil
}

// assemble returns a Reconciler without a cache.
func assemble(name string, clnt cluster.Client, options Options) (*Reconciler, error) {
	if name == "" || clnt == nil {
		return nil, fmt.Errorf("creating the reconciler %q: name and client are required", name)
	}
	options.FieldOwner = cmp.Or(options.FieldOwner, name)
	if options.Finalizer == "" {
		options.FormerFinalizers = append(slices.Clone(options.FormerFinalizers), name)
	}
	if options.MaxConcurrency <= 0 {
		options.MaxConcurrency = defaultConcurrency
	}
	if options.Clock == nil {
		options.Clock = clock.RealClock{}
	}
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
		return nil, fmt.Errorf("creating the reconciler %s: %w", name, err)
	}
	options.Policies = prepare.Or(declared, prepare.Defaults())
	if err := checkManagedTypes(options.AdditionalManagedTypes); err != nil {
		return nil, fmt.Errorf("creating the reconciler %s: %w", name, err)
	}
	var definitions *judges.Definitions
	if options.AwaitReports {
		definitions = judges.NewDefinitions(clnt)
		options.Judge = judges.Await(options.Judge, definitions)
	}
	owners, keys := judges.New(name, options.Judge), prepare.NewKeys(name)
	return &Reconciler{
		name:         name,
		client:       clnt,
		options:      options,
		keys:         keys,
		reader:       newReader(keys, options, owners),
		judges:       owners,
		memory:       decide.NewMemory(),
		definitions:  definitions,
		barrierPause: guard.DefaultPause,
	}, nil
}

func newReader(keys prepare.Keys, options Options, owners *judges.Judges) *observe.Reader {
	return &observe.Reader{
		OwnerLabel: keys.OwnerLabel, PrunePolicyAnnotation: keys.PrunePolicy, DigestAnnotation: keys.Digest, SuspendedDigest: prepare.DigestSuspended,
		IgnoreFieldsAnnotation: keys.Prefix + types.AnnotationKeySuffixIgnoreFields,
		Manager:                options.FieldOwner, Judges: owners, Clock: options.Clock,
	}
}

// checkManagedTypes refuses patterns that match no type: they would protect nothing.
func checkManagedTypes(patterns []TypeInfo) error {
	problems := prepare.CheckPatterns(patterns)
	if len(problems) == 0 {
		return nil
	}
	for i := range problems {
		problems[i] = "additionalManagedTypes" + problems[i]
	}
	return inventory.NewRefusedError(problems...)
}

// additionalTypes returns the managed types of the owner that none of its objects defines.
func (r *Reconciler) additionalTypes(owner Owner) []TypeInfo {
	return slices.Concat(r.options.AdditionalManagedTypes, owner.AdditionalManagedTypes)
}

func (r *Reconciler) preparer() prepare.Preparer {
	return prepare.Preparer{
		Scheme: r.client.Scheme(), Mapper: r.client.RESTMapper(), Keys: r.keys, OwnAnnotations: r.options.OwnAnnotations,
		FailuresAreFinal: r.options.FailuresAreFinal, AwaitTypes: r.options.AwaitTypes,
	}
}

// forDecisions returns the owner as decisions need it.
func (o Owner) forDecisions() decide.Owner {
	return decide.Owner{
		ID: o.ID, Label: manifest.OwnerLabel(o.ID), Namespace: o.Namespace, Home: o.Home, Self: o.Self, AdditionalManagedTypes: o.AdditionalManagedTypes,
	}
}

// server returns the configuration of requests, for any owner.
func (r *Reconciler) server() execute.Config {
	return execute.Config{
		Client: r.client, Reading: r.reading, Observer: r.cache, Reader: r.reader, Keys: r.keys,
		Judges: r.judges, FieldOwner: r.options.FieldOwner, OwnerKind: r.options.OwnerKind, OnOperation: r.options.OnOperation, Clock: r.options.Clock,
	}
}

// finalizers returns those that this operator and its earlier versions put on objects that define types.
func (r *Reconciler) finalizers() annotations.Finalizers {
	return annotations.Finalizers{Current: r.options.Finalizer, Former: r.options.FormerFinalizers, Outcome: annotations.OutcomeFinalizer(r.name)}
}
