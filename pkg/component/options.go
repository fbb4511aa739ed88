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

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"

	"github.com/component-operator/runtime/internal/annotations"
	"github.com/component-operator/runtime/internal/clients"
	"github.com/component-operator/runtime/pkg/cluster"
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
	// Finalizer is the finalizer on components, and on dependents that define types. Defaults to the name of the
	// reconciler. If a new version of an operator changes it, the old one must be in FormerFinalizers.
	Finalizer *string
	// FormerFinalizers are the values of Finalizer in earlier versions of the operator. On components, the next
	// reconciliation replaces them by Finalizer. On dependents that define types, they stay until the dependents are
	// deleted or orphaned; so keep them in this list while such dependents, or suspended components, may exist. They
	// must not be finalizers of other controllers. Defaults to none.
	FormerFinalizers []string
	// DefaultServiceAccount is the name of a ServiceAccount in the namespace of the component, for components that do
	// not impersonate a user. With its permissions alone, dependents are written and read, and generators and templates
	// read the cluster of the dependents. Operators for several tenants should set it. Defaults to none: the operator
	// acts as itself, and users who may create a component can use all of the operator's permissions.
	DefaultServiceAccount *string
	// AllowedTargets are patterns of hosts that the kubeconfigs of components and templates, and their proxies, may
	// use: names ("api.example.com"), names with a wildcard ("*.clusters.example.com"), addresses, and address ranges
	// ("10.1.0.0/16"). Each may have a port ("api.example.com:6443"); without one it matches all ports. Names are
	// compared as text, and not resolved. Defaults to all hosts.
	AllowedTargets []string
	// DisableLocalLookup makes templates fail that call localLookup or a related function. These functions read the
	// cluster of the component as the operator itself, regardless of DefaultServiceAccount. Defaults to false.
	DisableLocalLookup bool
	// AdoptionPolicy defaults to reconciler.AdoptionPolicyIfUnowned.
	AdoptionPolicy *reconciler.AdoptionPolicy
	// ReconcilePolicy defaults to reconciler.ReconcilePolicyOnObjectChange.
	ReconcilePolicy *reconciler.ReconcilePolicy
	// UpdatePolicy defaults to reconciler.UpdatePolicyReplace.
	UpdatePolicy *reconciler.UpdatePolicy
	// DeletePolicy defaults to reconciler.DeletePolicyDelete.
	DeletePolicy *reconciler.DeletePolicy
	// PrunePolicy says what happens to dependents without the prune-policy annotation that would be deleted because
	// their manifests are removed. Defaults to reconciler.PrunePolicyDelete.
	PrunePolicy *reconciler.PrunePolicy
	// PruneAt says when dependents are deleted that are not declared any more. Defaults to reconciler.PruneAtEnd.
	PruneAt *reconciler.PruneAt
	// DriftPolicy defaults to reconciler.DriftPolicyCorrect.
	DriftPolicy *reconciler.DriftPolicy
	// AwaitTypes lets dependents whose types are not served wait for these when their waves have come, unless their
	// missing-type-policy says otherwise; see reconciler.Options. Defaults to false: the component is refused.
	AwaitTypes bool
	// MissingNamespacesPolicy defaults to reconciler.MissingNamespacesPolicyCreate.
	MissingNamespacesPolicy *reconciler.MissingNamespacesPolicy
	// ReapplyInterval defaults to 60 minutes. At least a second.
	ReapplyInterval *time.Duration
	// DeleteOrder says in which wave dependents without the delete-order annotation are deleted. With
	// reconciler.DeleteOrderReversed, it is the reverse of the order in which they are applied. Defaults to
	// reconciler.DeleteOrderExplicit: wave 0.
	DeleteOrder *reconciler.DeleteOrder
	// DeletePropagation says what happens to the objects that a dependent without the delete-propagation annotation
	// owns when it is deleted. Defaults to metav1.DeletePropagationBackground.
	DeletePropagation *metav1.DeletionPropagation
	// MaxDeletions is how many redundant dependents of a component may be deleted at once without approval: "5", "25%"
	// (of its dependents), or reconciler.MaxDeletionsAllButOne. If there are more, none of them is deleted: the
	// component is Pending with reason DeletionsHeld until its annotation approve-deletions has the digest in the
	// condition. It does not concern components that are being deleted. Defaults to any number.
	MaxDeletions reconciler.MaxDeletions
	// StateNamespace has the inventories of cluster-scoped components that are too large for the status. Those of
	// namespaced components are in the namespace of the component. What the former value of the option names is not
	// read: an inventory there is rebuilt from labels, and its ConfigMaps stay. Defaults to none: a cluster-scoped
	// component with that many dependents is refused.
	StateNamespace string
	// SchemeBuilder adds types to the scheme of the clients for dependents, in addition to those that the generator
	// adds. Defaults to none.
	SchemeBuilder types.SchemeBuilder
	// NewClient may wrap or replace the client for the cluster of the components. Dependents do not use it. Defaults to
	// no change.
	NewClient NewClientFunc
	// MaxConcurrentReconciles is the number of components that are reconciled at the same time. Defaults to 5. It has
	// no effect on SetupWithManagerAndBuilder, whose caller sets the options of the controller.
	MaxConcurrentReconciles int
	// Sharding divides the components among all replicas of the operator. The controller must not need leader election
	// then, which SetupWithManager takes care of. Defaults to none: one replica reconciles all components.
	Sharding *Sharding
	// DisableWarmup keeps replicas that do not lead from watching components. They need less memory, and take over more
	// slowly. Defaults to false.
	DisableWarmup bool
	// EventPerDependent writes an event on each changed dependent, instead of one per wave on the component. That can
	// double the number of requests. Defaults to false.
	EventPerDependent bool
	// OwnAnnotations are the suffixes of annotations of dependents that begin with the name of the reconciler, and mean
	// something to the operator itself. An event warns about other ones that are not known, which are most likely
	// misspelt. Defaults to none.
	OwnAnnotations []string
	// ReclaimedFieldManagers are prefixes of field managers whose changes reconciler.UpdatePolicySsaOverride reverts.
	// Defaults to "kubectl".
	ReclaimedFieldManagers []string
	// StatusAnalyzer determines the status of dependents. Defaults to that of package status.
	StatusAnalyzer status.StatusAnalyzer
	// AwaitReports keeps a custom resource among the dependents from being ready as long as its controller has reported
	// neither a condition nor a generation that it has observed, if the CustomResourceDefinition declares conditions.
	// The operator must be allowed to get CustomResourceDefinitions; types whose definition it may not read do not
	// count, nor do components with their own judge. Defaults to false: then such a dependent is ready as soon as it
	// exists, unless a status hint says otherwise.
	AwaitReports bool
	// ExplainPods says in the condition why Pods of a workload among the dependents are not ready, for example that an
	// image cannot be pulled. A workload that has been waited for for two seconds, or that has failed, is read with its
	// Pods: two requests for each state of it, and further ones, more and more seldom, while the Pods give no reason.
	// The identity that applies the dependents must be allowed to list Pods. Defaults to false.
	ExplainPods bool
	// Clock defaults to the real time.
	Clock clock.PassiveClock

	// inlineLimit is the size of an inventory, in bytes of JSON, from which on it is stored in chunks; from an eighth of
	// it on, it is compressed. Tests set a small one. Defaults to 256 KiB.
	inlineLimit int
	// patience and slowVisit are limits for slow API servers. Tests set shorter ones.
	patience  clients.Patience
	slowVisit time.Duration
	// generatorPatience is how long a call of the generator lasts before the status says so. Defaults to a second.
	generatorPatience time.Duration
}

