// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package sources

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/pkg/types"
)

// file is a file with manifests.
type file struct {
	name    string
	content []byte
}

// manifestGenerator yields objects that were read once.
type manifestGenerator struct {
	objects     []*unstructured.Unstructured
	fingerprint string
}

// newManifestGenerator reads YAML documents and JSON values as kubectl does. Lists are taken apart.
func newManifestGenerator(files []file) (*manifestGenerator, error) {
	g := &manifestGenerator{}
	hash := sha256.New()
	for _, file := range files {
		objects, err := parseManifests(file.content)
		if err != nil {
			return nil, fmt.Errorf("parsing %s: %w", file.name, err)
		}
		g.objects = append(g.objects, objects...)
		fmt.Fprintf(hash, "%d\n", len(file.content))
		hash.Write(file.content)
	}
	g.fingerprint = hex.EncodeToString(hash.Sum(nil))
	return g, nil
}

// Generate returns copies of the objects.
func (g *manifestGenerator) Generate(ctx context.Context, _ string, _ string, _ types.Unstructurable) ([]client.Object, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	objects := make([]client.Object, len(g.objects))
	for i, object := range g.objects {
		objects[i] = object.DeepCopy()
	}
	return objects, nil
}

// Fingerprint identifies the content of the files, and their order.
func (g *manifestGenerator) Fingerprint() string {
	return "manifests/1 " + g.fingerprint
}

func decodeManifest(raw []byte) ([]*unstructured.Unstructured, error) {
	decoded, _, err := unstructured.UnstructuredJSONScheme.Decode(raw, nil, nil)
	if runtime.IsMissingKind(err) {
		// The error shows the whole content.
		return nil, errors.New("kind is missing")
	}
	if err != nil {
		return nil, err
	}
	return flatten(decoded)
}

// flatten returns the object, or the objects of a list and of the lists therein.
func flatten(decoded runtime.Object) ([]*unstructured.Unstructured, error) {
	switch decoded := decoded.(type) {
	case *unstructured.UnstructuredList:
		var objects []*unstructured.Unstructured
		for i := range decoded.Items {
			found, err := flattenItem(&decoded.Items[i])
			if err != nil {
				return nil, fmt.Errorf("item %d of %s: %w", i+1, decoded.GetKind(), err)
			}
			objects = append(objects, found...)
		}
		return objects, nil
	case *unstructured.Unstructured:
		return []*unstructured.Unstructured{decoded}, checkManifest(decoded)
	default:
		return nil, fmt.Errorf("it has the unexpected type %T", decoded)
	}
}

func flattenItem(item *unstructured.Unstructured) ([]*unstructured.Unstructured, error) {
	if !item.IsList() {
		return flatten(item)
	}
	raw, err := item.MarshalJSON()
	if err != nil {
		return nil, err
	}
	// Decoding gives the items of a typed list their type.
	return decodeManifest(raw)
}

// checkManifest refuses what no object can be made of. What the API server refuses, it says itself.
func checkManifest(object *unstructured.Unstructured) error {
	if object.GetKind() == "" {
		return fmt.Errorf("object %q: kind is missing", object.GetName())
	}
	if object.GetAPIVersion() == "" {
		return fmt.Errorf("%s: apiVersion is missing", nameOf(object))
	}
	if object.GetName() == "" {
		if object.GetGenerateName() != "" {
			return fmt.Errorf("%s: metadata.generateName is not supported; set metadata.name", nameOf(object))
		}
		return fmt.Errorf("%s: metadata.name is missing or no text", nameOf(object))
	}
	for _, field := range []string{"labels", "annotations"} {
		if value, _, _ := unstructured.NestedFieldNoCopy(object.Object, "metadata", field); value == nil {
			continue
		}
		if _, _, err := unstructured.NestedStringMap(object.Object, "metadata", field); err != nil {
			return fmt.Errorf("%s: metadata.%s: all values must be texts; put them into quotes: %w", nameOf(object), field, err)
		}
	}
	return nil
}

// nameOf names an object in messages.
func nameOf(object client.Object) string {
	return types.ObjectText(object.GetObjectKind().GroupVersionKind().GroupKind(), object.GetNamespace(), object.GetName())
}
