// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package component

import (
	"fmt"
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

func chartHook(kind, name, hooks string, more ...string) string {
	text := fmt.Sprintf("---\napiVersion: %s\nkind: %s\nmetadata:\n  name: %s\n  annotations:\n    helm.sh/hook: %q\n", map[string]string{"Job": "batch/v1", "Pod": "v1"}[kind], kind, name, hooks)
	for i := 0; i < len(more); i += 2 {
		text += fmt.Sprintf("    %s: %q\n", more[i], more[i+1])
	}
	spec := "{restartPolicy: Never, containers: [{name: a, image: a}]}"
	if kind == "Job" {
		spec = "{backoffLimit: 0, template: {spec: " + spec + "}}"
	}
	return text + "spec: " + spec + "\n"
}
