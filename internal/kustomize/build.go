// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package kustomize

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/sets"
	"sigs.k8s.io/kustomize/api/hasher"
	"sigs.k8s.io/kustomize/api/konfig"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/api/resmap"
	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/kustomize/kyaml/filesys"
	"sigs.k8s.io/kustomize/kyaml/openapi"
	"sigs.k8s.io/kustomize/kyaml/resid"
	"sigs.k8s.io/kustomize/kyaml/yaml"
	sigsyaml "sigs.k8s.io/yaml"

	"github.com/component-operator/runtime/internal/manifest"
)

// building is held while the SDK runs, because the SDK keeps the OpenAPI schema in global variables.
var building sync.Mutex

// ErrOutside means that a kustomization refers to a file that is neither in nor below its folder.
var ErrOutside = errors.New("files outside of the folder of a kustomization must not be read")

// outside is part of the SDK's message about such a file.
const outside = "is not in or below"

// Build returns the objects of the kustomization in the given folder. It is safe for concurrent use, but builds one
// kustomization at a time. It only reads the file system. If rootOnly is set, a kustomization that reads files outside
// of its folder fails with ErrOutside; each base has its own folder. Symbolic links are up to the file system.
func Build(fsys filesys.FileSystem, folder string, rootOnly bool) ([]*unstructured.Unstructured, error) {
	if err := check(fsys, folder); err != nil {
		return nil, err
	}
	restrictions := types.LoadRestrictionsNone
	if rootOnly {
		restrictions = types.LoadRestrictionsRootOnly
	}
	result, err := build(fsys, folder, restrictions)
	if err != nil && strings.Contains(err.Error(), outside) {
		// The SDK's error can only be recognized by its text.
		return nil, fmt.Errorf("%w: %w", ErrOutside, err)
	}
	if err != nil {
		return nil, err
	}
	objects := make([]*unstructured.Unstructured, 0, result.Size())
	for _, resource := range result.Resources() {
		raw, err := resource.MarshalJSON()
		if err != nil {
			return nil, fmt.Errorf("converting %s: %w", resource.CurId(), err)
		}
		object := &unstructured.Unstructured{}
		// This decoder uses the number types of unstructured objects.
		if err := utiljson.Unmarshal(raw, &object.Object); err != nil {
			return nil, fmt.Errorf("converting %s: %w", resource.CurId(), err)
		}
		objects = append(objects, object)
	}
	return objects, nil
}

func build(fsys filesys.FileSystem, folder string, restrictions types.LoadRestrictions) (result resmap.ResMap, err error) {
	building.Lock()
	defer building.Unlock()
	defer func() {
		// The SDK panics if the OpenAPI schema of a kustomization is broken.
		if cause := recover(); cause != nil {
			err = fmt.Errorf("the Kustomize SDK panicked: %v", cause)
		}
		resetSchema()
	}()
	options := krusty.MakeDefaultOptions()
	options.LoadRestrictions = restrictions
	options.Reorder = krusty.ReorderOptionUnspecified
	return krusty.MakeKustomizer(options).Run(fsys, folder)
}

// defaultSchema is the version of the schema that the SDK uses unless told otherwise.
var defaultSchema = openapi.GetSchemaVersion()

// resetSchema resets the SDK to its default schema if a kustomization has set another one. Otherwise it keeps the
// current schema, because reading it takes time.
func resetSchema() {
	if openapi.GetSchemaVersion() != defaultSchema {
		openapi.ResetOpenAPI()
	}
}

// check fails if the SDK would fetch anything for the kustomization or its bases, or if a document has more than one
// value, of which the SDK would silently use the first.
func check(fsys filesys.FileSystem, folder string) error {
	if err := checkKustomization(fsys, folder); err != nil {
		return err
	}
	return Walk(fsys, folder, func(reference Reference) error {
		switch {
		case isRemote(fsys, reference):
			return fmt.Errorf("%s refers to %q, which would have to be fetched from elsewhere; "+
				"only files that come with the kustomization are allowed, so refer to a copy", reference.Source, reference.Text)
		case !reference.Documents || !fsys.Exists(reference.Path):
			return nil
		case fsys.IsDir(reference.Path):
			return checkKustomization(fsys, reference.Path)
		}
		raw, err := fsys.ReadFile(reference.Path)
		if err != nil {
			return err
		}
		if err := manifest.CheckSeparated(raw); err != nil {
			return fmt.Errorf("%s: %w", reference.Path, err)
		}
		return nil
	})
}

