// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package manifests

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/internal/clients"
	"github.com/component-operator/runtime/internal/generating"
	"github.com/component-operator/runtime/internal/manifest"
	"github.com/component-operator/runtime/pkg/behaviors"
	"github.com/component-operator/runtime/pkg/generator"
	"github.com/component-operator/runtime/pkg/types"
)

// NewGenerator returns a generator that wraps the given one and accepts transformers; a ContextParameterTransformer or
// ContextObjectTransformer gets the context. It implements types.SchemeBuilder and Pure for the given generator and the
// transformers; it is pure if all of them are.
func NewGenerator(generator Generator) TransformableGenerator {
	return &pipeline{generator: generator}
}

type pipeline struct {
	generator             Generator
	parameterTransformers []ParameterTransformer
	objectTransformers    []ObjectTransformer
}

var (
	_ types.SchemeBuilder   = &pipeline{}
	_ Pure                  = &pipeline{}
	_ generator.Conditioned = &pipeline{}
	_ generator.Versioned   = &pipeline{}
)

func (p *pipeline) WithParameterTransformer(transformer ParameterTransformer) TransformableGenerator {
	p.parameterTransformers = append(p.parameterTransformers, transformer)
	return p
}

func (p *pipeline) WithObjectTransformer(transformer ObjectTransformer) TransformableGenerator {
	p.objectTransformers = append(p.objectTransformers, transformer)
	return p
}

func (p *pipeline) Generate(ctx context.Context, namespace string, name string, parameters types.Unstructurable) ([]client.Object, error) {
	for i, transformer := range p.parameterTransformers {
		transformed, err := transformParameters(ctx, transformer, namespace, name, parameters)
		if err != nil {
			return nil, fmt.Errorf("transforming parameters (transformer %d, %T): %w", i+1, transformer, err)
		}
		parameters = transformed
	}
	objects, err := p.generator.Generate(ctx, namespace, name, parameters)
	if err != nil {
		return nil, err
	}
	if err := clients.Normalize(objects); err != nil {
		return nil, fmt.Errorf("generated objects: %w", err)
	}
	for i, transformer := range p.objectTransformers {
		if objects, err = transformObjects(ctx, transformer, namespace, name, objects); err != nil {
			return nil, fmt.Errorf("transforming objects (transformer %d, %T): %w", i+1, transformer, err)
		}
		if err := clients.Normalize(objects); err != nil {
			return nil, fmt.Errorf("transformed objects (transformer %d, %T): %w", i+1, transformer, err)
		}
	}
	return objects, nil
}

// part is the wrapped generator, or a transformer.
type part struct {
	role  string
	value any
}

// parts returns the transformers and the wrapped generator, in the order in which they are called.
func (p *pipeline) parts() []part {
	var parts []part
	for _, transformer := range p.parameterTransformers {
		parts = append(parts, part{"parameters", transformer})
	}
	parts = append(parts, part{"generator", p.generator})
	for _, transformer := range p.objectTransformers {
		parts = append(parts, part{"objects", transformer})
	}
	return parts
}

// AddToScheme adds the types of the wrapped generator and of the transformers that implement types.SchemeBuilder.
func (p *pipeline) AddToScheme(scheme *runtime.Scheme) error {
	for _, each := range p.parts() {
		if builder, ok := each.value.(types.SchemeBuilder); ok {
			if err := builder.AddToScheme(scheme); err != nil {
				return fmt.Errorf("adding the types of %T: %w", each.value, err)
			}
		}
	}
	return nil
}

// Condition returns the condition of the wrapped generator; empty if it has none.
func (p *pipeline) Condition() string {
	if conditioned, ok := p.generator.(generator.Conditioned); ok {
		return conditioned.Condition()
	}
	return ""
}

// Version returns the version of the wrapped generator; empty if it has none.
func (p *pipeline) Version() string {
	if versioned, ok := p.generator.(generator.Versioned); ok {
		return versioned.Version()
	}
	return ""
}

