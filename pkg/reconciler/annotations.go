// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package reconciler

import (
	"errors"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/component-operator/runtime/internal/annotations"
	"github.com/component-operator/runtime/pkg/status"
	"github.com/component-operator/runtime/pkg/types"
)

// behavior is what the annotations of an object, or else the policies of its owner, say about it.
type behavior struct {
	adoption        AdoptionPolicy
	reconcile       ReconcilePolicy
	update          UpdatePolicy
	delete          DeletePolicy
	drift           DriftPolicy
	applyOrder      int
	purgeOrder      *int
	purgeOnFailure  bool
	deleteOrder     int
	reapplyInterval time.Duration
}

// parseBehavior reads the annotations of an object. Each problem names object, key, value and what is allowed.
func parseBehavior(prefix string, object *unstructured.Unstructured, policies Policies) (behavior, []string) {
	p := &annotationParser{prefix: prefix, object: objectText(object), values: object.GetAnnotations()}
	b := behavior{
		adoption:        orDefault(parseAnnotation(p, types.AnnotationKeySuffixAdoptionPolicy, parseAdoptionPolicy), policies.Adoption),
		reconcile:       orDefault(parseAnnotation(p, types.AnnotationKeySuffixReconcilePolicy, parseReconcilePolicy), policies.Reconcile),
		update:          orDefault(parseAnnotation(p, types.AnnotationKeySuffixUpdatePolicy, parseUpdatePolicy), policies.Update),
		delete:          orDefault(parseAnnotation(p, types.AnnotationKeySuffixDeletePolicy, parseDeletePolicy), policies.Delete),
		drift:           orDefault(parseAnnotation(p, types.AnnotationKeySuffixDriftPolicy, parseDriftPolicy), policies.Drift),
		applyOrder:      parseAnnotation(p, types.AnnotationKeySuffixApplyOrder, annotations.Order),
		purgeOnFailure:  parseAnnotation(p, types.AnnotationKeySuffixPurgeOnFailure, annotations.Flag),
		deleteOrder:     parseAnnotation(p, types.AnnotationKeySuffixDeleteOrder, annotations.Order),
		reapplyInterval: orDefault(parseAnnotation(p, types.AnnotationKeySuffixReapplyInterval, annotations.Interval), policies.ReapplyInterval),
	}
	if _, ok := p.values[prefix+types.AnnotationKeySuffixPurgeOrder]; ok {
		order := parseAnnotation(p, types.AnnotationKeySuffixPurgeOrder, annotations.Order)
		b.purgeOrder = &order
	}
	parseAnnotation(p, types.AnnotationKeySuffixStatusHint, status.ParseHints)
	parseAnnotation(p, types.AnnotationKeySuffixDeletionHook, func(string) (string, error) {
		return "", errors.New("deletion hooks must be taken out before dependents are applied")
	})
	parseAnnotation(p, types.AnnotationKeySuffixReleaseHook, func(string) (string, error) {
		return "", errors.New("release hooks must be taken out before dependents are applied; components have none")
	})
	return b, p.problems
}

type annotationParser struct {
	prefix   string
	object   string
	values   map[string]string
	problems []string
}

func parseAnnotation[T any](p *annotationParser, suffix string, parse func(string) (T, error)) T {
	var zero T
	text, ok := p.values[p.prefix+suffix]
	if !ok {
		return zero
	}
	value, err := parse(text)
	if err != nil {
		p.problems = append(p.problems, fmt.Sprintf("%s: annotation %s: %s", p.object, p.prefix+suffix, err))
		return zero
	}
	return value
}

// objectText names an object in messages.
func objectText(object types.ObjectKey) string {
	return keyOf(object).String()
}
