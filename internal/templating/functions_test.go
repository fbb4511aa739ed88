// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package templating_test

import (
	"math"
	"os"
	"strings"
	"testing"

	"github.com/Masterminds/sprig/v3"

	"github.com/component-operator/runtime/internal/templating"
)

func TestFunctions(t *testing.T) {
	t.Parallel()
	data := map[string]any{
		"map": map[string]any{"b": int64(1234567890), "a": "<x>"}, "list": []any{"x", int64(1)}, "nil": nil, "empty": "",
		"false": false, "zero": 0, "function": func() {}, "huge": math.MaxInt, "text": "a\nb",
	}
	tests := []struct{ reason, text, want string }{
		{"a map is no part of itself", `{{ $d := dict }}{{ $_ := set $d "self" $d }}{{ $d }}`, `error: setting "self": a map cannot be a part of itself`},
		{"nor of what is in it", `{{ $d := dict }}{{ $_ := set $d "a" (list (dict "b" $d)) }}{{ $d }}`, `error: setting "a": a map cannot be a part of itself`},
		{"nor by merging", `{{ $d := dict }}{{ $_ := merge $d (dict "self" $d) }}{{ $d }}`, "error: a map cannot be a part of itself"},
		{"nor is a part a part of itself", `{{ $d := dict "x" dict }}{{ $_ := mustMergeOverwrite $d (dict "x" (dict "y" $d.x)) }}{{ $d }}`, "error: a map cannot be a part of itself"},
		{"a map may be in another one twice", `{{ $a := dict "k" "v" }}{{ $d := dict "x" $a }}{{ $_ := set $d "y" $a }}{{ $_ = merge $d (dict "z" $a) }}{{ toJson $d }}`, `{"x":{"k":"v"},"y":{"k":"v"},"z":{"k":"v"}}`},
		{"keys are sorted, the last line end is missing", `{{ toYaml .map }}`, "a: <x>\nb: 1234567890"},
		{"large numbers stay as they are", `{{ (fromYaml "a: 1234567890123").a }}`, "1234567890123"},
		{"YAML with a text that aliases repeat", `{{ fromYaml (printf "a: &a %s\nb: [%s]" (repeat 1024 "x") (repeat 100 "*a, ")) | len }}`, "error: with its aliases replaced"},
		{"an array", `{{ index (fromYamlArray "[a, b]") 1 }}`, "b"},
		{"JSON is escaped", `{{ toJson .map }}`, `{"a":"\u003cx\u003e","b":1234567890}`},
		{"raw JSON is not escaped", `{{ toRawJson .map }}`, `{"a":"<x>","b":1234567890}`},
		{"what is there", `{{ required "message" "x" }}`, "x"},
		{"nil is not", `{{ required "message" .nil }}`, "error: error calling required: message"},
		{"shift to the left, by the first argument", `{{ bitwiseShiftLeft 3 1 }}`, "8"},
		{"and", `{{ bitwiseAnd 12 10 }}`, "8"},
		{"exclusive or", `{{ bitwiseXor 12 10 }}`, "6"},
		{"an address", `{{ parseIPv4Address "10.0.1.255" }}`, "167772671"},
		{"an address and back", `{{ "255.254.0.1" | parseIPv4Address | formatIPv4Address }}`, "255.254.0.1"},

		{"no environment", `{{ env "HOME" }}`, `error: a.yaml:1: function "env" not defined`},
		{"no environment within text", `{{ expandenv "$HOME" }}`, `error: a.yaml:1: function "expandenv" not defined`},

		{"no network", `{{ getHostByName "localhost" }}`, `error: a.yaml:1: function "getHostByName" not defined`},

		{"repetition", `{{ repeat 3 "ab" }}{{ repeat 0 "x" }}`, "ababab"},
		{"too much repetition", `{{ repeat 20000000 "x" }}`, "error: the result may have 20000000 bytes; at most 16777216 are allowed"},
		{"a pattern with many repetitions and groups", `{{ regexMatch (repeat 30 "([0-9a-f]{1,4}:)?") "1:2:" }}`, "true"},
		{"a long replacement of few matches", `{{ regexReplaceAll "z" (repeat 20000 "y") (repeat 2000 "x") | len }}`, "20000"},
		{"too much replacement", `{{ repeat 20000 "x" | replace "" (repeat 20000 "y") }}`, "error: the result may have 400040000 bytes"},
		{"too much that is joined", `{{ until 20000 | join (repeat 20000 "y") }}`, "error: the result may have"},
		{"indentation", `{{ indent 2 .text }}|{{ nindent 1 .text }}`, "  a\n  b|\n a\n b"},
		{"too much indentation", `{{ indent 10000000 .text }}`, "error: the result may have"},
		{"numbers", `{{ until 3 }} {{ until -2 }} {{ untilStep 1 6 2 }} {{ untilStep 1 1 0 }} {{ untilStep 3 0 -1 }}`, "[0 1 2] [0 -1] [1 3 5] [] [3 2 1]"},
		{"too many numbers", `{{ until .huge }}`, "error: the result may have"},
		{"sequences", `{{ seq 3 }}|{{ seq 2 4 }}|{{ seq 0 2 5 }}|{{ seq }}|{{ seq 1 2 3 4 }}|{{ seq -1 }}|{{ seq 4 2 }}`, "1 2 3|2 3 4|0 2 4|||1 0 -1|4 3 2"},
		{"too long a sequence", `{{ seq 2000000 }}`, "error: the result may have"},
		{"random text", `{{ randAlphaNum 5 | len }}{{ randAlpha 5 | len }}{{ randAscii 5 | len }}{{ randNumeric 5 | len }}{{ randBytes 3 | len }}`, "55554"},
		{"too much random text", `{{ randAlphaNum 2000000 }}`, "error: the result may have"},
	}
	for _, tt := range tests {
		t.Run(tt.reason, func(t *testing.T) {
			t.Parallel()
			got, err := render(t, tt.text, data)
			check(t, got, err, tt.want)
		})
	}
}

// All that sprig has is there, except what looks outside. A function that sprig gets one day has to be put into the
// list: what it depends on is something that users are told.
func TestFunctionsOfSprig(t *testing.T) {
	t.Parallel()
	raw, err := os.ReadFile("testdata/sprig.txt")
	if err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile("../../website/content/reference/templates.md")
	if err != nil {
		t.Fatal(err)
	}
	classes := map[string]string{}
	for line := range strings.Lines(string(raw)) {
		name, class, _ := strings.Cut(strings.TrimSpace(line), " ")
		classes[name] = class
	}
	functions := sprig.TxtFuncMap()
	for name := range functions {
		class, listed := classes[name]
		if !listed {
			t.Errorf("%s: not in the list of what functions depend on", name)
		}
		_, err := templating.Parse([]templating.File{{Name: "a", Text: "{{ " + name + " }}"}}, templating.Options{})
		if missing := class == "outside"; (err != nil) != missing {
			t.Errorf("%s: got error %v", name, err)
		}
		if class != "" && !strings.Contains(string(page), "`"+name+"`") {
			t.Errorf("%s: it depends on something (%s), which is not documented", name, class)
		}
	}
	for name := range classes {
		if functions[name] == nil {
			t.Errorf("%s: sprig has no such function", name)
		}
	}
}
