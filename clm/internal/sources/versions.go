// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package sources

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/component-operator/runtime/internal/annotations"
	"github.com/component-operator/runtime/internal/kustomize"
	"github.com/component-operator/runtime/pkg/inventory"
	"github.com/component-operator/runtime/pkg/types"
)

// DefaultKept is the number of versions to keep without the annotation kept-versions.
const DefaultKept = 5

// Rules specify the annotations for versions and the default namespace.
type Rules struct {
	// Prefix of the annotations, with the slash.
	Prefix string
	// Namespace of objects without one.
	Namespace string
}

// asks reports whether an object has an annotation about versions. Without such objects, the last revision need not be
// read.
func (r Rules) asks(object *unstructured.Unstructured) bool {
	values := object.GetAnnotations()
	_, versioned := values[r.versioned()]
	_, kept := values[r.kept()]
	return versioned || kept
}

// Apply returns the rendered objects, in their order, followed by the earlier versions that are kept. The recorded
// objects are those of the last revision; nil if there is none. Unchanged objects are not copied. The error is a
// RefusedError that names each object, annotation and bad value.
func (r Rules) Apply(rendered, recorded []*unstructured.Unstructured) ([]*unstructured.Unstructured, error) {
	result := slices.Clone(rendered)
	var versions []version
	var problems []string
	for i, object := range rendered {
		v, err := r.parse(object)
		switch {
		case err != nil:
			problems = append(problems, fmt.Sprintf("%s: %s", text(object), err))
		case v != nil:
			if slices.ContainsFunc(versions, func(other version) bool { return other.key == v.key }) {
				problems = append(problems, fmt.Sprintf("%s: it is rendered more than once; must occur only once", text(object)))
			}
			versions = append(versions, *v)
			result[i] = v.object
		default:
			result[i] = r.plain(object)
		}
	}
	if len(problems) > 0 {
		return nil, inventory.NewRefusedError(problems...)
	}
	renamings := make([]kustomize.Renaming, len(versions))
	for i, v := range versions {
		renamings[i] = kustomize.Renaming{Kind: v.kind, Namespace: v.namespace, From: v.name, To: v.object.GetName()}
	}
	for i, object := range result {
		var err error
		if result[i], err = kustomize.RenameReferences(object, r.Namespace, renamings); err != nil {
			return nil, fmt.Errorf("%s: rewriting the names of versioned objects that it refers to: %w", text(object), err)
		}
	}
	return append(result, r.earlier(versions, result, recorded)...), nil
}

// Without returns objects without the annotations of this package, but with the same names, for manifests that other
// tools have applied.
func (r Rules) Without(objects []*unstructured.Unstructured) []*unstructured.Unstructured {
	result := make([]*unstructured.Unstructured, len(objects))
	for i, object := range objects {
		result[i] = r.plain(object)
	}
	return result
}

// key identifies a versioned object by the name that it was rendered with.
type key struct{ kind, namespace, name string }

// version is a versioned object that was rendered.
type version struct {
	key

	// object is a copy with the name of the version.
	object *unstructured.Unstructured
	// kept is the maximum number of versions, including this one.
	kept int
}

func (r Rules) versioned() string { return r.Prefix + types.AnnotationKeySuffixVersioned }
func (r Rules) kept() string      { return r.Prefix + types.AnnotationKeySuffixKeptVersions }
func (r Rules) versionOf() string { return r.Prefix + types.AnnotationKeySuffixVersionOf }

