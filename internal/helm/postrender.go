// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package helm

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/component-operator/runtime/internal/manifest"
	"github.com/component-operator/runtime/internal/templating"
)

// MaxOutput is the limit for all files of a rendered chart together, in bytes.
const MaxOutput = templating.MaxOutput

// postRendererName is the source of objects that a post-renderer returned.
const postRendererName = "output of the post-renderer"

// postRender returns the objects of the post-renderer. It marks those as definitions that were definitions before.
func postRender(objects []Object, run func(*bytes.Buffer) (*bytes.Buffer, error)) ([]Object, error) {
	var rendered bytes.Buffer
	for _, object := range objects {
		content, err := manifest.Encode(object.Object)
		if err != nil {
			return nil, fmt.Errorf("writing %s: %w", object.Source, err)
		}
		fmt.Fprintf(&rendered, "---\n# Source: %s\n%s", object.File(), content)
	}
	changed, err := run(&rendered)
	if err != nil {
		return nil, fmt.Errorf("post-rendering: %w", err)
	}
	if changed == nil {
		return nil, errors.New("post-rendering: the post-renderer returned nil; to render no objects, return an empty buffer")
	}
	if changed.Len() > MaxOutput {
		return nil, fmt.Errorf("post-rendering: the post-renderer returned %d bytes; at most %d are allowed", changed.Len(), MaxOutput)
	}
	result, err := parseDocuments(documentsOf(postRendererName, changed.Bytes()))
	if err != nil {
		return nil, err
	}
	definitions := map[identity]bool{}
	for _, object := range objects {
		if object.Definition {
			definitions[identityOf(object)] = true
		}
	}
	for i := range result {
		result[i].Definition = definitions[identityOf(result[i])]
	}
	return result, nil
}
