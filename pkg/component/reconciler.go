// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package component

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apitypes "k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/component-operator/runtime/internal/annotations"
	"github.com/component-operator/runtime/internal/clients"
	"github.com/component-operator/runtime/internal/generating"
	"github.com/component-operator/runtime/pkg/cluster"
	"github.com/component-operator/runtime/pkg/component/internal/queue"
	"github.com/component-operator/runtime/pkg/generator"
	"github.com/component-operator/runtime/pkg/reconciler"
	"github.com/component-operator/runtime/pkg/status"
	"github.com/component-operator/runtime/pkg/types"
)

// HookFunc is called at a certain point of each reconciliation of a component, with the client of the manager. It may
// change the status of the component, but neither metadata nor spec. An error ends the reconciliation; one that wraps a
// types.RetriableError makes the component Pending instead of Error.
type HookFunc[T Component] func(ctx context.Context, clnt client.Client, component T) error

// Conclusion contains the findings of a pass about the dependents of a component. It must not be changed.
type Conclusion struct {
	// Inventory lists all dependents, wherever the status records them.
	Inventory []*reconciler.InventoryItem
	// Result is the last result of the engine; nil if the pass did not reach the engine.
	Result *reconciler.Result
	// Plan contains the changes that are held back while the component is paused; nil if it is not paused.
	Plan *reconciler.Plan
	// Err is the error of a failed pass; nil if the pass has not failed, or is retried because of a
	// types.RetriableError.
	Err error
	// Refusal is the reason for refusing the component or one of its dependents; nil if none is refused.
	Refusal *reconciler.RefusedError
	// Archived means that the component is archived, and has no dependents.
	Archived bool
	// Now is the time of the conclusion, in the precision of statuses.
	Now metav1.Time
}

// StatusHookFunc completes the status of a component at the end of a pass, when everything in Status is set, and before
// it is written. It may set fields that are not in Status, and additional conditions. It must not make requests.
//
// It returns the maximum delay until the next pass if the status changes with time; otherwise zero.
type StatusHookFunc[T Component] func(component T, conclusion Conclusion) (again time.Duration, err error)

// SiblingsFunc returns the siblings of a component: other components of the same reconciler and cluster that declare
// some of its objects; the newer component adopts them from the older one. They are usually revisions of the same set.
// The relation must hold in both directions: if b is newer than a, then a is older than b.
//
// It reads components through the reader, which is a cache at first. If a dependent belongs to a component that is not
// a sibling, the function is called again with a reader that asks the API server, because the cache may lag behind. The
// component must not be changed.
type SiblingsFunc[T Component] func(ctx context.Context, reader client.Reader, component T) (map[apitypes.NamespacedName]reconciler.Relation, error)

// author holds the choices of an operator's author, with functions adapted to components of any type.
type author struct {
	name      string
	generator generator.Generator
	options   ReconcilerOptions
	hooks     struct {
		postRead, preReconcile, postReconcile, preDelete, postDelete []HookFunc[Component]
	}
	statusHooks []StatusHookFunc[Component]
	// siblings is nil if components have none, waveNames if waves have numbers only.
	siblings  SiblingsFunc[Component]
	waveNames func(component Component, order int) string
}

// Reconciler reconciles components of type T, a pointer to a struct. NewReconciler creates it, and SetupWithManager
// adds it to a manager. Hooks must be added before that. All other methods are safe for concurrent use.
type Reconciler[T Component] struct {
	author author
	queue  *queue.Wakeups
	worker *worker
	err    error
}

var _ reconcile.Reconciler = &Reconciler[Component]{}

