// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package generic

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/component-operator/runtime/internal/annotations"
	"github.com/component-operator/runtime/pkg/resources/concepts"
	"github.com/component-operator/runtime/pkg/resources/feature"
	"github.com/component-operator/runtime/pkg/types"
)

// Builder collects what a resource consists of. Its methods change it and return it. It must not be used concurrently.
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

// NewBuilder returns a Builder. The object is the desired state, before mutations; it is copied when the resource is
// built.
func NewBuilder[F Mutation[M], T any, P Object[T], M Mutator, S concepts.Converging](kind Kind[P, M, S], object P) *Builder[T, P, M, F, S] {
	return &Builder[T, P, M, F, S]{kind: kind, base: object}
}

// WithMutation adds mutations. They are applied in the order in which they are added, as far as their features are on.
func (b *Builder[T, P, M, F, S]) WithMutation(mutations ...F) *Builder[T, P, M, F, S] {
	for _, mutation := range mutations {
		b.mutations = append(b.mutations, feature.Mutation[M](mutation))
	}
	return b
}

// WithCustomConvergeStatus replaces the function that says how far the object is. It should depend on the object and
// the input of the generator only. Nil restores the default.
func (b *Builder[T, P, M, F, S]) WithCustomConvergeStatus(handler func(concepts.ConvergingOperation, P) (S, error)) *Builder[T, P, M, F, S] {
	b.handlers.ConvergingStatus = handler
	return b
}

// WithCustomGraceStatus replaces the function that says how well the object does its job. It should depend on the
// object and the input of the generator only. Nil restores the default.
func (b *Builder[T, P, M, F, S]) WithCustomGraceStatus(handler func(P) (concepts.GraceStatusWithReason, error)) *Builder[T, P, M, F, S] {
	b.handlers.GraceStatus = handler
	return b
}

// WithCustomSuspendStatus replaces the function that says how far the suspension is. It should depend on the object and
// the input of the generator only. Nil restores the default.
func (b *Builder[T, P, M, F, S]) WithCustomSuspendStatus(handler func(P) (concepts.SuspensionStatusWithReason, error)) *Builder[T, P, M, F, S] {
	b.handlers.SuspensionStatus = handler
	return b
}

// WithCustomSuspendMutation replaces what suspends the object. It is applied after all mutations. Nil restores the
// default.
func (b *Builder[T, P, M, F, S]) WithCustomSuspendMutation(handler func(M) error) *Builder[T, P, M, F, S] {
	b.handlers.SuspendMutation = handler
	return b
}

// WithCustomSuspendDeletionDecision replaces the decision whether the object is deleted when it is suspended. The
// function gets the object as it is declared. Nil restores the default.
func (b *Builder[T, P, M, F, S]) WithCustomSuspendDeletionDecision(handler func(P) bool) *Builder[T, P, M, F, S] {
	b.handlers.DeleteOnSuspend = handler
	return b
}

// WithDataExtractor adds a function that reads data from a copy of the object as it is in the cluster, after it was
// applied. Nil is ignored. Resources that are registered later can use these data. It is not known which of them do, so
// each of them is made anew in each pass; prefer WithData.
func (b *Builder[T, P, M, F, S]) WithDataExtractor(extractor func(T) error) *Builder[T, P, M, F, S] {
	if extractor != nil {
		b.extractors = append(b.extractors, extractor)
	}
	return b
}

// WithData adds extractions: each puts data of the object, as it is in the cluster after it was applied, into a Data.
// See concepts.Into.
func (b *Builder[T, P, M, F, S]) WithData(extractions ...concepts.Extraction[T]) *Builder[T, P, M, F, S] {
	b.extractions = append(b.extractions, extractions...)
	return b
}

// WithDataGuard lets the object be applied only when all these data exist. A resource that is registered earlier must
// extract them.
func (b *Builder[T, P, M, F, S]) WithDataGuard(data ...concepts.Cell) *Builder[T, P, M, F, S] {
	b.registration.Requires = append(b.registration.Requires, data...)
	return b
}

