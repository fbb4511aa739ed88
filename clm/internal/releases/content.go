// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package releases

import (
	"encoding/json"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"github.com/component-operator/runtime/clm/internal/packs"
	"github.com/component-operator/runtime/internal/ellipsis"
)

// encodeContent returns the document of a content as JSON, the same for the same content.
func encodeContent(content Content) ([]byte, error) {
	values, err := json.Marshal(content.Values)
	if err != nil {
		return nil, fmt.Errorf("encoding the values: %w", err)
	}
	stored := packs.Document{Values: values, Manifest: make([]json.RawMessage, len(content.Manifest)), Notes: content.Notes}
	for i, object := range content.Manifest {
		if stored.Manifest[i], err = json.Marshal(object.Object); err != nil {
			return nil, fmt.Errorf("encoding %s %s: %w", object.GetKind(), object.GetName(), err)
		}
	}
	return stored.Encode()
}

// decodeContent returns the content of a document. The error is an UnreadableError.
func decodeContent(raw []byte) (Content, error) {
	stored, err := packs.DecodeDocument(raw)
	if err != nil {
		return Content{}, unreadable("decoding it: %v", err)
	}
	if len(stored.Values) == 0 {
		return Content{}, unreadable("decoding it: it has no values")
	}
	content := Content{}
	// It keeps integers from becoming floating-point numbers.
	if err := utiljson.Unmarshal(stored.Values, &content.Values); err != nil {
		return Content{}, unreadable("decoding the values: %v", err)
	}
	content.Notes = stored.Notes
	content.Manifest, err = decodeManifest(stored, func([]byte) bool { return true })
	return content, err
}

// decodeObjects returns those objects of a document that the function wants. The error is an UnreadableError.
func decodeObjects(raw []byte, wants func(raw []byte) bool) ([]*unstructured.Unstructured, error) {
	stored, err := packs.DecodeDocument(raw)
	if err != nil {
		return nil, unreadable("decoding it: %v", err)
	}
	return decodeManifest(stored, wants)
}

func decodeManifest(stored packs.Document, wants func(raw []byte) bool) (objects []*unstructured.Unstructured, err error) {
	for i, raw := range stored.Manifest {
		if !wants(raw) {
			continue
		}
		object := &unstructured.Unstructured{}
		if err := object.UnmarshalJSON(raw); err != nil {
			return nil, unreadable("decoding object %d: %v", i, err)
		}
		objects = append(objects, object)
	}
	return objects, nil
}

func unreadable(format string, args ...any) error {
	return &packs.UnreadableError{Damage: ellipsis.Truncate(fmt.Sprintf(format, args...), maxDamage)}
}
