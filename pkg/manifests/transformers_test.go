// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package manifests_test

import (
	"context"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/component-operator/runtime/internal/generating"
	"github.com/component-operator/runtime/pkg/behaviors"
	"github.com/component-operator/runtime/pkg/manifests"
	"github.com/component-operator/runtime/pkg/types"
)

// configMap returns a typed object that does not say its kind, as Go code usually makes them.
func configMap(namespace, name string, data map[string]string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Data: data}
}

// object reads an unstructured object.
func object(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	raw, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	u := &unstructured.Unstructured{}
	if err := u.UnmarshalJSON(raw); err != nil {
		t.Fatal(err)
	}
	return u
}

func copies(objects []client.Object) []client.Object {
	copied := make([]client.Object, len(objects))
	for i, object := range objects {
		copied[i] = object.DeepCopyObject().(client.Object)
	}
	return copied
}

// bare returns the objects without behaviors, which cannot be compared.
func bare(objects []client.Object) []client.Object {
	bare := make([]client.Object, len(objects))
	for i, object := range objects {
		bare[i] = behaviors.Bare(object)
	}
	return bare
}

// transform runs a transformer as a pipeline does, and checks what holds for all transformers of this package.
func transform(t *testing.T, transformer manifests.ObjectTransformer, objects ...client.Object) ([]client.Object, error) {
	t.Helper()
	before := copies(objects)
	ctx, reads := generating.TrackClusterReads(generating.ReconcilerName.With(t.Context(), "demo.example.io"))
	generator := manifests.NewGenerator(manifests.GeneratorFunc(
		func(context.Context, string, string, types.Unstructurable) ([]client.Object, error) {
			return objects, nil
		},
	)).WithObjectTransformer(transformer)
	transformed, err := generator.Generate(ctx, "release-ns", "release", nil)
	if diff := cmp.Diff(bare(before), bare(objects)); diff != "" {
		t.Errorf("the given objects were changed (-before +after):\n%s", diff)
	}
	if reads.Any() || reads.Discovery() != "" {
		t.Error("the transformer has looked into a cluster")
	}
	return transformed, err
}

// asYAML shows objects whatever their Go types are.
func asYAML(t *testing.T, objects []client.Object) string {
	t.Helper()
	var text strings.Builder
	for _, object := range objects {
		raw, err := yaml.Marshal(object)
		if err != nil {
			t.Fatal(err)
		}
		text.WriteString("---\n" + string(raw))
	}
	return text.String()
}

// TestTransformersRefuseBadObjects: what cannot be read must not be overwritten.
func TestTransformersRefuseBadObjects(t *testing.T) {
	t.Parallel()
	rules, err := manifests.NewPolicyRulesObjectTransformer([]manifests.PolicyRule{{Set: map[string]string{"apply-order": "1"}}})
	if err != nil {
		t.Fatal(err)
	}
	substitution, err := manifests.NewSubstitutionObjectTransformer(nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	var null *corev1.ConfigMap
	for name, transformer := range map[string]manifests.ObjectTransformer{"rules": rules, "substitution": substitution} {
		for _, tc := range []struct {
			reason string
			object client.Object
			want   string
		}{
			{"a null pointer", null, "object 1 is nil (*v1.ConfigMap)"},
			{"labels that are no strings", object(t, "{apiVersion: v1, kind: Secret, metadata: {name: a, labels: {a: 1}}}"), "Secret a: metadata.labels: all values must be strings"},
		} {
			if _, err := manifests.NewGenerator(manifests.GeneratorFunc(
				func(context.Context, string, string, types.Unstructurable) ([]client.Object, error) {
					return []client.Object{tc.object}, nil
				},
			)).WithObjectTransformer(transformer).Generate(generating.ReconcilerName.With(t.Context(), "x"), "", "", nil); err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("%s, %s: got error %v, want one with %q", name, tc.reason, err, tc.want)
			}
		}
	}
}