// Fingerprint covers the wrapped generator and all transformers, in their order.
func (p *pipeline) Fingerprint() string {
	hash := sha256.New()
	for _, each := range p.parts() {
		fingerprint := fingerprintOf(each.value)
		if fingerprint == "" {
			return ""
		}
		fmt.Fprintf(hash, "%s %T %q\n", each.role, each.value, fingerprint)
	}
	return hex.EncodeToString(hash.Sum(nil))
}

// fingerprintWith returns a fingerprint for a version of the code and a content; empty if the content has no JSON form.
func fingerprintWith(version string, content any) string {
	sum, err := manifest.Digest(content)
	if err != nil {
		return ""
	}
	return version + " " + sum
}

// fingerprintOf returns the fingerprint of a generator or transformer; empty if it is not pure.
func fingerprintOf(of any) string {
	if pure, ok := of.(Pure); ok {
		return pure.Fingerprint()
	}
	return ""
}

// These types come from package generator, which depends on fewer libraries than this package.
type (
	// Generator is generator.Generator.
	Generator = generator.Generator
	// GeneratorFunc is generator.Func.
	GeneratorFunc = generator.Func
	// Pure is generator.Pure.
	Pure = generator.Pure
)

// ParameterTransformer changes parameters before they reach a generator.
//
// An implementation may also implement [ContextParameterTransformer], types.SchemeBuilder and [Pure].
type ParameterTransformer interface {
	// TransformParameters returns the parameters to use instead of the given ones, which it must not change.
	TransformParameters(namespace string, name string, parameters types.Unstructurable) (types.Unstructurable, error)
}

// ObjectTransformer changes objects after they were generated.
//
// An implementation may also implement [ContextObjectTransformer], [Pure], and types.SchemeBuilder. The latter is for
// typed objects that the scheme of the target client lacks.
type ObjectTransformer interface {
	// TransformObjects returns the objects to use instead of the given ones. It may change and return the given objects
	// and slice.
	TransformObjects(namespace string, name string, objects []client.Object) ([]client.Object, error)
}

// TransformableGenerator is a Generator to which transformers can be added.
type TransformableGenerator interface {
	Generator
	// WithParameterTransformer appends a transformer, which gets the result of the previous one. Use the returned
	// generator, which may be the changed receiver. It must not be called after Generate.
	WithParameterTransformer(transformer ParameterTransformer) TransformableGenerator
	// WithObjectTransformer appends a transformer, which gets the result of the previous one. Use the returned
	// generator, which may be the changed receiver. It must not be called after Generate.
	WithObjectTransformer(transformer ObjectTransformer) TransformableGenerator
}

// Decryptor decrypts files before a generator uses them.
type Decryptor interface {
	// Decrypt returns the decrypted content, or the given content if it is not encrypted. The path is that of the file,
	// slash-separated.
	Decrypt(input []byte, path string) ([]byte, error)
}

// checkObjects returns an error for objects that transformers cannot handle: nil objects, and labels or annotations
// that are not strings, which a transformer would not see and overwrite.
func checkObjects(objects []client.Object) error {
	for i, object := range objects {
		if manifest.IsNil(behaviors.Bare(object)) {
			return fmt.Errorf("object %d is nil (%T)", i+1, object)
		}
		u, ok := behaviors.Bare(object).(*unstructured.Unstructured)
		if !ok {
			continue
		}
		for _, field := range []string{"labels", "annotations"} {
			if value, _, _ := unstructured.NestedFieldNoCopy(u.Object, "metadata", field); value == nil {
				continue
			}
			if _, _, err := unstructured.NestedStringMap(u.Object, "metadata", field); err != nil {
				return fmt.Errorf("%s: metadata.%s: all values must be strings: %w", textOf(object), field, err)
			}
		}
	}
	return nil
}

// copyOf returns a copy with the same Go type.
func copyOf(object client.Object) (client.Object, error) {
	copied, ok := object.DeepCopyObject().(client.Object)
	if !ok {
		return nil, fmt.Errorf("copying object %q: the copy of a %T is not an object", object.GetName(), object)
	}
	return copied, nil
}

