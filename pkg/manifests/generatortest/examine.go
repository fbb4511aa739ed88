// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package generatortest

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	gocmp "github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/internal/annotations"
	"github.com/component-operator/runtime/internal/clients"
	"github.com/component-operator/runtime/internal/rights"
	"github.com/component-operator/runtime/pkg/component"
	"github.com/component-operator/runtime/pkg/generator"
	"github.com/component-operator/runtime/pkg/types"
)

// examine generates a case twice, and returns all problems.
func (s Suite) examine(ctx context.Context, c Case, update bool) []string {
	scheme, err := s.scheme()
	if err != nil {
		return []string{err.Error()}
	}
	var before map[string]any
	var objects []client.Object
	if err = c.load(ctx, scheme); err == nil {
		before = c.Parameters.ToUnstructured()
		objects, err = s.generate(ctx, c, scheme)
	}
	switch {
	case c.Err != "" && (err == nil || !strings.Contains(err.Error(), c.Err)):
		return []string{fmt.Sprintf("got error %v, want one with %q", err, c.Err)}
	case c.Err != "":
		return nil
	case err != nil:
		return []string{fmt.Sprintf("generating: %s", err)}
	}
	normalised, problems := normalise(objects, scheme)
	if len(problems) > 0 {
		return problems
	}
	problems = s.check(normalised, c.Namespace)
	text, failure := s.textOf(ctx, c, scheme, normalised)
	if failure != "" {
		problems = append(problems, failure)
	}
	if diff := gocmp.Diff(before, c.Parameters.ToUnstructured()); diff != "" {
		problems = append(problems, "generating changed the parameters (-before +after):\n"+diff)
	}
	return append(problems, s.compare(c.Name, text, update)...)
}

// textOf returns the text of the golden file of a case, and what is wrong if the case does not yield it a second time.
func (s Suite) textOf(ctx context.Context, c Case, scheme *runtime.Scheme, first []*unstructured.Unstructured) (text, failure string) {
	objects, err := s.generate(ctx, c, scheme)
	second, problems := normalise(objects, scheme)
	if c.Random {
		hideRandom(first, second)
	}
	text, again := render(first), render(second)
	switch {
	case err != nil:
		return text, fmt.Sprintf("generating a second time: %s", err)
	case len(problems) > 0:
		return text, "generating a second time: " + strings.Join(problems, "; ")
	}
	if diff := diffLines(text, again); diff != "" {
		return text, "generating twice does not yield the same (-first +second):\n" + diff
	}
	return text, ""
}

// scheme returns the types of Kubernetes and those that the generator contributes.
func (s Suite) scheme() (*runtime.Scheme, error) {
	scheme := runtime.NewScheme()
	if err := clientgoscheme.AddToScheme(scheme); err != nil {
		return nil, fmt.Errorf("adding the types of Kubernetes: %w", err)
	}
	if builder, ok := s.Generator.(types.SchemeBuilder); ok {
		if err := builder.AddToScheme(scheme); err != nil {
			return nil, fmt.Errorf("adding the types of the generator: %w", err)
		}
	}
	return scheme, nil
}

// generate calls the generator as a reconciler does.
func (s Suite) generate(ctx context.Context, c Case, scheme *runtime.Scheme) ([]client.Object, error) {
	clnt, err := rights.NewOfflineClient(rights.OfflineOptions{
		KubernetesVersion: c.KubernetesVersion, APIVersions: c.APIVersions, Scheme: scheme, Objects: c.Objects,
	})
	if err != nil {
		return nil, err
	}
	ctx = generator.NewContext(ctx, generator.Surroundings{
		ReconcilerName:     s.ReconcilerName,
		LocalClient:        clnt,
		Client:             clnt,
		Component:          c.Component,
		ComponentName:      c.ComponentName,
		ComponentNamespace: c.Namespace,
		ComponentDigest:    strings.Repeat("0", 64),
		ComponentRevision:  c.Revision,
		Installed:          c.Installed,
	})
	objects, err := s.Generator.Generate(ctx, c.Namespace, c.ComponentName, c.Parameters)
	if err != nil {
		return nil, err
	}
	return objects, clients.Normalize(objects)
}

