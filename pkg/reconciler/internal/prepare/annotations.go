// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package prepare

import (
	"cmp"
	"errors"
	"fmt"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/component-operator/runtime/internal/annotations"
	"github.com/component-operator/runtime/internal/expressions"
	"github.com/component-operator/runtime/pkg/inventory"
	"github.com/component-operator/runtime/pkg/status"
	"github.com/component-operator/runtime/pkg/types"
)

// Effective are the policies that hold for an object: those of its annotations, or else of its owner.
type Effective struct {
	Adoption  inventory.AdoptionPolicy
	Reconcile inventory.ReconcilePolicy
	Update    inventory.UpdatePolicy
	// RecreateIfImmutable means that the object is recreated if a field of it cannot be changed, whatever Update says.
	RecreateIfImmutable bool
	// IgnoreFields are fields that belong to whoever changes them.
	IgnoreFields []fieldpath.Path
	Delete       inventory.DeletePolicy
	// Prune is the policy of the object itself; empty if the owner decides.
	Prune inventory.PrunePolicy
	Drift inventory.DriftPolicy
	// Hook is the event after which the object is applied; empty if it is not an apply hook. Then the apply and purge orders are above those of other objects.
	Hook           string
	ApplyOrder     int
	PurgeOrder     *int
	PurgeOnFailure bool
	DeleteOrder    int
	// DeletePropagation is empty for Background, which is not recorded.
	DeletePropagation metav1.DeletionPropagation
	ReapplyInterval   time.Duration
	// ReadyTimeout is how long the object may take to become ready after it was written; zero if it may take any time.
	ReadyTimeout time.Duration
	// Continues means that the next wave begins after ReadyTimeout.
	Continues bool
	// AwaitsType means that the type of the object need not be served before the object's wave.
	AwaitsType bool
	// AwaitNever means that nothing waits until the object is ready.
	AwaitNever bool
	// ReadsContent means that ready-when, fail-when or a judge of the object's own may read any field of the object.
	ReadsContent bool
}

