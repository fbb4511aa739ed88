// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package component

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"

	"github.com/component-operator/runtime/internal/annotations"
	"github.com/component-operator/runtime/internal/clients"
	"github.com/component-operator/runtime/internal/finalizers"
	"github.com/component-operator/runtime/pkg/cluster"
	"github.com/component-operator/runtime/pkg/component/internal/visits"
	"github.com/component-operator/runtime/pkg/reconciler"
	"github.com/component-operator/runtime/pkg/status"
	"github.com/component-operator/runtime/pkg/types"
)

// NewClientFunc wraps or replaces the client that the reconciler uses for the cluster of the components.
type NewClientFunc func(clnt cluster.Client) (cluster.Client, error)

// ReconcilerOptions configure a Reconciler. The zero value works.
type ReconcilerOptions struct {
	// FieldOwner is the field manager of all writes to dependents. Defaults to the name of the reconciler.
	FieldOwner *string
	// Finalizer is put on components, and on dependents that define types. Defaults to the name of the reconciler. If it changes from one version of an
	// operator to the next, the former one has to be among FormerFinalizers.
	Finalizer *string
	// FormerFinalizers are what Finalizer was in earlier versions of the operator. On components they are replaced by Finalizer as soon as these are
	// reconciled. From dependents that define types they are taken off when these are deleted or released; so they must be named as long as there may
	// be such dependents, or components that are suspended. They must not be finalizers of anybody else. Defaults to none.
	FormerFinalizers []string
	// DefaultServiceAccount is impersonated on behalf of components that impersonate nobody. It is the name of a
	// ServiceAccount in the namespace of the component. Dependents are written and read, and generators and their templates read the
	// cluster of the dependents, with its permissions only. An operator for several tenants sets it. Defaults to none: the operator
	// acts as itself, and whoever may create a component can have it do whatever the operator may do.
	DefaultServiceAccount *string
	// AllowedTargets are patterns of hosts to which the kubeconfigs of components, and of templates, may lead, and their proxies: names
	// ("api.example.com"), names with a wildcard ("*.clusters.example.com"), addresses and ranges of addresses ("10.1.0.0/16"), each with a
	// port ("api.example.com:6443") or without, which means all ports. Names are compared as they are written, and not resolved.
	// Defaults to all hosts that the operator can reach.
	AllowedTargets []string
	// DisableLocalLookup has templates fail that call localLookup or one of its relatives, which read the cluster of the component as
	// the operator itself, whatever DefaultServiceAccount is. Defaults to false.
	DisableLocalLookup bool
	// AdoptionPolicy defaults to reconciler.AdoptionPolicyIfUnowned.
	AdoptionPolicy *reconciler.AdoptionPolicy
	// ReconcilePolicy defaults to reconciler.ReconcilePolicyOnObjectChange.
	ReconcilePolicy *reconciler.ReconcilePolicy
	// UpdatePolicy defaults to reconciler.UpdatePolicyReplace.
	UpdatePolicy *reconciler.UpdatePolicy
	// DeletePolicy defaults to reconciler.DeletePolicyDelete.
	DeletePolicy *reconciler.DeletePolicy
	// DriftPolicy defaults to reconciler.DriftPolicyCorrect.
	DriftPolicy *reconciler.DriftPolicy
	// MissingNamespacesPolicy defaults to reconciler.MissingNamespacesPolicyCreate.
	MissingNamespacesPolicy *reconciler.MissingNamespacesPolicy
	// ReapplyInterval defaults to 60 minutes, and must not be less than a second.
	ReapplyInterval *time.Duration
	// StateNamespace is where the inventories of cluster-scoped components are kept that are too large for the status.
	// Those of other components are kept in the namespace of the component. Defaults to none: then a cluster-scoped component
	// with that many dependents is refused. If it changes, what is kept follows with its next change; until then it is read where it was.
	StateNamespace string
	// SchemeBuilder adds types to the scheme of the clients for dependents, in addition to those that the generator adds.
	// Defaults to none.
	SchemeBuilder types.SchemeBuilder
	// NewClient defaults to the client as it is. Dependents are not handled by this client.
	NewClient NewClientFunc
	// MaxConcurrentReconciles is the number of components that are worked on at once. Defaults to 5. It has no effect on
	// SetupWithManagerAndBuilder, whose caller sets the options of the controller.
	MaxConcurrentReconciles int
	// Sharding divides the components among all replicas of the operator. The controller must not need leader election
	// then; SetupWithManager sees to that. Defaults to none: one replica works on all components.
	Sharding *Sharding
	// DisableWarmup keeps a replica that does not lead from watching components and their dependents, which makes it
	// smaller and the takeover slower. Defaults to false.
	DisableWarmup bool
	// EventPerDependent writes an event on each dependent that was changed, instead of one on the component for all
	// dependents of a wave. That can double the number of requests. Defaults to false.
	EventPerDependent bool
	// ReclaimedFieldManagers are prefixes of names of field managers whose changes reconciler.UpdatePolicySsaOverride
	// undoes. Defaults to "kubectl".
	ReclaimedFieldManagers []string
	// StatusAnalyzer judges dependents. Defaults to that of package status.
	StatusAnalyzer status.StatusAnalyzer
	// Clock defaults to the real time.
	Clock clock.PassiveClock

	// listLimit is the size of an inventory, in bytes of JSON, from which on it is compressed; below half of it, it is a list
	// again. Tests need a small one. Defaults to 32 KiB, or to inlineLimit if that is less.
	listLimit int
	// inlineLimit is the size of an inventory, in bytes of JSON, from which on it is kept in chunks; below half of it, it
	// returns to the status. Tests need a small one. Defaults to 256 KiB.
	inlineLimit int
	// patience with API servers, and slowness of remote ones, are shorter in tests.
	patience clients.Patience
	slowness visits.Slowness
}

