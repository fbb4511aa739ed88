// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package annotations

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/component-operator/runtime/internal/fieldset"
	"github.com/component-operator/runtime/internal/judges"
	"github.com/component-operator/runtime/pkg/status"
	"github.com/component-operator/runtime/pkg/types"
)

// policies are the values of the policies, by suffix.
var policies = map[string][]string{
	types.AnnotationKeySuffixAdoptionPolicy: {types.AdoptionPolicyNever, types.AdoptionPolicyIfUnowned, types.AdoptionPolicyAlways},
	types.AnnotationKeySuffixReconcilePolicy: {
		types.ReconcilePolicyOnObjectChange, types.ReconcilePolicyOnObjectOrComponentChange, types.ReconcilePolicyOnce,
	},
	types.AnnotationKeySuffixUpdatePolicy: {
		types.UpdatePolicyRecreate, types.UpdatePolicyReplace, types.UpdatePolicySsaMerge, types.UpdatePolicySsaOverride,
	},
	types.AnnotationKeySuffixDeletePolicy: {
		types.DeletePolicyDelete, types.DeletePolicyOrphan, types.DeletePolicyOrphanOnApply, types.DeletePolicyOrphanOnDelete,
		types.DeletePolicyConfirmOnDelete,
	},
	types.AnnotationKeySuffixDeletePropagation: {
		types.DeletePropagationBackground, types.DeletePropagationForeground, types.DeletePropagationOrphan,
	},
	types.AnnotationKeySuffixPrunePolicy:        {types.PrunePolicyDelete, types.PrunePolicyKeep, types.PrunePolicyConfirm},
	types.AnnotationKeySuffixDriftPolicy:        {types.DriftPolicyCorrect, types.DriftPolicyReport, types.DriftPolicyIgnore},
	types.AnnotationKeySuffixReadyTimeoutPolicy: {types.ReadyTimeoutPolicyFail, types.ReadyTimeoutPolicyContinue},
	types.AnnotationKeySuffixAwait:              {types.AwaitAlways, types.AwaitNever},
	types.AnnotationKeySuffixMissingTypePolicy:  {types.MissingTypePolicyRefuse, types.MissingTypePolicyWait},
}

// deprecated are values that mean the same as no annotation, by suffix.
var deprecated = map[string]string{
	types.AnnotationKeySuffixUpdatePolicy: types.UpdatePolicyDefault,
	types.AnnotationKeySuffixDeletePolicy: types.DeletePolicyDefault,
}

// others are the annotations on dependents that are no policies, with the functions that check their values.
var others = map[string]func(string) error{
	types.AnnotationKeySuffixApplyOrder:          errorOf(Order),
	types.AnnotationKeySuffixPurgeOrder:          errorOf(Order),
	types.AnnotationKeySuffixDeleteOrder:         errorOf(Order),
	types.AnnotationKeySuffixPurgeOnFailure:      errorOf(Flag),
	types.AnnotationKeySuffixRecreateIfImmutable: errorOf(Flag),
	types.AnnotationKeySuffixIgnoreFields:        errorOf(Fields),
	types.AnnotationKeySuffixReapplyInterval:     errorOf(Interval),
	types.AnnotationKeySuffixReadyTimeout:        errorOf(Interval),
	types.AnnotationKeySuffixStatusHint:          errorOf(status.ParseHints),
	types.AnnotationKeySuffixReadyWhen:           errorOf(judges.Compile),
	types.AnnotationKeySuffixFailWhen:            errorOf(judges.Compile),
	types.AnnotationKeySuffixDeletionHook:        errorOf(DeletionHook),
	types.AnnotationKeySuffixReleaseHook:         errorOf(ReleaseHook),
	types.AnnotationKeySuffixApplyHook:           errorOf(ApplyHook),
	types.AnnotationKeySuffixVersioned:           errorOf(Flag),
	types.AnnotationKeySuffixKeptVersions:        errorOf(KeptVersions),
}

func errorOf[T any](parse func(string) (T, error)) func(string) error {
	return func(text string) error {
		_, err := parse(text)
		return err
	}
}

// Suffixes returns the suffixes of the annotations that manifests may carry, sorted.
func Suffixes() []string {
	suffixes := slices.AppendSeq(slices.Collect(maps.Keys(policies)), maps.Keys(others))
	slices.Sort(suffixes)
	return suffixes
}

// Check returns an error if manifests must not carry an annotation with this value. The error names the value and what
// is allowed; it names the suffix only if the suffix is unknown.
func Check(suffix string, value string) error {
	if _, ok := policies[suffix]; ok {
		_, err := Policy(suffix, value)
		return err
	}
	if check, ok := others[suffix]; ok {
		return check(value)
	}
	return fmt.Errorf("unknown annotation %q; must be one of: %s", suffix, strings.Join(Suffixes(), ", "))
}

