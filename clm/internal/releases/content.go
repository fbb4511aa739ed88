// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package releases

import (
	"encoding/json"
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"github.com/component-operator/runtime/internal/manifest"
)

// maxContentValues is how many JSON values a content may have: one for each 16 bytes of the largest one. Somebody else may have
// written it.
const maxContentValues = 4 << 20

// document is the JSON form of a content.
type document[V, O any] struct {
	Values   V      `json:"values"`
	Manifest []O    `json:"manifest"`
	Notes    string `json:"notes,omitempty"`
}

// encodeContent returns the JSON form of a content, the same for the same content.
func encodeContent(content Content) ([]byte, error) {
	stored := document[map[string]any, map[string]any]{Values: content.Values, Manifest: []map[string]any{}, Notes: content.Notes}
	for _, object := range content.Manifest {
		stored.Manifest = append(stored.Manifest, object.Object)
	}
	return json.Marshal(stored)
}

// decodeContent returns the content of a JSON form. An error means that the content is damaged.
func decodeContent(raw []byte) (Content, error) {
	stored, err := decodeDocument(raw)
	if err != nil {
		return Content{}, err
	}
	if len(stored.Values) == 0 {
		return Content{}, errors.New("decoding it: it has no values")
	}
	content := Content{Notes: stored.Notes}
	// utiljson keeps integers from becoming floating-point numbers.
	if err := utiljson.Unmarshal(stored.Values, &content.Values); err != nil {
		return Content{}, fmt.Errorf("decoding the values: %w", err)
	}
	content.Manifest, err = decodeManifest(stored.Manifest, func([]byte) bool { return true })
	return content, err
}

// decodeObjects returns those objects of a JSON form that the function wants. An error means that the content is damaged.
func decodeObjects(raw []byte, wants func(raw []byte) bool) ([]*unstructured.Unstructured, error) {
	stored, err := decodeDocument(raw)
	if err != nil {
		return nil, err
	}
	return decodeManifest(stored.Manifest, wants)
}

func decodeDocument(raw []byte) (stored document[json.RawMessage, json.RawMessage], err error) {
	if err = manifest.CheckJSON(maxContentValues, raw); err == nil {
		err = json.Unmarshal(raw, &stored)
	}
	if err != nil {
		return stored, fmt.Errorf("decoding it: %w", err)
	}
	return stored, nil
}

func decodeManifest(manifest []json.RawMessage, wants func(raw []byte) bool) (objects []*unstructured.Unstructured, err error) {
	for i, raw := range manifest {
		if !wants(raw) {
			continue
		}
		object := &unstructured.Unstructured{}
		if err := object.UnmarshalJSON(raw); err != nil {
			return nil, fmt.Errorf("decoding object %d: %w", i, err)
		}
		objects = append(objects, object)
	}
	return objects, nil
}
