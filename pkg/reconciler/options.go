// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package reconciler

import (
	"fmt"
	"strings"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/utils/clock"

	"github.com/component-operator/runtime/internal/annotations"
	"github.com/component-operator/runtime/internal/observe"
	"github.com/component-operator/runtime/pkg/cluster"
	"github.com/component-operator/runtime/pkg/status"
	"github.com/component-operator/runtime/pkg/types"
)

// Options configure a Reconciler. The zero value works.
type Options struct {
	// FieldOwner is the field manager of all writes. It must be unique per operator. Defaults to the name.
	FieldOwner string
	// Finalizer is put on dependents that define types. Defaults to the name.
	Finalizer string
	// FormerFinalizers are what Finalizer was in earlier versions of an operator. They are taken off dependents that define types, when these are
	// deleted or released; so they must not be finalizers of anybody else, nor of Kubernetes. Defaults to none.
	FormerFinalizers []string
	// Policies apply where neither the object nor the request says otherwise.
	Policies Policies
	// AdditionalManagedTypes are added to those of each owner. Defaults to none.
	AdditionalManagedTypes []TypeInfo
	// ReclaimedFieldManagers are prefixes of names of field managers whose additions UpdatePolicySsaOverride
	// removes. Defaults to "kubectl".
	ReclaimedFieldManagers []string
	// Owner restricts what is observed to the dependents of one owner, by its ID. The reconciler must not be used for others then. Defaults to
	// those of all owners.
	Owner string
	// WatchDelay is how long what was listed is relied upon before it is watched, unless Follow is called before. It is for programs that mostly end
	// before there is any news but their own, and for which it does not matter whether what others do in that time is seen now or as if it came
	// afterwards. Defaults to watching from the beginning.
	WatchDelay time.Duration
	// OnStatus is called with the status of a dependent when a response tells it: that of a write, or of a read that was made for it. It must not
	// block, and may be called from several goroutines. Defaults to nothing.
	OnStatus func(object types.ObjectKey, found status.Status, message string)
	// Log receives how kinds are observed, whenever that changes. Defaults to no log.
	Log logr.Logger
	// Analyzer judges the status of dependents. Defaults to status.NewAnalyzer(name).
	Analyzer *status.Analyzer
	// MaxConcurrency is the number of requests of one call that may be under way at once. Below it the number follows what the
	// API server serves well: it sinks when answers become slow or requests are rejected. Defaults to 16.
	MaxConcurrency int
	// OnOperation is called for each request about a dependent with "read", "create", "update" or "delete". It may be
	// called from several goroutines. Defaults to nothing.
	OnOperation func(action string)
	// Clock defaults to the real time.
	Clock clock.PassiveClock
}

const (
	defaultReapplyInterval = 60 * time.Minute
	defaultConcurrency     = 16
)

// Reconciler applies and deletes the dependents of many owners in one cluster, as one identity, and watches them. It is safe for
// concurrent use by different owners; calls for one owner must not overlap.
type Reconciler struct {
	name    string
	client  cluster.Client
	options Options
	keys    keys
	reader  *observe.Reader
	cache   *cache
	memory  *memory
	// reading is asked where the identity of the client may not; nil if nobody is. See As.
	reading cluster.Client
	// barrierPause is how long a barrier must have been in force before what it protects is deleted: other API servers may
	// learn of it later than the one that was asked.
	barrierPause time.Duration
}

// keys are the labels and annotations of one reconciler.
type keys struct {
	prefix, ownerLabel, ownerAnnotation, digest, barrierLabel string
}

// New returns a Reconciler that watches and writes through the client. The name is the prefix of all labels and annotations. It watches nothing yet, and
// nothing but what its owners have; Close ends that.
//
// Kinds that the identity of the client may not watch in the whole cluster are watched in the namespaces of the dependents; where it may not do
// that either, dependents are read one by one.
func New(name string, clnt cluster.Client, options Options) (*Reconciler, error) {
	r, err := assemble(name, clnt, options)
	if err != nil {
		return nil, err
	}
	if r.cache, err = newCache(clnt, r.options, r.reader); err != nil {
		return nil, fmt.Errorf("creating the reconciler %s: %w", name, err)
	}
	return r, nil
}

