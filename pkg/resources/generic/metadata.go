// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package generic

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/component-operator/runtime/pkg/resources/editors"
)

// Metadata is the part of a mutator that edits the metadata of the object.
type Metadata struct {
	metadata *Category[*editors.ObjectMetaEditor]
}

// NewMetadata adds the category of metadata to a plan.
func NewMetadata(plan *Plan, metadata *metav1.ObjectMeta) Metadata {
	return Metadata{metadata: NewCategory(plan, "object metadata", editors.NewObjectMetaEditor(metadata))}
}

// EditObjectMetadata records an edit of the labels, annotations and other metadata of the object. Nil is ignored.
func (m Metadata) EditObjectMetadata(edit func(*editors.ObjectMetaEditor) error) {
	m.metadata.Record(edit)
}
