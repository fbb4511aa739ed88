// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package reconciler

import (
	"context"
	"maps"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// marks are the labels and annotations that make an object ours.
func (p *pass) marks(t *target) (labels, annotations map[string]string) {
	return map[string]string{p.keys.ownerLabel: p.label},
		map[string]string{p.keys.ownerAnnotation: p.owner.ID, p.keys.digest: t.digest}
}

// mark makes the object that was seen ours, and leaves its content alone.
func (p *pass) mark(ctx context.Context, t *target, s situation, d decision) (outcome, error) {
	object := reference(p.item(t), s)
	labels, annotations := p.marks(t)
	if err := p.patch(ctx, object, map[string]any{"labels": labels, "annotations": annotations}); err != nil {
		return outcome{}, err
	}
	return p.wrote(t, object, d, true)
}

// rehearseMark shows what mark would do.
func (p *planner) rehearseMark(change *Change, t *target, v view) {
	after := v.live.DeepCopy()
	p.setMarks(after, t)
	change.Before, change.After = p.presentable(v.live), p.presentable(after)
}

// setMarks makes an object ours that is not written yet.
func (p *pass) setMarks(object *unstructured.Unstructured, t *target) {
	labels, annotations := p.marks(t)
	object.SetLabels(overlay(object.GetLabels(), labels))
	object.SetAnnotations(overlay(object.GetAnnotations(), annotations))
}

// overlay returns the entries, of which the more recent ones count.
func overlay(entries, recent map[string]string) map[string]string {
	result := make(map[string]string, len(entries)+len(recent))
	maps.Copy(result, entries)
	maps.Copy(result, recent)
	return result
}