// NewReconciler returns a reconciler for the objects that the generator makes of each component. The name is a DNS
// name, unique in all clusters concerned. It is the prefix of labels and annotations of dependents, and the default of
// finalizer and field owner. SetupWithManager returns errors in the arguments.
func NewReconciler[T Component](name string, resourceGenerator generator.Generator, options ReconcilerOptions) *Reconciler[T] {
	completed, err := options.complete(name)
	if resourceGenerator == nil {
		err = errors.Join(err, errors.New("a generator is required"))
	}
	if t := reflect.TypeFor[T](); t.Kind() != reflect.Pointer || t.Elem().Kind() != reflect.Struct {
		err = errors.Join(err, fmt.Errorf("components must be pointers to structs, not %s", t))
	}
	made := author{name: name, generator: resourceGenerator, options: completed}
	return &Reconciler[T]{author: made, queue: queue.NewWakeups(), err: errors.Join(err, made.checkCondition())}
}

// WithPostReadHook adds a hook that runs after the component was read and its references were loaded, also while the
// component is being deleted.
func (r *Reconciler[T]) WithPostReadHook(hook HookFunc[T]) *Reconciler[T] {
	return r.addHook(&r.author.hooks.postRead, hook)
}

// WithPreReconcileHook adds a hook that runs before dependents are generated.
func (r *Reconciler[T]) WithPreReconcileHook(hook HookFunc[T]) *Reconciler[T] {
	return r.addHook(&r.author.hooks.preReconcile, hook)
}

// WithPostReconcileHook adds a hook that runs at the end of a pass in which all dependents are ready: once when the
// component becomes ready, for each revision; again after a pass that has changed dependents, when labels or
// annotations of the component have changed, when Trigger is called, and after the requeue interval; and once after the
// operator has started. It runs again as long as it fails.
func (r *Reconciler[T]) WithPostReconcileHook(hook HookFunc[T]) *Reconciler[T] {
	return r.addHook(&r.author.hooks.postReconcile, hook)
}

// WithPreDeleteHook adds a hook that runs before the reconciler checks whether the dependents may be deleted.
// References that are missing then stay empty, except those to the kubeconfig. It does not run if the component is
// deleted with the propagation policy Orphan.
func (r *Reconciler[T]) WithPreDeleteHook(hook HookFunc[T]) *Reconciler[T] {
	return r.addHook(&r.author.hooks.preDelete, hook)
}

// WithPostDeleteHook adds a hook that runs when all dependents are gone. It runs neither if the target was abandoned,
// nor if the component is deleted with the propagation policy Orphan.
func (r *Reconciler[T]) WithPostDeleteHook(hook HookFunc[T]) *Reconciler[T] {
	return r.addHook(&r.author.hooks.postDelete, hook)
}

// WithStatusHook adds a hook that completes the status of a component. It runs in each pass except the last one of a
// component that is being deleted. After an error the status is written as it is, and the pass is repeated.
func (r *Reconciler[T]) WithStatusHook(hook StatusHookFunc[T]) *Reconciler[T] {
	return r.add(hook == nil, func() {
		r.author.statusHooks = append(r.author.statusHooks, func(component Component, conclusion Conclusion) (time.Duration, error) {
			return hook(ownOf[T](component), conclusion)
		})
	})
}

// WithSiblings sets the function that returns the siblings of a component. The author has to call Trigger when a
// sibling appears, goes, or changes its relation. Defaults to none.
func (r *Reconciler[T]) WithSiblings(find SiblingsFunc[T]) *Reconciler[T] {
	return r.add(find == nil, func() {
		r.author.siblings = func(ctx context.Context, reader client.Reader, component Component) (map[apitypes.NamespacedName]reconciler.Relation, error) {
			return find(ctx, reader, ownOf[T](component))
		}
	})
}

// WithWaveNames sets the function that names the waves of a component in its messages and events, such as `phase
// "database"`. The order is the apply order of the wave or, where dependents are being deleted, its delete order. The
// function cannot tell them apart, so it should return names only if both mean the same, as they do with
// [reconciler.DeleteOrderReversed] and apply orders from 0 on: a delete order is then the negative of an apply order.
// Waves without a name, the default, are called "wave 1" and so on, as are the waves of deletion hooks and waves in
// errors of the engine.
func (r *Reconciler[T]) WithWaveNames(name func(component T, order int) string) *Reconciler[T] {
	return r.add(name == nil, func() {
		r.author.waveNames = func(component Component, order int) string { return name(ownOf[T](component), order) }
	})
}

