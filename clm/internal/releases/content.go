// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package releases

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"github.com/component-operator/runtime/internal/chunks"
)

// A content is stored as documents: one for the values, one for each object, one that has the order of the objects, and one for the notes if there are any. Two revisions share
// the chunks whose documents are the same in both.
const (
	valuesKey = "values"
	orderKey  = "order"
	notesKey  = "notes"
)

// piece is a document, or a part of one that is too large to be in one chunk with others.
type piece struct {
	// Key of the document.
	Key string `json:"key"`
	// Value is the document; empty if it is in parts.
	Value json.RawMessage `json:"value,omitempty"`
	// Parts is the number of parts, Part the number of this one, which begins at 0.
	Parts int `json:"parts,omitempty"`
	Part  int `json:"part,omitempty"`
	// Bytes are those of the part.
	Bytes []byte `json:"bytes,omitempty"`
}

// encodeContent returns what is stored of a content.
func encodeContent(content Content, maxPiece int) ([]chunks.Item, error) {
	items, err := appendDocument(nil, valuesKey, content.Values, maxPiece)
	if err != nil {
		return nil, fmt.Errorf("encoding the values: %w", err)
	}
	order := make([]string, len(content.Manifest))
	count := map[string]int{}
	for i, object := range content.Manifest {
		gvk := object.GroupVersionKind()
		key := "object/" + gvk.Group + "/" + gvk.Kind + "/" + object.GetNamespace() + "/" + object.GetName()
		count[key]++
		if again := count[key]; again > 1 {
			// One object may be several hooks.
			key += "/" + strconv.Itoa(again)
		}
		order[i] = key
		if items, err = appendDocument(items, key, object.Object, maxPiece); err != nil {
			return nil, fmt.Errorf("encoding %s %s: %w", object.GetKind(), object.GetName(), err)
		}
	}
	if items, err = appendDocument(items, orderKey, order, maxPiece); err != nil {
		return nil, fmt.Errorf("encoding the order of objects: %w", err)
	}
	if content.Notes != "" {
		if items, err = appendDocument(items, notesKey, content.Notes, maxPiece); err != nil {
			return nil, fmt.Errorf("encoding the notes: %w", err)
		}
	}
	return items, nil
}

func appendDocument(items []chunks.Item, key string, document any, maxPiece int) ([]chunks.Item, error) {
	raw, err := json.Marshal(document)
	if err != nil {
		return nil, err
	}
	pieces := []piece{{Key: key, Value: raw}}
	if len(raw) > maxPiece {
		pieces = nil
		parts := (len(raw) + maxPiece - 1) / maxPiece
		for i := range parts {
			pieces = append(pieces, piece{Key: key, Parts: parts, Part: i, Bytes: raw[i*maxPiece : min((i+1)*maxPiece, len(raw))]})
		}
	}
	for _, piece := range pieces {
		value, err := json.Marshal(piece)
		if err != nil {
			return nil, err
		}
		items = append(items, chunks.Item{Key: key + "#" + strconv.Itoa(piece.Part), Value: value})
	}
	return items, nil
}

// decodeContent returns the content of which the chunks have the pieces, in any order.
func decodeContent(contents [][]byte) (Content, error) {
	documents, err := joinPieces(contents)
	if err != nil {
		return Content{}, err
	}
	content := Content{}
	if err := decodeDocument(documents, valuesKey, &content.Values); err != nil {
		return Content{}, err
	}
	if documents[notesKey] != nil {
		if err := decodeDocument(documents, notesKey, &content.Notes); err != nil {
			return Content{}, err
		}
	}
	var order []string
	if err := decodeDocument(documents, orderKey, &order); err != nil {
		return Content{}, err
	}
	for _, key := range order {
		object := &unstructured.Unstructured{}
		if documents[key] == nil {
			return Content{}, fmt.Errorf("%s is missing", key)
		}
		if err := object.UnmarshalJSON(documents[key]); err != nil {
			return Content{}, fmt.Errorf("decoding %s: %w", key, err)
		}
		content.Manifest = append(content.Manifest, object)
	}
	return content, nil
}

func decodeDocument(documents map[string][]byte, key string, target any) error {
	if documents[key] == nil {
		return fmt.Errorf("%s is missing", key)
	}
	// It keeps integers from becoming floating-point numbers.
	if err := utiljson.Unmarshal(documents[key], target); err != nil {
		return fmt.Errorf("decoding %s: %w", key, err)
	}
	return nil
}

// joinPieces returns all documents.
func joinPieces(contents [][]byte) (map[string][]byte, error) {
	documents := map[string][]byte{}
	parts := map[string][]piece{}
	for _, content := range contents {
		var pieces []piece
		if err := json.Unmarshal(content, &pieces); err != nil {
			return nil, fmt.Errorf("decoding a chunk: %w", err)
		}
		for _, piece := range pieces {
			if piece.Parts == 0 {
				documents[piece.Key] = piece.Value
				continue
			}
			parts[piece.Key] = append(parts[piece.Key], piece)
		}
	}
	for key, found := range parts {
		slices.SortFunc(found, func(a, b piece) int { return cmp.Compare(a.Part, b.Part) })
		var whole []byte
		for i, part := range found {
			if part.Part != i || part.Parts != len(found) {
				return nil, errors.New("the parts of " + key + " do not belong together")
			}
			whole = append(whole, part.Bytes...)
		}
		documents[key] = whole
	}
	return documents, nil
}