// WithOptionalData says that mutations use these data if they exist. A resource that is registered earlier must extract
// them.
func (b *Builder[T, P, M, F, S]) WithOptionalData(data ...concepts.Cell) *Builder[T, P, M, F, S] {
	b.registration.Uses = append(b.registration.Uses, data...)
	return b
}

// WithGuard sets a function that says whether the object may be applied. It gets a copy of the object without
// mutations. If it returns Blocked, neither the object nor resources that are registered later are applied; what was
// applied before stays. Nil removes the guard. It is not asked while the component is suspended.
func (b *Builder[T, P, M, F, S]) WithGuard(guard func(T) (concepts.GuardStatusWithReason, error)) *Builder[T, P, M, F, S] {
	b.guard = guard
	return b
}

// WithStrictSelectors makes a container selector that matches nothing an error. Without it, it is a warning. A selector
// that accepts any container, such as AllContainers, may match nothing.
func (b *Builder[T, P, M, F, S]) WithStrictSelectors() *Builder[T, P, M, F, S] {
	b.strict = true
	return b
}

// GatedBy lets the object exist only if the gate is on. If it is off, the object is deleted. Nil means on.
func (b *Builder[T, P, M, F, S]) GatedBy(gate feature.Gate) *Builder[T, P, M, F, S] {
	b.registration.Gate = gate
	return b
}

// ReadOnly means that the object has another owner. It is read, watched and judged, and never written, suspended
// or deleted. Mutations have no effect.
func (b *Builder[T, P, M, F, S]) ReadOnly(absence concepts.Absence) *Builder[T, P, M, F, S] {
	b.registration.ReadOnly, b.registration.Absence = true, absence
	return b
}

// Auxiliary means that nothing waits until the object is ready, and that its health does not count.
func (b *Builder[T, P, M, F, S]) Auxiliary() *Builder[T, P, M, F, S] {
	b.registration.Auxiliary = true
	return b
}

// AwaitAddress makes an Ingress ready only when it has an address. Without it, an Ingress is ready without one, because
// not every cluster gives it one. Services of type LoadBalancer always wait for theirs. Resources of other kinds cannot
// be built with it.
func (b *Builder[T, P, M, F, S]) AwaitAddress() *Builder[T, P, M, F, S] {
	b.addressed = true
	b.handlers.ConvergingStatus = b.kind.AddressStatus
	return b
}

// WithGracePeriod sets how long the object may be not ready before its GraceStatus counts. Defaults to that of the
// generator.
func (b *Builder[T, P, M, F, S]) WithGracePeriod(period time.Duration) *Builder[T, P, M, F, S] {
	b.registration.GracePeriod = period
	return b
}

// Build returns the resource. It fails if there is no object, if the object lacks its name or namespace, or if an
// option is not valid. The error names all that is wrong with an object.
func (b *Builder[T, P, M, F, S]) Build() (*Resource[T, P, S], error) {
	if b.base == nil {
		return nil, fmt.Errorf("building a %s: object must not be nil", b.kind.Kind)
	}
	if err := errors.Join(b.problems()...); err != nil {
		return nil, fmt.Errorf("building %s: %w", strings.TrimSpace(types.ObjectText(b.kind.GroupKind(), b.base.GetNamespace(), b.base.GetName())), err)
	}
	return newResource(b), nil
}

// policyAnnotations returns all policies and orders.
func (b *Builder[T, P, M, F, S]) policyAnnotations() map[string]string {
	all := b.policies.annotations()
	maps.Copy(all, b.annotations)
	return all
}

// problems returns all that is wrong.
func (b *Builder[T, P, M, F, S]) problems() []error {
	return slices.Concat(b.objectProblems(), b.partProblems(), b.optionProblems())
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
	if b.handlers.over(b.kind.Defaults).ConvergingStatus == nil {
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