func (r *Reconciler[T]) addHook(hooks *[]HookFunc[Component], run HookFunc[T]) *Reconciler[T] {
	return r.add(run == nil, func() {
		*hooks = append(*hooks, func(ctx context.Context, clnt client.Client, component Component) error {
			return run(ctx, clnt, ownOf[T](component))
		})
	})
}

// add adds a hook, or another function of the author.
func (r *Reconciler[T]) add(isNil bool, add func()) *Reconciler[T] {
	switch {
	case r.worker != nil:
		// The manager may be running already. Failing is better than ignoring the function.
		r.worker.misused.Store(true)
	case isNil:
		r.err = errors.Join(r.err, errors.New("a hook is nil"))
	default:
		add()
	}
	return r
}

// ownOf returns a component as the author's type, which newOf created it as.
func ownOf[T Component](component Component) T {
	own, _ := component.(T)
	return own
}

// errNotSetUp is the error of a reconciler without a manager.
var errNotSetUp = errors.New("the reconciler is not set up; call SetupWithManager first")

// errLateHook is the error of a reconciler that got a hook after SetupWithManager.
var errLateHook = errors.New("a hook was added after SetupWithManager; it would never be called")

// Trigger schedules a pass of a component, and returns at once. It fails if the reconciler is not running and more than
// 1024 components have been triggered. With sharding, it has no effect on a replica that does not hold the shard of the
// component.
func (r *Reconciler[T]) Trigger(namespace string, name string) error {
	key := apitypes.NamespacedName{Namespace: namespace, Name: name}
	if r.worker != nil {
		r.worker.memories.noteTrigger(key)
	}
	return r.queue.Trigger(key)
}

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
	// GeneratedSecrets keeps a seed for each component, from which generators derive passwords, keys and certificates; see
	// package secrets. The seed is in a Secret beside the component, named after type and name, such as
	// "webshop.example.io.demo.seed"; for cluster-scoped components, in the StateNamespace. The operator needs the permission to get,
	// create, patch and delete Secrets there. Who may read the Secret knows all generated secrets. If the seed is lost, the
	// component is refused. Defaults to false.
	GeneratedSecrets bool
	// Inherit finds what a former manager has installed for a component, until all dependents have been ready once. It is
	// called with the deployment namespace and name, for dependents in the cluster of the component. The component begins
	// with the revision of the former manager, and adopts its objects whatever the adoption policy is. It is not ready as
	// long as there are objects that are not declared. Use helm.InheritRelease for components of operators that were made
	// with operator-sdk from charts. It costs new components requests in each pass before they are ready, two of them
	// with helm.InheritRelease, which lists Secrets and ConfigMaps. Defaults to none.
	Inherit types.InheritFunc
	// CrossNamespaceDependencies lets namespaced components depend on objects outside of their namespace, and refer to
	// values of such objects. Users who may create a component then learn something about all objects that the operator
	// may read, and can keep components of others from being deleted. Defaults to false.
	CrossNamespaceDependencies bool
	// AdoptionPolicy defaults to reconciler.AdoptionPolicyIfUnowned.
	AdoptionPolicy *reconciler.AdoptionPolicy
	// ReconcilePolicy defaults to reconciler.ReconcilePolicyOnObjectChange.
	ReconcilePolicy *reconciler.ReconcilePolicy
	// UpdatePolicy defaults to reconciler.UpdatePolicyReplace.
	UpdatePolicy *reconciler.UpdatePolicy
	// DeletePolicy defaults to reconciler.DeletePolicyDelete.
	DeletePolicy *reconciler.DeletePolicy
	// PrunePolicy determines whether redundant dependents without the prune-policy annotation are deleted. Defaults to
	// reconciler.PrunePolicyDelete.
	PrunePolicy *reconciler.PrunePolicy
	// PruneAt determines when redundant dependents are deleted. Defaults to reconciler.PruneAtEnd.
	PruneAt *reconciler.PruneAt
	// DriftPolicy defaults to reconciler.DriftPolicyCorrect.
	DriftPolicy *reconciler.DriftPolicy
	// AwaitTypes makes dependents whose types are not served wait for these types when their waves begin, unless their
	// missing-type-policy overrides it; see reconciler.Options. Defaults to false: the component is refused.
	AwaitTypes bool
	// MissingNamespacesPolicy defaults to reconciler.MissingNamespacesPolicyCreate.
	MissingNamespacesPolicy *reconciler.MissingNamespacesPolicy
	// ReapplyInterval defaults to 60 minutes. At least a second.
	ReapplyInterval *time.Duration
	// DeleteOrder determines the wave in which dependents without the delete-order annotation are deleted. With
	// reconciler.DeleteOrderReversed, it is the reverse of the order in which they are applied. Defaults to
	// reconciler.DeleteOrderExplicit: wave 0.
	DeleteOrder *reconciler.DeleteOrder
	// DeletePropagation determines what happens to the objects owned by a dependent without the delete-propagation
	// annotation when the dependent is deleted. Defaults to metav1.DeletePropagationBackground.
	DeletePropagation *metav1.DeletionPropagation
	// MaxDeletions is how many redundant dependents of a component may be deleted at once without approval: "5", "25%"
	// (of its dependents), or reconciler.MaxDeletionsAllButOne. If there are more, none of them is deleted: the
	// component is Pending with reason DeletionsHeld until its annotation approve-deletions has the digest in the
	// condition. It does not concern components that are being deleted. Defaults to any number.
	MaxDeletions reconciler.MaxDeletions
	// StateNamespace is the namespace of those inventories of cluster-scoped components that are too large for the
	// status. Inventories of namespaced components are in the namespace of the component. After a change of the option,
	// the former namespace is not read: inventories are rebuilt from labels, and the former ConfigMaps stay. Defaults
	// to none: a cluster-scoped component with that many dependents is refused.
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
	// Rollout limits how a new version of the operator reaches its components. Defaults to none: all of them take it at
	// once.
	Rollout *Rollout
	// DisableWarmup keeps replicas that do not lead from watching components. They need less memory, and take over more
	// slowly. Defaults to false.
	DisableWarmup bool
	// EventPerDependent writes an event on each changed dependent, instead of one per wave on the component. That can
	// double the number of requests. Defaults to false.
	EventPerDependent bool
	// OwnAnnotations are the suffixes of annotations of dependents that have the prefix of the reconciler and are used
	// by the operator itself. An event warns about any other unknown suffix, which is probably misspelled. Defaults to
	// none.
	OwnAnnotations []string
	// ReclaimedFieldManagers are prefixes of field managers whose changes reconciler.UpdatePolicySsaOverride reverts.
	// Defaults to "kubectl".
	ReclaimedFieldManagers []string
	// StatusAnalyzer determines the status of dependents. Defaults to that of package status.
	StatusAnalyzer status.StatusAnalyzer
	// AwaitReports keeps a custom resource among the dependents unready until its controller has reported a condition
	// or an observed generation, if the CustomResourceDefinition declares conditions. The operator must be allowed to
	// get CustomResourceDefinitions; the option does not apply to types whose definition it may not read, nor to
	// components with their own judge. Defaults to false: such a dependent is ready as soon as it exists, unless it has
	// a status hint.
	AwaitReports bool
	// InstanceValidator validates the instances of a CustomResourceDefinition among the dependents before it becomes
	// narrower, and refuses the change if it would make some of them invalid, unless the annotation crd-upgrade-policy of
	// the definition allows that. Use instances.NewValidator, which makes the operator several megabytes larger. Defaults
	// to none: instances are not validated.
	InstanceValidator reconciler.InstanceValidator
	// ExplainPods adds to the condition why Pods of a workload among the dependents are not ready, for example that an
	// image cannot be pulled. A workload that is unready for two seconds, or has failed, is read with its Pods: two
	// requests for each of its states, and further ones at growing intervals while the Pods show no reason. The
	// identity that applies the dependents must be allowed to list Pods. Defaults to false.
	ExplainPods bool
	// Clock defaults to the real time.
	Clock clock.PassiveClock

	// inlineLimit is the size of an inventory, in bytes of JSON, from which on it is stored in chunks; from an eighth of
	// it on, it is compressed. Tests set a small one. Defaults to 256 KiB.
	inlineLimit int
	// patience and slowVisit are limits for slow API servers. Tests set shorter ones.
	patience  clients.Patience
	slowVisit time.Duration
	// generatorPatience is how long a call of the generator lasts before the status reports it. Defaults to a second.
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
	check := func(what string, value string, validate func(string) []string) {
		if messages := validate(value); len(messages) > 0 {
			problems = append(problems, fmt.Errorf("%s %q: %s", what, value, strings.Join(messages, "; ")))
		}
	}
	wrap := func(option string, err error) {
		if err != nil {
			problems = append(problems, fmt.Errorf("option %s: %w", option, err))
		}
	}
	check("name", name, validation.IsDNS1123Subdomain)
	o.FieldOwner = cmp.Or(o.FieldOwner, &name)
	o.Finalizer = cmp.Or(o.Finalizer, &name)
	if owner := *o.FieldOwner; owner == "" || len(owner) > 128 {
		problems = append(problems, fmt.Errorf("option FieldOwner %q: must have 1 to 128 characters", owner))
	}
	check("option Finalizer", *o.Finalizer, validation.IsQualifiedName)
	for _, former := range o.FormerFinalizers {
		check("option FormerFinalizers", former, validation.IsQualifiedName)
	}
	if account := ptr.Deref(o.DefaultServiceAccount, ""); account != "" {
		check("option DefaultServiceAccount", account, validation.IsDNS1123Subdomain)
	}
	if o.StateNamespace != "" {
		check("option StateNamespace", o.StateNamespace, validation.IsDNS1123Label)
	}
	wrap("AllowedTargets", clients.Hosts(o.AllowedTargets).Validate())
	o.inlineLimit = cmp.Or(o.inlineLimit, defaultInlineLimit)
	if o.ReapplyInterval != nil {
		wrap("ReapplyInterval", annotations.CheckInterval(*o.ReapplyInterval))
	}
	wrap("MaxDeletions", o.MaxDeletions.Validate())
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
	o.Clock = cmp.Or[clock.PassiveClock](o.Clock, clock.RealClock{})
	return o, errors.Join(problems...)
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

