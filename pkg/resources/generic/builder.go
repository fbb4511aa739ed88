// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package generic

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/internal/annotations"
	"github.com/component-operator/runtime/internal/manifest"
	"github.com/component-operator/runtime/pkg/inventory"
	"github.com/component-operator/runtime/pkg/resources/concepts"
	"github.com/component-operator/runtime/pkg/resources/feature"
	"github.com/component-operator/runtime/pkg/types"
)

// Builder collects the parts of a Resource. Its methods change it and return it. It must not be used concurrently.
//
// T is the Go type of the object, P the pointer to it, M the mutator of the kind, F the type of its mutations, and S
// the type of its status.
type Builder[T any, P Object[T], M Mutator, F Mutation[M], S concepts.Converging] struct {
	kind         Kind[P, M, S]
	base         P
	mutations    []feature.Mutation[M]
	handlers     Handlers[P, M, S]
	guard        func(T) (concepts.GuardStatusWithReason, error)
	extractors   []func(T) error
	extractions  []concepts.Extraction[T]
	registration concepts.Registration
	policies     Policies
	annotations  map[string]string // by the part of the key that follows the name of the reconciler
	strict       bool
	addressed    bool
}

// NewBuilder returns a Builder. The object is the desired state before mutations; Build copies it.
func NewBuilder[F Mutation[M], T any, P Object[T], M Mutator, S concepts.Converging](kind Kind[P, M, S], object P) *Builder[T, P, M, F, S] {
	return &Builder[T, P, M, F, S]{kind: kind, base: object, annotations: map[string]string{}}
}

// WithMutation adds mutations. Those whose features are on are applied in the order in which they were added.
func (b *Builder[T, P, M, F, S]) WithMutation(mutations ...F) *Builder[T, P, M, F, S] {
	for _, mutation := range mutations {
		b.mutations = append(b.mutations, feature.Mutation[M](mutation))
	}
	return b
}

// WithCustomConvergeStatus replaces the function that returns the progress of the object. The result should depend only
// on the object and the input of the generator. Nil restores the default.
func (b *Builder[T, P, M, F, S]) WithCustomConvergeStatus(handler func(concepts.ConvergingOperation, P) (S, error)) *Builder[T, P, M, F, S] {
	b.handlers.ConvergingStatus = handler
	return b
}

// WithCustomGraceStatus replaces the function that returns how well the object does its job. The result should depend
// only on the object and the input of the generator. Nil restores the default.
func (b *Builder[T, P, M, F, S]) WithCustomGraceStatus(handler func(P) (concepts.GraceStatusWithReason, error)) *Builder[T, P, M, F, S] {
	b.handlers.GraceStatus = handler
	return b
}

// WithCustomSuspendStatus replaces the function that returns the progress of the suspension. The result should depend
// only on the object and the input of the generator. Nil restores the default.
func (b *Builder[T, P, M, F, S]) WithCustomSuspendStatus(handler func(P) (concepts.SuspensionStatusWithReason, error)) *Builder[T, P, M, F, S] {
	b.handlers.SuspensionStatus = handler
	return b
}

// WithCustomSuspendMutation replaces the mutation that suspends the object. It is applied after all others. Nil
// restores the default.
func (b *Builder[T, P, M, F, S]) WithCustomSuspendMutation(handler func(M) error) *Builder[T, P, M, F, S] {
	b.handlers.SuspendMutation = handler
	return b
}

// WithCustomSuspendDeletionDecision replaces the function that reports whether the object is deleted when it is
// suspended. Its argument is the base object. Nil restores the default.
func (b *Builder[T, P, M, F, S]) WithCustomSuspendDeletionDecision(handler func(P) bool) *Builder[T, P, M, F, S] {
	b.handlers.DeleteOnSuspend = handler
	return b
}

// WithDataExtractor adds a function that reads data from a copy of the applied object as it is in the cluster. Nil is
// ignored. Later resources can use these data. Since the reconciler cannot tell which of them do, it generates all of
// them again in each pass; prefer WithData.
func (b *Builder[T, P, M, F, S]) WithDataExtractor(extractor func(T) error) *Builder[T, P, M, F, S] {
	if extractor != nil {
		b.extractors = append(b.extractors, extractor)
	}
	return b
}

// WithData adds extractions. Each stores data of the applied object, as it is in the cluster, in a Data. See
// concepts.Into.
func (b *Builder[T, P, M, F, S]) WithData(extractions ...concepts.Extraction[T]) *Builder[T, P, M, F, S] {
	b.extractions = append(b.extractions, extractions...)
	return b
}

// WithDataGuard allows applying the object only when all these data are set. An earlier resource must extract them.
func (b *Builder[T, P, M, F, S]) WithDataGuard(data ...concepts.Cell) *Builder[T, P, M, F, S] {
	b.registration.Requires = append(b.registration.Requires, data...)
	return b
}