// kindOf returns the type of an object. Many typed objects do not contain it; for them, it is looked up in the scheme
// of client-go and then of the target client. Reading that scheme does not count as reading the cluster.
func kindOf(ctx context.Context, object client.Object) (schema.GroupVersionKind, error) {
	object = behaviors.Bare(object)
	declared := object.GetObjectKind().GroupVersionKind()
	if declared.Version != "" && declared.Kind != "" {
		return declared, nil
	}
	if _, ok := object.(runtime.Unstructured); ok {
		return declared, fmt.Errorf("object %q: apiVersion and kind are required, got %q and %q", object.GetName(), declared.GroupVersion(), declared.Kind)
	}
	schemes := []*runtime.Scheme{clientgoscheme.Scheme}
	if clnt, err := generating.Client.From(ctx); err == nil {
		schemes = append(schemes, clnt.Scheme())
	}
	for _, scheme := range schemes {
		if kinds, _, err := scheme.ObjectKinds(object); err == nil && len(kinds) > 0 {
			return kinds[0], nil
		}
	}
	return declared, fmt.Errorf("object %q: the scheme does not know the type %T; set apiVersion and kind", object.GetName(), object)
}

// unstructuredOf returns an unstructured copy of the object.
func unstructuredOf(ctx context.Context, object client.Object) (*unstructured.Unstructured, error) {
	object = behaviors.Bare(object)
	if u, ok := object.(*unstructured.Unstructured); ok {
		return u.DeepCopy(), nil
	}
	kind, err := kindOf(ctx, object)
	if err != nil {
		return nil, err
	}
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
	if err != nil {
		return nil, fmt.Errorf("converting object %q of type %T: %w", object.GetName(), object, err)
	}
	u := &unstructured.Unstructured{Object: content}
	u.SetGroupVersionKind(kind)
	// Go types contain fields that are not part of a manifest.
	unstructured.RemoveNestedField(content, "status")
	unstructured.RemoveNestedField(content, "metadata", "creationTimestamp")
	return u, nil
}

// textOf returns the name of an object for messages.
func textOf(object client.Object) string {
	kind := object.GetObjectKind().GroupVersionKind().GroupKind()
	if kind.Kind == "" {
		kind.Kind = fmt.Sprintf("%T", behaviors.Bare(object))
	}
	return types.ObjectText(kind, object.GetNamespace(), object.GetName())
}

// ContextParameterTransformer is a ParameterTransformer that needs the context of the generation: the component, its
// revision, clients. A generator from NewGenerator calls only TransformParametersContext. Other generators that accept
// transformers may have no context, and call TransformParameters.
type ContextParameterTransformer interface {
	ParameterTransformer
	// TransformParametersContext is TransformParameters with the context that the generator is called with.
	TransformParametersContext(ctx context.Context, namespace string, name string, parameters types.Unstructurable) (types.Unstructurable, error)
}

// ContextObjectTransformer is an ObjectTransformer that needs the context of the generation: the component, its
// revision, clients. A generator from NewGenerator calls only TransformObjectsContext. Other generators that accept
// transformers may have no context, and call TransformObjects.
type ContextObjectTransformer interface {
	ObjectTransformer
	// TransformObjectsContext is TransformObjects with the context that the generator is called with.
	TransformObjectsContext(ctx context.Context, namespace string, name string, objects []client.Object) ([]client.Object, error)
}

// ContextParameterTransformerFunc is a function used as ContextParameterTransformer. It is not pure.
type ContextParameterTransformerFunc func(ctx context.Context, namespace string, name string, parameters types.Unstructurable) (types.Unstructurable, error)

// ContextObjectTransformerFunc is a function used as ContextObjectTransformer. It is not pure.
type ContextObjectTransformerFunc func(ctx context.Context, namespace string, name string, objects []client.Object) ([]client.Object, error)

var (
	_ ContextParameterTransformer = ContextParameterTransformerFunc(nil)
	_ ContextObjectTransformer    = ContextObjectTransformerFunc(nil)
)

