// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package fieldset

import (
	"cmp"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

// Gained returns the fields that manager applied and did not own before, because others had changed or removed them.
// Fields that it has written with other requests than apply count as owned.
func Gained(before, after []metav1.ManagedFieldsEntry, manager string) ([]fieldpath.Path, error) {
	had, err := union(before, func(entry metav1.ManagedFieldsEntry) bool { return entry.Manager == manager && entry.Subresource == "" })
	if err != nil {
		return nil, err
	}
	has, err := Owned(after, manager)
	if err != nil {
		return nil, err
	}
	var fields []fieldpath.Path
	for path := range has.Difference(had).Leaves().All() {
		fields = append(fields, slices.Clone(path))
	}
	return fields, nil
}

// Owned returns the fields that manager applied to the main resource.
func Owned(entries []metav1.ManagedFieldsEntry, manager string) (*fieldpath.Set, error) {
	return union(entries, func(entry metav1.ManagedFieldsEntry) bool { return applied(entry, manager) })
}

// union returns the fields of the entries that count.
func union(entries []metav1.ManagedFieldsEntry, counts func(metav1.ManagedFieldsEntry) bool) (*fieldpath.Set, error) {
	all := fieldpath.NewSet()
	for _, entry := range entries {
		if !counts(entry) {
			continue
		}
		set, err := parse(entry)
		if err != nil {
			return nil, err
		}
		all = all.Union(set)
	}
	return all, nil
}

// Holders returns the sorted names of the other managers that own some of the fields, or fields below them.
func Holders(entries []metav1.ManagedFieldsEntry, fields []fieldpath.Path, manager string) ([]string, error) {
	var holders []string
	err := eachOfOthers(entries, manager, func(entry metav1.ManagedFieldsEntry, set *fieldpath.Set) {
		if slices.ContainsFunc(fields, func(path fieldpath.Path) bool { return hasAt(set, path) }) {
			holders = append(holders, entry.Manager)
		}
	})
	slices.Sort(holders)
	return slices.Compact(holders), err
}

// eachOfOthers visits the entries of other managers, with the fields that each of them owns.
func eachOfOthers(entries []metav1.ManagedFieldsEntry, manager string, visit func(metav1.ManagedFieldsEntry, *fieldpath.Set)) error {
	for _, entry := range entries {
		if entry.Manager == manager {
			continue
		}
		set, err := parse(entry)
		if err != nil {
			return err
		}
		visit(entry, set)
	}
	return nil
}

// hasAt reports whether the set has the path, or one below it.
func hasAt(set *fieldpath.Set, path fieldpath.Path) bool {
	return set.Has(path) || containsBelow(set, path)
}

// Taking is a field that an apply took from another manager.
type Taking struct {
	Path fieldpath.Path
	// Writer is the manager that owned the field before.
	Writer
}

// Taken compares the field ownership of an object before and after manager applied it by force. It returns the
// conflicts that the API server would have reported without force: the fields that others owned with other values, and
// that manager owns now; sorted by path and manager.
func Taken(before, after []metav1.ManagedFieldsEntry, manager string) ([]Taking, error) {
	owned, err := Owned(after, manager)
	if err != nil {
		return nil, err
	}
	left := map[metav1.ManagedFieldsEntry]*fieldpath.Set{}
	if err := eachOfOthers(after, manager, func(entry metav1.ManagedFieldsEntry, set *fieldpath.Set) { left[identity(entry)] = set }); err != nil {
		return nil, err
	}
	var taken []Taking
	err = eachOfOthers(before, manager, func(entry metav1.ManagedFieldsEntry, set *fieldpath.Set) {
		lost := set
		if remaining := left[identity(entry)]; remaining != nil {
			lost = set.Difference(remaining)
		}
		for path := range lost.Intersection(owned).Leaves().All() {
			taken = append(taken, Taking{Path: slices.Clone(path), Writer: writerOf(entry)})
		}
	})
	sortTakings(taken)
	return taken, err
}

// WouldTake returns the fields that manager would take from others by a forced apply of the declared fields to the live
// object, as far as they can be predicted without the server: the declared fields that others own, and that have other
// values now; sorted by path and manager.
func WouldTake(live, declared map[string]any, entries []metav1.ManagedFieldsEntry, manager string) ([]Taking, error) {
	var taken []Taking
	err := eachOfOthers(entries, manager, func(entry metav1.ManagedFieldsEntry, set *fieldpath.Set) {
		for path := range set.Leaves().All() {
			if Exists(declared, path) && Exists(live, path) && !Same(declared, live, path) {
				taken = append(taken, Taking{Path: slices.Clone(path), Writer: writerOf(entry)})
			}
		}
	})
	sortTakings(taken)
	return taken, err
}

func sortTakings(taken []Taking) {
	slices.SortFunc(taken, func(a, b Taking) int {
		return cmp.Or(cmp.Compare(a.Path.String(), b.Path.String()), cmp.Compare(a.Manager, b.Manager), a.Time.Compare(b.Time))
	})
}

// identity returns the parts of an entry that identify it within an object.
func identity(entry metav1.ManagedFieldsEntry) metav1.ManagedFieldsEntry {
	return metav1.ManagedFieldsEntry{Manager: entry.Manager, Operation: entry.Operation, APIVersion: entry.APIVersion, Subresource: entry.Subresource}
}

// Writer is the last recorded writer of a field.
type Writer struct {
	// Manager is empty if no manager owns the field, for example because it was removed.
	Manager string
	// Time is when the manager last changed any of its fields; zero if not recorded.
	Time time.Time
}

func writerOf(entry metav1.ManagedFieldsEntry) Writer {
	writer := Writer{Manager: entry.Manager}
	if entry.Time != nil {
		writer.Time = entry.Time.Time
	}
	return writer
}

// Writers returns, for each field, the other manager that owns it or a field below it. If there are several, it is the
// one that wrote last.
func Writers(entries []metav1.ManagedFieldsEntry, fields []fieldpath.Path, manager string) ([]Writer, error) {
	writers := make([]Writer, len(fields))
	err := eachOfOthers(entries, manager, func(entry metav1.ManagedFieldsEntry, set *fieldpath.Set) {
		next := writerOf(entry)
		for i, path := range fields {
			if hasAt(set, path) && (writers[i].Manager == "" || writers[i].Time.Before(next.Time)) {
				writers[i] = next
			}
		}
	})
	return writers, err
}

// ancientChanges is the manager that the API server attributes older updates to if there are more than ten managers
// with updates.
const ancientChanges = "ancient-changes"

// IsCopy reports whether others have made the object from one that the manager wrote, with its labels and annotations:
// the EndpointSlice controller, for example, or a user who exports and imports objects. The manager owns no fields of a
// copy. If field ownership is not recorded, an object with a controller counts as a copy.
func IsCopy(object metav1.Object, manager string) bool {
	entries := object.GetManagedFields()
	known := len(entries) > 0
	for _, entry := range entries {
		if entry.Manager == manager && entry.Subresource == "" {
			return false
		}
		known = known && entry.Manager != ancientChanges
	}
	return known || metav1.GetControllerOf(object) != nil
}

// Surplus returns fields on the main resource of an object that manager has not applied, and that belong only to
// managers for which reclaim returns true. Fields that manager wrote by other means than apply, and no longer declares,
// are included.
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
	isCandidate := func(entry metav1.ManagedFieldsEntry) bool {
		// Fields written in another API version may have other names; so they are kept.
		sameForm := entry.Subresource == "" && entry.APIVersion == apiVersion && !applied(entry, manager)
		return sameForm && (entry.Manager == manager || reclaim(entry.Manager))
	}
	if candidates, err = union(entries, isCandidate); err != nil {
		return nil, nil, err
	}
	kept, err = union(entries, func(entry metav1.ManagedFieldsEntry) bool { return !isCandidate(entry) })
	return kept, candidates, err
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
	isVolume := kind == schema.GroupKind{Kind: "PersistentVolumeClaim"} || kind == schema.GroupKind{Kind: "PersistentVolume"}
	switch {
	case isField(path, 0, "status"), isField(path, 0, "metadata") && isField(path, 1, "finalizers"):
		return true
	case hasField(path, "caBundle"), hasField(path, "kubectl.kubernetes.io/restartedAt"):
		return true
	case isVolume && hasVolumeAnnotation(path):
		return true
	case kind == schema.GroupKind{Kind: "Secret"} && hasField(path, "kubernetes.io/service-account.uid"):
		return true
	default:
		return IsWithin(path, maintained[kind])
	}
}