// WithOptionalData declares that mutations use these data if they are set. If a resource extracts them, it must be an
// earlier one.
func (b *Builder[T, P, M, F, S]) WithOptionalData(data ...concepts.Cell) *Builder[T, P, M, F, S] {
	b.registration.Uses = append(b.registration.Uses, data...)
	return b
}

// WithGuard sets a function that decides whether the object may be applied. Its argument is a copy of the base object.
// If it returns Blocked, neither the object nor later resources are applied; objects that were applied before stay. Nil
// removes the guard. The guard is not called while the component is suspended.
func (b *Builder[T, P, M, F, S]) WithGuard(guard func(T) (concepts.GuardStatusWithReason, error)) *Builder[T, P, M, F, S] {
	b.guard = guard
	return b
}

// WithStrictSelectors makes it an error, instead of a warning, if a container selector matches nothing. Selectors that
// accept any container, such as AllContainers, may match nothing.
func (b *Builder[T, P, M, F, S]) WithStrictSelectors() *Builder[T, P, M, F, S] {
	b.strict = true
	return b
}

// GatedBy makes the object exist only if the gate is on; otherwise, the object is deleted. Nil means on.
func (b *Builder[T, P, M, F, S]) GatedBy(gate feature.Gate) *Builder[T, P, M, F, S] {
	b.registration.Gate = gate
	return b
}

// ReadOnly means that the object has another owner. It is read, watched and judged, but never written, suspended or
// deleted. Mutations have no effect.
func (b *Builder[T, P, M, F, S]) ReadOnly(absence concepts.Absence) *Builder[T, P, M, F, S] {
	b.registration.ReadOnly, b.registration.Absence = true, absence
	return b
}

// Auxiliary means that nothing waits for the object to be ready, and that its health does not count.
func (b *Builder[T, P, M, F, S]) Auxiliary() *Builder[T, P, M, F, S] {
	b.registration.Auxiliary = true
	return b
}

// AwaitAddress makes an Ingress ready only when it has an address. The default is ready without an address, because not
// every cluster assigns one. Services of type LoadBalancer always wait for theirs. Build fails for other kinds.
func (b *Builder[T, P, M, F, S]) AwaitAddress() *Builder[T, P, M, F, S] {
	b.addressed = true
	b.handlers.ConvergingStatus = b.kind.AddressStatus
	return b
}

// WithGracePeriod sets how long the object may be unready before its GraceStatus counts. Defaults to the grace period
// of the generator.
func (b *Builder[T, P, M, F, S]) WithGracePeriod(period time.Duration) *Builder[T, P, M, F, S] {
	b.registration.GracePeriod = period
	return b
}

// Build returns the resource. It fails if the object is nil or lacks its name or namespace, or if an option is invalid.
// The error lists all problems.
func (b *Builder[T, P, M, F, S]) Build() (*Resource[T, P, S], error) {
	if b.base == nil {
		return nil, fmt.Errorf("building a %s: object must not be nil", b.kind.Kind)
	}
	if err := errors.Join(slices.Concat(b.objectProblems(), b.partProblems(), b.optionProblems())...); err != nil {
		return nil, fmt.Errorf("building %s: %w", strings.TrimSpace(types.ObjectText(b.kind.GroupKind(), b.base.GetNamespace(), b.base.GetName())), err)
	}
	return newResource(b), nil
}

// policyAnnotations returns all policies and orders, by the suffixes of their annotations.
func (b *Builder[T, P, M, F, S]) policyAnnotations() map[string]string {
	all := b.policies.annotations()
	maps.Copy(all, b.annotations)
	return all
}

func (b *Builder[T, P, M, F, S]) objectProblems() []error {
	var problems []error
	if b.base.GetName() == "" {
		problems = append(problems, errors.New("metadata.name must not be empty"))
	}
	switch namespace := b.base.GetNamespace(); {
	case b.kind.AnyScope:
	case !b.kind.ClusterScoped && namespace == "":
		problems = append(problems, errors.New("metadata.namespace must not be empty"))
	case b.kind.ClusterScoped && namespace != "":
		problems = append(problems, fmt.Errorf("metadata.namespace %q: the kind is cluster-scoped, so it must be empty", namespace))
	}
	if given := b.base.GetObjectKind().GroupVersionKind(); given != (schema.GroupVersionKind{}) && given != b.kind.GroupVersionKind {
		problems = append(problems, fmt.Errorf("type %s: must be %s, or empty", given, b.kind.GroupVersionKind))
	}
	if b.kind.Check != nil {
		problems = append(problems, b.kind.Check(b.base))
	}
	if manifest.Or(b.handlers, b.kind.Defaults).ConvergingStatus == nil {
		problems = append(problems, errors.New("a function is required that says how far the object is"))
	}
	return problems
}

