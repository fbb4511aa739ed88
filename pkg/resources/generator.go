// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package resources

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/internal/generating"
	"github.com/component-operator/runtime/internal/manifest"
	"github.com/component-operator/runtime/pkg/generator"
	"github.com/component-operator/runtime/pkg/inventory"
	"github.com/component-operator/runtime/pkg/resources/concepts"
	"github.com/component-operator/runtime/pkg/status"
	"github.com/component-operator/runtime/pkg/types"
)

// Generate returns the resources of a component, in the order in which they are applied.
type Generate func(ctx context.Context, input Input) ([]Resource, error)

// Generator is a generator of typed resources.
type Generator struct {
	generate  Generate
	grace     time.Duration
	condition string
	problems  []string
}

var (
	_ generator.Generator   = &Generator{}
	_ generator.Pure        = &Generator{}
	_ generator.Conditioned = &Generator{}
)

// Option is an option of NewGenerator.
type Option func(*Generator)

// WithCondition sets the type of the component's condition that reports how well its resources do their job, such as
// "Available". Defaults to none.
func WithCondition(conditionType string) Option {
	return func(g *Generator) { g.condition = conditionType }
}

// WithGracePeriod sets how long a resource may be unready before the condition reports it as degraded or down. The
// period begins when the component stops being ready, and again when its spec changes. Zero, the default, means that it
// never ends.
func WithGracePeriod(period time.Duration) Option {
	return func(g *Generator) { g.grace = period }
}

// NewGenerator returns a generator that calls the given function. The function must depend only on its input, and on
// values that the getters of package generator return for the context. It may be called concurrently for several
// components. If an argument is invalid, components are refused.
func NewGenerator(generate Generate, options ...Option) *Generator {
	g := &Generator{generate: generate}
	if generate == nil {
		g.problems = append(g.problems, "resources.NewGenerator was called with nil; a function is required")
	}
	for _, option := range options {
		option(g)
	}
	if g.grace < 0 {
		g.problems = append(g.problems, fmt.Sprintf("resources.WithGracePeriod: invalid value %s; must not be negative", g.grace))
	}
	return g
}

// Generate returns the objects of the resources, with behaviors.
func (g *Generator) Generate(ctx context.Context, namespace, name string, parameters types.Unstructurable) ([]client.Object, error) {
	reconcilerName, err := generating.ReconcilerName.From(ctx)
	if err != nil {
		return nil, err
	}
	if len(g.problems) > 0 {
		return nil, inventory.NewRefusedError(g.problems...)
	}
	resources, err := g.generate(ctx, Input{Namespace: namespace, Name: name, Parameters: parameters})
	if err != nil {
		return nil, err
	}
	s, err := newSet(resources)
	if err != nil {
		return nil, err
	}
	if s.varies {
		generating.MarkClusterRead(ctx, "a resource has a guard or a data extractor, which may remember something")
	}
	s.annotationPrefix, s.grace = reconcilerName+"/", g.grace
	if s.custom {
		if s.input, err = inputDigest(ctx, namespace, name, parameters); err != nil {
			return nil, err
		}
	}
	objects, err := s.objects()
	generating.Warn(ctx, s.Warnings)
	return objects, err
}

// inputDigest returns a digest of the input, on which the results of custom handlers may depend.
func inputDigest(ctx context.Context, namespace, name string, parameters types.Unstructurable) (string, error) {
	component, err := generating.ComponentDigest.From(ctx)
	if err == nil && component != "" {
		return component, nil
	}
	result, err := manifest.Digest([]any{namespace, name, parameters.ToUnstructured()})
	if err != nil {
		return "", fmt.Errorf("computing the digest of the parameters: %w", err)
	}
	return result, nil
}

// Fingerprint returns a constant: the resources of a component depend only on their input.
func (g *Generator) Fingerprint() string { return "resources" }

// Condition returns the type of the condition that reports how well the resources do their job; empty if there is none.
func (g *Generator) Condition() string { return g.condition }

// Input contains the input of a Generate function.
type Input struct {
	// Namespace and Name are the component's namespace and name for its dependents.
	Namespace, Name string
	// Parameters are the parameters of the generator, usually the spec of the component. They must not be changed.
	Parameters types.Unstructurable
}

// SpecOf returns the parameters as a value of type S, or of the type that S points to. Parameters of that type, such as
// the spec of a component, are returned as they are, and must not be changed. Others are decoded like the API server
// does: names of fields are case-sensitive, unknown fields are ignored, and a whole number in a field of type any
// becomes an int64 with all its digits.
func SpecOf[S any](input Input) (S, error) {
	var spec S
	switch parameters := any(input.Parameters).(type) {
	case S:
		return parameters, nil
	case *S:
		if parameters != nil {
			return *parameters, nil
		}
	case nil:
		return spec, errors.New("there are no parameters")
	}
	text, err := json.Marshal(input.Parameters.ToUnstructured())
	if err != nil {
		return spec, fmt.Errorf("encoding the parameters: %w", err)
	}
	if err := utiljson.Unmarshal(text, &spec); err != nil {
		return spec, fmt.Errorf("decoding the parameters as %T: %w", spec, err)
	}
	return spec, nil
}

// Resource is an object of a component. It may also implement interfaces of package concepts: Alive, Completable or
// Operational; Graceful; Suspendable; Guardable; DataExtractable; ObservationRecorder, which the others need to see the
// object as it is in the cluster; Amendable; Warning; and Registered.
type Resource interface {
	// Identity returns version, kind, namespace and name, such as "apps/v1/Deployment/shop/web". It is unique among the
	// resources of a component.
	Identity() string
	// Object returns the object without mutations. The caller may change it.
	Object() (client.Object, error)
	// Mutate turns any object of the same Go type into the desired one.
	Mutate(current client.Object) error
}

