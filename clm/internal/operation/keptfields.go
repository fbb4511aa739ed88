// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package operation

import (
	"cmp"
	"encoding/base64"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/component-operator/runtime/clm/internal/display"
	"github.com/component-operator/runtime/internal/annotations"
	"github.com/component-operator/runtime/internal/fieldset"
	"github.com/component-operator/runtime/pkg/reconciler"
	"github.com/component-operator/runtime/pkg/types"
)

// KeptFieldsRules say which annotations count, and where objects are.
type KeptFieldsRules struct {
	// Prefix of the annotations, with the slash.
	Prefix string
	// Namespace of objects without one.
	Namespace string
}

// KeptFields are fields by object, in the notation of the annotation ignore-fields.
type KeptFields map[display.Key][]string

// Add adds the fields of another value, and reports whether there was one that was not there yet.
func (f KeptFields) Add(other KeptFields) bool {
	isNew := false
	for key, fields := range other {
		for _, field := range fields {
			if !slices.Contains(f[key], field) {
				f[key], isNew = append(f[key], field), true
			}
		}
	}
	return isNew
}

// Carry returns the rendered objects with the fields that the recorded ones keep, and with further ones. Objects that
// keep none are returned as they were given.
func (r KeptFieldsRules) Carry(rendered, recorded []*unstructured.Unstructured, further KeptFields) []*unstructured.Unstructured {
	before := r.index(recorded)
	result := slices.Clone(rendered)
	for i, object := range rendered {
		key := r.KeyOf(object)
		last := before[key]
		if last == nil || r.isHook(object) {
			continue
		}
		kept := slices.Clone(further[key])
		// An unreadable value was not written by us.
		paths, _ := annotations.Fields(last.GetAnnotations()[r.kept()])
		for _, path := range paths {
			if r.isSame(object, last, path) {
				kept = append(kept, annotations.FieldText(path))
			}
		}
		if len(kept) > 0 {
			result[i] = r.withKept(object, kept)
		}
	}
	return result
}

// Kept returns the fields that the annotation kept-fields of objects lists. What cannot be read was not written by us,
// and is left out.
func (r KeptFieldsRules) Kept(objects []*unstructured.Unstructured) KeptFields {
	kept := KeptFields{}
	for _, object := range objects {
		paths, _ := annotations.Fields(object.GetAnnotations()[r.kept()])
		for _, path := range paths {
			kept[r.KeyOf(object)] = append(kept[r.KeyOf(object)], annotations.FieldText(path))
		}
	}
	return kept
}

// Keep returns the rendered objects with fields that they keep, whatever their values are. Objects that keep none are
// returned as they were given.
func (r KeptFieldsRules) Keep(rendered []*unstructured.Unstructured, fields KeptFields) []*unstructured.Unstructured {
	result := slices.Clone(rendered)
	for i, object := range rendered {
		if kept := fields[r.KeyOf(object)]; len(kept) > 0 && !r.isHook(object) {
			result[i] = r.withKept(object, slices.Clone(kept))
		}
	}
	return result
}

// Strip returns recorded objects without the fields that they keep in addition to those that their manifests ignored
// when they were rendered. Objects that keep none are returned as they were given.
func (r KeptFieldsRules) Strip(recorded []*unstructured.Unstructured) []*unstructured.Unstructured {
	result := slices.Clone(recorded)
	for i, object := range recorded {
		values := object.GetAnnotations()
		kept := values[r.kept()]
		if kept == "" {
			continue
		}
		// withKept appends the fields. Only others may have changed their order.
		rest, isLast := strings.CutSuffix(","+values[r.ignored()], ","+kept)
		if rest = strings.TrimPrefix(rest, ","); !isLast {
			rest = without(values[r.ignored()], kept)
		}
		delete(values, r.kept())
		delete(values, r.ignored())
		if rest != "" {
			values[r.ignored()] = rest
		}
		if len(values) == 0 {
			values = nil // the sources render no annotations, instead of empty ones
		}
		result[i] = object.DeepCopy()
		result[i].SetAnnotations(values)
	}
	return result
}

// without returns a list of fields without those in another list.
func without(fields, others string) string {
	paths, err := annotations.Fields(fields)
	excluded, _ := annotations.Fields(others)
	if err != nil {
		// The engine reports their problems.
		return fields
	}
	var rest []string
	for _, path := range paths {
		if !slices.ContainsFunc(excluded, path.Equals) {
			rest = append(rest, annotations.FieldText(path))
		}
	}
	return strings.Join(rest, ",")
}

