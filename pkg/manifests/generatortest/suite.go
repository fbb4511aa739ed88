// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package generatortest

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/component-operator/runtime/internal/annotations"
	"github.com/component-operator/runtime/internal/clients"
	"github.com/component-operator/runtime/internal/rights"
	"github.com/component-operator/runtime/pkg/component"
	"github.com/component-operator/runtime/pkg/generator"
	"github.com/component-operator/runtime/pkg/manifests"
	"github.com/component-operator/runtime/pkg/secrets"
	"github.com/component-operator/runtime/pkg/types"
)

var update = flag.Bool("generatortest.update", false, "write the golden files of generators instead of comparing with them")

// Suite contains the settings for all cases of a generator.
type Suite struct {
	// Generator is the generator under test. It is required.
	Generator manifests.Generator
	// ReconcilerName is the name that the operator passes to NewReconciler, the prefix of its annotations. It is
	// required.
	ReconcilerName string
	// Folder contains the golden files, and belongs to the suite: a golden file without a case is an error, and
	// -generatortest.update removes it. Defaults to "testdata/golden".
	Folder string
}

// Case is one call of the generator.
type Case struct {
	// Name is the name of the case and its golden file. It is required, and consists of letters, digits, dots, dashes
	// and underscores.
	Name string
	// Reason describes the purpose of the case. It is part of the messages. Defaults to nothing.
	Reason string

	// Namespace is the namespace of the component's objects. Defaults to "default".
	Namespace string
	// ComponentName is the name of the component. Defaults to "example".
	ComponentName string
	// Parameters are the spec of the component. Defaults to an empty map.
	Parameters types.Unstructurable
	// References are the Secrets and ConfigMaps that the spec refers to. Their namespace defaults to that of the case.
	// They are loaded into the spec as in operation; if one is missing, the case fails with the error for which the
	// component would wait. Defaults to none.
	References []client.Object
	// Revision is the revision of the component. Defaults to 1.
	Revision int64
	// Installed means that the component was completely installed in an earlier revision. Defaults to false.
	Installed bool

	// KubernetesVersion is the version of the cluster. Defaults to "v1.36.0".
	KubernetesVersion string
	// APIVersions are the API versions of the cluster in addition to the stable versions of Kubernetes, as
	// "group/version" or "group/version/Kind"; the kinds are namespaced. Defaults to nothing.
	APIVersions []string
	// Objects are the objects in the cluster. The clients in the context read them. Defaults to nothing.
	Objects []client.Object
	// Component is the component that generators get from the context; see generator.ComponentFromContext. Defaults to
	// none.
	Component client.Object

	// Random means that values may differ between two calls, such as passwords from templates. Golden files contain
	// "(random)" instead. Defaults to false: different values are an error.
	Random bool

	// Err is a part of the expected error. A case with an error has no golden file. Defaults to success.
	Err string
}

// Run runs each case as a subtest with the name of the case.
func Run(t *testing.T, suite Suite, cases ...Case) {
	t.Helper()
	if err := suite.complete(cases); err != nil {
		t.Fatal(err)
	}
	for _, c := range cases {
		t.Run(c.Name, func(t *testing.T) {
			for _, problem := range suite.examine(t.Context(), c.withDefaults(), *update) {
				if c.Reason != "" {
					problem = c.Reason + ": " + problem
				}
				t.Error(problem)
			}
		})
	}
	for _, problem := range suite.strays(cases, *update) {
		t.Error(problem)
	}
}