// Policy returns the value of a policy, given by the suffix of its annotation, in kebab-case. It is empty for the
// deprecated value "default".
func Policy(suffix string, text string) (string, error) {
	if alias, ok := deprecated[suffix]; ok && Kebab(text) == alias {
		return "", nil
	}
	return OneOf(text, policies[suffix]...)
}

// OneOf returns the allowed value that text spells: if-unowned, ifUnowned and IfUnowned are the same.
func OneOf(text string, allowed ...string) (string, error) {
	if value := Kebab(text); slices.Contains(allowed, value) {
		return value, nil
	}
	return "", fmt.Errorf("invalid value %q; must be one of: %s", text, strings.Join(allowed, ", "))
}

// Flag parses "true" or "false".
func Flag(text string) (bool, error) {
	value, err := OneOf(text, "true", "false")
	return value == "true", err
}

// DeletionHook parses the time at which a deletion hook is applied.
func DeletionHook(text string) (string, error) {
	return OneOf(text, types.DeletionHookPreDelete, types.DeletionHookPostDelete)
}

// ApplyHook parses the event after which an apply hook is applied.
func ApplyHook(text string) (string, error) {
	return OneOf(text, types.ApplyHookPostApply, types.ApplyHookOnFailure)
}

// ReleaseHook parses the operations at which a release hook is applied.
func ReleaseHook(text string) (string, error) {
	return OneOf(text, types.ReleaseHookTest, types.ReleaseHookPreRollback, types.ReleaseHookPostRollback)
}

// Fields parses fields of manifests.
func Fields(text string) ([]fieldpath.Path, error) {
	paths, err := fieldset.ParsePaths(text)
	if err != nil {
		return nil, err
	}
	for _, path := range paths {
		if !mayIgnore(path) {
			return nil, fmt.Errorf(`invalid value %q: %s is not possible; must be paths of fields, such as spec.replicas, spec.ports[port=80,protocol="TCP"].nodePort, `+
				`metadata.labels.app and metadata.annotations["example.com/a"]`, text, path)
		}
	}
	return paths, nil
}

// FieldText returns the text by which Fields knows a field; empty if there is none.
func FieldText(path fieldpath.Path) string {
	if !mayIgnore(path) {
		return ""
	}
	return fieldset.Notation(path)
}

// mayIgnore reports whether a field may belong to others: not what identifies an object, and no item of a list by its
// position, which Kubernetes does not track.
func mayIgnore(path fieldpath.Path) bool {
	if slices.ContainsFunc(path, func(element fieldpath.PathElement) bool { return element.Index != nil }) {
		return false
	}
	name := func(depth int) string {
		if depth >= len(path) || path[depth].FieldName == nil {
			return ""
		}
		return *path[depth].FieldName
	}
	switch name(0) {
	case "", "apiVersion", "kind", "status", "stringData":
		return false
	case "metadata":
		return len(path) == 3 && (name(1) == "labels" || name(1) == "annotations") && name(2) != ""
	default:
		return true
	}
}

// MaxKeptVersions is how many versions of an object may be kept.
const MaxKeptVersions = 100

// KeptVersions parses how many versions of an object are kept, with the present one.
func KeptVersions(text string) (int, error) {
	kept, err := strconv.Atoi(text)
	if err != nil || kept < 1 || kept > MaxKeptVersions {
		return 0, fmt.Errorf("invalid value %q; must be an integer from 1 to %d", text, MaxKeptVersions)
	}
	return kept, nil
}

// Order parses the number of a wave.
func Order(text string) (int, error) {
	order, err := strconv.ParseInt(text, 10, 16)
	if err != nil {
		return 0, fmt.Errorf("invalid value %q; must be an integer from %d to %d", text, types.MinOrder, types.MaxOrder)
	}
	return int(order), nil
}

// ShortestInterval is the shortest duration that an annotation may have.
const ShortestInterval = time.Second

// Interval parses a duration of at least ShortestInterval.
func Interval(text string) (time.Duration, error) {
	interval, err := time.ParseDuration(text)
	if err != nil || CheckInterval(interval) != nil {
		return 0, badInterval(text)
	}
	return interval, nil
}

// CheckInterval returns an error if a duration is too short for an interval.
func CheckInterval(interval time.Duration) error {
	if interval < ShortestInterval {
		return badInterval(interval.String())
	}
	return nil
}

func badInterval(text string) error {
	return fmt.Errorf("invalid value %q; must be a duration of at least %s, such as 90s, 30m or 2h", text, ShortestInterval)
}
