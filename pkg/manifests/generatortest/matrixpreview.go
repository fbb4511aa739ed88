// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package generatortest

import (
	"context"
	"errors"
	"fmt"
	"maps"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/internal/clients"
	"github.com/component-operator/runtime/pkg/resources"
	"github.com/component-operator/runtime/pkg/resources/concepts"
	"github.com/component-operator/runtime/pkg/types"
)

// previewer is a generator that returns previews of the resources of a matrix.
type previewer struct {
	matrix  Matrix
	scheme  *runtime.Scheme
	objects []client.Object // of the cluster

	// mutations and problems are those of the last call.
	mutations []mutation
	problems  []string
	// producers are the resources from which data are extracted.
	producers map[concepts.Cell]string
}

// AddToScheme adds the types of all objects that the generator of the operator knows, and those that the matrix adds.
func (p *previewer) AddToScheme(scheme *runtime.Scheme) error {
	if err := resources.NewGenerator(p.matrix.Generate).AddToScheme(scheme); err != nil {
		return err //nolint:wrapcheck // it says what it does
	}
	if p.matrix.AddToScheme == nil {
		return nil
	}
	return p.matrix.AddToScheme(scheme)
}

// Generate returns the objects of those resources that have one.
func (p *previewer) Generate(ctx context.Context, namespace, name string, parameters types.Unstructurable) ([]client.Object, error) {
	all, err := p.matrix.Generate(ctx, resources.Input{Namespace: namespace, Name: name, Parameters: parameters})
	if err != nil {
		return nil, err
	}
	// The generator of the operator knows whether the resources fit together.
	same := func(context.Context, resources.Input) ([]resources.Resource, error) { return all, nil }
	if _, err := resources.NewGenerator(same).Generate(ctx, namespace, name, parameters); err != nil {
		return nil, err //nolint:wrapcheck // it names the resources
	}
	p.mutations, p.problems, p.producers = nil, nil, map[concepts.Cell]string{}
	var objects []client.Object
	var failures []error
	for _, resource := range all {
		object, err := p.take(resource)
		if err != nil {
			failures = append(failures, err)
		} else if object != nil {
			objects = append(objects, object)
		}
	}
	return objects, errors.Join(failures...)
}

// take returns the object of a resource, and has its data extracted; nil if it has no object.
func (p *previewer) take(resource resources.Resource) (client.Object, error) {
	registration := registrationOf(resource)
	absence := whyAbsent(registration)
	p.note(resource, absence)
	var object client.Object
	if absence == "" {
		var err error
		if object, err = p.preview(resource, registration); err != nil {
			return nil, err
		}
	} else if !registration.ReadOnly {
		return nil, nil
	}
	if err := p.observe(resource, registration, object); err != nil {
		return nil, fmt.Errorf("%s: %w", resource.Identity(), err)
	}
	return object, nil
}

func registrationOf(resource resources.Resource) concepts.Registration {
	if registered, ok := resource.(concepts.Registered); ok {
		return registered.Registration()
	}
	_, extracts := resource.(concepts.DataExtractable)
	return concepts.Registration{Extracts: extracts}
}

// whyAbsent says why a resource has no object; empty if it has one.
func whyAbsent(registration concepts.Registration) string {
	if registration.ReadOnly {
		return "its resource is read-only"
	}
	if gate := concepts.StateOfMutation("", registration.Gate); !gate.Enabled {
		return "its resource is " + gate.Why
	}
	return ""
}

// note keeps the mutations of a resource, which have no effect if its object is absent.
func (p *previewer) note(resource resources.Resource, absence string) {
	inspectable, ok := resource.(concepts.Inspectable)
	if !ok {
		return
	}
	seen := map[string]int{}
	for _, state := range inspectable.Mutations() {
		if seen[state.Name]++; seen[state.Name] == 2 {
			p.problems = append(p.problems, fmt.Sprintf("%s: there are several mutations with the name %q", resource.Identity(), state.Name))
		}
		if absence != "" {
			state.Enabled, state.Why = false, absence
		}
		p.mutations = append(p.mutations, mutation{mutationName: mutationName{resource.Identity(), state.Name}, enabled: state.Enabled, why: state.Why})
	}
}

