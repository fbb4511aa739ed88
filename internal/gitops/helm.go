// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package gitops

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/internal/annotations"
	"github.com/component-operator/runtime/pkg/types"
)

const (
	resourcePolicyAnnotation = "helm.sh/resource-policy"
	resourcePolicyKeep       = "keep"
)

// HelmMapper translates Helm's annotations to those of the reconciler. Package pkg/manifests/helm documents the
// translation.
type HelmMapper struct {
	// Prefix is the reconciler name with a slash.
	Prefix string
	// Revision and Installed describe the component: Installed means that all dependents were ready in an earlier
	// revision.
	Revision  int64
	Installed bool
	// ReleaseHooks includes hooks that are applied only when a release is tested or rolled back.
	ReleaseHooks bool
}

// HasHelmAnnotations reports whether an object has annotations of Helm that Map translates.
func HasHelmAnnotations(annotations map[string]string) bool {
	_, hook := annotations[HelmHookAnnotation]
	_, policy := annotations[resourcePolicyAnnotation]
	return hook || policy
}

// IsKeptByHelm reports whether Helm would not delete an object.
func IsKeptByHelm(annotations map[string]string) bool {
	return strings.ToLower(strings.TrimSpace(annotations[resourcePolicyAnnotation])) == resourcePolicyKeep
}