// checkKustomization checks that the kustomization file of a folder is a single document, and checks the inline
// documents in it.
func checkKustomization(fsys filesys.FileSystem, folder string) error {
	for name := range kustomizationFiles(fsys, folder) {
		raw, err := fsys.ReadFile(name)
		if err != nil {
			return err
		}
		if err := manifest.CheckSingle(raw); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		var content any
		if sigsyaml.Unmarshal(raw, &content) != nil {
			return nil // building fails
		}
		if err := checkInline(content); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}

// checkInline checks texts that may be inline documents instead of references.
func checkInline(value any) error {
	switch value := value.(type) {
	case []any:
		for _, item := range value {
			if err := checkInline(item); err != nil {
				return err
			}
		}
	case map[string]any:
		for key, item := range value {
			err := checkInline(item)
			switch strings.ToLower(key) {
			case "patch", "patchesstrategicmerge", "generators", "transformers", "validators":
				err = each(item, func(text string) error {
					if err := manifest.CheckSeparated([]byte(text)); err != nil {
						return fmt.Errorf("text in %s: %w", key, err)
					}
					return nil
				})
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// kustomizationFiles yields the kustomization files of a folder; there should be only one.
func kustomizationFiles(fsys Files, folder string) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		for _, name := range konfig.RecognizedKustomizationFileNames() {
			if source := path.Join(folder, name); fsys.Exists(source) && !fsys.IsDir(source) && !yield(source) {
				return
			}
		}
	}
}

// Memory is a file system in memory. It must not be changed after the first build. The SDK's own file system in memory
// refuses names with blanks and many other characters.
type Memory struct {
	// FileSystem is empty. It provides the methods that building does not need.
	filesys.FileSystem

	files   map[string][]byte
	folders sets.Set[string]
}

// NewMemory returns a Memory without files.
func NewMemory() *Memory {
	return &Memory{FileSystem: filesys.MakeEmptyDirInMemory(), files: map[string][]byte{}, folders: sets.New("/")}
}

// Add adds a file, or replaces it. The path is absolute and slash-separated. The content is not copied.
func (m *Memory) Add(name string, content []byte) {
	name = path.Clean(name)
	m.files[name] = content
	for name != "/" {
		name = path.Dir(name)
		m.folders.Insert(name)
	}
}

// Exists reports whether a file or folder exists.
func (m *Memory) Exists(name string) bool {
	_, ok := m.files[absolute(name)]
	return ok || m.IsDir(name)
}

// IsDir reports whether a folder exists.
func (m *Memory) IsDir(name string) bool {
	return m.folders.Has(absolute(name))
}

// ReadFile returns the content of a file, which must not be changed.
func (m *Memory) ReadFile(name string) ([]byte, error) {
	switch content, ok := m.files[absolute(name)]; {
	case ok:
		return content, nil
	case m.IsDir(name):
		return nil, &fs.PathError{Op: "read", Path: name, Err: errors.New("is a directory")}
	default:
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	}
}

// CleanedAbs returns the folder of a file and its name, or the folder itself.
func (m *Memory) CleanedAbs(name string) (filesys.ConfirmedDir, string, error) {
	cleaned := absolute(name)
	switch {
	case m.IsDir(cleaned):
		return filesys.ConfirmedDir(cleaned), "", nil
	case m.Exists(cleaned):
		return filesys.ConfirmedDir(path.Dir(cleaned)), path.Base(cleaned), nil
	default:
		return "", "", &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	}
}

func absolute(name string) string { return path.Join("/", name) }

// Hash returns the suffix that Kustomize's generators would append to the name of a ConfigMap or Secret: ten characters
// that depend on its kind, name, data and, for a Secret, type.
func Hash(object *unstructured.Unstructured) (string, error) {
	content := map[string]any{"apiVersion": object.GetAPIVersion(), "kind": object.GetKind(), "metadata": map[string]any{"name": object.GetName()}}
	for _, field := range []string{"data", "binaryData", "stringData", "type"} {
		if value, exists := object.Object[field]; exists {
			content[field] = value
		}
	}
	node, err := yaml.FromMap(content)
	if err != nil {
		return "", fmt.Errorf("encoding the content: %w", err)
	}
	return (&hasher.Hasher{}).Hash(node)
}

// Renaming describes a ConfigMap or Secret that gets another name.
type Renaming struct {
	// Kind is ConfigMap or Secret.
	Kind string
	// Namespace of the object.
	Namespace string
	// From is the old name, To the new one.
	From, To string
}

// IsRenamable reports whether objects of a type can be renamed: ConfigMaps and Secrets.
func IsRenamable(gvk schema.GroupVersionKind) bool {
	return gvk.GroupVersion() == schema.GroupVersion{Version: "v1"} && (gvk.Kind == "ConfigMap" || gvk.Kind == "Secret")
}

// RenameReferences returns an object that refers to the new names: the object itself if it contains none of the old
// ones, otherwise a copy. It applies the SDK's rules for references, and changes nothing else. The namespace is the
// default for the object. It fails if a reference is ambiguous, which happens in a cluster-scoped object if the name
// exists in several namespaces.
func RenameReferences(object *unstructured.Unstructured, namespace string, renamings []Renaming) (*unstructured.Unstructured, error) {
	if IsRenamable(object.GroupVersionKind()) {
		// ConfigMaps and Secrets do not refer to each other.
		return object, nil
	}
	texts := map[string]bool{}
	collect(object.Object, texts)
	// The SDK should get no more than necessary.
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

// renamingFiles returns a kustomization that renames objects, and with them the references in the given object.
func renamingFiles(object *unstructured.Unstructured, namespace string, renamings []Renaming) (*Memory, error) {
	files := NewMemory()
	kustomization := types.Kustomization{Resources: []string{"object.yaml"}}
	// The SDK would interpret some annotations, so only those whose values are old names stay.
	annotations := object.GetAnnotations()
	maps.DeleteFunc(annotations, func(_, value string) bool {
		return !slices.ContainsFunc(renamings, func(r Renaming) bool { return r.From == value })
	})
	referrer := maps.Clone(object.Object)
	referrer["metadata"] = map[string]any{"name": "object", "namespace": cmp.Or(object.GetNamespace(), namespace), "annotations": annotations}
	if err := addYAML(files, "object.yaml", referrer); err != nil {
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
		// The SDK interprets names as regular expressions.
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

func addYAML(files *Memory, name string, content map[string]any) error {
	raw, err := yaml.Marshal(content)
	files.Add("/"+name, raw)
	return err
}

// collect records all strings in a value.
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

// renameIn replaces old names in value with the new names at the same place in wanted, and returns the value.
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
