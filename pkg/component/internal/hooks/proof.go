// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package hooks

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/component-operator/runtime/internal/chunks"
	"github.com/component-operator/runtime/pkg/types"
)

// proofSeparator separates the checksum that counts from the former one, to which the status may still refer.
const proofSeparator = ","

func proofAnnotation(reconciler string) string {
	return reconciler + "/" + types.AnnotationKeySuffixDeletionHooksChecksum
}

// proof returns what the component confirms.
func (h *Hooks) proof() (value string, found bool) {
	value, found = h.options.Component.GetAnnotations()[proofAnnotation(h.options.Reconciler)]
	return value, found
}

// prove has the component confirm stored hooks. The ones to which the status refers stay confirmed until it refers to others: the process may
// die in between.
func (h *Hooks) prove(ctx context.Context, checksum string) error {
	proof, _ := h.proof()
	current, _, _ := strings.Cut(proof, proofSeparator)
	if current == checksum {
		return nil
	}
	value := checksum
	if recorded := *h.options.Field; recorded != nil && current != "" && recorded.Checksum == current {
		value += proofSeparator + current
	}
	if err := h.handle.Annotate(ctx, proofAnnotation(h.options.Reconciler), value); err != nil {
		return fmt.Errorf("confirming deletion hooks: %w", err)
	}
	return nil
}

// dropProof removes the annotation when there are no hooks any more.
func (h *Hooks) dropProof(ctx context.Context) error {
	if _, found := h.proof(); !found {
		return nil
	}
	if err := h.handle.Annotate(ctx, proofAnnotation(h.options.Reconciler), nil); err != nil {
		return fmt.Errorf("removing what confirmed deletion hooks: %w", err)
	}
	return nil
}

// lacksProof says why the hooks to which the status refers are not believed; empty if they are.
func (h *Hooks) lacksProof() string {
	reference := *h.options.Field
	if reference.Checksum == chunks.Checksum(nil) {
		return "" // there are none
	}
	proof, _ := h.proof()
	if slices.Contains(strings.Split(proof, proofSeparator), reference.Checksum) {
		return ""
	}
	return fmt.Sprintf("the annotation %s of the component does not confirm those to which status.deletionHooks refers; if you know that they are right, set it to %s",
		proofAnnotation(h.options.Reconciler), reference.Checksum)
}

// WithoutProof returns the annotations of a component without the one that follows from what is generated.
func WithoutProof(annotations map[string]string, reconciler string) map[string]string {
	if _, found := annotations[proofAnnotation(reconciler)]; !found {
		return annotations
	}
	others := maps.Clone(annotations)
	delete(others, proofAnnotation(reconciler))
	return others
}
