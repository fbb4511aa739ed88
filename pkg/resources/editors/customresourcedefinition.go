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

// EnsureVersion sets a version with its schema, identified by its name. The field storage of other versions stays: exactly one version may have it.
func (e *CustomResourceDefinitionSpecEditor) EnsureVersion(version apiextensionsv1.CustomResourceDefinitionVersion) {
	ensure(&e.spec.Versions, *version.DeepCopy(), by(func(v apiextensionsv1.CustomResourceDefinitionVersion) string { return v.Name }))
}

// RemoveVersion removes a version. The API server refuses this as long as the version is among status.storedVersions.
func (e *CustomResourceDefinitionSpecEditor) RemoveVersion(name string) {
	remove(&e.spec.Versions, func(v apiextensionsv1.CustomResourceDefinitionVersion) bool { return v.Name == name })
}

// SetConversion replaces the rule that says how objects are converted between versions; nil clears it.
func (e *CustomResourceDefinitionSpecEditor) SetConversion(conversion *apiextensionsv1.CustomResourceConversion) {
	e.spec.Conversion = conversion.DeepCopy()
}

// EnsureShortName adds a short name for kubectl, such as po for pods.
func (e *CustomResourceDefinitionSpecEditor) EnsureShortName(name string) {
	ensure(&e.spec.Names.ShortNames, name, equal)
}

// EnsureCategory adds the resource to a category, such as all, by which kubectl lists several resources.
func (e *CustomResourceDefinitionSpecEditor) EnsureCategory(name string) {
	ensure(&e.spec.Names.Categories, name, equal)
}
