// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package sync

import (
	"cmp"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	apitypes "k8s.io/apimachinery/pkg/types"

	"github.com/component-operator/runtime/internal/gitops"
)

// A ReconciliationResult pairs what is declared with what exists.
type ReconciliationResult struct {
	// Live are the objects that exist, each at the place of its target; nil if the target does not exist.
	Live []*unstructured.Unstructured
	// Target are the declared objects; nil at the places of objects that exist without being declared.
	Target []*unstructured.Unstructured
	// Hooks are the declared hooks.
	Hooks []*unstructured.Unstructured
}

// Reconcile pairs declared objects with those that exist. Declared objects that name no namespace are in the given one,
// if their type is namespaced; if that is not known, both are tried, so that an object that exists is never taken for
// one that is not declared. Hooks are set apart. Declared objects that no operation applies (those to be skipped, and
// hooks of deletions, rollbacks and tests) are among the targets; they are neither applied nor pruned. An object that
// exists under the names of two API groups counts once. Neither the objects nor the map is changed.
func Reconcile(
	targetObjs []*unstructured.Unstructured, liveObjByKey map[ResourceKey]*unstructured.Unstructured, namespace string, resInfo ResourceInfoProvider,
) ReconciliationResult {
	var result ReconciliationResult
	rest := maps.Clone(liveObjByKey)
	paired := map[apitypes.UID]bool{}
	for _, target := range targetObjs {
		if isHook(target) && !isLeftOut(target) {
			// The operation reports problems of hooks.
			result.Hooks = append(result.Hooks, target)
			continue
		}
		var live *unstructured.Unstructured
		for _, key := range placesOf(target, namespace, resInfo) {
			if found := rest[key]; found != nil {
				live = found
				paired[live.GetUID()] = true
				delete(rest, key)
				break
			}
		}
		result.Target, result.Live = append(result.Target, target), append(result.Live, live)
	}
	delete(paired, "")
	for _, key := range slices.SortedFunc(maps.Keys(rest), func(a, b ResourceKey) int { return a.id().Compare(b.id()) }) {
		live := rest[key]
		if live == nil || paired[live.GetUID()] {
			continue
		}
		paired[live.GetUID()] = live.GetUID() != ""
		result.Target, result.Live = append(result.Target, nil), append(result.Live, live)
	}
	return result
}

// isHook reports whether an object is a hook. If its annotations cannot be read, a hook annotation suffices.
func isHook(object *unstructured.Unstructured) bool {
	given := object.GetAnnotations()
	steering, err := gitops.Read(given)
	return err == nil && steering.Hook || err != nil && (gitops.HasHook(given) || gitops.HasHelmHook(given))
}

// placesOf returns the keys under which a declared object may exist.
func placesOf(target *unstructured.Unstructured, namespace string, resInfo ResourceInfoProvider) []ResourceKey {
	key := GetResourceKey(target)
	inNamespace, outside := key, key
	inNamespace.Namespace, outside.Namespace = cmp.Or(key.Namespace, namespace), ""
	switch isNamespaced, err := resInfo.IsNamespaced(key.GroupKind()); {
	case err != nil:
		return []ResourceKey{inNamespace, outside}
	case isNamespaced:
		return []ResourceKey{inNamespace}
	default:
		return []ResourceKey{outside}
	}
}