func (b *Builder[T, P, M, F, S]) partProblems() []error {
	var problems []error
	for i, mutation := range b.mutations {
		if mutation.Name == "" {
			problems = append(problems, fmt.Errorf("mutation %d: Name must not be empty", i+1))
		}
		if mutation.Mutate == nil {
			problems = append(problems, fmt.Errorf("mutation %d, %q: Mutate must not be nil", i+1, mutation.Name))
		}
	}
	for i, extraction := range b.extractions {
		if extraction.Cell == nil || extraction.Extract == nil {
			problems = append(problems, fmt.Errorf("extraction %d: data and function must not be nil", i+1))
		}
	}
	return problems
}

func (b *Builder[T, P, M, F, S]) optionProblems() []error {
	var problems []error
	policies := b.policyAnnotations()
	for _, suffix := range slices.Sorted(maps.Keys(policies)) {
		if err := annotations.Check(suffix, policies[suffix]); err != nil {
			problems = append(problems, fmt.Errorf("%s: %w", suffix, err))
		}
	}
	if b.registration.ReadOnly && (b.registration.Gate != nil || len(policies) > 0) {
		problems = append(problems, errors.New("a read-only resource can have neither policies nor a gate, because it is never written or deleted"))
	}
	if _, purged := policies[types.AnnotationKeySuffixPurgeOrder]; purged && (len(b.extractions) > 0 || len(b.extractors) > 0) {
		problems = append(problems, errors.New("purge-order: data cannot be extracted from an object that is deleted while others need them"))
	}
	if b.addressed && b.kind.AddressStatus == nil {
		problems = append(problems, errors.New("AwaitAddress: allowed for Ingresses only; Services of type LoadBalancer always wait for their addresses"))
	}
	if b.registration.GracePeriod < 0 {
		problems = append(problems, fmt.Errorf("grace period %s: must not be negative", b.registration.GracePeriod))
	}
	return problems
}

// Object is a pointer to the Go type T of an object.
type Object[T any] interface {
	*T
	client.Object
}

// Mutation is a named type whose underlying type is that of feature.Mutation.
type Mutation[M any] interface {
	~struct {
		Name    string
		Feature feature.Gate
		Mutate  func(M) error
	}
}

// Kind describes a kind of objects. P is a pointer to its Go type, M its mutator, and S its status.
type Kind[P client.Object, M Mutator, S concepts.Converging] struct {
	schema.GroupVersionKind

	// ClusterScoped means that objects have no namespace.
	ClusterScoped bool
	// AnyScope means that the scope of the objects is unknown: a namespace is neither required nor refused.
	AnyScope bool
	// NewMutator returns the mutator of an object that is being made. Required.
	NewMutator func(object P) M
	// Check returns an error if an object is invalid beyond its name and namespace. Defaults to no further check.
	Check func(object P) error
	// Applied means that objects are ready when they are applied, unless the reconciler has its own rules for them.
	// ConvergingStatus then applies only if a builder sets it.
	Applied bool
	// Defaults are the handlers of resources whose builder has no others.
	Defaults Handlers[P, M, S]
	// AddressStatus replaces ConvergingStatus after AwaitAddress; nil if objects of the kind have no address.
	AddressStatus func(op concepts.ConvergingOperation, object P) (S, error)
}

// NewKind returns a kind of namespaced objects that are judged by the given function. Its fields can be changed.
func NewKind[P client.Object, M Mutator, S concepts.Converging](
	gvk schema.GroupVersionKind, newMutator func(object P) M, converging func(op concepts.ConvergingOperation, object P) (S, error),
) Kind[P, M, S] {
	return Kind[P, M, S]{GroupVersionKind: gvk, NewMutator: newMutator, Defaults: Handlers[P, M, S]{ConvergingStatus: converging}}
}

// NewAppliedKind returns a kind of namespaced objects that are ready when they are applied. Its fields can be changed.
func NewAppliedKind[P client.Object, M Mutator](gvk schema.GroupVersionKind, newMutator func(object P) M) Kind[P, M, concepts.OperationalStatusWithReason] {
	kind := NewKind(gvk, newMutator, Applied[P])
	kind.Applied = true
	return kind
}

// Handlers are the functions for the life of a kind of objects. They must not change the object, and must not make
// requests, because they are called whenever the object changes.
type Handlers[P client.Object, M Mutator, S concepts.Converging] struct {
	// ConvergingStatus returns the progress of the object. Required as a default.
	ConvergingStatus func(op concepts.ConvergingOperation, object P) (S, error)
	// GraceStatus returns how well the object does its job. Defaults to a status that follows from ConvergingStatus: Healthy if the object is converged, Down if it
	// is failing, and Degraded otherwise.
	GraceStatus func(object P) (concepts.GraceStatusWithReason, error)
	// DeleteOnSuspend reports whether the object is deleted when it is suspended. Defaults to false.
	DeleteOnSuspend func(object P) bool
	// SuspendMutation records the edits that suspend the object. Defaults to none.
	SuspendMutation func(mutator M) error
	// SuspensionStatus returns the progress of the suspension. Defaults to Suspended.
	SuspensionStatus func(object P) (concepts.SuspensionStatusWithReason, error)
}

