// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package helm

import (
	"bytes"
	"testing"
)

// TestPostRenderNamesTheSource: the whole name, also if there is a comma in it.
func TestPostRenderNamesTheSource(t *testing.T) {
	t.Parallel()
	release := release(nil)
	var seen string
	release.PostRender = func(rendered *bytes.Buffer) (*bytes.Buffer, error) {
		seen = rendered.String()
		return rendered, nil
	}
	chart := load(t, files{"Chart.yaml": metadata("top"), "templates/a,b.yaml": configMap("web", "a: b")})
	if _, err := chart.Render(t.Context(), release); err != nil {
		t.Fatal(err)
	}
	expectParts(t, seen, "---\n# Source: top/templates/a,b.yaml\napiVersion: v1\n")
}
