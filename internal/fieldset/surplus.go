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

// Surplus returns fields on the main resource of an object that manager has not applied, and that belong only to
// managers for which reclaim returns true. Fields that manager wrote by other means than apply, and no longer declares,
// count as well.
//
// A path in the result includes everything below it. The result never has fields that must not be removed, see exempt,
// and none at or below the spared paths.
func Surplus(
	kind schema.GroupKind, entries []metav1.ManagedFieldsEntry, manager string, reclaim func(manager string) bool, spared ...fieldpath.Path,
) ([]fieldpath.Path, error) {
	kept, candidates, err := partition(entries, manager, reclaim)
	if err != nil {
		return nil, err
	}
	// An exempt field also keeps the fields that contain it.
	for path := range candidates.All() {
		if exempt(kind, path) || IsWithin(path, spared) {
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

// partition returns the fields that must be kept because of their managers, and the fields of managers to reclaim. A
// field can be in both.
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
		// Fields written in another API version may have other names; so they are kept.
		sameForm := entry.Subresource == "" && entry.APIVersion == apiVersion && !applied(entry, manager)
		if sameForm && (entry.Manager == manager || reclaim(entry.Manager)) {
			candidates = candidates.Union(set)
		} else {
			kept = kept.Union(set)
		}
	}
	return kept, candidates, nil
}

// Outside returns the paths that are not below one of the given top-level fields, such as metadata.
func Outside(paths []fieldpath.Path, fields ...string) []fieldpath.Path {
	return slices.DeleteFunc(slices.Clone(paths), func(path fieldpath.Path) bool {
		return slices.ContainsFunc(fields, func(field string) bool { return isField(path, 0, field) })
	})
}

func applied(entry metav1.ManagedFieldsEntry, manager string) bool {
	return entry.Manager == manager && entry.Subresource == "" && entry.Operation == metav1.ManagedFieldsOperationApply
}

// containsBelow reports whether the set has a path below the given one.
func containsBelow(set *fieldpath.Set, path fieldpath.Path) bool {
	for _, element := range path {
		set = set.WithPrefix(element)
	}
	return !set.Empty()
}

func hasPrefix(path, prefix fieldpath.Path) bool {
	return len(path) > len(prefix) && path[:len(prefix)].Equals(prefix)
}

// exempt reports whether a field must stay although the manifest does not declare it: because Kubernetes itself
// maintains it on the main resource, because injected content needs it, or because it records an action of a user that
// ends by itself.
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

// maintained reports whether Kubernetes itself maintains the field in objects of the kind.
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

// isToken reports whether the field is part of the ServiceAccount token in a Secret. Removing it would invalidate the
// token.
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