// load loads the references of the spec.
func (c Case) load(ctx context.Context, scheme *runtime.Scheme) error {
	var objects []client.Object
	for i, reference := range c.References {
		object, ok := reference.DeepCopyObject().(client.Object)
		if !ok {
			return fmt.Errorf("reference %d: %T has no copy", i+1, reference)
		}
		if object.GetNamespace() == "" {
			object.SetNamespace(c.Namespace)
		}
		if secret, ok := object.(*corev1.Secret); ok {
			takeStringData(secret)
		}
		objects = append(objects, object)
	}
	reader, err := rights.NewOfflineClient(rights.OfflineOptions{Scheme: scheme, Objects: objects})
	if err != nil {
		return err
	}
	return component.LoadReferences(ctx, reader, c.Namespace, c.Parameters)
}

// takeStringData does what the API server does when it stores a Secret.
func takeStringData(secret *corev1.Secret) {
	if secret.Data == nil {
		secret.Data = map[string][]byte{}
	}
	for key, value := range secret.StringData {
		secret.Data[key] = []byte(value)
	}
	secret.StringData = nil
}

// normalise returns the objects, sorted, without Go types and without fields that only the server sets; and the
// problems of objects that it had to leave out.
func normalise(objects []client.Object, scheme *runtime.Scheme) ([]*unstructured.Unstructured, []string) {
	var normalised []*unstructured.Unstructured
	var problems []string
	for i, object := range objects {
		u, err := toUnstructured(object, scheme)
		if err != nil {
			problems = append(problems, fmt.Sprintf("object %d: %s", i+1, err))
			continue
		}
		normalised = append(normalised, u)
	}
	slices.SortStableFunc(normalised, func(a, b *unstructured.Unstructured) int {
		return cmp.Or(
			cmp.Compare(a.GetKind(), b.GetKind()), cmp.Compare(a.GetAPIVersion(), b.GetAPIVersion()),
			cmp.Compare(a.GetNamespace(), b.GetNamespace()), cmp.Compare(a.GetName(), b.GetName()))
	})
	return normalised, problems
}

func toUnstructured(object client.Object, scheme *runtime.Scheme) (*unstructured.Unstructured, error) {
	u, err := clients.ToUnstructured(object, scheme)
	if err != nil {
		return nil, err
	}
	u = u.DeepCopy()
	unstructured.RemoveNestedField(u.Object, "status")
	unstructured.RemoveNestedField(u.Object, "metadata", "creationTimestamp")
	return u, nil
}

// check returns the problems of the objects that are wrong in any case.
func (s Suite) check(objects []*unstructured.Unstructured, namespace string) []string {
	var problems []string
	seen := map[string]bool{}
	for _, u := range objects {
		kind := u.GroupVersionKind().GroupKind()
		text := types.ObjectText(kind, u.GetNamespace(), u.GetName())
		if kind.Kind == "" || u.GetAPIVersion() == "" || u.GetName() == "" {
			problems = append(problems, fmt.Sprintf("%s: apiVersion, kind and metadata.name are required, got %q, %q and %q", text, u.GetAPIVersion(), kind.Kind, u.GetName()))
		}
		// An object may be a dependent, and a deletion hook of each kind: these are applied at different times.
		hook := u.GetAnnotations()[s.ReconcilerName+"/"+types.AnnotationKeySuffixDeletionHook]
		key := kind.String() + " " + cmp.Or(u.GetNamespace(), namespace) + " " + u.GetName() + " " + hook
		if seen[key] {
			problems = append(problems, fmt.Sprintf("%s: defined more than once", text))
		}
		seen[key] = true
		for _, problem := range s.checkAnnotations(u) {
			problems = append(problems, text+": "+problem)
		}
	}
	return problems
}

func (s Suite) checkAnnotations(u *unstructured.Unstructured) []string {
	values, _, err := unstructured.NestedStringMap(u.Object, "metadata", "annotations")
	if err != nil {
		return []string{fmt.Sprintf("metadata.annotations: all values must be strings: %s", err)}
	}
	var problems []string
	for _, key := range slices.Sorted(maps.Keys(values)) {
		suffix, ours := strings.CutPrefix(key, s.ReconcilerName+"/")
		if !ours {
			continue
		}
		if err := annotations.Check(suffix, values[key]); err != nil {
			problems = append(problems, fmt.Sprintf("annotation %s: %s", key, err))
		}
	}
	return problems
}
