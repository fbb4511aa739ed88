// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package unstructured

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/component-operator/runtime/internal/manifest"
	"github.com/component-operator/runtime/pkg/resources/editors"
	"github.com/component-operator/runtime/pkg/resources/generic"
)

// Mutator records edits of an object. The categories are, in this order:
//   - object metadata
//   - content
type Mutator struct {
	generic.Plan

	metadata, content *generic.Category[*unstructured.Unstructured]
}

// NewMutator returns a Mutator for an object, which is changed when Apply is called.
func NewMutator(current *unstructured.Unstructured) *Mutator {
	m := &Mutator{}
	m.metadata = generic.NewCategory(&m.Plan, "object metadata", current)
	m.content = generic.NewCategory(&m.Plan, "content", current)
	return m
}

// EditObjectMetadata records an edit of the metadata of the object. Nil is ignored.
func (m *Mutator) EditObjectMetadata(edit func(*editors.ObjectMetaEditor) error) {
	if edit == nil {
		return
	}
	m.metadata.Record(func(object *unstructured.Unstructured) error {
		given, _, err := unstructured.NestedMap(object.Object, "metadata")
		if err != nil {
			return fmt.Errorf("reading metadata: %w", err)
		}
		metadata := &metav1.ObjectMeta{}
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(given, metadata); err != nil {
			return fmt.Errorf("reading metadata: %w", err)
		}
		if err := edit(editors.NewObjectMetaEditor(metadata)); err != nil {
			return err
		}
		content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(metadata)
		if err != nil {
			return fmt.Errorf("writing metadata: %w", err)
		}
		return unstructured.SetNestedField(object.Object, content, "metadata") //nolint:wrapcheck // the category is named
	})
}

// EditContent records an edit of the whole content of the object. Values that are not as JSON has them, such as an int,
// are converted afterwards. Nil is ignored.
func (m *Mutator) EditContent(edit func(*editors.UnstructuredContentEditor) error) {
	if edit == nil {
		return
	}
	m.content.Record(func(object *unstructured.Unstructured) error {
		if object.Object == nil {
			object.Object = map[string]any{}
		}
		if err := edit(editors.NewUnstructuredContentEditor(object.Object)); err != nil {
			return err
		}
		content, err := manifest.Normalize(object.Object)
		if err != nil {
			return err
		}
		object.Object = content
		return nil
	})
}