// judge returns the configured analyzer; defaults to that of package status.
func (o ReconcilerOptions) judge(name string) status.Judge {
	if o.StatusAnalyzer == nil {
		return status.NewAnalyzer(name, status.Options{Clock: o.Clock})
	}
	return status.Adapt(name, o.StatusAnalyzer)
}

// Context carries values for hooks and generators.
//
// Deprecated: use generator.NewContext, which has all values as fields of generator.Surroundings.
type Context interface {
	context.Context
	// WithReconcilerName sets the result of ReconcilerNameFromContext.
	WithReconcilerName(reconcilerName string) Context
	// WithLocalClient sets the result of LocalClientFromContext.
	WithLocalClient(clnt cluster.Client) Context
	// WithClient sets the result of ClientFromContext.
	WithClient(clnt cluster.Client) Context
	// WithComponent sets the result of ComponentFromContext.
	WithComponent(component Component) Context
	// WithComponentName sets the result of ComponentNameFromContext.
	WithComponentName(componentName string) Context
	// WithComponentNamespace sets the result of ComponentNamespaceFromContext.
	WithComponentNamespace(componentNamespace string) Context
	// WithComponentDigest sets the result of ComponentDigestFromContext.
	WithComponentDigest(componentDigest string) Context
	// WithComponentRevision sets the result of ComponentRevisionFromContext.
	WithComponentRevision(componentRevision int64) Context
	// WithInstalled sets the result of generator.InstalledFromContext. Defaults to true if the revision is greater than
	// 1.
	WithInstalled(installed bool) Context
}

