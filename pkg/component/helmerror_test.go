// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package component

import (
	"testing"
	"testing/fstest"

	"github.com/component-operator/runtime/pkg/manifests"
	"github.com/component-operator/runtime/pkg/manifests/helm"
)

// chartGenerator returns a generator for a chart with the given files.
func chartGenerator(tb testing.TB, files map[string]string) manifests.Generator {
	tb.Helper()
	fsys := fstest.MapFS{"Chart.yaml": {Data: []byte("apiVersion: v2\nname: demo\nversion: 1.0.0\n")}}
	for name, content := range files {
		fsys[name] = &fstest.MapFile{Data: []byte(content)}
	}
	generator, err := helm.New(fsys, ".", helm.Options{})
	if err != nil {
		tb.Fatal(err)
	}
	return generator
}
