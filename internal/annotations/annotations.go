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
	"unicode"
	"unicode/utf8"

	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/component-operator/runtime/internal/fieldset"
	"github.com/component-operator/runtime/internal/judges"
	"github.com/component-operator/runtime/internal/texts"
	"github.com/component-operator/runtime/pkg/status"
	"github.com/component-operator/runtime/pkg/types"
)

// policies contains the values of policies, and of the annotations that make objects hooks, by suffix.
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
	types.AnnotationKeySuffixCRDUpgradePolicy:   {types.CRDUpgradePolicyCheck, types.CRDUpgradePolicyAllow},
	types.AnnotationKeySuffixDeletionHook:       {types.DeletionHookPreDelete, types.DeletionHookPostDelete},
	types.AnnotationKeySuffixReleaseHook:        {types.ReleaseHookTest, types.ReleaseHookPreRollback, types.ReleaseHookPostRollback},
	types.AnnotationKeySuffixApplyHook:          {types.ApplyHookPostApply, types.ApplyHookOnFailure},
}

// deprecated contains the values that mean the same as no annotation, by suffix.
var deprecated = map[string]string{
	types.AnnotationKeySuffixUpdatePolicy: types.UpdatePolicyDefault,
	types.AnnotationKeySuffixDeletePolicy: types.DeletePolicyDefault,
}

// others contains the other annotations on dependents, with functions that check their values.
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

// Check returns an error if manifests must not have an annotation with this value. The error contains the value and
// what is allowed; it contains the suffix only if that is unknown.
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

// Policy parses the value of a policy, or of an annotation that makes an object a hook, given by its suffix. It returns
// kebab-case, and the empty string for the deprecated value "default".
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

// Fields parses paths of fields in manifests.
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

// FieldText returns the text that Fields parses as the given field; empty if there is none.
func FieldText(path fieldpath.Path) string {
	if !mayIgnore(path) {
		return ""
	}
	return fieldset.Notation(path)
}

// mayIgnore reports whether a field may belong to others. This excludes fields that identify an object, and list items
// by position, which Kubernetes does not track.
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

// MaxKeptVersions is the maximum number of kept versions of an object.
const MaxKeptVersions = 100

// KeptVersions parses the number of kept versions of an object, including the current one.
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

// ShortestInterval is the minimum duration in an annotation.
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

// Finalizers are the finalizers of an operator.
type Finalizers struct {
	// Current is the finalizer that the operator sets. Empty means none.
	Current string
	// Former are the finalizers of earlier versions, which the operator removes.
	Former []string
	// Outcome is the finalizer of Jobs and Pods whose outcome must be recorded. The API server requires a slash in its
	// name for these kinds. Optional.
	Outcome string
}

// Owns reports whether a finalizer belongs to the operator.
func (f Finalizers) Owns(finalizer string) bool {
	return finalizer != "" && (finalizer == f.Current || finalizer == f.Outcome || slices.Contains(f.Former, finalizer))
}

// On reports whether an object has any finalizer of the operator.
func (f Finalizers) On(finalizers []string) bool { return slices.ContainsFunc(finalizers, f.Owns) }

// Without returns the finalizers of an object except for those of the operator.
func (f Finalizers) Without(finalizers []string) []string {
	return slices.DeleteFunc(slices.Clone(finalizers), f.Owns)
}

// With returns the finalizers of an object with the current one added and former ones removed.
func (f Finalizers) With(finalizers []string) []string {
	present := slices.DeleteFunc(slices.Clone(finalizers), func(finalizer string) bool { return finalizer != f.Current && f.Owns(finalizer) })
	if !slices.Contains(present, f.Current) {
		present = append(present, f.Current)
	}
	return present
}

// OutcomeFinalizer returns a reconciler's finalizer for outcomes.
func OutcomeFinalizer(reconciler string) string { return reconciler + "/outcome" }

// InventoryFinalizer returns the finalizer of objects that contain a part of an inventory. The finalizer of components
// may lack the part after the slash, which the server requires here.
func InventoryFinalizer(reconciler string) string { return reconciler + "/inventory" }

// Missing returns the annotations, with their full keys, that an object needs in addition to the given ones to have the
// demanded ones, which are keyed by suffix. It fails if one of them has another value; source describes their origin in
// the error.
func Missing(given map[string]string, prefix string, demanded map[string]string, source string) (map[string]string, error) {
	missing := map[string]string{}
	for _, suffix := range slices.Sorted(maps.Keys(demanded)) {
		key, value := prefix+suffix, demanded[suffix]
		present, ok := given[key]
		if ok && !sameValue(suffix, present, value) {
			return nil, fmt.Errorf("annotation %s has value %q, but %s of the object demand %q", key, present, source, value)
		}
		if !ok {
			missing[key] = value
		}
	}
	return missing, nil
}