// Parse reads the annotations of an object. Each problem names object, key, value and the allowed values.
func Parse(prefix string, object *unstructured.Unstructured, policies inventory.Policies) (Effective, []string) {
	p := &annotationParser{prefix: prefix, object: types.IDOf(object).String(), values: object.GetAnnotations()}
	hook := parseAnnotation(p, types.AnnotationKeySuffixApplyHook, annotations.ApplyHook)
	policies = ofHook(hook, object, policies)
	b := Effective{
		Hook:                hook,
		Adoption:            cmp.Or(parsePolicy[inventory.AdoptionPolicy](p, types.AnnotationKeySuffixAdoptionPolicy), policies.Adoption),
		Reconcile:           cmp.Or(parsePolicy[inventory.ReconcilePolicy](p, types.AnnotationKeySuffixReconcilePolicy), policies.Reconcile),
		Update:              cmp.Or(parsePolicy[inventory.UpdatePolicy](p, types.AnnotationKeySuffixUpdatePolicy), policies.Update),
		RecreateIfImmutable: parseAnnotation(p, types.AnnotationKeySuffixRecreateIfImmutable, annotations.Flag),
		IgnoreFields:        parseAnnotation(p, types.AnnotationKeySuffixIgnoreFields, p.fields),
		Delete:              cmp.Or(parsePolicy[inventory.DeletePolicy](p, types.AnnotationKeySuffixDeletePolicy), policies.Delete),
		Prune:               parsePolicy[inventory.PrunePolicy](p, types.AnnotationKeySuffixPrunePolicy),
		Drift:               cmp.Or(parsePolicy[inventory.DriftPolicy](p, types.AnnotationKeySuffixDriftPolicy), policies.Drift),
		ApplyOrder:          parseAnnotation(p, types.AnnotationKeySuffixApplyOrder, annotations.Order),
		PurgeOnFailure:      parseAnnotation(p, types.AnnotationKeySuffixPurgeOnFailure, annotations.Flag),
		DeleteOrder:         parseAnnotation(p, types.AnnotationKeySuffixDeleteOrder, annotations.Order),
		ReapplyInterval:     cmp.Or(parseAnnotation(p, types.AnnotationKeySuffixReapplyInterval, annotations.Interval), policies.ReapplyInterval),
	}
	b.DeletePropagation = cmp.Or(parsePolicy[metav1.DeletionPropagation](p, types.AnnotationKeySuffixDeletePropagation), policies.DeletePropagation)
	if b.DeletePropagation == metav1.DeletePropagationBackground {
		b.DeletePropagation = ""
	}
	b.ReadyTimeout = parseAnnotation(p, types.AnnotationKeySuffixReadyTimeout, annotations.Interval)
	b.Continues = parseAnnotation(p, types.AnnotationKeySuffixReadyTimeoutPolicy, textOf(types.AnnotationKeySuffixReadyTimeoutPolicy)) == types.ReadyTimeoutPolicyContinue
	b.AwaitsType = parseAnnotation(p, types.AnnotationKeySuffixMissingTypePolicy, textOf(types.AnnotationKeySuffixMissingTypePolicy)) == types.MissingTypePolicyWait
	b.AwaitNever = parseAnnotation(p, types.AnnotationKeySuffixAwait, textOf(types.AnnotationKeySuffixAwait)) == types.AwaitNever
	if b.Continues && b.ReadyTimeout == 0 && len(p.problems) == 0 {
		p.problems = append(p.problems, fmt.Sprintf("%s: annotation %s: it has no effect without %s; set a duration such as 10m",
			p.object, prefix+types.AnnotationKeySuffixReadyTimeoutPolicy, prefix+types.AnnotationKeySuffixReadyTimeout))
	}
	if _, ok := p.values[prefix+types.AnnotationKeySuffixDeleteOrder]; !ok && policies.DeleteOrder == inventory.DeleteOrderReversed {
		b.DeleteOrder = min(-b.ApplyOrder, types.MaxOrder)
	}
	if _, ok := p.values[prefix+types.AnnotationKeySuffixPurgeOrder]; ok {
		order := parseAnnotation(p, types.AnnotationKeySuffixPurgeOrder, annotations.Order)
		b.PurgeOrder = &order
	}
	b.takePlace(p)
	parseAnnotation(p, types.AnnotationKeySuffixStatusHint, status.ParseHints)
	readyWhen := parseAnnotation(p, types.AnnotationKeySuffixReadyWhen, expressions.Compile)
	failWhen := parseAnnotation(p, types.AnnotationKeySuffixFailWhen, expressions.Compile)
	b.ReadsContent = readyWhen != nil || failWhen != nil
	parseAnnotation(p, types.AnnotationKeySuffixDeletionHook, func(string) (string, error) {
		return "", errors.New("deletion hooks must be taken out before dependents are applied")
	})
	parseAnnotation(p, types.AnnotationKeySuffixReleaseHook, func(string) (string, error) {
		return "", errors.New("release hooks must be taken out before dependents are applied; components have none")
	})
	for _, suffix := range []string{types.AnnotationKeySuffixVersioned, types.AnnotationKeySuffixKeptVersions} {
		parseAnnotation(p, suffix, func(string) (string, error) {
			return "", errors.New("only ConfigMaps and Secrets of releases of clm have versions; components have none")
		})
	}
	return b, p.problems
}

type annotationParser struct {
	prefix   string
	object   string
	values   map[string]string
	problems []string
}

// AwaitsType reports whether the type of an object need not be served before the object's wave: what its annotations say, or else the default.
func AwaitsType(prefix string, values map[string]string, byDefault bool) bool {
	text, declared := values[prefix+types.AnnotationKeySuffixMissingTypePolicy]
	if !declared {
		return byDefault
	}
	policy, _ := textOf(types.AnnotationKeySuffixMissingTypePolicy)(text)
	return policy == types.MissingTypePolicyWait
}

// fields parses the fields that belong to others. The reconciler's own annotations do not.
func (p *annotationParser) fields(text string) ([]fieldpath.Path, error) {
	paths, err := annotations.Fields(text)
	for _, path := range paths {
		if last := path[len(path)-1].FieldName; last != nil && strings.HasPrefix(*last, p.prefix) {
			return nil, fmt.Errorf("invalid value %q: %s belongs to the reconciler", text, path)
		}
	}
	return paths, err
}

func parsePolicy[P ~string](p *annotationParser, suffix string) P {
	return parseAnnotation(p, suffix, policyOf[P](suffix))
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