// registrationOf returns the registration of a resource, or derives it from the interfaces that it implements.
func registrationOf(resource Resource) concepts.Registration {
	if registered, ok := resource.(concepts.Registered); ok {
		return registered.Registration()
	}
	registration := concepts.Registration{Judged: statusOf(resource) != nil, Custom: true}
	_, registration.Guarded = resource.(concepts.Guardable)
	_, registration.Extracts = resource.(concepts.DataExtractable)
	_, registration.Suspendable = resource.(concepts.Suspendable)
	registration.MayVary = registration.Guarded || registration.Extracts
	return registration
}

// statusOf returns a function that returns the status of the recorded object; nil if the resource has no status.
func statusOf(resource Resource) func(op concepts.ConvergingOperation) (concepts.Converging, error) {
	switch resource := resource.(type) {
	case concepts.Alive:
		return func(op concepts.ConvergingOperation) (concepts.Converging, error) {
			return resource.ConvergingStatus(op)
		}
	case concepts.Completable:
		return func(op concepts.ConvergingOperation) (concepts.Converging, error) {
			return resource.ConvergingStatus(op)
		}
	case concepts.Operational:
		return func(op concepts.ConvergingOperation) (concepts.Converging, error) {
			return resource.ConvergingStatus(op)
		}
	default:
		return nil
	}
}

// rulesVersion is part of the rules of all judges. It must change when the default handlers change.
const rulesVersion = "resources/1"

// judge computes the status of a member's object with the handlers of its resource.
type judge struct {
	member *member
	// suspended means that the object should be suspended.
	suspended bool
}

// Rules identifies the handlers: those of this module by a version, and custom ones by the generator's input, on which
// they may depend.
func (j *judge) Rules() string {
	rules := rulesVersion
	if j.suspended {
		rules += " suspended"
	}
	if j.member.registration.Custom {
		rules += " " + j.member.set.input
	}
	return rules
}

// Judge returns the status of an object.
func (j *judge) Judge(object *unstructured.Unstructured) status.Result {
	if j.suspended {
		suspension, err := j.suspensionOf(object)
		if err == nil {
			err = suspension.Check()
		}
		if err != nil {
			return unknown(err)
		}
		// A resource need not do its job while it is being suspended.
		result := status.Result{Status: status.InProgressStatus, Reason: string(suspension.Status), Message: suspension.Reason, Grade: status.GradeHealthy}
		if suspension.Status == concepts.SuspensionStatusSuspended {
			result.Status = status.CurrentStatus
		}
		return result
	}
	if !j.member.registration.Judged {
		return status.Result{Status: status.CurrentStatus}
	}
	converging, grace, err := j.statusOf(object)
	if err != nil {
		return unknown(err)
	}
	if err := checkStatus(converging, grace); err != nil {
		return unknown(err)
	}
	reason, message := converging.Describe()
	result := status.Result{Status: status.InProgressStatus, Reason: reason, Message: message, Grade: status.Grade(grace.Status)}
	switch {
	case converging.IsConverged():
		result.Status = status.CurrentStatus
	case converging.IsFailing():
		result.Status = status.FailedStatus
	}
	return result
}

// checkStatus refuses unknown statuses from handlers. A resource that is not Graceful has no grade.
func checkStatus(converging concepts.Converging, grace concepts.GraceStatusWithReason) error {
	if checked, ok := converging.(interface{ Check() error }); ok {
		if err := checked.Check(); err != nil {
			return err
		}
	}
	if grace.Status == "" {
		return nil
	}
	return grace.Check()
}

// statusOf returns the resource's answers for an object: its progress, and how well it does its job.
func (j *judge) statusOf(object *unstructured.Unstructured) (converging concepts.Converging, grace concepts.GraceStatusWithReason, err error) {
	j.member.set.mu.Lock()
	defer j.member.set.mu.Unlock()
	if err := j.member.record(object); err != nil {
		return nil, grace, err
	}
	ask := statusOf(j.member.resource)
	if ask == nil {
		return nil, grace, errors.New("the resource says that it has a status, and has no ConvergingStatus")
	}
	if converging, err = ask(operationOf(object)); err != nil {
		return nil, grace, err
	}
	if graceful, ok := j.member.resource.(concepts.Graceful); ok {
		grace, err = graceful.GraceStatus()
	}
	return converging, grace, err
}

// suspensionOf returns the resource's answer about the suspension of an object.
func (j *judge) suspensionOf(object *unstructured.Unstructured) (suspension concepts.SuspensionStatusWithReason, err error) {
	j.member.set.mu.Lock()
	defer j.member.set.mu.Unlock()
	if err := j.member.record(object); err != nil {
		return suspension, err
	}
	if suspendable, ok := j.member.resource.(concepts.Suspendable); ok {
		return suspendable.SuspensionStatus() //nolint:wrapcheck // the reconciler names the object
	}
	return concepts.SuspensionStatusWithReason{Status: concepts.SuspensionStatusSuspended}, nil
}

func unknown(err error) status.Result {
	return status.Result{Status: status.UnknownStatus, Message: err.Error()}
}

// operationOf returns how an object got its current spec: Created if the spec never changed, Updated if the object's
// controller has not observed the last change.
func operationOf(object *unstructured.Unstructured) concepts.ConvergingOperation {
	observed, found, err := unstructured.NestedInt64(object.Object, "status", "observedGeneration")
	switch {
	case object.GetGeneration() <= 1:
		return concepts.ConvergingOperationCreated
	case err == nil && found && observed < object.GetGeneration():
		return concepts.ConvergingOperationUpdated
	default:
		return concepts.ConvergingOperationNone
	}
}