// TransformParametersContext calls the function.
func (f ContextParameterTransformerFunc) TransformParametersContext(
	ctx context.Context, namespace string, name string, parameters types.Unstructurable,
) (types.Unstructurable, error) {
	return f(ctx, namespace, name, parameters)
}

// TransformParameters calls the function with an empty context.
func (f ContextParameterTransformerFunc) TransformParameters(namespace string, name string, parameters types.Unstructurable) (types.Unstructurable, error) {
	return f(context.Background(), namespace, name, parameters)
}

// TransformObjectsContext calls the function.
func (f ContextObjectTransformerFunc) TransformObjectsContext(
	ctx context.Context, namespace string, name string, objects []client.Object,
) ([]client.Object, error) {
	return f(ctx, namespace, name, objects)
}

// TransformObjects calls the function with an empty context.
func (f ContextObjectTransformerFunc) TransformObjects(namespace string, name string, objects []client.Object) ([]client.Object, error) {
	return f(context.Background(), namespace, name, objects)
}

// transformParameters passes the context to transformers that need it.
func transformParameters(
	ctx context.Context, transformer ParameterTransformer, namespace string, name string, parameters types.Unstructurable,
) (types.Unstructurable, error) {
	if contextual, ok := transformer.(ContextParameterTransformer); ok {
		return contextual.TransformParametersContext(ctx, namespace, name, parameters)
	}
	return transformer.TransformParameters(namespace, name, parameters)
}

// transformObjects passes the context to transformers that need it.
func transformObjects(
	ctx context.Context, transformer ObjectTransformer, namespace string, name string, objects []client.Object,
) ([]client.Object, error) {
	if contextual, ok := transformer.(ContextObjectTransformer); ok {
		return contextual.TransformObjectsContext(ctx, namespace, name, objects)
	}
	return transformer.TransformObjects(namespace, name, objects)
}

// MergeMaps merges y over x and returns the result, which shares no map or slice with x and y. It follows Helm's rules
// for merging given values over the defaults of a chart:
//   - maps (of type map[string]any) that are present on both sides are merged;
//   - otherwise the value of y wins, whatever the types are; slices are replaced, not merged;
//   - nil in y removes the key, if x has a value for it. If x does not have the key, nil is kept, so that it
//     still removes a default when the result is laid over other values later.
//
// The result is never nil. Values other than map[string]any and []any are taken over as they are.
func MergeMaps(x, y map[string]any) map[string]any {
	merged := map[string]any{}
	maps.Copy(merged, types.UnstructurableMap(x).ToUnstructured())
	MergeMapInto(merged, y)
	return merged
}

// MergeMapInto is MergeMaps with the result stored in x, whose nested maps are changed in place. It does not change y,
// and x shares no map or slice with y afterwards. A nil x panics unless y is empty.
func MergeMapInto(x map[string]any, y map[string]any) {
	mergeOwn(x, types.UnstructurableMap(y).ToUnstructured())
}

// mergeOwn is MergeMapInto, except that it takes over the maps and slices of y.
func mergeOwn(x map[string]any, y map[string]any) {
	for key, value := range y {
		present, exists := x[key]
		if value == nil {
			if exists && present != nil {
				delete(x, key)
			} else {
				x[key] = nil
			}
			continue
		}
		under, underIsMap := present.(map[string]any)
		over, overIsMap := value.(map[string]any)
		if underIsMap && overIsMap && under != nil {
			mergeOwn(under, over)
			continue
		}
		x[key] = value
	}
}

// DummyGenerator generates nothing. Use it until the real generator is written.
type DummyGenerator struct{}

var (
	_ Generator = &DummyGenerator{}
	_ Pure      = &DummyGenerator{}
)

// NewDummyGenerator returns a DummyGenerator; the error is always nil.
func NewDummyGenerator() (*DummyGenerator, error) {
	return &DummyGenerator{}, nil
}

// Generate returns no objects.
func (g *DummyGenerator) Generate(_ context.Context, _ string, _ string, _ types.Unstructurable) ([]client.Object, error) {
	return nil, nil
}

// Fingerprint is the same for all instances.
func (g *DummyGenerator) Fingerprint() string {
	return "dummy"
}
