// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package helmhooks

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/component-operator/runtime/pkg/types"
)

const (
	hookAnnotation             = "helm.sh/hook"
	hookWeightAnnotation       = "helm.sh/hook-weight"
	hookDeletePolicyAnnotation = "helm.sh/hook-delete-policy"
)

type hookType string

const (
	hookPreInstall   hookType = "pre-install"
	hookPostInstall  hookType = "post-install"
	hookPreUpgrade   hookType = "pre-upgrade"
	hookPostUpgrade  hookType = "post-upgrade"
	hookPreDelete    hookType = "pre-delete"
	hookPostDelete   hookType = "post-delete"
	hookPreRollback  hookType = "pre-rollback"
	hookPostRollback hookType = "post-rollback"
	hookTest         hookType = "test"
	hookTestSuccess  hookType = "test-success"
	hookCRDInstall   hookType = "crd-install"
)

// allowedHooks are the hooks that error messages list as allowed.
var allowedHooks = []hookType{
	hookPreInstall, hookPostInstall, hookPreUpgrade, hookPostUpgrade, hookPreDelete, hookPostDelete, hookPreRollback, hookPostRollback, hookTest,
}

type hookDeletePolicy string

const (
	hookBeforeCreation hookDeletePolicy = "before-hook-creation"
	hookSucceeded      hookDeletePolicy = "hook-succeeded"
	hookFailed         hookDeletePolicy = "hook-failed"
)

var allowedHookDeletePolicies = []hookDeletePolicy{hookBeforeCreation, hookSucceeded, hookFailed}

const (
	minHookWeight = -100
	maxHookWeight = 100

	// Pre hooks use the waves below wave 0, post hooks those above it; hooks are purged in the
	// outermost waves.
	preHookOffset  = minHookWeight - 1
	postHookOffset = maxHookWeight + 1
	lastPreWave    = maxHookWeight + preHookOffset
	lastPostWave   = maxHookWeight + postHookOffset
)

// hook has the hook annotations of an object.
type hook struct {
	types          []hookType
	weight         int
	deletePolicies []hookDeletePolicy
}

// parseHook returns nil if there is no hook annotation.
func (m Mapper) parseHook(annotations map[string]string) (*hook, error) {
	value, ok := annotations[hookAnnotation]
	if !ok {
		return nil, nil
	}
	types, err := parseHookTypes(value)
	if err != nil {
		return nil, err
	}
	result := &hook{types: types}
	if !m.applicable(*result) {
		// The other annotations have no effect.
		return result, nil
	}
	if result.weight, err = parseHookWeight(annotations[hookWeightAnnotation]); err != nil {
		return nil, err
	}
	if result.deletePolicies, err = parseHookDeletePolicies(annotations[hookDeletePolicyAnnotation]); err != nil {
		return nil, err
	}
	return result, nil
}

func parseHookTypes(value string) ([]hookType, error) {
	var types []hookType
	for _, item := range split(value) {
		parsed := hookType(item)
		switch parsed {
		case hookPreInstall, hookPostInstall, hookPreUpgrade, hookPostUpgrade,
			hookPreDelete, hookPostDelete, hookPreRollback, hookPostRollback, hookTest, hookTestSuccess, hookCRDInstall:
		default:
			return nil, unknown(hookAnnotation, value, item, list(allowedHooks))
		}
		types = append(types, parsed)
	}
	return types, nil
}

// unknown returns an error about one of several values of an annotation.
func unknown(annotation, value, item, allowed string) error {
	return fmt.Errorf("annotation %s: invalid value %q: %q is not known; must be one of: %s", annotation, value, item, allowed)
}

func parseHookWeight(value string) (int, error) {
	value = strings.TrimSpace(value)
	if value == "" {
		return 0, nil
	}
	weight, err := strconv.Atoi(value)
	if err != nil || weight < minHookWeight || weight > maxHookWeight {
		return 0, fmt.Errorf("annotation %s: invalid value %q; must be an integer from %d to %d", hookWeightAnnotation, value, minHookWeight, maxHookWeight)
	}
	return weight, nil
}

func parseHookDeletePolicies(value string) ([]hookDeletePolicy, error) {
	if strings.TrimSpace(value) == "" {
		return []hookDeletePolicy{hookBeforeCreation}, nil
	}
	var policies []hookDeletePolicy
	for _, item := range split(value) {
		parsed := hookDeletePolicy(item)
		if !slices.Contains(allowedHookDeletePolicies, parsed) {
			return nil, unknown(hookDeletePolicyAnnotation, value, item, list(allowedHookDeletePolicies))
		}
		policies = append(policies, parsed)
	}
	return policies, nil
}

