// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package unstructured

import (
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

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

// EditObjectMetadata records an edit of the labels and annotations of the object. The editor also knows its name and namespace. It is an error if the edit changes anything else;
// EditContent can do that. Nil is ignored.
func (m *Mutator) EditObjectMetadata(edit func(*editors.ObjectMetaEditor) error) {
	if edit == nil {
		return
	}
	m.metadata.Record(func(object *unstructured.Unstructured) error {
		metadata, err := metadataOf(object)
		if err != nil {
			return err
		}
		given := metadata.DeepCopy()
		if err := edit(editors.NewObjectMetaEditor(metadata)); err != nil {
			return err
		}
		labels, annotations := metadata.Labels, metadata.Annotations
		metadata.Labels, metadata.Annotations = given.Labels, given.Annotations
		if !equality.Semantic.DeepEqual(given, metadata) {
			return errors.New("only labels and annotations can be changed; use EditContent for the rest")
		}
		object.SetLabels(orNil(labels))
		object.SetAnnotations(orNil(annotations))
		return nil
	})
}

// EditContent records an edit of the whole content of the object. Values that are not as JSON has them, such as an int, are converted afterwards. Nil is ignored.
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

// metadataOf returns what an edit of metadata sees.
func metadataOf(object *unstructured.Unstructured) (*metav1.ObjectMeta, error) {
	labels, _, err := unstructured.NestedStringMap(object.Object, "metadata", "labels")
	if err != nil {
		return nil, fmt.Errorf("reading metadata.labels: %w", err)
	}
	annotations, _, err := unstructured.NestedStringMap(object.Object, "metadata", "annotations")
	if err != nil {
		return nil, fmt.Errorf("reading metadata.annotations: %w", err)
	}
	return &metav1.ObjectMeta{Name: object.GetName(), Namespace: object.GetNamespace(), Labels: labels, Annotations: annotations}, nil
}

// orNil returns the entries, or nil if there are none, so that the field is left out.
func orNil(entries map[string]string) map[string]string {
	if len(entries) == 0 {
		return nil
	}
	return entries
}
