// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package reconciler

import (
	"context"
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/clock"

	"github.com/component-operator/runtime/internal/annotations"
	"github.com/component-operator/runtime/internal/observe"
	"github.com/component-operator/runtime/pkg/cluster"
	"github.com/component-operator/runtime/pkg/status"
	"github.com/component-operator/runtime/pkg/types"
)

// Observer tells what is known about dependents without asking the server. Package internal/observe implements it
// by watches; its methods are described there.
type Observer interface {
	Watch(ctx context.Context, owner string, needs []observe.Need) error
	Get(gvk schema.GroupVersionKind, namespace, name string) (observe.Observation, observe.View)
	Record(gvk schema.GroupVersionKind, namespace, name string, observation observe.Observation)
	Guard(owner string, resources []schema.GroupVersionResource)
}

// Options configure a Reconciler. The zero value works.
type Options struct {
	// FieldOwner is the field manager of all writes. It must be unique per operator. Defaults to the name.
	FieldOwner string
	// Finalizer is put on dependents that define types. Defaults to the name.
	Finalizer string
	// FormerFinalizers are what Finalizer was in earlier versions of an operator. They are taken off dependents that define types, when these are
	// deleted or released. Defaults to none.
	FormerFinalizers []string
	// Policies apply where neither the object nor the request says otherwise.
	Policies Policies
	// AdditionalManagedTypes are added to those of each owner. Defaults to none.
	AdditionalManagedTypes []TypeInfo
	// ReclaimedFieldManagers are prefixes of names of field managers whose additions UpdatePolicySsaOverride
	// removes. Defaults to "kubectl".
	ReclaimedFieldManagers []string
	// Observer defaults to none: then each look at a dependent is a request.
	Observer Observer
	// DeletionReader is asked, where the identity of the client may not ask, what a deletion depends on: whether dependents still exist,
	// which types are served, and whether the types of AdditionalManagedTypes, and those that dependents define, have instances. A deletion
	// would never end otherwise once the rights of that identity are gone. Types that owners name are not looked at through it, and no
	// name of an instance is told that was seen through it. It must be a client for the same cluster; nothing is written through it.
	// Defaults to none.
	DeletionReader cluster.Client
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

// Reconciler applies and deletes the dependents of many owners in one cluster, as one identity. It is safe for
// concurrent use by different owners; calls for one owner must not overlap.
type Reconciler struct {
	name    string
	client  cluster.Client
	options Options
	keys    keys
	reader  *observe.Reader
	memory  *memory
	// barrierPause is how long a barrier must have been in force before what it protects is deleted: other API servers may
	// learn of it later than the one that was asked.
	barrierPause time.Duration
}

// keys are the labels and annotations of one reconciler.
type keys struct {
	prefix, ownerLabel, ownerAnnotation, digest, barrierLabel string
}

// New returns a Reconciler that writes through the client. The name is the prefix of all labels and annotations.
func New(name string, clnt cluster.Client, options Options) (*Reconciler, error) {
	if name == "" || clnt == nil {
		return nil, fmt.Errorf("creating the reconciler %q: name and client are required", name)
	}
	if options.FieldOwner == "" {
		options.FieldOwner = name
	}
	if options.Finalizer == "" {
		options.Finalizer = name
	}
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
	reader := NewReader(name, options.FieldOwner, options.Analyzer, options.Clock)
	if options.Observer == nil {
		options.Observer = blind{}
	}
	return &Reconciler{
		name:    name,
		client:  clnt,
		options: options,
		keys: keys{
			prefix:          name + "/",
			ownerLabel:      reader.OwnerLabel,
			ownerAnnotation: name + "/" + types.AnnotationKeySuffixOwnerId,
			digest:          name + "/" + types.AnnotationKeySuffixDigest,
			barrierLabel:    name + "/" + types.LabelKeySuffixBarrierOwnerId,
		},
		reader:       reader,
		memory:       newMemory(),
		barrierPause: defaultBarrierPause,
	}, nil
}

// NewReader returns the reader by which an Observer for reconcilers of that name and field owner must observe.
func NewReader(name string, fieldOwner string, analyzer *status.Analyzer, passiveClock clock.PassiveClock) *observe.Reader {
	return &observe.Reader{
		OwnerLabel: name + "/" + types.LabelKeySuffixOwnerId,
		Manager:    fieldOwner,
		Analyzer:   analyzer,
		Clock:      passiveClock,
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

// blind is the Observer that sees nothing.
type blind struct{}

func (blind) Watch(context.Context, string, []observe.Need) error { return nil }
func (blind) Get(schema.GroupVersionKind, string, string) (observe.Observation, observe.View) {
	return observe.Observation{}, observe.Unseen
}
func (blind) Record(schema.GroupVersionKind, string, string, observe.Observation) {}
func (blind) Guard(string, []schema.GroupVersionResource)                         {}