// maintained are the fields that Kubernetes itself maintains in objects of a kind. Removing the token of a
// ServiceAccount from a Secret would make that token invalid.
var maintained = map[schema.GroupKind][]fieldpath.Path{
	{Group: "rbac.authorization.k8s.io", Kind: "ClusterRole"}: {pathTo("rules")},

	{Kind: "PersistentVolumeClaim"}: {pathTo("spec", "volumeName")},
	{Kind: "PersistentVolume"}:      {pathTo("spec", "claimRef")},
	{Kind: "Secret"}:                {pathTo("data", "token"), pathTo("data", "ca.crt"), pathTo("data", "namespace")},
	{Kind: "ServiceAccount"}:        {pathTo("secrets"), pathTo("imagePullSecrets")},
	{Kind: "Namespace"}:             {pathTo("spec")},
}

func pathTo(fields ...any) fieldpath.Path { return fieldpath.MakePathOrDie(fields...) }

func hasVolumeAnnotation(path fieldpath.Path) bool {
	if !isField(path, 0, "metadata") || !isField(path, 1, "annotations") || len(path) < 3 || path[2].FieldName == nil {
		return false
	}
	key := *path[2].FieldName
	return strings.HasPrefix(key, "pv.kubernetes.io/") || strings.HasPrefix(key, "volume.kubernetes.io/") || strings.HasPrefix(key, "volume.beta.kubernetes.io/")
}

func isField(path fieldpath.Path, index int, name string) bool {
	return len(path) > index && path[index].FieldName != nil && *path[index].FieldName == name
}

func hasField(path fieldpath.Path, name string) bool {
	return slices.ContainsFunc(path, func(element fieldpath.PathElement) bool {
		return element.FieldName != nil && *element.FieldName == name
	})
}