const (
	defaultMaxConcurrentReconciles = 5
	defaultInlineLimit             = 256 << 10
	defaultRequeueInterval         = 10 * time.Minute
	defaultRetryInterval           = 10 * time.Second
	// shortestInterval keeps the spec of a component from occupying the operator.
	shortestInterval = annotations.ShortestInterval
)

// finalizers returns the finalizers that the operator, and earlier versions of it, put on components.
func (o ReconcilerOptions) finalizers() annotations.Finalizers {
	return annotations.Finalizers{Current: *o.Finalizer, Former: slices.DeleteFunc(slices.Clone(o.FormerFinalizers), func(former string) bool { return former == *o.Finalizer })}
}

// complete validates the options and sets defaults. The engine validates the options that only it uses.
func (o ReconcilerOptions) complete(name string) (ReconcilerOptions, error) {
	var problems []error
	if messages := validation.IsDNS1123Subdomain(name); len(messages) > 0 {
		problems = append(problems, fmt.Errorf("name %q: %s", name, strings.Join(messages, "; ")))
	}
	o.FieldOwner = cmp.Or(o.FieldOwner, &name)
	o.Finalizer = cmp.Or(o.Finalizer, &name)
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
	if o.ReapplyInterval != nil {
		if err := annotations.CheckInterval(*o.ReapplyInterval); err != nil {
			problems = append(problems, fmt.Errorf("option ReapplyInterval: %w", err))
		}
	}
	if err := o.MaxDeletions.Validate(); err != nil {
		problems = append(problems, fmt.Errorf("option MaxDeletions: %w", err))
	}
	if o.MaxConcurrentReconciles < 0 {
		problems = append(problems, fmt.Errorf("option MaxConcurrentReconciles %d: must not be negative", o.MaxConcurrentReconciles))
	}
	o.MaxConcurrentReconciles = cmp.Or(o.MaxConcurrentReconciles, defaultMaxConcurrentReconciles)
	o.generatorPatience = cmp.Or(o.generatorPatience, time.Second)
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

// checkName validates an optional name.
func checkName(option string, value string, validate func(string) []string) error {
	if value == "" {
		return nil
	}
	if messages := validate(value); len(messages) > 0 {
		return fmt.Errorf("option %s %q: %s", option, value, strings.Join(messages, "; "))
	}
	return nil
}

func (o ReconcilerOptions) policies() reconciler.Policies {
	return reconciler.Policies{
		Adoption:          ptr.Deref(o.AdoptionPolicy, ""),
		Reconcile:         ptr.Deref(o.ReconcilePolicy, ""),
		Update:            ptr.Deref(o.UpdatePolicy, ""),
		Delete:            ptr.Deref(o.DeletePolicy, ""),
		Prune:             ptr.Deref(o.PrunePolicy, ""),
		PruneAt:           ptr.Deref(o.PruneAt, ""),
		Drift:             ptr.Deref(o.DriftPolicy, ""),
		MissingNamespaces: ptr.Deref(o.MissingNamespacesPolicy, ""),
		DeleteOrder:       ptr.Deref(o.DeleteOrder, ""),
		DeletePropagation: ptr.Deref(o.DeletePropagation, ""),
		ReapplyInterval:   ptr.Deref(o.ReapplyInterval, 0),
	}
}

// judge returns the configured analyzer, or the default one.
func (o ReconcilerOptions) judge(name string) status.Judge {
	if o.StatusAnalyzer == nil {
		return status.NewAnalyzer(name, status.Options{Clock: o.Clock})
	}
	return status.Adapt(name, o.StatusAnalyzer)
}