// TestTransformersArePure: the same configuration has the same fingerprint, another one has another.
func TestTransformersArePure(t *testing.T) {
	t.Parallel()
	fingerprint := func(transformer manifests.Pure, err error) string {
		if err != nil {
			t.Fatal(err)
		}
		return transformer.Fingerprint()
	}
	substitution := func(values map[string]string, selector types.Selector[client.Object]) string {
		return fingerprint(manifests.NewSubstitutionObjectTransformer(values, selector))
	}
	rules := func(override bool) string {
		return fingerprint(manifests.NewPolicyRulesObjectTransformer([]manifests.PolicyRule{{Set: map[string]string{"apply-order": "1"}, Override: override}}))
	}
	kustomize := func(images ...manifests.KustomizeImage) string {
		return fingerprint(manifests.NewKustomizeObjectTransformer(nil, images))
	}
	build := func() []string {
		return []string{
			substitution(nil, nil), substitution(map[string]string{"a": "b"}, nil), substitution(nil, pureSelector("x")),
			rules(true), rules(false), kustomize(), kustomize(manifests.KustomizeImage{Name: "a", NewTag: "1"}),
		}
	}
	fingerprints := build()
	if diff := cmp.Diff(fingerprints, build()); diff != "" {
		t.Error(diff)
	}
	slices.Sort(fingerprints)
	if fingerprints[0] == "" || len(slices.Compact(fingerprints)) != len(build()) {
		t.Errorf("a fingerprint is empty, or that of another: %q", fingerprints)
	}
	if got := substitution(nil, pureSelector("")); got != "" {
		t.Errorf("a selector that may not be pure: got fingerprint %q", got)
	}
}

// pureSelector selects objects by name.
type pureSelector string

func (s pureSelector) Matches(object client.Object) bool { return object.GetName() == string(s) }
func (s pureSelector) Fingerprint() string               { return string(s) }

// unknownType is an object of which no scheme knows.
type unknownType struct{ corev1.ConfigMap }

func (u *unknownType) DeepCopyObject() runtime.Object {
	return &unknownType{ConfigMap: *u.DeepCopy()}
}

// TestMain fails if a test leaves a goroutine behind.
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// TestTransformersCanCopy has a generator, and a transformer, return values that copying an object panics about. The
// next transformer gets others.
func TestTransformersCanCopy(t *testing.T) {
	t.Parallel()
	object := func(value any) client.Object {
		return &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Thing", "metadata": map[string]any{"name": "a"}, "value": value}}
	}
	generatorOf := func(value any) manifests.TransformableGenerator {
		return manifests.NewGenerator(manifests.GeneratorFunc(func(context.Context, string, string, types.Unstructurable) ([]client.Object, error) {
			return []client.Object{object(value), behaviors.Attach(object(value), behaviors.AtStep(1))}, nil
		}))
	}
	copying := manifests.ContextObjectTransformerFunc(func(_ context.Context, _, _ string, objects []client.Object) ([]client.Object, error) {
		for i := range objects {
			objects[i], _ = objects[i].DeepCopyObject().(client.Object)
		}
		return append(objects, object([]int{1})), nil
	})
	g := generatorOf(map[string]any{"replicas": 2, "names": []string{"x"}}).WithObjectTransformer(copying).WithObjectTransformer(copying)
	objects, err := g.Generate(t.Context(), "default", "a", types.UnstructurableMap{})
	if err != nil {
		t.Fatal(err)
	}
	var got []any
	for _, object := range objects {
		u, _ := behaviors.Bare(object).(*unstructured.Unstructured)
		got = append(got, u.Object["value"])
	}
	plain := map[string]any{"replicas": int64(2), "names": []any{"x"}}
	if diff := cmp.Diff([]any{plain, plain, []any{int64(1)}, []any{int64(1)}}, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if names := behaviors.Names(objects[1]); len(names) != 1 {
		t.Errorf("the behaviors are lost: %v", names)
	}
	_, err = generatorOf(map[string]any{"count": uint64(math.MaxUint64)}).Generate(t.Context(), "default", "a", types.UnstructurableMap{})
	if want := "generated objects: Thing a: value value.count is 18446744073709551615, and integers are from -9223372036854775808 to 9223372036854775807"; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("want %q, got %v", want, err)
	}
}