// preview returns the object of a resource with its mutations and policies.
func (p *previewer) preview(resource resources.Resource, registration concepts.Registration) (client.Object, error) {
	for _, cell := range registration.Requires {
		if !cell.IsSet() {
			return nil, fmt.Errorf("%s: its data guard waits for %q, which %s does not have: let Objects of the case have that object, as it is in a cluster",
				resource.Identity(), cell.Name(), p.producers[cell])
		}
	}
	object, warnings, err := mutated(resource)
	if err != nil {
		return nil, err
	}
	for _, warning := range warnings {
		p.problems = append(p.problems, resource.Identity()+": "+warning)
	}
	p.annotate(object, registration)
	return object, nil
}

func mutated(resource resources.Resource) (client.Object, []string, error) {
	if inspectable, ok := resource.(concepts.Inspectable); ok {
		return inspectable.Preview() //nolint:wrapcheck // it names the resource
	}
	object, err := resource.Object()
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", resource.Identity(), err)
	}
	if err := resource.Mutate(object); err != nil {
		return nil, nil, fmt.Errorf("%s: %w", resource.Identity(), err)
	}
	if warning, ok := resource.(concepts.Warning); ok {
		return object, warning.Warnings(), nil
	}
	return object, nil, nil
}

// annotate gives an object the policies of its resource.
func (p *previewer) annotate(object client.Object, registration concepts.Registration) {
	policies := map[string]string{}
	maps.Copy(policies, registration.Policies)
	if registration.Auxiliary {
		policies[types.AnnotationKeySuffixAwait] = types.AwaitNever
	}
	if len(policies) == 0 {
		return
	}
	annotations := map[string]string{}
	maps.Copy(annotations, object.GetAnnotations())
	for suffix, value := range policies {
		annotations[p.matrix.ReconcilerName+"/"+suffix] = value
	}
	object.SetAnnotations(annotations)
}

// observe lets a resource extract its data from the object as it is in the cluster. The given object is the declared one; nil if the resource is read-only.
func (p *previewer) observe(resource resources.Resource, registration concepts.Registration, object client.Object) error {
	for _, cell := range registration.Produces {
		p.producers[cell] = resource.Identity()
	}
	extractable, ok := resource.(concepts.DataExtractable)
	if !ok || !registration.Extracts && len(registration.Produces) == 0 {
		return nil
	}
	observed, err := resource.Object()
	if err != nil {
		return err //nolint:wrapcheck // the caller names the resource
	}
	content, err := p.content(observed, object)
	if err != nil || content == nil {
		return err
	}
	if err := decode(content, observed); err != nil {
		return err
	}
	if recorder, ok := resource.(concepts.ObservationRecorder); ok {
		if err := recorder.RecordObservation(observed); err != nil {
			return err //nolint:wrapcheck // the caller names the resource
		}
	}
	return extractable.ExtractData() //nolint:wrapcheck // the caller names the resource
}

// content returns what an object is like in the cluster: as the case says, and for the rest as it is declared. It is nil if there is neither.
func (p *previewer) content(identified, declared client.Object) (map[string]any, error) {
	var content map[string]any
	if declared != nil {
		u, err := toUnstructured(declared, p.scheme)
		if err != nil {
			return nil, err
		}
		content = u.Object
	}
	wanted, err := clients.ToUnstructured(identified, p.scheme)
	if err != nil {
		return nil, err //nolint:wrapcheck // it names the object
	}
	for _, object := range p.objects {
		live, err := clients.ToUnstructured(object, p.scheme)
		if err != nil {
			return nil, fmt.Errorf("an object of the case: %w", err)
		}
		if live.GroupVersionKind() != wanted.GroupVersionKind() || live.GetNamespace() != wanted.GetNamespace() || live.GetName() != wanted.GetName() {
			continue
		}
		if content == nil {
			content = map[string]any{}
		}
		overlay(content, live.DeepCopy().Object)
	}
	return content, nil
}

// overlay adds values, which replace others except for maps. Typed objects have a null where they say nothing.
func overlay(content, values map[string]any) {
	for key, value := range values {
		below, isMap := value.(map[string]any)
		existing, both := content[key].(map[string]any)
		switch {
		case value == nil:
		case isMap && both:
			overlay(existing, below)
		default:
			content[key] = value
		}
	}
}

// decode replaces all that an object has.
func decode(content map[string]any, object client.Object) error {
	if u, ok := object.(*unstructured.Unstructured); ok {
		u.Object = content
		return nil
	}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(content, object); err != nil {
		return fmt.Errorf("decoding the object as %T: %w", object, err)
	}
	return nil
}
