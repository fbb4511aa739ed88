// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package templating_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/component-operator/runtime/internal/templating"
)

func TestRender(t *testing.T) {
	t.Parallel()
	data := map[string]any{"a": "x", "nil": nil, "map": map[string]any{}, "noValue": "some <no value>"}
	tests := []struct{ reason, text, want string }{
		{"a value", "a: {{ .a }}", "a: x"},
		{"a missing key is nothing", "a: {{ .missing }}.", "a: ."},
		{"a missing key further down, too", "a: {{ .map.missing }}.", "a: ."},
		{"so is nil", "a: {{ .nil }}.", "a: ."},
		{"nil from include and tpl", `{{ define "n" }}[{{ .nil }}]{{ end }}{{ include "n" . }}{{ tpl "{{ .nil }}." . }}`, "[]."},
		{"text that contains what stands for nil is left alone", "a: <no value> {{ .noValue }}", "a: <no value> some <no value>"},
		{"a key of what is missing", "{{ .missing.deeper }}", "error: a.yaml:1:11: executing \"a.yaml\" at <.missing.deeper>: nil pointer"},
		{"a defined template", "{{ define `d` }}({{ . }}){{ end }}{{ include `d` .a }}{{ include `d` 1 | quote }}", `(x)"(1)"`},
		{"an unknown template", "\n{{ include `d` . }}", "error: a.yaml:2:3: executing \"a.yaml\" at <include `d` .>: error calling include: there is no template \"d\""},
		{"a text", "{{ tpl `<{{ .a }}>` . }}", "<x>"},
		{"a text with definitions of its own", "{{ tpl `{{ define \"e\" }}[{{ . }}]{{ end }}{{ include \"e\" .a }}` . }}", "[x]"},
		{"its definitions end with it", "{{ tpl `{{ define \"e\" }}{{ end }}` . }}{{ include `e` . }}", `error: there is no template "e"`},
		{"a text that uses the others' definitions", "{{ define `d` }}!{{ end }}{{ tpl `{{ template \"d\" }}{{ include \"d\" . }}` . }}", "!!"},
		{"a text in a text", "{{ tpl `{{ tpl \"{{ .a }}\" . }}` . }}", "x"},
		{"a text with an error", "{{ tpl `\n{{ fail \"no\" }}` . }}", "error: calling tpl: text given to tpl:2:3: executing \"text given to tpl\" at <fail \"no\">: error calling fail: no"},
		{"a text that cannot be parsed", "{{ tpl `\n{{ if }}` . }}", "error: calling tpl: text given to tpl:2: missing value for if"},
		{"an error on a line", "\n\n{{ fail `no` }}", "error: a.yaml:3:3: executing \"a.yaml\" at <fail `no`>: error calling fail: no"},
		{"a panic within a function", "{{ atoi .map }}", "error: a.yaml:1:"},
	}
	for _, tt := range tests {
		t.Run(tt.reason, func(t *testing.T) {
			t.Parallel()
			got, err := render(t, tt.text, data)
			check(t, got, err, tt.want)
			if err != nil && (strings.HasPrefix(err.Error(), "template:") || strings.Contains(err.Error(), ": template:")) {
				t.Errorf("the error contains noise: %v", err)
			}
		})
	}
}

func TestLimits(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("templates that go to the limits take some seconds")
	}
	big := strings.Repeat("x", 1<<20)
	fill := strings.Repeat("{{ .big }}", 15)
	tests := []struct{ reason, text, want string }{
		{"output beyond the limit", fill + "{{ .big }}.", `error: template "a.yaml" yields too much text; at most 16777216 bytes are allowed`},
		{"output without end", "{{ define `d` }}.{{ template `d` }}{{ end }}{{ template `d` }}", "error: exceeded maximum template depth"},
		{"output of an included template", "{{ define `d` }}" + fill + "{{ .big }}.{{ end }}{{ $x := include `d` . }}", `error: template "d" yields too much text`},
		{"output of included templates that is dropped again", "{{ range until 40 }}{{ $x := include `d` $ }}{{ end }}{{ define `d` }}{{ .big }}{{ end }}", ""},
		{"output of failed templates does not count", "{{ define `d` }}" + fill + "{{ end }}{{ $x := include `d` . }}{{ include `d` . }}", ""},
		{
			"template and include by turns", "{{ define `t` }}{{ if .n }}{{ template `t` (dict `n` (sub .n 1)) }}{{ else }}{{ include `i` . }}{{ end }}{{ end }}" +
				"{{ define `i` }}{{ template `t` (dict `n` 20000) }}{{ end }}{{ include `i` . }}", "is rendered within itself or others too deeply",
		},
	}
	for _, tt := range tests {
		t.Run(tt.reason, func(t *testing.T) {
			got, err := render(t, tt.text, map[string]any{"big": big})
			switch {
			case tt.want == "" && err != nil:
				t.Errorf("got error %.500v", err)
			case tt.want != "" && err == nil:
				t.Errorf("got %d bytes, want an error", len(got))
			case err != nil && !strings.Contains(err.Error(), strings.TrimPrefix(tt.want, "error: ")):
				t.Errorf("got error %.500v, want %s", err, tt.want)
			case err != nil && len(err.Error()) > 500:
				t.Errorf("the error has %d bytes", len(err.Error()))
			}
		})
	}
}

// All files of a rendering together may yield as much as one may.
func TestLimitOfAllFiles(t *testing.T) {
	t.Parallel()
	set, err := templating.Parse([]templating.File{{Name: "a", Text: "{{ . }}"}, {Name: "b", Text: "{{ . }}"}}, templating.Options{})
	if err != nil {
		t.Fatal(err)
	}
	renderer, err := set.Renderer(nil)
	if err != nil {
		t.Fatal(err)
	}
	big := strings.Repeat("x", 10<<20)
	if _, err := renderer.Render("a", big); err != nil {
		t.Fatal(err)
	}
	if _, err := renderer.Render("b", big); err == nil || !strings.Contains(err.Error(), `template "b" yields too much text`) {
		t.Errorf("got error %v", err)
	}
	if _, err := renderer.Render("b", "x"); err != nil {
		t.Errorf("a text that was refused counts: %v", err)
	}
}

func TestFunctionsOfTheOccasion(t *testing.T) {
	t.Parallel()
	cause := errors.New("cause")
	set, err := templating.Parse([]templating.File{{Name: "a", Text: "{{ who }} {{ tpl `{{ who }}` . }} {{ upper `x` }}"}}, templating.Options{
		Functions: map[string]any{"who": func() string { return "nobody" }, "upper": strings.ToLower},
	})
	if err != nil {
		t.Fatal(err)
	}
	got, err := execute(t, set, "a", nil)
	check(t, got, err, "nobody nobody x")

	renderer, err := set.Renderer(map[string]any{"who": func() (string, error) { return "", cause }})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := renderer.Render("a", nil); !errors.Is(err, cause) {
		t.Errorf("the cause of error %v is lost", err)
	}
}