// sameValue compares orders as numbers, and policies in kebab or camel case.
func sameValue(suffix, present, demanded string) bool {
	if present == demanded {
		return true
	}
	if order, err := Order(present); err == nil {
		other, err := Order(demanded)
		return err == nil && order == other
	}
	policy, err := Policy(suffix, present)
	return err == nil && policy == demanded
}

// Kebab turns CamelCase and camelCase into kebab-case; kebab-case stays as it is.
func Kebab(text string) string {
	var out strings.Builder
	runes := []rune(text)
	for i, r := range runes {
		if unicode.IsUpper(r) {
			if i > 0 && runes[i-1] != '-' && (!unicode.IsUpper(runes[i-1]) || (i+1 < len(runes) && unicode.IsLower(runes[i+1]))) {
				out.WriteByte('-')
			}
			r = unicode.ToLower(r)
		}
		out.WriteRune(r)
	}
	return out.String()
}

// Camel turns a kebab-case value into the CamelCase of inventories and specs.
func Camel(kebab string) string {
	var out strings.Builder
	for word := range strings.SplitSeq(kebab, "-") {
		first, size := utf8.DecodeRuneInString(word)
		if size > 0 {
			out.WriteRune(unicode.ToUpper(first))
			out.WriteString(word[size:])
		}
	}
	return out.String()
}

// reserved are the suffixes of annotations that are not for manifests: those that the reconciler sets, and those of
// components.
var reserved = []string{
	types.AnnotationKeySuffixOwnerId, types.AnnotationKeySuffixClaimedAt, types.AnnotationKeySuffixDigest,
	types.AnnotationKeySuffixSkipDeletionHooks, types.AnnotationKeySuffixDisableEvents, types.AnnotationKeySuffixAbandonTarget,
	types.AnnotationKeySuffixApproveDeletions, types.AnnotationKeySuffixDeletionApproved, types.AnnotationKeySuffixOrphanDependents,
	types.AnnotationKeySuffixDeletionHooksChecksum, types.AnnotationKeySuffixDeletionRetriedAt, types.AnnotationKeySuffixVersionOf, types.AnnotationKeySuffixKeptFields,
	types.AnnotationKeySuffixReconcileAt, types.AnnotationKeySuffixIgnoreNeededBy, types.AnnotationKeySuffixStorageMigration,
	types.AnnotationKeySuffixRolloutPaused,
}

// Strange reports annotations of a manifest that are most likely meant for the reconciler, but have no effect: those
// with its prefix, such as "shop.example.io/", whose suffixes are neither known nor the author's own, and those with
// known suffixes whose prefix is almost that of the reconciler.
func Strange(prefix string, values map[string]string, own []string) []string {
	var strange []string
	for key := range values {
		other, suffix, found := strings.Cut(key, "/")
		if !found {
			continue
		}
		other += "/"
		switch {
		case other == prefix && !isKnown(suffix) && !slices.Contains(own, suffix):
			strange = append(strange, fmt.Sprintf("annotation %s is not known, and has no effect%s", key, suggestion(suffix)))
		case other != prefix && isForManifests(suffix) && isMisspelt(other, prefix):
			strange = append(strange, fmt.Sprintf("annotation %s has no effect; did you mean %s%s?", key, prefix, suffix))
		}
	}
	slices.Sort(strange)
	return strange
}

func isKnown(suffix string) bool {
	return isForManifests(suffix) || slices.Contains(reserved, suffix)
}

func isForManifests(suffix string) bool {
	_, isPolicy := policies[suffix]
	_, isOther := others[suffix]
	return isPolicy || isOther
}

// suggestion returns the known suffix that was probably meant; empty if there is none.
func suggestion(suffix string) string {
	if best := texts.Nearest(Kebab(suffix), Suffixes()); best != "" {
		return fmt.Sprintf("; did you mean %s?", best)
	}
	return ""
}

// isMisspelt reports whether a prefix is almost the right one.
func isMisspelt(prefix, wanted string) bool {
	return strings.EqualFold(prefix, wanted) || len(wanted) >= 8 && texts.Distance(prefix, wanted) <= 2
}
