// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package records

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/component-operator/runtime/internal/chunks"
	"github.com/component-operator/runtime/pkg/types"
)

// proofSeparator separates the valid checksum from the former one, which the status may still refer to.
const proofSeparator = ","

func proofAnnotation(reconciler string) string {
	return reconciler + "/" + types.AnnotationKeySuffixDeletionHooksChecksum
}

// proof returns the checksums that the annotation confirms.
func (h *Hooks) proof() string {
	return h.handle.Annotation(types.AnnotationKeySuffixDeletionHooksChecksum)
}

// prove makes the annotation confirm a checksum. The one that the status refers to stays confirmed, because the process
// may die before it changes the status.
func (h *Hooks) prove(ctx context.Context, checksum string) error {
	current, _, _ := strings.Cut(h.proof(), proofSeparator)
	if current == checksum {
		return nil
	}
	value := checksum
	if recorded := *h.field; recorded != nil && current != "" && recorded.Checksum == current {
		value += proofSeparator + current
	}
	if err := h.handle.Annotate(ctx, proofAnnotation(h.handle.Reconciler), value); err != nil {
		return fmt.Errorf("confirming deletion hooks: %w", err)
	}
	return nil
}

// dropProof removes the annotation of a component without hooks.
func (h *Hooks) dropProof(ctx context.Context) error {
	if h.proof() == "" {
		return nil
	}
	if err := h.handle.Annotate(ctx, proofAnnotation(h.handle.Reconciler), nil); err != nil {
		return fmt.Errorf("removing the confirmation of deletion hooks: %w", err)
	}
	return nil
}

// lacksProof says why the hooks that the status refers to must not be trusted; empty if they can be.
func (h *Hooks) lacksProof() string {
	reference := *h.field
	if reference.Checksum == chunks.Checksum(nil) {
		return "" // there are none
	}
	if slices.Contains(strings.Split(h.proof(), proofSeparator), reference.Checksum) {
		return ""
	}
	return fmt.Sprintf("the annotation %s of the component does not confirm the hooks that status.deletionHooks refers to; if they are right, set it to %s",
		proofAnnotation(h.handle.Reconciler), reference.Checksum)
}

// WithoutProof returns the annotations without the confirmation, which follows from the generated objects.
func WithoutProof(annotations map[string]string, reconciler string) map[string]string {
	if _, found := annotations[proofAnnotation(reconciler)]; !found {
		return annotations
	}
	others := maps.Clone(annotations)
	delete(others, proofAnnotation(reconciler))
	return others
}