// NewContext adds the methods of Context to a context.
//
// Deprecated: use generator.NewContext.
func NewContext(ctx context.Context) Context {
	return valueContext{ctx}
}

type valueContext struct {
	context.Context //nolint:containedctx // it is a context
}

func (c valueContext) WithReconcilerName(reconcilerName string) Context {
	return valueContext{generating.ReconcilerName.With(c, reconcilerName)}
}

func (c valueContext) WithLocalClient(clnt cluster.Client) Context {
	return valueContext{generating.LocalClient.With(c, clnt)}
}

func (c valueContext) WithClient(clnt cluster.Client) Context {
	return valueContext{generating.Client.With(c, clnt)}
}

func (c valueContext) WithComponent(component Component) Context {
	return valueContext{generating.Component.With(c, component)}
}

func (c valueContext) WithComponentName(componentName string) Context {
	return valueContext{generating.ComponentName.With(c, componentName)}
}

func (c valueContext) WithComponentNamespace(componentNamespace string) Context {
	return valueContext{generating.ComponentNamespace.With(c, componentNamespace)}
}

func (c valueContext) WithComponentDigest(componentDigest string) Context {
	return valueContext{generating.ComponentDigest.With(c, componentDigest)}
}

func (c valueContext) WithComponentRevision(componentRevision int64) Context {
	return valueContext{generating.ComponentRevision.With(c, componentRevision)}
}

