// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package manifests

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/component-operator/runtime/internal/kustomize"
	"github.com/component-operator/runtime/internal/manifest"
	"github.com/component-operator/runtime/pkg/behaviors"
	"github.com/component-operator/runtime/pkg/types"
)

// KustomizePatch is a patch as in the field patches of a Kustomization.
//
// +kubebuilder:object:generate=true
type KustomizePatch struct {
	// Patch is a strategic merge patch, or a list of operations of a JSON patch (RFC 6902), in YAML or JSON. A
	// strategic merge patch needs a kind and a name even if the target selects the objects.
	Patch string `json:"patch,omitempty"`
	// Target selects the objects to patch. A JSON patch requires it. A strategic merge patch without it changes the
	// object that it names, which must exist.
	Target *KustomizeSelector `json:"target,omitempty"`
}

// KustomizeSelector selects the objects that match all of its fields. An empty field matches all objects.
//
// +kubebuilder:object:generate=true
type KustomizeSelector struct {
	// Group, Version, Kind, Name and Namespace are regular expressions that must match the whole value.
	Group     string `json:"group,omitempty"`
	Version   string `json:"version,omitempty"`
	Kind      string `json:"kind,omitempty"`
	Name      string `json:"name,omitempty"`
	Namespace string `json:"namespace,omitempty"`
	// AnnotationSelector and LabelSelector are selectors as kubectl accepts them for labels.
	AnnotationSelector string `json:"annotationSelector,omitempty"`
	LabelSelector      string `json:"labelSelector,omitempty"`
}

// KustomizeImage replaces parts of the references to an image, as in the field images of a Kustomization.
//
// +kubebuilder:object:generate=true
type KustomizeImage struct {
	// Name is the image to be replaced, without tag and digest.
	Name string `json:"name"`
	// NewName, NewTag and Digest replace the parts of the reference; an empty one leaves its part as it is. A digest
	// wins over a tag.
	NewName string `json:"newName,omitempty"`
	NewTag  string `json:"newTag,omitempty"`
	Digest  string `json:"digest,omitempty"`
}

// KustomizeObjectTransformer applies patches and replaces images as `kustomize build` does: patches first, in their
// order. Like kustomize, it also replaces lists by their items, and leaves out objects with the annotation
// config.kubernetes.io/local-config.
//
// An object that changes is returned as *unstructured.Unstructured; all others are returned as they are. It is [Pure].
type KustomizeObjectTransformer struct {
	patches []KustomizePatch
	images  []KustomizeImage
}

var (
	_ ContextObjectTransformer = &KustomizeObjectTransformer{}
	_ Pure                     = &KustomizeObjectTransformer{}
)

// NewKustomizeObjectTransformer returns a transformer that applies the given patches and images; both may be nil. It
// fails if one of them is malformed.
func NewKustomizeObjectTransformer(patches []KustomizePatch, images []KustomizeImage) (*KustomizeObjectTransformer, error) {
	t := &KustomizeObjectTransformer{images: slices.Clone(images)}
	for i, patch := range patches {
		if err := checkPatch(patch); err != nil {
			return nil, fmt.Errorf("patch %d: %w", i+1, err)
		}
		t.patches = append(t.patches, *patch.DeepCopy())
	}
	for i, image := range images {
		if image.Name == "" {
			return nil, fmt.Errorf("image %d: name is required", i+1)
		}
		if image.NewName == "" && image.NewTag == "" && image.Digest == "" {
			return nil, fmt.Errorf("image %d (%s): one of newName, newTag, digest is required", i+1, image.Name)
		}
	}
	return t, nil
}

// checkPatch finds errors in a patch early; the SDK would report them only when it gets objects.
func checkPatch(patch KustomizePatch) error {
	var content any
	err := manifest.CheckSeparated([]byte(patch.Patch))
	if err == nil {
		err = yaml.Unmarshal([]byte(patch.Patch), &content)
	}
	if err != nil {
		return fmt.Errorf("reading the patch: %w", err)
	}
	switch content := content.(type) {
	case []any:
		if patch.Target == nil {
			return errors.New("a JSON patch needs a target")
		}
	case map[string]any:
		if metadata, _ := content["metadata"].(map[string]any); content["kind"] == nil || metadata["name"] == nil {
			return errors.New("a strategic merge patch needs kind and metadata.name")
		}
	default:
		return fmt.Errorf("invalid value %q; must be a strategic merge patch or a list of JSON patch operations", patch.Patch)
	}
	if patch.Target == nil {
		return nil
	}
	// The SDK reads patch and target even without objects.
	_, err = (&KustomizeObjectTransformer{patches: []KustomizePatch{patch}}).build(nil)
	return err
}

