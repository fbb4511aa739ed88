// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package fieldset

import (
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

// Surplus returns what stands on the main resource of an object beside the fields that manager applied, and belongs
// only to managers for which reclaim returns true. Fields that manager itself once wrote by other means than apply,
// and no longer declares, count as well.
//
// A path in the result stands for everything below it. Fields that are not ours to remove are never
// part of the result; see exempt.
func Surplus(kind schema.GroupKind, entries []metav1.ManagedFieldsEntry, manager string, reclaim func(manager string) bool) ([]fieldpath.Path, error) {
	kept, candidates, err := partition(entries, manager, reclaim)
	if err != nil {
		return nil, err
	}
	// What is exempt keeps what contains it.
	for path := range candidates.All() {
		if exempt(kind, path) {
			kept.Insert(slices.Clone(path))
		}
	}
	var surplus []fieldpath.Path
	for path := range candidates.All() {
		covered := slices.ContainsFunc(surplus, func(prefix fieldpath.Path) bool { return hasPrefix(path, prefix) })
		if covered || hasAt(kept, path) {
			continue
		}
		surplus = append(surplus, slices.Clone(path))
	}
	return surplus, nil
}

// partition returns the fields of an object that somebody keeps, and those of managers to be reclaimed. A field can be in both.
func partition(entries []metav1.ManagedFieldsEntry, manager string, reclaim func(manager string) bool) (kept, candidates *fieldpath.Set, err error) {
	apiVersion := ""
	for _, entry := range entries {
		if applied(entry, manager) {
			apiVersion = entry.APIVersion
		}
	}
	kept, candidates = fieldpath.NewSet(), fieldpath.NewSet()
	for _, entry := range entries {
		set, err := parse(entry)
		if err != nil {
			return nil, nil, err
		}
		// Fields written in another API version may have other names; they are left alone.
		sameForm := entry.Subresource == "" && entry.APIVersion == apiVersion && !applied(entry, manager)
		if sameForm && (entry.Manager == manager || reclaim(entry.Manager)) {
			candidates = candidates.Union(set)
		} else {
			kept = kept.Union(set)
		}
	}
	return kept, candidates, nil
}

// Outside returns the paths that are not below one of the given fields of an object, such as metadata.
func Outside(paths []fieldpath.Path, fields ...string) []fieldpath.Path {
	return slices.DeleteFunc(slices.Clone(paths), func(path fieldpath.Path) bool {
		return slices.ContainsFunc(fields, func(field string) bool { return isField(path, 0, field) })
	})
}

func applied(entry metav1.ManagedFieldsEntry, manager string) bool {
	return entry.Manager == manager && entry.Subresource == "" && entry.Operation == metav1.ManagedFieldsOperationApply
}

// containsBelow tells whether the set has a member below path.
func containsBelow(set *fieldpath.Set, path fieldpath.Path) bool {
	for _, element := range path {
		set = set.WithPrefix(element)
	}
	return !set.Empty()
}

func hasPrefix(path, prefix fieldpath.Path) bool {
	return len(path) > len(prefix) && path[:len(prefix)].Equals(prefix)
}

// exempt tells whether a field must stay although we did not declare it: because a controller of Kubernetes itself
// maintains it on the main resource, because its removal would break what an injector provides, or because it is
// the record of a user's deliberate act that ends by itself.
func exempt(kind schema.GroupKind, path fieldpath.Path) bool {
	switch {
	case isField(path, 0, "status"), isField(path, 0, "metadata") && isField(path, 1, "finalizers"):
		return true
	case hasField(path, "caBundle"):
		return true
	case hasField(path, "kubectl.kubernetes.io/restartedAt"):
		return true
	}
	return maintained(kind, path)
}

// maintained tells whether controllers of Kubernetes itself maintain the field of objects of the kind.
func maintained(kind schema.GroupKind, path fieldpath.Path) bool {
	switch kind {
	case schema.GroupKind{Kind: "PersistentVolumeClaim"}:
		return isField(path, 0, "spec") && isField(path, 1, "volumeName") || hasVolumeAnnotation(path)
	case schema.GroupKind{Kind: "PersistentVolume"}:
		return isField(path, 0, "spec") && isField(path, 1, "claimRef") || hasVolumeAnnotation(path)
	case schema.GroupKind{Kind: "Secret"}:
		return isToken(path)
	case schema.GroupKind{Kind: "ServiceAccount"}:
		return isField(path, 0, "secrets") || isField(path, 0, "imagePullSecrets")
	case schema.GroupKind{Kind: "Namespace"}:
		return isField(path, 0, "spec")
	case schema.GroupKind{Group: "rbac.authorization.k8s.io", Kind: "ClusterRole"}:
		return isField(path, 0, "rules")
	default:
		return false
	}
}

func hasVolumeAnnotation(path fieldpath.Path) bool {
	if !isField(path, 0, "metadata") || !isField(path, 1, "annotations") || len(path) < 3 || path[2].FieldName == nil {
		return false
	}
	key := *path[2].FieldName
	return strings.HasPrefix(key, "pv.kubernetes.io/") || strings.HasPrefix(key, "volume.kubernetes.io/") || strings.HasPrefix(key, "volume.beta.kubernetes.io/")
}

// isToken tells whether the field of a Secret is one of those that make it the token of a ServiceAccount. Each removal would
// invalidate the token.
func isToken(path fieldpath.Path) bool {
	if isField(path, 0, "data") {
		return isField(path, 1, "token") || isField(path, 1, "ca.crt") || isField(path, 1, "namespace")
	}
	return hasField(path, "kubernetes.io/service-account.uid")
}

func isField(path fieldpath.Path, index int, name string) bool {
	return len(path) > index && path[index].FieldName != nil && *path[index].FieldName == name
}

func hasField(path fieldpath.Path, name string) bool {
	return slices.ContainsFunc(path, func(element fieldpath.PathElement) bool {
		return element.FieldName != nil && *element.FieldName == name
	})
}
