// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package generatortest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/pkg/generator"
	"github.com/component-operator/runtime/pkg/resources"
	"github.com/component-operator/runtime/pkg/resources/concepts"
	"github.com/component-operator/runtime/pkg/types"
)

// Matrix tests a function that returns typed resources (see package resources): for each version, and each case of the
// version, it compares the objects with a golden file, such as 1.4.2-plain.yaml.
//
// Objects are rendered as the reconciler applies them while the component is not suspended: with all mutations that are
// on, and with the annotations of their policies. The default order of deletion is left out, because each inserted
// resource changes it. Guards are not called. Resources that are read-only, or whose gate is off, have no object.
//
// Data are extracted from the Objects of a case, as if from a cluster. If an object is missing there, data are
// extracted from the declared object. It is an error if a data guard would block a resource.
//
// Beyond the rules for all cases that the package documentation states, it is an error if
//
//   - resources do not fit together, for instance because a resource uses data that no earlier one extracts;
//   - two mutations give one field different values, apart from entries of ConfigMaps and Secrets;
//   - the selector of an edit matches no container, unless it accepts any, as AllContainers does;
//   - mutations of one resource have the same name;
//   - a mutation is not on in any combination of a version and a case, because nothing would notice when it breaks.
//
// Hand-written resources have mutations to check if they are [concepts.Inspectable].
type Matrix struct {
	// Generate is the function under test, which the operator passes to resources.NewGenerator. It is required.
	Generate resources.Generate
	// ReconcilerName is the name that the operator passes to NewReconciler, the prefix of its annotations. It is
	// required.
	ReconcilerName string
	// Versions are the versions that are tested, usually one on each side of every constraint. At least one is
	// required.
	Versions []string
	// Cases returns the cases of a version. They should have the same namespace and component name, because mutations
	// are identified by the identities of their resources. It is required.
	Cases func(version string) []Case

	folder string // of the golden files, in tests; otherwise testdata/matrix
}

// Run generates all combinations and compares them. It has no subtests, because only all combinations together show
// which mutations are never on.
func (m Matrix) Run(t *testing.T) {
	t.Helper()
	for _, problem := range m.examine(t.Context(), *update) {
		t.Error(problem)
	}
}

// examine returns all problems. If a combination fails, it does not report mutations that are never on.
func (m Matrix) examine(ctx context.Context, update bool) []string {
	preview := &previewer{matrix: m, off: map[string][]string{}, on: map[string]bool{}}
	suite := Suite{Generator: preview, ReconcilerName: m.ReconcilerName, Folder: cmp.Or(m.folder, "testdata/matrix")}
	cases, err := m.combinations()
	if err == nil {
		err = suite.complete(cases)
	}
	if err != nil {
		return []string{err.Error()}
	}
	var problems []string
	for _, c := range cases {
		for _, problem := range suite.examine(ctx, c.withDefaults(), update) {
			problems = append(problems, c.Name+": "+problem)
		}
	}
	if len(problems) == 0 {
		problems = preview.neverOn()
	}
	return append(problems, suite.strays(cases, update)...)
}

// combinations returns the cases of all versions. Their names begin with the version, in which an underscore replaces
// the plus sign of metadata.
func (m *Matrix) combinations() ([]Case, error) {
	if m.Generate == nil || m.ReconcilerName == "" || len(m.Versions) == 0 || m.Cases == nil {
		return nil, errors.New("the matrix needs Generate, ReconcilerName, Versions and Cases")
	}
	var combinations []Case
	for _, version := range m.Versions {
		cases := m.Cases(version)
		if len(cases) == 0 {
			return nil, fmt.Errorf("version %q: there are no cases", version)
		}
		for _, c := range cases {
			c.Name = strings.ReplaceAll(version, "+", "_") + "-" + c.Name
			combinations = append(combinations, c)
		}
	}
	return combinations, nil
}

// previewer is a generator that returns previews of the resources of a matrix.
type previewer struct {
	matrix Matrix
	// on contains the mutations that were on in some combination, off the reasons why mutations were off.
	on  map[string]bool
	off map[string][]string
}

// Generate returns the objects of the resources that have one.
func (p *previewer) Generate(ctx context.Context, namespace, name string, parameters types.Unstructurable) ([]client.Object, error) {
	all, err := p.matrix.Generate(ctx, resources.Input{Namespace: namespace, Name: name, Parameters: parameters})
	if err != nil {
		return nil, err
	}
	// The operator's generator checks that the resources fit together.
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

// take returns the object of a resource after extracting its data; nil if the resource has no object.
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

// note records which mutations of a resource are on. If its object is absent, none are.
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

// neverOn returns a problem for each mutation that is on in no combination.
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

// extract makes a resource extract its data from the object in the cluster, or else from the declared one, which is nil
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