var fileName = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9._-]*$`)

// complete sets the defaults of the suite and checks it.
func (s *Suite) complete(cases []Case) error {
	if s.Generator == nil || s.ReconcilerName == "" {
		return fmt.Errorf("the suite needs Generator and ReconcilerName, got %T and %q", s.Generator, s.ReconcilerName)
	}
	s.Folder = cmp.Or(s.Folder, "testdata/golden")
	seen := map[string]bool{}
	for i, c := range cases {
		if !fileName.MatchString(c.Name) {
			return fmt.Errorf("case %d: invalid name %q; must consist of letters, digits, dots, dashes and underscores", i+1, c.Name)
		}
		if seen[c.Name] {
			return fmt.Errorf("case %d: there is another case with the name %q", i+1, c.Name)
		}
		seen[c.Name] = true
	}
	return nil
}

func (c Case) withDefaults() Case {
	c.Namespace = cmp.Or(c.Namespace, "default")
	c.ComponentName = cmp.Or(c.ComponentName, "example")
	c.Revision = cmp.Or(c.Revision, 1)
	if c.Parameters == nil {
		c.Parameters = types.UnstructurableMap{}
	}
	return c
}

// header is the first line of each golden file, and of no other file in the folder.
const header = "# Golden file: go test -generatortest.update writes it.\n"

// render returns the text of a golden file.
func render(objects []*unstructured.Unstructured) string {
	text := strings.Builder{}
	text.WriteString(header)
	for _, object := range objects {
		document, err := yaml.Marshal(object.Object)
		if err != nil {
			// Normalized objects can always be encoded; this text is for developers.
			document = []byte(err.Error() + "\n")
		}
		text.WriteString("---\n")
		text.Write(document)
	}
	return text.String()
}

func (s Suite) path(caseName string) string {
	return filepath.Join(s.Folder, caseName+".yaml")
}

// compare compares the text with the golden file, or writes it.
func (s Suite) compare(caseName string, text string, update bool) []string {
	path := s.path(caseName)
	if update {
		if err := write(path, text); err != nil {
			return []string{fmt.Sprintf("writing the golden file: %s", err)}
		}
		return nil
	}
	golden, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return []string{fmt.Sprintf("there is no golden file %s; -generatortest.update writes it", path)}
	}
	if err != nil {
		return []string{fmt.Sprintf("reading the golden file: %s", err)}
	}
	// A checkout on another operating system may have changed the line ends.
	if diff := diffLines(strings.ReplaceAll(string(golden), "\r\n", "\n"), text); diff != "" {
		return []string{fmt.Sprintf("the objects differ from %s (-golden +got); if this is intended, -generatortest.update writes it:\n%s", path, diff)}
	}
	return nil
}

func write(path string, text string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return os.WriteFile(path, []byte(text), 0o644)
}

// diffLines returns the differences; empty if there are none.
func diffLines(want, got string) string {
	return gocmp.Diff(strings.Split(want, "\n"), strings.Split(got, "\n"))
}

// strays reports golden files without a case, or removes them if update is true.
func (s Suite) strays(cases []Case, update bool) []string {
	var known []string
	for _, c := range cases {
		if c.Err == "" {
			known = append(known, s.path(c.Name))
		}
	}
	paths, err := filepath.Glob(filepath.Join(s.Folder, "*.yaml"))
	if err != nil {
		return []string{fmt.Sprintf("listing golden files: %s", err)}
	}
	var problems []string
	for _, path := range paths {
		if slices.Contains(known, path) {
			continue
		}
		content, err := os.ReadFile(path)
		if err == nil && update && bytes.HasPrefix(content, []byte(header)) {
			err = os.Remove(path)
		} else if err == nil {
			err = errors.New("there is no case for it")
		}
		if err != nil {
			problems = append(problems, fmt.Sprintf("golden file %s: %s", path, err))
		}
	}
	return problems
}

// hidden replaces random values in golden files.
const hidden = "(random)"

// hideRandom replaces, in both results of a generator, the values that differ. Identities of objects, keys of maps and
// lengths of lists must not be random, and are not hidden.
func hideRandom(first, second []*unstructured.Unstructured) {
	for i := range min(len(first), len(second)) {
		a, b := first[i], second[i]
		if a.GroupVersionKind() == b.GroupVersionKind() && a.GetNamespace() == b.GetNamespace() && a.GetName() == b.GetName() {
			hide(a.Object, b.Object)
		}
	}
}

// hide returns two values, or the text for random values twice if both are scalars that differ. It changes maps and
// lists in place.
func hide(a, b any) (any, any) {
	switch value := a.(type) {
	case map[string]any:
		other, _ := b.(map[string]any)
		for key := range value {
			if _, exists := other[key]; exists {
				value[key], other[key] = hide(value[key], other[key])
			}
		}
		return a, b
	case []any:
		other, _ := b.([]any)
		for i := range min(len(value), len(other)) {
			value[i], other[i] = hide(value[i], other[i])
		}
		return a, b
	}
	switch b.(type) {
	case map[string]any, []any:
		return a, b
	}
	if a != b {
		return hidden, hidden
	}
	return a, b
}

// examine generates a case twice, and returns all problems.
func (s Suite) examine(ctx context.Context, c Case, update bool) []string {
	var builders []types.SchemeBuilder
	if builder, ok := s.Generator.(types.SchemeBuilder); ok {
		builders = append(builders, builder)
	}
	scheme, err := clients.NewScheme(builders...)
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

// textOf returns the text of the golden file of a case, and a failure if generating again yields another result.
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

// exampleSecrets returns generated secrets that are the same in each test.
func exampleSecrets() *secrets.Source {
	created := time.Date(2026, time.January, 1, 0, 0, 0, 0, time.UTC)
	source, _ := secrets.New(make([]byte, secrets.SeedSize), created, created) // the size is right
	return source
}

// generate calls the generator like a reconciler does.
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
		Secrets:            exampleSecrets(),
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

// takeStringData converts stringData like the API server does when it stores a Secret.
func takeStringData(secret *corev1.Secret) {
	if secret.Data == nil {
		secret.Data = map[string][]byte{}
	}
	for key, value := range secret.StringData {
		secret.Data[key] = []byte(value)
	}
	secret.StringData = nil
}

// normalise returns the objects, sorted, without Go types and server-set fields, and the problems of objects that it
// had to leave out.
func normalise(objects []client.Object, scheme *runtime.Scheme) ([]*unstructured.Unstructured, []string) {
	var normalised []*unstructured.Unstructured
	var problems []string
	for i, object := range objects {
		u, err := clients.ToUnstructured(object, scheme)
		if err != nil {
			problems = append(problems, fmt.Sprintf("object %d: %s", i+1, err))
			continue
		}
		u = u.DeepCopy()
		unstructured.RemoveNestedField(u.Object, "status")
		unstructured.RemoveNestedField(u.Object, "metadata", "creationTimestamp")
		normalised = append(normalised, u)
	}
	slices.SortStableFunc(normalised, func(a, b *unstructured.Unstructured) int {
		return cmp.Or(
			cmp.Compare(a.GetKind(), b.GetKind()), cmp.Compare(a.GetAPIVersion(), b.GetAPIVersion()),
			cmp.Compare(a.GetNamespace(), b.GetNamespace()), cmp.Compare(a.GetName(), b.GetName()))
	})
	return normalised, problems
}

// check returns the problems of objects that are always wrong.
func (s Suite) check(objects []*unstructured.Unstructured, namespace string) []string {
	var problems []string
	seen := map[string]bool{}
	for _, u := range objects {
		kind := u.GroupVersionKind().GroupKind()
		text := types.ObjectText(kind, u.GetNamespace(), u.GetName())
		if kind.Kind == "" || u.GetAPIVersion() == "" || u.GetName() == "" {
			problems = append(problems, fmt.Sprintf("%s: apiVersion, kind and metadata.name are required, got %q, %q and %q", text, u.GetAPIVersion(), kind.Kind, u.GetName()))
		}
		// An object may also be a deletion hook of each kind, because these are applied at different times.
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
