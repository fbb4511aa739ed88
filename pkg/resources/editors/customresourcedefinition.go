// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package editors

import (
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

// CustomResourceDefinitionSpecEditor edits the spec of a CustomResourceDefinition.
type CustomResourceDefinitionSpecEditor struct {
	specEditor[apiextensionsv1.CustomResourceDefinitionSpec]
}

// NewCustomResourceDefinitionSpecEditor returns an editor of the given spec.
func NewCustomResourceDefinitionSpecEditor(spec *apiextensionsv1.CustomResourceDefinitionSpec) *CustomResourceDefinitionSpecEditor {
	return &CustomResourceDefinitionSpecEditor{specEditorOf(spec)}
}
