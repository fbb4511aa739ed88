// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package helm

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"helm.sh/helm/v3/pkg/chart/loader"
	"k8s.io/apimachinery/pkg/util/yaml"
)

// decodeWithHelm does what Helm does with the texts of files before it sends them.
func decodeWithHelm(files map[string]string) (objects []map[string]any, err error) {
	for _, content := range files {
		decoder := yaml.NewYAMLOrJSONDecoder(strings.NewReader(content), 4096)
		for {
			var object map[string]any
			if err := decoder.Decode(&object); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				return nil, err
			}
			if object != nil {
				objects = append(objects, object)
			}
		}
	}
	return objects, nil
}

// BenchmarkRender renders a chart of 300 objects.
func BenchmarkRender(b *testing.B) {
	chart := files{
		"Chart.yaml": metadata("many"), "values.yaml": "settings: {first: one, second: two, third: three, fourth: four, fifth: five}\n",
		"templates/_helpers.tpl": "{{- define \"labels\" -}}\napp.kubernetes.io/name: {{ .Chart.Name }}\napp.kubernetes.io/instance: {{ .Release.Name }}\n{{- end -}}\n",
	}
	for i := range 30 {
		chart[fmt.Sprintf("templates/file-%d.yaml", i)] = fmt.Sprintf(`{{- range $i := until 10 }}
---
apiVersion: v1
kind: ConfigMap
metadata:
  name: {{ $.Release.Name }}-%d-{{ $i }}
  labels: {{- include "labels" $ | nindent 4 }}
data:
  {{- range $key, $value := $.Values.settings }}
  {{ $key }}: {{ $value | quote }}
  {{- end }}
{{- end }}
`, i)
	}
	buffered := chart.buffered()
	loaded, err := Load(chart.fs(), ".")
	if err != nil {
		b.Fatal(err)
	}
	b.Run("runtime", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if objects, err := loaded.Render(b.Context(), release(nil)); err != nil || len(objects) != 300 {
				b.Fatalf("got %d objects and error %v", len(objects), err)
			}
		}
	})
	for _, decoding := range []bool{false, true} {
		b.Run(fmt.Sprintf("Helm/decoding=%t", decoding), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				// Rendering changes the chart; loading it is not what is measured.
				b.StopTimer()
				parsed, err := loader.LoadFiles(buffered)
				if err != nil {
					b.Fatal(err)
				}
				b.StartTimer()
				rendered, err := renderWithHelm(parsed, release(nil))
				if err != nil {
					b.Fatal(err)
				}
				if decoding {
					if objects, err := decodeWithHelm(rendered); err != nil || len(objects) != 300 {
						b.Fatalf("got %d objects and error %v", len(objects), err)
					}
				}
			}
		})
	}
}
