// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package helm

import (
	"strings"
	"testing"
)

// maxMessage is what a condition shows of a message.
const maxMessage = 1024

func TestRenderErrors(t *testing.T) {
	t.Parallel()
	object := "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n"
	for reason, tt := range map[string]struct {
		files  files
		values map[string]any
		want   []string
	}{
		"a template that includes itself": {
			files{"templates/_helpers.tpl": `{{ define "loop" }}{{ include "loop" . }}{{ end }}`, "templates/a.yaml": "\n" + `{{ include "loop" . }}`},
			nil,
			[]string{"top/templates/a.yaml:2:3", `template "loop" is rendered within itself or others too deeply; at most 1000 levels are allowed`},
		},
		"a long way to an error": {
			files{
				"templates/_helpers.tpl": `{{ define "a" }}{{ include "b" . }}{{ end }}{{ define "b" }}{{ include "c" . }}{{ end }}{{ define "c" }}{{ include "d" . }}{{ end }}` +
					"\n" + `{{ define "d" }}{{ .Values.missing.deep }}{{ end }}`,
				"templates/a.yaml": `{{ include "a" . }}`,
			},
			nil,
			[]string{"top/templates/a.yaml:1:3", "4 calls further", "top/templates/_helpers.tpl:2:", "nil pointer"},
		},
		"a key in two notations": {files{"templates/a.yaml": object + "data: {1: a, '1': b}"}, nil, []string{"top/templates/a.yaml, document 1", `the same key occurs in two notations: "1"`}},
	} {
		t.Run(reason, func(t *testing.T) {
			t.Parallel()
			message := renderError(t, files{"Chart.yaml": metadata("top")}.with(tt.files), tt.values)
			expectParts(t, message, append(tt.want, "rendering chart top")...)
			if len(message) > maxMessage {
				t.Errorf("the message has %d bytes: %s", len(message), message)
			}
		})
	}
}

// What users pass to tpl may be a password.
func TestRenderErrorsHideTexts(t *testing.T) {
	t.Parallel()
	for _, text := range []string{`secret "x" {{ fail`, `secret \ {{ .a.b.c }}`, "secret\n{{ tpl .Values.inner . }}", `secret {{ template "none" }}`} {
		message := renderError(t, files{"Chart.yaml": metadata("top"), "templates/a.yaml": "{{ tpl .Values.text . }}"}, map[string]any{"text": text, "inner": "secret {{ .a.b.c }}"})
		expectParts(t, message, "rendering chart top", "top/templates/a.yaml:1:3", "text given to tpl:")
		if strings.Contains(message, "secret") {
			t.Errorf("the message shows the text: %s", message)
		}
	}
}
