// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package manifests

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/internal/clients"
	"github.com/component-operator/runtime/pkg/generator"
	"github.com/component-operator/runtime/pkg/types"
)

// NewGenerator returns a generator that wraps the given one and accepts transformers; a ContextParameterTransformer or
// ContextObjectTransformer gets the context. It implements types.SchemeBuilder and Pure on behalf of the given
// generator and the transformers; it is pure if all of them are. It suspends dependents if the given generator does.
func NewGenerator(generator Generator) TransformableGenerator {
	return &pipeline{generator: generator}
}

type pipeline struct {
	generator             Generator
	parameterTransformers []ParameterTransformer
	objectTransformers    []ObjectTransformer
}

var (
	_ TransformableGenerator = &pipeline{}
	_ types.SchemeBuilder    = &pipeline{}
	_ Pure                   = &pipeline{}
	_ generator.Suspending   = &pipeline{}
	_ generator.Conditioned  = &pipeline{}
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

// AddToScheme adds the types of the wrapped generator and of the transformers that implement types.SchemeBuilder.
func (p *pipeline) AddToScheme(scheme *runtime.Scheme) error {
	parts := []any{p.generator}
	for _, transformer := range p.parameterTransformers {
		parts = append(parts, transformer)
	}
	for _, transformer := range p.objectTransformers {
		parts = append(parts, transformer)
	}
	for _, part := range parts {
		if builder, ok := part.(types.SchemeBuilder); ok {
			if err := builder.AddToScheme(scheme); err != nil {
				return fmt.Errorf("adding the types of %T: %w", part, err)
			}
		}
	}
	return nil
}

// SuspendsDependents reports what the wrapped generator does.
func (p *pipeline) SuspendsDependents() bool {
	suspending, ok := p.generator.(generator.Suspending)
	return ok && suspending.SuspendsDependents()
}

// Condition returns that of the wrapped generator.
func (p *pipeline) Condition() string {
	if conditioned, ok := p.generator.(generator.Conditioned); ok {
		return conditioned.Condition()
	}
	return ""
}

// Fingerprint covers the wrapped generator and all transformers, in their order.
func (p *pipeline) Fingerprint() string {
	hash := sha256.New()
	add := func(role string, part any) bool {
		pure, ok := part.(Pure)
		if !ok {
			return false
		}
		fingerprint := pure.Fingerprint()
		fmt.Fprintf(hash, "%s %T %q\n", role, part, fingerprint)
		return fingerprint != ""
	}
	for _, transformer := range p.parameterTransformers {
		if !add("parameters", transformer) {
			return ""
		}
	}
	if !add("generator", p.generator) {
		return ""
	}
	for _, transformer := range p.objectTransformers {
		if !add("objects", transformer) {
			return ""
		}
	}
	return hex.EncodeToString(hash.Sum(nil))
}