func (c valueContext) WithInstalled(installed bool) Context {
	return valueContext{generating.Installed.With(c, installed)}
}

// ReconcilerNameFromContext returns the name of the reconciler. It is set for all hooks and for generators.
func ReconcilerNameFromContext(ctx context.Context) (string, error) {
	return generator.ReconcilerNameFromContext(ctx)
}

// LocalClientFromContext returns a client for the cluster of the component, without a cache. It is set for generators,
// and for all hooks except post-read hooks.
func LocalClientFromContext(ctx context.Context) (cluster.Client, error) {
	return generator.LocalClientFromContext(ctx)
}

// ClientFromContext returns a client for the cluster of the dependents, without a cache, with the identity that writes
// them. It is set for generators, and for all hooks except post-read hooks.
func ClientFromContext(ctx context.Context) (cluster.Client, error) {
	return generator.ClientFromContext(ctx)
}

// ComponentFromContext returns a copy of the component. It is set for generators. The result of a generator may be
// reused while only the status, or metadata other than labels and annotations, changes.
func ComponentFromContext(ctx context.Context) (Component, error) {
	found, err := generator.ComponentFromContext(ctx)
	if err != nil {
		return nil, err
	}
	component, ok := found.(Component)
	if !ok {
		return nil, fmt.Errorf("component in context has type %T, which is not a component", found)
	}
	return component, nil
}

// ComponentNameFromContext returns the name of the component. It is set for generators.
func ComponentNameFromContext(ctx context.Context) (string, error) {
	return generator.ComponentNameFromContext(ctx)
}

// ComponentNamespaceFromContext returns the namespace of the component. It is set for generators.
func ComponentNamespaceFromContext(ctx context.Context) (string, error) {
	return generator.ComponentNamespaceFromContext(ctx)
}

// ComponentDigestFromContext returns the digest of the component's declaration; see Status.ProcessingDigest. It is set
// for generators.
func ComponentDigestFromContext(ctx context.Context) (string, error) {
	return generator.ComponentDigestFromContext(ctx)
}

// ComponentRevisionFromContext returns the revision of the component; see Status.Revision. It is set for generators.
func ComponentRevisionFromContext(ctx context.Context) (int64, error) {
	return generator.ComponentRevisionFromContext(ctx)
}
