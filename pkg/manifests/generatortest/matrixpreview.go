// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package generatortest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/pkg/generator"
	"github.com/component-operator/runtime/pkg/resources"
	"github.com/component-operator/runtime/pkg/resources/concepts"
	"github.com/component-operator/runtime/pkg/types"
)

// previewer is a generator that returns previews of the resources of a matrix.
type previewer struct {
	matrix Matrix
	// on has the mutations that were on in a combination, off the reasons why others were not.
	on  map[string]bool
	off map[string][]string
}

// AddToScheme adds the types of all objects that the generator of the operator knows.
func (p *previewer) AddToScheme(scheme *runtime.Scheme) error {
	return resources.NewGenerator(p.matrix.Generate).AddToScheme(scheme) //nolint:wrapcheck // it says what it does
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
	var objects []client.Object
	var failures []error
	for _, resource := range all {
		object, err := p.take(ctx, resource)
		if err != nil {
			failures = append(failures, err)
		} else if object != nil {
			objects = append(objects, object)
		}
	}
	return objects, errors.Join(failures...)
}

// take returns the object of a resource, and has its data extracted; nil if it has no object.
func (p *previewer) take(ctx context.Context, resource resources.Resource) (client.Object, error) {
	_, extracts := resource.(concepts.DataExtractable)
	registration := concepts.Registration{Extracts: extracts}
	if registered, ok := resource.(concepts.Registered); ok {
		registration = registered.Registration()
	}
	absence := ""
	if gate := concepts.StateOfMutation("", registration.Gate); registration.ReadOnly {
		absence = "its resource is read-only"
	} else if !gate.Enabled {
		absence = "its resource is " + gate.Why
	}
	if err := p.note(resource, absence); err != nil {
		return nil, err
	}
	var object client.Object
	if absence == "" {
		var err error
		if object, err = p.preview(resource, registration); err != nil {
			return nil, err
		}
	} else if !registration.ReadOnly {
		return nil, nil
	}
	if registration.Extracts || len(registration.Produces) > 0 {
		if err := extract(ctx, resource, object); err != nil {
			return nil, fmt.Errorf("%s: %w", resource.Identity(), err)
		}
	}
	return object, nil
}

// note keeps which mutations of a resource are on. They have no effect if its object is absent.
func (p *previewer) note(resource resources.Resource, absence string) error {
	inspectable, ok := resource.(concepts.Inspectable)
	if !ok {
		return nil
	}
	seen := map[string]bool{}
	for _, state := range inspectable.Mutations() {
		if seen[state.Name] {
			return fmt.Errorf("%s: there are several mutations with the name %q", resource.Identity(), state.Name)
		}
		seen[state.Name] = true
		if absence != "" {
			state.Enabled, state.Why = false, absence
		}
		name := fmt.Sprintf("%s: mutation %q", resource.Identity(), state.Name)
		if p.on[name] = p.on[name] || state.Enabled; !state.Enabled && !slices.Contains(p.off[name], state.Why) {
			p.off[name] = append(p.off[name], state.Why)
		}
	}
	return nil
}

// neverOn returns which mutations are on in no combination.
func (p *previewer) neverOn() []string {
	var problems []string
	for _, name := range slices.Sorted(maps.Keys(p.on)) {
		if !p.on[name] {
			problems = append(problems, name+" is not on in any combination; add a case: "+strings.Join(p.off[name], "; "))
		}
	}
	return problems
}

// preview returns the object of a resource with its mutations and policies.
func (p *previewer) preview(resource resources.Resource, registration concepts.Registration) (client.Object, error) {
	for _, cell := range registration.Requires {
		if !cell.IsSet() {
			return nil, fmt.Errorf("%s: its data guard waits for %q: let Objects of the case have the object with these data, as it is in a cluster",
				resource.Identity(), cell.Name())
		}
	}
	object, warnings, err := mutated(resource)
	if err == nil && len(warnings) > 0 {
		err = errors.New(strings.Join(warnings, "; "))
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", resource.Identity(), err)
	}
	annotations := map[string]string{}
	maps.Copy(annotations, object.GetAnnotations())
	for suffix, value := range registration.Policies {
		annotations[p.matrix.ReconcilerName+"/"+suffix] = value
	}
	if registration.Auxiliary {
		annotations[p.matrix.ReconcilerName+"/"+types.AnnotationKeySuffixAwait] = types.AwaitNever
	}
	if len(annotations) > 0 {
		object.SetAnnotations(annotations)
	}
	return object, nil
}

func mutated(resource resources.Resource) (client.Object, []string, error) {
	if inspectable, ok := resource.(concepts.Inspectable); ok {
		return inspectable.Preview() //nolint:wrapcheck // the caller names the resource
	}
	object, err := resource.Object()
	if err != nil {
		return nil, nil, err //nolint:wrapcheck // the caller names the resource
	}
	if err := resource.Mutate(object); err != nil {
		return nil, nil, err //nolint:wrapcheck // the caller names the resource
	}
	if warning, ok := resource.(concepts.Warning); ok {
		return object, warning.Warnings(), nil
	}
	return object, nil, nil
}

// extract lets a resource extract its data from the object in the cluster, or else from the declared one, which is nil
// if the resource is read-only.
func extract(ctx context.Context, resource resources.Resource, declared client.Object) error {
	extractable, ok := resource.(concepts.DataExtractable)
	if !ok {
		return nil
	}
	clnt, err := generator.ClientFromContext(ctx)
	if err != nil {
		return err
	}
	observed, err := resource.Object()
	if err != nil {
		return err //nolint:wrapcheck // the caller names the resource
	}
	err = clnt.Get(ctx, client.ObjectKeyFromObject(observed), observed)
	switch {
	case err == nil:
	case !apierrors.IsNotFound(err) && !meta.IsNoMatchError(err):
		return err //nolint:wrapcheck // the caller names the resource
	case declared == nil:
		return nil
	default:
		observed = declared
	}
	if recorder, ok := resource.(concepts.ObservationRecorder); ok {
		if err := recorder.RecordObservation(observed); err != nil {
			return err //nolint:wrapcheck // the caller names the resource
		}
	}
	return extractable.ExtractData() //nolint:wrapcheck // the caller names the resource
}