// TransformObjects is TransformObjectsContext for objects that have apiVersion and kind, or a type of client-go.
func (t *KustomizeObjectTransformer) TransformObjects(namespace string, name string, objects []client.Object) ([]client.Object, error) {
	return t.TransformObjectsContext(context.Background(), namespace, name, objects)
}

// TransformObjectsContext returns the objects with patches and images applied. The given objects are not changed. It
// fails if two objects have the same type, namespace and name, or if a patch without target names a missing object.
func (t *KustomizeObjectTransformer) TransformObjectsContext(
	ctx context.Context, _ string, _ string, objects []client.Object,
) ([]client.Object, error) {
	if len(t.patches) == 0 && len(t.images) == 0 || len(objects) == 0 {
		return objects, nil
	}
	if err := checkObjects(objects); err != nil {
		return nil, err
	}
	originals := make(map[string]original, len(objects))
	documents := make([][]byte, len(objects))
	for i, object := range objects {
		u, err := unstructuredOf(ctx, object)
		if err != nil {
			return nil, err
		}
		if documents[i], err = u.MarshalJSON(); err != nil {
			return nil, fmt.Errorf("encoding %s: %w", textOf(u), err)
		}
		originals[types.ObjectKeyToString(u)] = original{object: object, content: documents[i]}
	}
	built, err := t.build(documents)
	if err != nil {
		return nil, err
	}
	return orOriginals(built, originals, objects)
}

// original is an object before it was patched.
type original struct {
	object  client.Object
	content []byte
}

// orOriginals returns the original of each object that the patches have not changed. Changed objects keep the behaviors
// of their originals.
func orOriginals(built []*unstructured.Unstructured, originals map[string]original, objects []client.Object) ([]client.Object, error) {
	patched := make([]client.Object, len(built))
	var renamed []int
	for i, object := range built {
		patched[i] = object
		before, ok := originals[types.ObjectKeyToString(object)]
		if !ok {
			renamed = append(renamed, i)
			continue
		}
		delete(originals, types.ObjectKeyToString(object))
		content, err := json.Marshal(object)
		if err != nil {
			return nil, fmt.Errorf("encoding %s: %w", textOf(object), err)
		}
		patched[i] = behaviors.Carry(before.object, object)
		if bytes.Equal(bytes.TrimSpace(content), bytes.TrimSpace(before.content)) {
			patched[i] = before.object
		}
	}
	if len(renamed) == 0 {
		return patched, nil
	}
	if len(built) == len(objects) {
		// The objects keep their order.
		for _, i := range renamed {
			patched[i] = behaviors.Carry(objects[i], patched[i])
		}
		return patched, nil
	}
	for _, key := range slices.Sorted(maps.Keys(originals)) {
		if names := behaviors.Names(originals[key].object); len(names) > 0 {
			return nil, fmt.Errorf("%s has behaviors (%s), and is lost in patches that both rename and remove objects; use two transformers",
				textOf(originals[key].object), strings.Join(names, ", "))
		}
	}
	return patched, nil
}

// build runs the SDK on objects in JSON.
func (t *KustomizeObjectTransformer) build(documents [][]byte) ([]*unstructured.Unstructured, error) {
	// The objects keep their order.
	kustomization := map[string]any{"patches": t.patches, "images": t.images, "sortOptions": map[string]any{"order": "fifo"}}
	files := kustomize.NewMemory()
	if len(documents) > 0 {
		kustomization["resources"] = []string{"objects.yaml"}
		files.Add("/objects.yaml", bytes.Join(documents, []byte("\n---\n")))
	}
	content, err := json.Marshal(kustomization)
	if err != nil {
		return nil, fmt.Errorf("encoding patches and images: %w", err)
	}
	files.Add("/kustomization.yaml", content)
	built, err := kustomize.Build(files, "/", false)
	if err != nil {
		return nil, fmt.Errorf("patching objects: %w", err)
	}
	return built, nil
}

// Fingerprint covers all patches and images.
func (t *KustomizeObjectTransformer) Fingerprint() string {
	return fingerprintWith("kustomize/1", map[string]any{"patches": t.patches, "images": t.images})
}
