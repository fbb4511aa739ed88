// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package helm

import (
	"bytes"

	"github.com/component-operator/runtime/internal/manifest"
	"github.com/component-operator/runtime/pkg/manifests"
)

// Options change how a chart is rendered. The zero value renders it as Helm does.
type Options struct {
	// ReleaseService is the value of .Release.Service. Defaults to "Helm".
	ReleaseService string
	// PostRenderer changes the rendered objects. If it does not implement manifests.Pure, the generator is not pure
	// either: the chart is then rendered in each pass. Defaults to none.
	PostRenderer PostRenderer
}

// PostRenderer changes the rendered objects before Helm's annotations are interpreted. Post-renderers that were
// written for Helm work. Other than with Helm, they also get hooks and the objects of the crds folders.
type PostRenderer interface {
	// Run gets all objects, in the order of rendering, as a stream of YAML documents, each of which begins with the
	// comment "# Source: " and the name of its template. It returns the objects to use instead, possibly in the same
	// buffer; an empty buffer means no objects. It may be called concurrently.
	Run(renderedManifests *bytes.Buffer) (modifiedManifests *bytes.Buffer, err error)
}

func (o Options) postRender() func(*bytes.Buffer) (*bytes.Buffer, error) {
	if o.PostRenderer == nil {
		return nil
	}
	return o.PostRenderer.Run
}

// fingerprint identifies the options; it is empty if they are not pure.
func (o Options) fingerprint() string {
	identity := []string{o.ReleaseService}
	if o.PostRenderer != nil {
		pure, ok := o.PostRenderer.(manifests.Pure)
		if !ok || pure.Fingerprint() == "" {
			return ""
		}
		identity = append(identity, pure.Fingerprint())
	}
	result, err := manifest.Digest(identity)
	if err != nil {
		return ""
	}
	return result
}