const (
	defaultMaxConcurrentReconciles = 5
	defaultListLimit               = 32 << 10
	defaultInlineLimit             = 256 << 10
	defaultRequeueInterval         = 10 * time.Minute
	// shortestInterval keeps the spec of a component from occupying the operator.
	shortestInterval = annotations.ShortestInterval
)

// finalizers returns those that the operator, and earlier versions of it, put on components.
func (o ReconcilerOptions) finalizers() finalizers.Set {
	return finalizers.Set{Current: *o.Finalizer, Former: o.FormerFinalizers}
}

// complete validates the options and returns them with their defaults; values that are valid for the engine only are
// validated there.
func (o ReconcilerOptions) complete(name string) (ReconcilerOptions, error) {
	var problems []error
	if messages := validation.IsDNS1123Subdomain(name); len(messages) > 0 {
		problems = append(problems, fmt.Errorf("name %q: %s", name, strings.Join(messages, "; ")))
	}
	o.FieldOwner = orPointer(o.FieldOwner, name)
	o.Finalizer = orPointer(o.Finalizer, name)
	if owner := *o.FieldOwner; owner == "" || len(owner) > 128 {
		problems = append(problems, fmt.Errorf("option FieldOwner %q: must have 1 to 128 characters", owner))
	}
	if messages := validation.IsQualifiedName(*o.Finalizer); len(messages) > 0 {
		problems = append(problems, fmt.Errorf("option Finalizer %q: %s", *o.Finalizer, strings.Join(messages, "; ")))
	}
	for _, former := range o.FormerFinalizers {
		if messages := validation.IsQualifiedName(former); len(messages) > 0 {
			problems = append(problems, fmt.Errorf("option FormerFinalizers: %q: %s", former, strings.Join(messages, "; ")))
		}
	}
	problems = append(problems,
		checkName("DefaultServiceAccount", ptr.Deref(o.DefaultServiceAccount, ""), validation.IsDNS1123Subdomain),
		checkName("StateNamespace", o.StateNamespace, validation.IsDNS1123Label))
	if err := clients.Hosts(o.AllowedTargets).Validate(); err != nil {
		problems = append(problems, fmt.Errorf("option AllowedTargets: %w", err))
	}
	o.inlineLimit = cmp.Or(o.inlineLimit, defaultInlineLimit)
	o.listLimit = cmp.Or(o.listLimit, min(defaultListLimit, o.inlineLimit))
	if o.ReapplyInterval != nil {
		if err := annotations.CheckInterval(*o.ReapplyInterval); err != nil {
			problems = append(problems, fmt.Errorf("option ReapplyInterval: %w", err))
		}
	}
	if o.MaxConcurrentReconciles < 0 {
		problems = append(problems, fmt.Errorf("option MaxConcurrentReconciles %d: must not be negative", o.MaxConcurrentReconciles))
	}
	if o.MaxConcurrentReconciles == 0 {
		o.MaxConcurrentReconciles = defaultMaxConcurrentReconciles
	}
	sharding, err := o.Sharding.complete(name)
	o.Sharding, problems = sharding, append(problems, err)
	if slices.Contains(o.ReclaimedFieldManagers, "") {
		problems = append(problems, errors.New("option ReclaimedFieldManagers: an empty prefix would mean all field managers"))
	}
	if o.Clock == nil {
		o.Clock = clock.RealClock{}
	}
	return o, errors.Join(problems...)
}

// checkName validates a name that may be missing.
func checkName(option string, value string, validate func(string) []string) error {
	if value == "" {
		return nil
	}
	if messages := validate(value); len(messages) > 0 {
		return fmt.Errorf("option %s %q: %s", option, value, strings.Join(messages, "; "))
	}
	return nil
}

func orPointer[V any](value *V, fallback V) *V {
	if value != nil {
		return value
	}
	return &fallback
}

func (o ReconcilerOptions) policies() reconciler.Policies {
	return reconciler.Policies{
		Adoption:          ptr.Deref(o.AdoptionPolicy, ""),
		Reconcile:         ptr.Deref(o.ReconcilePolicy, ""),
		Update:            ptr.Deref(o.UpdatePolicy, ""),
		Delete:            ptr.Deref(o.DeletePolicy, ""),
		Drift:             ptr.Deref(o.DriftPolicy, ""),
		MissingNamespaces: ptr.Deref(o.MissingNamespacesPolicy, ""),
		ReapplyInterval:   ptr.Deref(o.ReapplyInterval, 0),
	}
}

// analyzer returns nil for the default.
func (o ReconcilerOptions) analyzer(name string) *status.Analyzer {
	if o.StatusAnalyzer == nil {
		return status.NewAnalyzer(name, status.Options{Clock: o.Clock})
	}
	return status.Adapt(name, o.StatusAnalyzer)
}