// Map returns the annotations that an object needs in addition to its own, one set for each resulting object: the
// dependent, deletion hooks and release hooks; none if the object must not be applied. Definition means that the object
// is from the crds folder of a chart, where Helm ignores hook annotations.
func (m HelmMapper) Map(object client.Object, kind schema.GroupKind, definition bool) ([]map[string]string, error) {
	given := object.GetAnnotations()
	if err := m.checkReserved(given, object.GetLabels()); err != nil {
		return nil, err
	}
	mapped := map[string]string{}
	if value, ok := given[resourcePolicyAnnotation]; ok {
		if strings.ToLower(strings.TrimSpace(value)) != resourcePolicyKeep {
			return nil, fmt.Errorf("annotation %s: invalid value %q; must be %q", resourcePolicyAnnotation, value, resourcePolicyKeep)
		}
		mapped[types.AnnotationKeySuffixDeletePolicy] = types.DeletePolicyOrphan
	}
	var found *helmHook
	if !definition {
		var err error
		if found, err = m.parseHook(given); err != nil {
			return nil, err
		}
	}
	all := []map[string]string{mapped}
	if found != nil {
		if _, ok := given[m.Prefix+types.AnnotationKeySuffixStatusHint]; !ok && kind == (schema.GroupKind{Kind: "Pod"}) {
			// Helm waits for the completion of Pods that are hooks.
			mapped[types.AnnotationKeySuffixStatusHint] = types.StatusHintRunToCompletion
		}
		all = m.mapHook(*found, mapped)
	}
	for i, mapped := range all {
		var err error
		if all[i], err = annotations.Missing(given, m.Prefix, mapped, "Helm's annotations"); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// checkReserved returns an error for annotations and labels that only the reconciler may write.
func (m HelmMapper) checkReserved(annotations map[string]string, labels map[string]string) error {
	for _, suffix := range []string{types.AnnotationKeySuffixOwnerId, types.AnnotationKeySuffixDigest} {
		if _, ok := annotations[m.Prefix+suffix]; ok {
			return fmt.Errorf("annotation %s%s is reserved for the reconciler", m.Prefix, suffix)
		}
	}
	if _, ok := labels[m.Prefix+types.LabelKeySuffixOwnerId]; ok {
		return fmt.Errorf("label %s%s is reserved for the reconciler", m.Prefix, types.LabelKeySuffixOwnerId)
	}
	return nil
}

// Helm's hooks.
const (
	preInstall   = "pre-install"
	postInstall  = "post-install"
	preUpgrade   = "pre-upgrade"
	postUpgrade  = "post-upgrade"
	preDelete    = "pre-delete"
	postDelete   = "post-delete"
	preRollback  = "pre-rollback"
	postRollback = "post-rollback"
	test         = "test"
	testSuccess  = "test-success"
)

// Helm's delete policies of hooks.
const (
	beforeCreation = "before-hook-creation"
	succeeded      = "hook-succeeded"
	failed         = "hook-failed"
)

const (
	maxHookWeight = 100 // the least one is its negative

	// Pre hooks use the waves below wave 0, post hooks the waves above it; hooks are purged in the outermost waves.
	preHookOffset  = -maxHookWeight - 1
	postHookOffset = maxHookWeight + 1
	lastPreWave    = maxHookWeight + preHookOffset
	lastPostWave   = maxHookWeight + postHookOffset
)

// helmHook contains the values of Helm's hook annotations of an object.
type helmHook struct {
	events         []string
	weight         int
	deletePolicies []string
}

// parseHook returns nil if there is no hook annotation.
func (m HelmMapper) parseHook(annotations map[string]string) (*helmHook, error) {
	value, ok := annotations[HelmHookAnnotation]
	if !ok {
		return nil, nil
	}
	events, err := parseList(HelmHookAnnotation, value,
		[]string{preInstall, postInstall, preUpgrade, postUpgrade, preDelete, postDelete, preRollback, postRollback, test}, testSuccess, crdInstall)
	if err != nil {
		return nil, err
	}
	result := &helmHook{events: events, deletePolicies: []string{beforeCreation}}
	if !m.applicable(*result) {
		// The other annotations have no effect.
		return result, nil
	}
	if result.weight, err = integerOf(annotations, HelmHookWeightAnnotation, maxHookWeight); err != nil {
		return nil, err
	}
	if policies := annotations[HelmHookDeletePolicyAnnotation]; strings.TrimSpace(policies) != "" {
		result.deletePolicies, err = parseList(HelmHookDeletePolicyAnnotation, policies, []string{beforeCreation, succeeded, failed})
	}
	return result, err
}

// parseList accepts blanks after commas, and upper case, like Helm does. Errors do not list the obsolete values.
func parseList(annotation, value string, allowed []string, obsolete ...string) ([]string, error) {
	items := strings.Split(value, ",")
	for i, item := range items {
		items[i] = strings.ToLower(strings.TrimSpace(item))
		if !slices.Contains(allowed, items[i]) && !slices.Contains(obsolete, items[i]) {
			return nil, invalid(annotation, value, items[i], strings.Join(allowed, ", "))
		}
	}
	return items, nil
}

// mapHook returns the annotations of the reconciler for a hook, in addition to the given ones: one set if it is applied
// now, one for each point of the deletion at which it is applied, and one for each release operation.
func (m HelmMapper) mapHook(hook helmHook, given map[string]string) []map[string]string {
	var all []map[string]string
	if !m.applicable(hook) {
		return all
	}
	if pre, post, reconcilePolicy := m.event(hook); pre || post {
		all = append(all, mapInstallation(hook, given, pre, post, reconcilePolicy))
	}
	for _, deletion := range []struct{ event, value string }{{preDelete, types.DeletionHookPreDelete}, {postDelete, types.DeletionHookPostDelete}} {
		if !hook.has(deletion.event) {
			continue
		}
		// Delete policies are not translated: deletion hooks are removed when all are ready, and a failed one must
		// stay.
		mapped := maps.Clone(given)
		mapped[types.AnnotationKeySuffixDeletionHook] = deletion.value
		mapped[types.AnnotationKeySuffixApplyOrder] = strconv.Itoa(hook.weight)
		mapped[types.AnnotationKeySuffixUpdatePolicy] = types.UpdatePolicyRecreate
		if _, given := given[types.AnnotationKeySuffixAdoptionPolicy]; !given && slices.Contains(hook.deletePolicies, beforeCreation) {
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

// mapRelease returns the annotations of a release hook. It is applied in each run, before or after all other objects.
func mapRelease(hook helmHook, given map[string]string) []map[string]string {
	var all []map[string]string
	add := func(value string, pre, post bool) {
		mapped := mapInstallation(hook, given, pre, post, types.ReconcilePolicyOnObjectOrComponentChange)
		mapped[types.AnnotationKeySuffixReleaseHook] = value
		all = append(all, mapped)
	}
	switch pre, post := hook.has(preRollback), hook.has(postRollback); {
	case pre:
		add(types.ReleaseHookPreRollback, pre, post)
	case post:
		add(types.ReleaseHookPostRollback, pre, post)
	}
	if hook.has(test) || hook.has(testSuccess) {
		add(types.ReleaseHookTest, false, true)
	}
	return all
}

// mapInstallation returns the annotations of a hook that is applied with the regular objects.
func mapInstallation(hook helmHook, given map[string]string, pre, post bool, reconcilePolicy string) map[string]string {
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
	if slices.Contains(hook.deletePolicies, succeeded) {
		mapped[types.AnnotationKeySuffixPurgeOrder] = strconv.Itoa(purgeOrder)
	}
	if slices.Contains(hook.deletePolicies, beforeCreation) {
		mapped[types.AnnotationKeySuffixUpdatePolicy] = types.UpdatePolicyRecreate
	}
	if slices.Contains(hook.deletePolicies, failed) {
		mapped[types.AnnotationKeySuffixPurgeOnFailure] = "true"
	}
	return mapped
}

// event returns whether the object is applied before or after the regular ones (or both, or neither), and when it is
// applied again.
func (m HelmMapper) event(hook helmHook) (pre bool, post bool, reconcilePolicy string) {
	if preUpgrade, postUpgrade := hook.has(preUpgrade), hook.has(postUpgrade); m.Installed && (preUpgrade || postUpgrade) {
		return preUpgrade, postUpgrade, types.ReconcilePolicyOnObjectOrComponentChange
	}
	// An install hook never changes, so it neither runs again nor becomes redundant.
	reconcilePolicy = types.ReconcilePolicyOnce
	if !m.Installed && m.Revision > 1 {
		// The installation has failed and was corrected. With "once", the hook would never run with the correction.
		reconcilePolicy = types.ReconcilePolicyOnObjectOrComponentChange
	}
	return hook.has(preInstall), hook.has(postInstall), reconcilePolicy
}

// applicable reports whether the object is applied at any event.
func (m HelmMapper) applicable(hook helmHook) bool {
	events := []string{preInstall, postInstall, preUpgrade, postUpgrade, preDelete, postDelete}
	if m.ReleaseHooks {
		events = append(events, preRollback, postRollback, test, testSuccess)
	}
	return !hook.has(crdInstall) && slices.ContainsFunc(events, hook.has)
}

func (h helmHook) has(event string) bool { return slices.Contains(h.events, event) }
