// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package editors_test

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/component-operator/runtime/pkg/resources/editors"
)

func TestObjectMetaEditor(t *testing.T) {
	t.Parallel()
	both := metav1.ObjectMeta{Labels: map[string]string{"a": "1"}, Annotations: map[string]string{"a": "1"}}
	check(t, editors.NewObjectMetaEditor, map[string]row[metav1.ObjectMeta, *editors.ObjectMetaEditor]{
		"missing maps are created": {
			edit: func(e *editors.ObjectMetaEditor) { e.EnsureLabel("a", "1"); e.EnsureAnnotation("a", "1") },
			want: both,
		},
		"values are replaced": {
			start: *both.DeepCopy(),
			edit:  func(e *editors.ObjectMetaEditor) { e.EnsureLabel("a", "2"); e.EnsureAnnotation("a", "3") },
			want:  metav1.ObjectMeta{Labels: map[string]string{"a": "2"}, Annotations: map[string]string{"a": "3"}},
		},
		"a label is not an annotation": {
			start: *both.DeepCopy(),
			edit:  func(e *editors.ObjectMetaEditor) { e.RemoveLabel("a") },
			want:  metav1.ObjectMeta{Labels: map[string]string{}, Annotations: map[string]string{"a": "1"}},
		},
		"an annotation is not a label": {
			start: *both.DeepCopy(),
			edit:  func(e *editors.ObjectMetaEditor) { e.RemoveAnnotation("a") },
			want:  metav1.ObjectMeta{Labels: map[string]string{"a": "1"}, Annotations: map[string]string{}},
		},
		"what is absent is not removed": {
			start: *both.DeepCopy(),
			edit:  func(e *editors.ObjectMetaEditor) { e.RemoveLabel("b"); e.RemoveAnnotation("b") },
			want:  both,
		},
		"nothing can be removed from nothing": {
			edit: func(e *editors.ObjectMetaEditor) { e.RemoveLabel("a"); e.RemoveAnnotation("a") },
		},
		"Raw is the value itself": {
			edit: func(e *editors.ObjectMetaEditor) { e.Raw().Finalizers = []string{"example.io/x"} },
			want: metav1.ObjectMeta{Finalizers: []string{"example.io/x"}},
		},
	})
}
