// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package packs

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/component-operator/runtime/clm/internal/deltas"
	"github.com/component-operator/runtime/internal/documents"
)

// Document is the content of a revision. Its JSON form is what is stored.
type Document struct {
	// Values of the revision.
	Values json.RawMessage `json:"values"`
	// Manifest has the objects of the revision.
	Manifest []json.RawMessage `json:"manifest"`
	// Notes of the charts; empty if there are none.
	Notes string `json:"notes,omitempty"`
}

// maxValues is how many JSON values a content may have: one for each 16 bytes of the largest one. Somebody else may
// have written it.
const maxValues = deltas.MaxSize / 16

// DecodeDocument returns the document of which Encode has returned the JSON form.
func DecodeDocument(raw []byte) (Document, error) {
	decoded := Document{}
	err := decode(raw, &decoded)
	return decoded, err
}

// decode decodes JSON within a limit.
func decode(raw []byte, into any) error {
	if err := documents.CheckJSON(maxValues, raw); err != nil {
		return err
	}
	return json.Unmarshal(raw, into)
}

// Encode returns the JSON form. The values and the objects must be valid JSON, which json.Marshal would check, and take several times the memory of the result for it.
func (d Document) Encode() ([]byte, error) {
	notes, err := json.Marshal(d.Notes)
	if err != nil {
		return nil, fmt.Errorf("encoding the notes: %w", err)
	}
	size := len(d.Values) + len(notes) + len(d.Manifest) + 100
	for _, object := range d.Manifest {
		size += len(object)
	}
	document := append(make([]byte, 0, size), `{"values":`...)
	document = append(document, d.Values...)
	document = append(document, `,"manifest":[`...)
	for i, object := range d.Manifest {
		if i > 0 {
			document = append(document, ',')
		}
		document = append(document, object...)
	}
	document = append(document, ']')
	if d.Notes != "" {
		document = append(append(document, `,"notes":`...), notes...)
	}
	return append(document, '}'), nil
}

// Earlier versions of clm stored a content as documents: one for the values, one for each object, and one that has the order of the objects. Each chunk has a
// list of pieces.
const (
	valuesKey = "values"
	orderKey  = "order"
)

// piece is a document, or a part of one that was too large to be in one chunk with others.
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

// joinDocument returns the document of which the chunks have the pieces, in any order.
func joinDocument(contents [][]byte) ([]byte, error) {
	documents, err := joinPieces(contents)
	if err != nil {
		return nil, err
	}
	if documents[valuesKey] == nil || documents[orderKey] == nil {
		return nil, errors.New("the values or the order of the objects are missing")
	}
	var order []string
	if err := decode(documents[orderKey], &order); err != nil {
		return nil, fmt.Errorf("decoding the order of the objects: %w", err)
	}
	joined, size := Document{Values: documents[valuesKey], Manifest: []json.RawMessage{}}, 0
	for _, key := range order {
		if documents[key] == nil {
			return nil, fmt.Errorf("%s is missing", key)
		}
		if size += len(documents[key]); size > deltas.MaxSize {
			return nil, fmt.Errorf("the objects have more than %d bytes", deltas.MaxSize)
		}
		joined.Manifest = append(joined.Manifest, documents[key])
	}
	raw, err := json.Marshal(joined)
	if err != nil {
		return nil, fmt.Errorf("decoding a revision: %w", err)
	}
	return raw, nil
}

// joinPieces returns all documents.
func joinPieces(contents [][]byte) (map[string][]byte, error) {
	if err := documents.CheckJSON(maxValues, contents...); err != nil {
		return nil, fmt.Errorf("decoding a chunk: %w", err)
	}
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
