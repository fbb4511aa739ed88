// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package component

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/component-operator/runtime/internal/chunks"
	"github.com/component-operator/runtime/pkg/types"
)

// Deletion hooks are applied with the rights of the operator, and the status says where they are. Whoever may write the status, and some Secret,
// must not gain these rights by that. So an annotation of the component has the checksum of what the operator has stored: to change it takes
// the right to change the component, and hence its spec.

// proofSeparator separates the checksum that counts from the former one, to which the status may still refer.
const proofSeparator = ","

func (w *worker) proofAnnotation() string {
	return w.name + "/" + types.AnnotationKeySuffixDeletionHooksChecksum
}

// proveHooks has the component confirm stored hooks. The ones to which the status refers stay confirmed until it refers to others: the process may
// die in between.
func (w *worker) proveHooks(ctx context.Context, s *scope, checksum string) error {
	current, _, _ := strings.Cut(s.component.GetAnnotations()[w.proofAnnotation()], proofSeparator)
	if current == checksum {
		return nil
	}
	value := checksum
	if recorded := s.status.DeletionHooks; recorded != nil && current != "" && recorded.Checksum == current {
		value += proofSeparator + current
	}
	if err := w.annotate(ctx, s, w.proofAnnotation(), value); err != nil {
		return fmt.Errorf("confirming deletion hooks: %w", err)
	}
	return nil
}

// dropProof removes the annotation when there are no hooks any more.
func (w *worker) dropProof(ctx context.Context, s *scope) error {
	if _, found := s.component.GetAnnotations()[w.proofAnnotation()]; !found {
		return nil
	}
	if err := w.annotate(ctx, s, w.proofAnnotation(), nil); err != nil {
		return fmt.Errorf("removing what confirmed deletion hooks: %w", err)
	}
	return nil
}

// lacksProof says why the hooks to which the status refers are not believed; empty if they are.
func (w *worker) lacksProof(s *scope) string {
	reference := s.status.DeletionHooks
	if reference.Checksum == chunks.Checksum(nil) {
		return "" // there are none
	}
	proof := s.component.GetAnnotations()[w.proofAnnotation()]
	if slices.Contains(strings.Split(proof, proofSeparator), reference.Checksum) {
		return ""
	}
	return fmt.Sprintf("the annotation %s of the component does not confirm those to which status.deletionHooks refers; if you know that they are right, set it to %s",
		w.proofAnnotation(), reference.Checksum)
}

// withoutProof returns the annotations without the one that follows from what is generated.
func (w *worker) withoutProof(annotations map[string]string) map[string]string {
	if _, found := annotations[w.proofAnnotation()]; !found {
		return annotations
	}
	others := maps.Clone(annotations)
	delete(others, w.proofAnnotation())
	return others
}
