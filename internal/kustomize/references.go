// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package kustomize

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/kustomize/kyaml/resid"
	"sigs.k8s.io/kustomize/kyaml/yaml"
)

// Renaming is a ConfigMap or Secret that gets another name.
type Renaming struct {
	// Kind is ConfigMap or Secret.
	Kind string
	// Namespace of the object.
	Namespace string
	// From is the former name, To the new one.
	From, To string
}

// IsRenamable reports whether objects of a type can be renamed: ConfigMaps and Secrets.
func IsRenamable(gvk schema.GroupVersionKind) bool {
	return gvk.GroupVersion() == schema.GroupVersion{Version: "v1"} && (gvk.Kind == "ConfigMap" || gvk.Kind == "Secret")
}

// RenameReferences returns an object that refers to the new names: the object itself if it refers to none of the former
// ones, else a copy. The rules are those of the SDK for names; nothing but such names is changed. The namespace is that
// of the object if it says none. It fails if a reference is ambiguous: one in a cluster-scoped object, to a name that
// exists in several namespaces.
func RenameReferences(object *unstructured.Unstructured, namespace string, renamings []Renaming) (*unstructured.Unstructured, error) {
	if IsRenamable(object.GroupVersionKind()) {
		// Neither kind refers to the other.
		return object, nil
	}
	texts := map[string]bool{}
	collect(object.Object, texts)
	// The SDK sees no more than is needed.
	renamings = slices.DeleteFunc(slices.Clone(renamings), func(r Renaming) bool { return !texts[r.From] })
	if len(renamings) == 0 {
		return object, nil
	}
	files, err := renamingFiles(object, namespace, renamings)
	if err != nil {
		return nil, err
	}
	built, err := Build(files, "/", false)
	if err != nil {
		return nil, err
	}
	at := slices.IndexFunc(built, func(found *unstructured.Unstructured) bool { return !IsRenamable(found.GroupVersionKind()) })
	if at < 0 {
		return nil, errors.New("the Kustomize SDK has dropped the object")
	}
	result := object.DeepCopy()
	renameIn(result.Object, built[at].Object, renamings)
	return result, nil
}

// renamingFiles returns a kustomization that renames objects, and thereby the references of the given object.
func renamingFiles(object *unstructured.Unstructured, namespace string, renamings []Renaming) (*Memory, error) {
	files := NewMemory()
	kustomization := types.Kustomization{Resources: []string{"object.yaml"}}
	referrer := object.DeepCopy()
	referrer.Object["metadata"] = map[string]any{
		"name": "object", "namespace": cmp.Or(object.GetNamespace(), namespace), "annotations": annotationsWith(object, renamings),
	}
	if err := addYAML(files, "object.yaml", referrer.Object); err != nil {
		return nil, err
	}
	for i, r := range renamings {
		file := fmt.Sprintf("renamed%d.yaml", i)
		err := addYAML(files, file, map[string]any{"apiVersion": "v1", "kind": r.Kind, "metadata": map[string]any{"name": r.From, "namespace": r.Namespace}})
		if err != nil {
			return nil, err
		}
		patch, err := json.Marshal([]map[string]string{{"op": "replace", "path": "/metadata/name", "value": r.To}})
		if err != nil {
			return nil, err
		}
		// The SDK takes names as regular expressions.
		target := resid.NewResIdWithNamespace(resid.NewGvk("", "v1", r.Kind), "^"+regexp.QuoteMeta(r.From)+"$", "^"+regexp.QuoteMeta(r.Namespace)+"$")
		kustomization.Resources = append(kustomization.Resources, file)
		kustomization.Patches = append(kustomization.Patches, types.Patch{
			Patch: string(patch), Target: &types.Selector{ResId: target}, Options: &types.PatchArgs{AllowNameChange: true},
		})
	}
	raw, err := json.Marshal(kustomization)
	files.Add("/kustomization.yaml", raw)
	return files, err
}

// annotationsWith returns those annotations of an object that are former names. The SDK would obey some of the others.
func annotationsWith(object *unstructured.Unstructured, renamings []Renaming) map[string]any {
	values := map[string]any{}
	for key, value := range object.GetAnnotations() {
		if slices.ContainsFunc(renamings, func(r Renaming) bool { return r.From == value }) {
			values[key] = value
		}
	}
	return values
}

func addYAML(files *Memory, name string, content map[string]any) error {
	raw, err := yaml.Marshal(content)
	files.Add("/"+name, raw)
	return err
}

// collect notes all strings of a value.
func collect(value any, texts map[string]bool) {
	switch value := value.(type) {
	case string:
		texts[value] = true
	case map[string]any:
		for _, v := range value {
			collect(v, texts)
		}
	case []any:
		for _, v := range value {
			collect(v, texts)
		}
	}
}

// renameIn changes former names in value that are new names in wanted, which has the same structure, and returns the
// value.
func renameIn(value, wanted any, renamings []Renaming) any {
	switch value := value.(type) {
	case string:
		to, _ := wanted.(string)
		if slices.ContainsFunc(renamings, func(r Renaming) bool { return r.From == value && r.To == to }) {
			return to
		}
	case map[string]any:
		if wanted, ok := wanted.(map[string]any); ok {
			for k, v := range value {
				value[k] = renameIn(v, wanted[k], renamings)
			}
		}
	case []any:
		if wanted, ok := wanted.([]any); ok && len(wanted) == len(value) {
			for i, v := range value {
				value[i] = renameIn(v, wanted[i], renamings)
			}
		}
	}
	return value
}