// Applied is a ConvergingStatus for objects that work as soon as they exist.
func Applied[P client.Object](concepts.ConvergingOperation, P) (concepts.OperationalStatusWithReason, error) {
	return concepts.OperationalStatusWithReason{Status: concepts.OperationalStatusOperational, Reason: "applied"}, nil
}

// Policies control how the reconciler treats an object. An empty field leaves the decision to the component.
type Policies struct {
	// Adoption decides what happens if the object already exists.
	Adoption inventory.AdoptionPolicy
	// Reconcile decides which changes cause the object to be applied again.
	Reconcile inventory.ReconcilePolicy
	// Update decides how the object is updated.
	Update inventory.UpdatePolicy
	// Delete decides what happens to the object when it is no longer declared, or when the component is deleted.
	Delete inventory.DeletePolicy
	// Prune decides what happens to the object when it is no longer declared.
	Prune inventory.PrunePolicy
	// Drift decides what happens if others change the object.
	Drift inventory.DriftPolicy
	// DeletePropagation decides what happens to the objects that the object owns when it is deleted.
	DeletePropagation metav1.DeletionPropagation
	// ReapplyInterval is the longest time without applying the object again, if others may have changed it unnoticed.
	ReapplyInterval time.Duration
	// ReadyTimeout is how long the object may take to become ready after it was written, before it counts as failed.
	ReadyTimeout time.Duration
}

// annotations returns the policies as values of annotations, by the suffixes of their keys.
func (p Policies) annotations() map[string]string {
	values := map[string]string{
		types.AnnotationKeySuffixAdoptionPolicy:    string(p.Adoption),
		types.AnnotationKeySuffixReconcilePolicy:   string(p.Reconcile),
		types.AnnotationKeySuffixUpdatePolicy:      string(p.Update),
		types.AnnotationKeySuffixDeletePolicy:      string(p.Delete),
		types.AnnotationKeySuffixPrunePolicy:       string(p.Prune),
		types.AnnotationKeySuffixDriftPolicy:       string(p.Drift),
		types.AnnotationKeySuffixDeletePropagation: string(p.DeletePropagation),
	}
	maps.DeleteFunc(values, func(_, value string) bool { return value == "" })
	for suffix, value := range values {
		values[suffix] = annotations.Kebab(value)
	}
	for suffix, value := range map[string]time.Duration{
		types.AnnotationKeySuffixReapplyInterval: p.ReapplyInterval, types.AnnotationKeySuffixReadyTimeout: p.ReadyTimeout,
	} {
		if value != 0 {
			values[suffix] = value.String()
		}
	}
	return values
}

// WithPolicies sets the policies of the object.
func (b *Builder[T, P, M, F, S]) WithPolicies(policies Policies) *Builder[T, P, M, F, S] {
	b.policies = policies
	return b
}

// Unowned keeps the object in the cluster when the component is deleted, and deletes it when it is no longer declared.
// It overrides Policies.Delete.
func (b *Builder[T, P, M, F, S]) Unowned() *Builder[T, P, M, F, S] {
	return b.set(types.AnnotationKeySuffixDeletePolicy, types.DeletePolicyOrphanOnDelete)
}

// WithApplyOrder sets the wave in which the object is applied; see types.AnnotationKeySuffixApplyOrder. Defaults to 0.
func (b *Builder[T, P, M, F, S]) WithApplyOrder(order int) *Builder[T, P, M, F, S] {
	return b.set(types.AnnotationKeySuffixApplyOrder, strconv.Itoa(order))
}

// WithDeleteOrder sets the wave in which the object is deleted. Defaults to the reverse of the order in which the
// resources of the component are applied.
func (b *Builder[T, P, M, F, S]) WithDeleteOrder(order int) *Builder[T, P, M, F, S] {
	return b.set(types.AnnotationKeySuffixDeleteOrder, strconv.Itoa(order))
}

// WithPurgeOrder sets the wave at the end of which the object is deleted again; see
// types.AnnotationKeySuffixPurgeOrder. Defaults to never.
func (b *Builder[T, P, M, F, S]) WithPurgeOrder(order int) *Builder[T, P, M, F, S] {
	return b.set(types.AnnotationKeySuffixPurgeOrder, strconv.Itoa(order))
}

func (b *Builder[T, P, M, F, S]) set(suffix, value string) *Builder[T, P, M, F, S] {
	b.annotations[suffix] = value
	return b
}
