// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package helm

import (
	"fmt"
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

// allowedHooks is what messages offer.
var allowedHooks = []hookType{
	hookPreInstall, hookPostInstall, hookPreUpgrade, hookPostUpgrade, hookPreRollback, hookPostRollback, hookTest,
}

type hookDeletePolicy string

const (
	hookBeforeCreation hookDeletePolicy = "before-hook-creation"
	hookSucceeded      hookDeletePolicy = "hook-succeeded"
	hookFailed         hookDeletePolicy = "hook-failed"
)

var allowedHookDeletePolicies = []hookDeletePolicy{hookBeforeCreation, hookSucceeded}

const (
	minHookWeight = -100
	maxHookWeight = 100

	// Pre hooks use the waves below wave 0, post hooks the ones above it; the outermost of them are where
	// hooks are purged.
	preHookOffset  = minHookWeight - 1
	postHookOffset = maxHookWeight + 1
	lastPreWave    = maxHookWeight + preHookOffset
	lastPostWave   = maxHookWeight + postHookOffset
)

// hook is what the annotations of an object say about it.
type hook struct {
	types          []hookType
	weight         int
	deletePolicies []hookDeletePolicy
}

// parseHook returns nil if there is no hook annotation.
func parseHook(annotations map[string]string) (*hook, error) {
	value, ok := annotations[hookAnnotation]
	if !ok {
		return nil, nil
	}
	result := &hook{deletePolicies: []hookDeletePolicy{hookBeforeCreation}}
	for _, item := range split(value) {
		parsed := hookType(item)
		switch parsed {
		case hookPreInstall, hookPostInstall, hookPreUpgrade, hookPostUpgrade,
			hookPreRollback, hookPostRollback, hookTest, hookTestSuccess, hookCRDInstall:
		case hookPreDelete, hookPostDelete:
			return nil, fmt.Errorf("annotation %s has value %q, which is not supported; allowed are %s", hookAnnotation, value, list(allowedHooks))
		default:
			return nil, fmt.Errorf("annotation %s has value %q, and %q is not known; allowed are %s", hookAnnotation, value, item, list(allowedHooks))
		}
		result.types = append(result.types, parsed)
	}

	if value := strings.TrimSpace(annotations[hookWeightAnnotation]); value != "" {
		weight, err := strconv.Atoi(value)
		if err != nil || weight < minHookWeight || weight > maxHookWeight {
			return nil, fmt.Errorf("annotation %s has value %q; allowed are integers from %d to %d", hookWeightAnnotation, value, minHookWeight, maxHookWeight)
		}
		result.weight = weight
	}

	if value := strings.TrimSpace(annotations[hookDeletePolicyAnnotation]); value != "" {
		result.deletePolicies = nil
		for _, item := range split(value) {
			parsed := hookDeletePolicy(item)
			switch parsed {
			case hookBeforeCreation, hookSucceeded:
			case hookFailed:
				return nil, fmt.Errorf("annotation %s has value %q, and %q is not supported; allowed are %s", hookDeletePolicyAnnotation, value, item, list(allowedHookDeletePolicies))
			default:
				return nil, fmt.Errorf("annotation %s has value %q, and %q is not known; allowed are %s", hookDeletePolicyAnnotation, value, item, list(allowedHookDeletePolicies))
			}
			result.deletePolicies = append(result.deletePolicies, parsed)
		}
	}
	return result, nil
}

// mapHook stores what the hook means into the given annotations. It returns false if the object is not to be
// applied, now or at all.
func (m mapper) mapHook(hook hook, mapped map[string]string) bool {
	if hook.has(hookCRDInstall) {
		return false
	}
	pre, post, reconcilePolicy := m.event(hook)
	if !pre && !post {
		return false
	}
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
	return true
}

// event decides whether the object belongs before or behind the regular ones (or both, or neither), and when
// it is applied again.
func (m mapper) event(hook hook) (pre bool, post bool, reconcilePolicy string) {
	preInstall, postInstall := hook.has(hookPreInstall), hook.has(hookPostInstall)
	preUpgrade, postUpgrade := hook.has(hookPreUpgrade), hook.has(hookPostUpgrade)
	install, upgrade := preInstall || postInstall, preUpgrade || postUpgrade
	switch {
	case m.installed && upgrade:
		return preUpgrade, postUpgrade, types.ReconcilePolicyOnObjectOrComponentChange
	case !m.installed && install && upgrade && m.revision > 1:
		// The installation has failed and was corrected. Were it applied only once, the correction would never
		// reach it.
		return preInstall, postInstall, types.ReconcilePolicyOnObjectOrComponentChange
	default:
		// An install hook stays the same forever, so that it is neither run again nor taken for redundant.
		return preInstall, postInstall, types.ReconcilePolicyOnce
	}
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