// mapHook returns the annotations of the reconciler that the hook becomes, in addition to the given ones: one set if it is applied now, one for each
// point of the deletion at which it is applied, and one for each release operation.
func (m Mapper) mapHook(hook hook, given map[string]string) []map[string]string {
	var all []map[string]string
	if !m.applicable(hook) {
		return all
	}
	if pre, post, reconcilePolicy := m.event(hook); pre || post {
		all = append(all, mapInstallation(hook, given, pre, post, reconcilePolicy))
	}
	for _, deletion := range []struct {
		hook  hookType
		value string
	}{{hookPreDelete, types.DeletionHookPreDelete}, {hookPostDelete, types.DeletionHookPostDelete}} {
		if !hook.has(deletion.hook) {
			continue
		}
		// Deletion hooks are removed anyway when all are ready, and a failed one must stay to block the deletion.
		mapped := maps.Clone(given)
		mapped[types.AnnotationKeySuffixDeletionHook] = deletion.value
		mapped[types.AnnotationKeySuffixApplyOrder] = strconv.Itoa(hook.weight)
		mapped[types.AnnotationKeySuffixUpdatePolicy] = types.UpdatePolicyRecreate
		if _, given := given[types.AnnotationKeySuffixAdoptionPolicy]; !given && slices.Contains(hook.deletePolicies, hookBeforeCreation) {
			// Objects of an earlier run are deleted first.
			mapped[types.AnnotationKeySuffixAdoptionPolicy] = types.AdoptionPolicyIfUnowned
		}
		all = append(all, mapped)
	}
	if m.ReleaseHooks {
		all = append(all, mapRelease(hook, given)...)
	}
	return all
}

// mapRelease returns the annotations of a release hook. It is applied in each run, before or
// after all other objects.
func mapRelease(hook hook, given map[string]string) []map[string]string {
	var all []map[string]string
	add := func(value string, pre, post bool) {
		mapped := mapInstallation(hook, given, pre, post, types.ReconcilePolicyOnObjectOrComponentChange)
		mapped[types.AnnotationKeySuffixReleaseHook] = value
		all = append(all, mapped)
	}
	switch pre, post := hook.has(hookPreRollback), hook.has(hookPostRollback); {
	case pre:
		add(types.ReleaseHookPreRollback, pre, post)
	case post:
		add(types.ReleaseHookPostRollback, pre, post)
	}
	if hook.has(hookTest) || hook.has(hookTestSuccess) {
		add(types.ReleaseHookTest, false, true)
	}
	return all
}

// mapInstallation returns the annotations of a hook that is applied with the regular objects.
func mapInstallation(hook hook, given map[string]string, pre, post bool, reconcilePolicy string) map[string]string {
	mapped := maps.Clone(given)
	mapped[types.AnnotationKeySuffixReconcilePolicy] = reconcilePolicy

	applyOrder, purgeOrder := hook.weight+preHookOffset, lastPreWave
	if !pre {
		applyOrder = hook.weight + postHookOffset
	}
	if post {
		purgeOrder = lastPostWave
	}
	mapped[types.AnnotationKeySuffixApplyOrder] = strconv.Itoa(applyOrder)
	if slices.Contains(hook.deletePolicies, hookSucceeded) {
		mapped[types.AnnotationKeySuffixPurgeOrder] = strconv.Itoa(purgeOrder)
	}
	if slices.Contains(hook.deletePolicies, hookBeforeCreation) {
		mapped[types.AnnotationKeySuffixUpdatePolicy] = types.UpdatePolicyRecreate
	}
	if slices.Contains(hook.deletePolicies, hookFailed) {
		mapped[types.AnnotationKeySuffixPurgeOnFailure] = "true"
	}
	return mapped
}

// event decides whether the object is applied before or after the regular ones (or both, or neither), and when
// it is applied again.
func (m Mapper) event(hook hook) (pre bool, post bool, reconcilePolicy string) {
	preInstall, postInstall := hook.has(hookPreInstall), hook.has(hookPostInstall)
	preUpgrade, postUpgrade := hook.has(hookPreUpgrade), hook.has(hookPostUpgrade)
	switch {
	case m.Installed && (preUpgrade || postUpgrade):
		return preUpgrade, postUpgrade, types.ReconcilePolicyOnObjectOrComponentChange
	case !m.Installed && m.Revision > 1:
		// The installation has failed and was corrected. With "once", the hook would never run with the
		// correction.
		return preInstall, postInstall, types.ReconcilePolicyOnObjectOrComponentChange
	default:
		// An install hook never changes, so that it neither runs again nor becomes redundant.
		return preInstall, postInstall, types.ReconcilePolicyOnce
	}
}

// applicable reports whether there is any event at which the object is applied.
func (m Mapper) applicable(hook hook) bool {
	events := []hookType{hookPreInstall, hookPostInstall, hookPreUpgrade, hookPostUpgrade, hookPreDelete, hookPostDelete}
	if m.ReleaseHooks {
		events = append(events, hookPreRollback, hookPostRollback, hookTest, hookTestSuccess)
	}
	return !hook.has(hookCRDInstall) && slices.ContainsFunc(hook.types, func(each hookType) bool { return slices.Contains(events, each) })
}

func (h hook) has(hookType hookType) bool {
	return slices.Contains(h.types, hookType)
}

// split accepts blanks after commas, and any case, as Helm does.
func split(value string) []string {
	items := strings.Split(value, ",")
	for i, item := range items {
		items[i] = strings.ToLower(strings.TrimSpace(item))
	}
	return items
}

func list[T ~string](items []T) string {
	texts := make([]string, len(items))
	for i, item := range items {
		texts[i] = string(item)
	}
	return strings.Join(texts, ", ")
}
