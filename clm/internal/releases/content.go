// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package releases

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"github.com/component-operator/runtime/internal/manifest"
	"github.com/component-operator/runtime/internal/texts"
)

// maxContentValues is how many JSON values a content may have: one for each 16 bytes of the largest one. Another client
// may have written it.
const maxContentValues = 4 << 20

// Content reads the stored content of a revision. The error is a DamagedError if the content cannot be read because the
// record is damaged, or because another process has removed the revision since the release was read.
func (s *Store) Content(ctx context.Context, release *Release, number int64) (Content, error) {
	names := release.stored.index.chunksOf(number)
	if len(names) == 0 {
		return Content{}, fmt.Errorf("revision %d of release %s: its content is no longer available; available revisions: %s", number, release, release.stored.index.keptNumbers())
	}
	found, err := s.chunks(release.Namespace, release.Name).Read(ctx, names)
	if err != nil {
		return Content{}, fmt.Errorf("reading revision %d of release %s: %w", number, release, err)
	}
	damage := strings.Join(found.Damage, "; ")
	if damage == "" {
		content, err := decodeContent(bytes.Join(found.Contents, nil))
		if err == nil {
			return content, nil
		}
		damage = texts.Truncate(err.Error(), maxDamage)
	}
	return Content{}, &DamagedError{Release: release.String(), Part: fmt.Sprintf("revision %d", number), Damage: damage, Revision: number}
}

// chunksOf returns the names of the chunks with the content of a revision; none if the content is not stored.
func (i *index) chunksOf(number int64) []string {
	for _, revision := range i.Revisions {
		if revision.Number == number {
			return revision.Chunks
		}
	}
	return nil
}

// keptNumbers lists the revisions whose contents are stored.
func (i *index) keptNumbers() string {
	var texts []string
	for _, revision := range i.Revisions {
		if len(revision.Chunks) > 0 {
			texts = append(texts, fmt.Sprint(revision.Number))
		}
	}
	return cmp.Or(strings.Join(texts, ", "), "none")
}

// encodeContent returns the JSON form of a content, the same for the same content.
func encodeContent(content Content) ([]byte, error) {
	objects := make([]map[string]any, len(content.Manifest))
	for i, object := range content.Manifest {
		objects[i] = object.Object
	}
	return json.Marshal(map[string]any{"values": content.Values, "manifest": objects, "notes": content.Notes})
}

// decodeContent returns the content of a JSON form. An error means that the content is damaged.
func decodeContent(raw []byte) (Content, error) {
	var stored struct {
		Values   map[string]any   `json:"values"`
		Manifest []map[string]any `json:"manifest"`
		Notes    string           `json:"notes"`
	}
	err := manifest.CheckJSON(maxContentValues, raw)
	if err == nil {
		// It keeps integers from becoming floating-point numbers.
		err = utiljson.Unmarshal(raw, &stored)
	}
	if err != nil {
		return Content{}, fmt.Errorf("decoding it: %w", err)
	}
	content := Content{Values: stored.Values, Notes: stored.Notes}
	for i, object := range stored.Manifest {
		if kind, _ := object["kind"].(string); kind == "" {
			return Content{}, fmt.Errorf("decoding object %d: it has no kind", i)
		}
		content.Manifest = append(content.Manifest, &unstructured.Unstructured{Object: object})
	}
	return content, nil
}
