// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package editors

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// ObjectMetaEditor edits the metadata of an object, or of a pod template.
type ObjectMetaEditor struct {
	meta *metav1.ObjectMeta
}

// NewObjectMetaEditor returns an editor of the given metadata.
func NewObjectMetaEditor(meta *metav1.ObjectMeta) *ObjectMetaEditor {
	return &ObjectMetaEditor{meta: orNew(meta)}
}

// Raw returns the edited metadata.
func (e *ObjectMetaEditor) Raw() *metav1.ObjectMeta { return e.meta }

// EnsureLabel sets a label.
func (e *ObjectMetaEditor) EnsureLabel(key, value string) { put(&e.meta.Labels, key, value) }

// RemoveLabel removes a label.
func (e *ObjectMetaEditor) RemoveLabel(key string) { delete(e.meta.Labels, key) }

// EnsureAnnotation sets an annotation.
func (e *ObjectMetaEditor) EnsureAnnotation(key, value string) { put(&e.meta.Annotations, key, value) }

// RemoveAnnotation removes an annotation.
func (e *ObjectMetaEditor) RemoveAnnotation(key string) { delete(e.meta.Annotations, key) }