// Choose returns which of the conflicts of a plan are about fields that are kept. Each of the recorded manifests may be
// the one that was written last; of an object that one of them does not have, nothing is kept. The error is a
// RefusedError that names those that would have to be kept, but that the annotation ignore-fields cannot name.
func (r KeptFieldsRules) Choose(rendered []*unstructured.Unstructured, recorded [][]*unstructured.Unstructured, changes []reconciler.Change) (KeptFields, error) {
	now := r.index(rendered)
	before := make([]map[display.Key]*unstructured.Unstructured, len(recorded))
	for i, objects := range recorded {
		before[i] = r.index(objects)
	}
	chosen := KeptFields{}
	var problems []string
	for _, change := range changes {
		key := r.KeyOf(change.Object)
		object := now[key]
		if object == nil || len(before) == 0 {
			continue
		}
		for _, conflict := range change.Conflicts {
			text := cmp.Or(conflict.Ignorable, conflict.Path)
			path, known := parse(conflict)
			switch {
			case slices.ContainsFunc(before, func(index map[display.Key]*unstructured.Unstructured) bool {
				return index[key] == nil || known && !r.isSame(object, index[key], path)
			}):
			case known && r.isOurs(path):
			case conflict.Ignorable == "":
				problems = append(problems, fmt.Sprintf("%s: %s belongs to %s and cannot be left alone, because %s cannot name it; to take it over: --conflicts=force",
					change.Object, text, conflict.Manager, r.ignored()))
			case !slices.Contains(chosen[key], text):
				chosen[key] = append(chosen[key], text)
			}
		}
	}
	if len(problems) > 0 {
		slices.Sort(problems)
		return nil, &reconciler.RefusedError{Problems: slices.Compact(problems)}
	}
	return chosen, nil
}

// parse returns the path of a conflict; known is false if its text does not tell it.
func parse(conflict reconciler.FieldChange) (path fieldpath.Path, known bool) {
	if conflict.Ignorable != "" {
		paths, err := annotations.Fields(conflict.Ignorable)
		return slices.Concat(paths...), err == nil && len(paths) == 1
	}
	path, err := fieldset.ParsePath(conflict.Path)
	return path, err == nil
}

func (r KeptFieldsRules) kept() string    { return r.Prefix + types.AnnotationKeySuffixKeptFields }
func (r KeptFieldsRules) ignored() string { return r.Prefix + types.AnnotationKeySuffixIgnoreFields }

// isOurs reports whether a field is one of the reconciler's own labels or annotations, which are never left to others.
func (r KeptFieldsRules) isOurs(path fieldpath.Path) bool {
	last := path[len(path)-1].FieldName
	return last != nil && strings.HasPrefix(*last, r.Prefix)
}

// isSame reports whether a field of a manifest has the value that it had in the last one.
func (r KeptFieldsRules) isSame(object, last *unstructured.Unstructured, path fieldpath.Path) bool {
	return fieldset.Same(stored(object), stored(last), path)
}

// stored returns the content of an object, that of a Secret as it is stored.
func stored(object *unstructured.Unstructured) map[string]any {
	texts, _, _ := unstructured.NestedStringMap(object.Object, "stringData")
	if len(texts) == 0 || object.GroupVersionKind().GroupKind().String() != "Secret" {
		return object.Object
	}
	content := object.DeepCopy().Object
	data, _ := content["data"].(map[string]any)
	if data == nil {
		data = map[string]any{}
	}
	for key, text := range texts {
		data[key] = base64.StdEncoding.EncodeToString([]byte(text))
	}
	content["data"] = data
	return content
}

// withKept returns a copy of an object that keeps fields; the object itself if it names them already.
func (r KeptFieldsRules) withKept(object *unstructured.Unstructured, kept []string) *unstructured.Unstructured {
	values := object.GetAnnotations()
	for _, key := range []string{r.ignored(), r.kept()} {
		// The engine reports their problems.
		paths, _ := annotations.Fields(values[key])
		kept = slices.DeleteFunc(kept, func(field string) bool {
			return slices.ContainsFunc(paths, func(path fieldpath.Path) bool { return annotations.FieldText(path) == field })
		})
	}
	if len(kept) == 0 {
		return object
	}
	slices.Sort(kept)
	kept = slices.Compact(kept)
	object = object.DeepCopy()
	if values = object.GetAnnotations(); values == nil {
		values = map[string]string{}
	}
	for _, key := range []string{r.ignored(), r.kept()} {
		all := kept
		if given := values[key]; given != "" {
			all = append([]string{given}, kept...)
		}
		values[key] = strings.Join(all, ",")
	}
	object.SetAnnotations(values)
	return object
}

// index returns the objects by what identifies them in the cluster, without hooks that have a time of their own: one
// may have the name of a dependent.
func (r KeptFieldsRules) index(objects []*unstructured.Unstructured) map[display.Key]*unstructured.Unstructured {
	index := make(map[display.Key]*unstructured.Unstructured, len(objects))
	for _, object := range objects {
		if !r.isHook(object) {
			index[r.KeyOf(object)] = object
		}
	}
	return index
}

// isHook reports whether an object is applied only when the release is deleted, tested or rolled back.
func (r KeptFieldsRules) isHook(object *unstructured.Unstructured) bool {
	values := object.GetAnnotations()
	return values[r.Prefix+types.AnnotationKeySuffixDeletionHook] != "" || values[r.Prefix+types.AnnotationKeySuffixReleaseHook] != ""
}

// KeyOf returns the key of an object of the release. Cluster-scoped objects get a namespace, too, which does no harm.
func (r KeptFieldsRules) KeyOf(object types.ObjectKey) display.Key {
	key := display.KeyOf(object)
	key.Namespace = cmp.Or(key.Namespace, r.Namespace)
	return key
}