// parse returns the version for a rendered object; nil if the object is not versioned.
func (r Rules) parse(object *unstructured.Unstructured) (*version, error) {
	values := object.GetAnnotations()
	isVersioned, kept := false, DefaultKept
	var err error
	if text, declared := values[r.versioned()]; declared {
		if isVersioned, err = annotations.Flag(text); err != nil {
			return nil, fmt.Errorf("annotation %s: %w", r.versioned(), err)
		}
	}
	if text, declared := values[r.kept()]; declared {
		if kept, err = annotations.KeptVersions(text); err != nil {
			return nil, fmt.Errorf("annotation %s: %w", r.kept(), err)
		}
		if !isVersioned {
			return nil, fmt.Errorf("annotation %s: it has no effect without %s; set that to true", r.kept(), r.versioned())
		}
	}
	if !isVersioned {
		return nil, nil
	}
	if err := r.check(object); err != nil {
		return nil, err
	}
	hash, err := kustomize.Hash(object)
	if err != nil {
		return nil, fmt.Errorf("annotation %s: computing the hash of the content: %w", r.versioned(), err)
	}
	v := &version{key: r.keyOf(object, object.GetName()), object: r.plain(object), kept: kept}
	v.object.SetName(object.GetName() + "-" + hash)
	if length := len(v.object.GetName()); length > validation.DNS1123SubdomainMaxLength {
		return nil, fmt.Errorf("annotation %s: name %s, with the suffix of the version, has %d characters; must be no more than %d",
			r.versioned(), v.object.GetName(), length, validation.DNS1123SubdomainMaxLength)
	}
	marks := map[string]string{}
	maps.Copy(marks, v.object.GetAnnotations())
	marks[r.versionOf()] = object.GetName()
	v.object.SetAnnotations(marks)
	return v, nil
}

// check returns why an object cannot be versioned; nil if it can.
func (r Rules) check(object *unstructured.Unstructured) error {
	if !hasVersions(object) {
		return fmt.Errorf(`annotation %s: value "true" is allowed only on ConfigMaps and Secrets`, r.versioned())
	}
	if object.GetGenerateName() != "" || object.GetName() == "" {
		return fmt.Errorf("annotation %s: the suffix of a version needs metadata.name, got generateName %q; set metadata.name instead", r.versioned(), object.GetGenerateName())
	}
	for _, suffix := range []string{
		types.AnnotationKeySuffixVersionOf, types.AnnotationKeySuffixApplyHook, types.AnnotationKeySuffixDeletionHook, types.AnnotationKeySuffixReleaseHook,
	} {
		value, declared := object.GetAnnotations()[r.Prefix+suffix]
		switch {
		case !declared:
		case suffix == types.AnnotationKeySuffixVersionOf:
			return fmt.Errorf("annotation %s: it has value %q, so the object is already a version; must have only one of %[1]s and %[3]s", r.Prefix+suffix, value, r.versioned())
		default:
			return fmt.Errorf("annotation %s: invalid value %q; a versioned object cannot be a hook; must have only one of %[1]s and %[3]s", r.Prefix+suffix, value, r.versioned())
		}
	}
	return nil
}

// plain returns an object without the annotations about versions: a copy, or the object itself if it has none.
func (r Rules) plain(object *unstructured.Unstructured) *unstructured.Unstructured {
	if !r.asks(object) {
		return object
	}
	object = object.DeepCopy()
	values := object.GetAnnotations()
	maps.DeleteFunc(values, func(key, _ string) bool { return key == r.versioned() || key == r.kept() })
	if len(values) == 0 {
		values = nil
	}
	object.SetAnnotations(values)
	return object
}

// earlier returns the recorded versions to keep.
func (r Rules) earlier(versions []version, present, recorded []*unstructured.Unstructured) []*unstructured.Unstructured {
	taken, left := map[key]bool{}, map[key]int{}
	for _, object := range present {
		if hasVersions(object) {
			taken[r.keyOf(object, object.GetName())] = true
		}
	}
	for _, v := range versions {
		left[v.key] = v.kept - 1
	}
	var earlier []*unstructured.Unstructured
	for _, object := range recorded {
		base := object.GetAnnotations()[r.versionOf()]
		if base == "" || !hasVersions(object) || taken[r.keyOf(object, object.GetName())] {
			continue
		}
		if of := r.keyOf(object, base); left[of] > 0 {
			left[of]--
			earlier = append(earlier, object)
		}
	}
	return earlier
}

func (r Rules) keyOf(object *unstructured.Unstructured, name string) key {
	return key{kind: object.GetKind(), namespace: cmp.Or(object.GetNamespace(), r.Namespace), name: name}
}

// hasVersions reports whether objects of this kind may be versioned.
func hasVersions(object *unstructured.Unstructured) bool {
	return kustomize.IsRenamable(object.GroupVersionKind())
}

func text(object *unstructured.Unstructured) string {
	return types.ObjectText(object.GroupVersionKind().GroupKind(), object.GetNamespace(), cmp.Or(object.GetName(), object.GetGenerateName()))
}
