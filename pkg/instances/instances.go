// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

// Package instances validates instances of CustomResourceDefinitions as the API server does, with the API server's own
// libraries. It is a package of its own because these libraries make a program several megabytes larger.
package instances

import (
	"context"
	"fmt"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/listtype"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
)

// NewValidator returns a function that validates instances against the schema of a version, with its rules in CEL, as if
// they were created: after unknown fields are removed and defaults are set. The function does not change the instance, and
// is safe for concurrent use. Rules that cannot be evaluated, for example because they cost too much, count as violated.
// It is a reconciler.Options.InstanceValidator.
func NewValidator(schema *apiextensionsv1.JSONSchemaProps) (func(instance map[string]any) field.ErrorList, error) {
	internal := &apiextensions.JSONSchemaProps{}
	if err := apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(schema, internal, nil); err != nil {
		return nil, fmt.Errorf("converting the schema: %w", err)
	}
	structural, err := structuralschema.NewStructural(internal)
	if err != nil {
		return nil, fmt.Errorf("the schema is not structural: %w", err)
	}
	validator, _, err := validation.NewSchemaValidator(internal)
	if err != nil {
		return nil, fmt.Errorf("preparing the validation: %w", err)
	}
	rules := cel.NewValidator(structural, true, celconfig.PerCallLimit)
	return func(instance map[string]any) field.ErrorList {
		instance = runtime.DeepCopyJSON(instance)
		pruning.Prune(instance, structural, true)
		defaulting.PruneNonNullableNullsWithoutDefaults(instance, structural)
		defaulting.Default(instance, structural)
		problems := validation.ValidateCustomResource(nil, instance, validator)
		problems = append(problems, listtype.ValidateListSetsAndMaps(nil, structural, instance)...)
		if len(problems) == 0 && rules != nil {
			problems, _ = rules.Validate(context.Background(), nil, structural, instance, nil, celconfig.RuntimeCELCostBudget)
		}
		return problems
	}, nil
}