// assemble returns a Reconciler that observes nothing.
func assemble(name string, clnt cluster.Client, options Options) (*Reconciler, error) {
	if name == "" || clnt == nil {
		return nil, fmt.Errorf("creating the reconciler %q: name and client are required", name)
	}
	options.FieldOwner = orDefault(options.FieldOwner, name)
	options.Finalizer = orDefault(options.Finalizer, name)
	if options.MaxConcurrency <= 0 {
		options.MaxConcurrency = defaultConcurrency
	}
	if options.Clock == nil {
		options.Clock = clock.RealClock{}
	}
	if options.Analyzer == nil {
		options.Analyzer = status.NewAnalyzer(name, status.Options{Clock: options.Clock})
	}
	if options.OnOperation == nil {
		options.OnOperation = func(string) {}
	}
	if options.ReclaimedFieldManagers == nil {
		options.ReclaimedFieldManagers = []string{"kubectl"}
	}
	policies, err := options.Policies.validated()
	if err != nil {
		return nil, fmt.Errorf("creating the reconciler %s: %w", name, err)
	}
	options.Policies = policies.or(defaultPolicies())
	return &Reconciler{
		name:         name,
		client:       clnt,
		options:      options,
		keys:         newKeys(name),
		reader:       &observe.Reader{OwnerLabel: newKeys(name).ownerLabel, Manager: options.FieldOwner, Analyzer: options.Analyzer, Clock: options.Clock},
		memory:       newMemory(),
		barrierPause: defaultBarrierPause,
	}, nil
}

func newKeys(name string) keys {
	return keys{
		prefix:          name + "/",
		ownerLabel:      name + "/" + types.LabelKeySuffixOwnerId,
		ownerAnnotation: name + "/" + types.AnnotationKeySuffixOwnerId,
		digest:          name + "/" + types.AnnotationKeySuffixDigest,
		barrierLabel:    name + "/" + types.LabelKeySuffixBarrierOwnerId,
	}
}

func defaultPolicies() Policies {
	return Policies{
		Adoption:          AdoptionPolicyIfUnowned,
		Reconcile:         ReconcilePolicyOnObjectChange,
		Update:            UpdatePolicyReplace,
		Delete:            DeletePolicyDelete,
		Drift:             DriftPolicyCorrect,
		MissingNamespaces: MissingNamespacesPolicyCreate,
		ReapplyInterval:   defaultReapplyInterval,
	}
}

// or fills empty fields from the defaults.
func (p Policies) or(defaults Policies) Policies {
	p.Adoption = orDefault(p.Adoption, defaults.Adoption)
	p.Reconcile = orDefault(p.Reconcile, defaults.Reconcile)
	p.Update = orDefault(p.Update, defaults.Update)
	p.Delete = orDefault(p.Delete, defaults.Delete)
	p.Drift = orDefault(p.Drift, defaults.Drift)
	p.MissingNamespaces = orDefault(p.MissingNamespaces, defaults.MissingNamespaces)
	p.ReapplyInterval = orDefault(p.ReapplyInterval, defaults.ReapplyInterval)
	return p
}

func orDefault[T comparable](value, fallback T) T {
	var zero T
	if value == zero {
		return fallback
	}
	return value
}

// validated returns the policies in their canonical spelling. Those that are to be the default are empty.
func (p Policies) validated() (Policies, error) {
	var problems []string
	p.Adoption = check(&problems, "adoption policy", p.Adoption, parseAdoptionPolicy)
	p.Reconcile = check(&problems, "reconcile policy", p.Reconcile, parseReconcilePolicy)
	p.Update = check(&problems, "update policy", p.Update, parseUpdatePolicy)
	p.Delete = check(&problems, "delete policy", p.Delete, parseDeletePolicy)
	p.Drift = check(&problems, "drift policy", p.Drift, parseDriftPolicy)
	p.MissingNamespaces = check(&problems, "missing namespaces policy", p.MissingNamespaces, parseMissingNamespacesPolicy)
	if p.ReapplyInterval != 0 {
		if err := annotations.CheckInterval(p.ReapplyInterval); err != nil {
			problems = append(problems, "reapply interval: "+err.Error())
		}
	}
	if len(problems) > 0 {
		return p, refused(problems...)
	}
	return p, nil
}

func check[P ~string](problems *[]string, field string, value P, parse func(string) (P, error)) P {
	if value == "" {
		return ""
	}
	parsed, err := parse(string(value))
	if err != nil {
		*problems = append(*problems, field+": "+err.Error())
	}
	return parsed
}

// reclaims tells whether additions of a field manager are to be removed under the update policy.
func (r *Reconciler) reclaims(policy UpdatePolicy, manager string) bool {
	switch policy {
	case UpdatePolicyReplace:
		return true
	case UpdatePolicySsaOverride:
		for _, prefix := range r.options.ReclaimedFieldManagers {
			if strings.HasPrefix(manager, prefix) {
				return true
			}
		}
		return false
	case UpdatePolicySsaMerge, UpdatePolicyRecreate:
		return false
	default:
		return false
	}
}
