// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package prepare

import (
	"cmp"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/component-operator/runtime/pkg/types"
)

func parseDeletePropagation(text string) (metav1.DeletionPropagation, error) {
	return parsePolicy[metav1.DeletionPropagation](types.AnnotationKeySuffixDeletePropagation, text)
}

// propagationOf returns what happens to the objects that an object owns when it is deleted; empty for Background.
func propagationOf(p *annotationParser, fallback metav1.DeletionPropagation) metav1.DeletionPropagation {
	propagation := cmp.Or(parseAnnotation(p, types.AnnotationKeySuffixDeletePropagation, parseDeletePropagation), fallback)
	if propagation == metav1.DeletePropagationBackground {
		return ""
	}
	return propagation
}
