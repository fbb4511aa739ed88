// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package helm

import (
	"math"
	"runtime"
	"strings"
	"testing"
)

// TestHostileValues gives values that a user may have written to functions that charts call with values. Each rendering
// fails, and takes less than 200 MB.
func TestHostileValues(t *testing.T) { //nolint:paralleltest // it measures what is allocated
	const large = "at most 16777216"
	text := strings.Repeat("x", 1<<20)
	bomb := "a: &a [x, x, x, x, x, x, x, x, x, x]\n"
	for i := range 8 {
		next := string(rune('b' + i))
		bomb += next + ": &" + next + " [" + strings.TrimSuffix(strings.Repeat("*"+string(rune('a'+i))+", ", 10), ", ") + "]\n"
	}
	var deep any = "x"
	for range 300 {
		deep = map[string]any{"a": deep}
	}
	shared := map[string]any{
		"n": int64(math.MaxInt64 / 8), "text": text, "bomb": bomb, "recursion": `{{ tpl .Values.recursion . }}`, "deep": deep,
		"pattern": strings.Repeat("(x?){1000}", 150), "format": strings.Repeat("%999999[1]d", 400), "toml": strings.Repeat("a.", 5000) + "a = 1",
	}
	for reason, tt := range map[string]struct {
		expression string
		want       string
	}{
		"a count":                          {`range until (int .Values.n) }}x{{ end`, large},
		"a count in steps":                 {`range untilStep 0 (int .Values.n) 1 }}x{{ end`, large},
		"a sequence":                       {`seq 0 (int .Values.n)`, large},
		"a loop":                           {`range int .Values.n }}xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx{{ end`, large},
		"a repetition":                     {`repeat (int .Values.n) "x"`, large},
		"an indentation":                   {`indent (int .Values.n) .Values.text`, large},
		"an indentation in a new line":     {`nindent (int .Values.n) .Values.text`, large},
		"a random text":                    {`randAlphaNum (int .Values.n)`, large},
		"random bytes":                     {`randBytes (int .Values.n)`, large},
		"a replacement":                    {`replace "x" .Values.text .Values.text`, large},
		"a replacement by pattern":         {`regexReplaceAll "x" .Values.text .Values.text`, large},
		"a replacement that repeats":       {`regexReplaceAll "x+" .Values.text (repeat 100 "$0")`, large},
		"a replacement by pattern, raw":    {`regexReplaceAllLiteral "x" .Values.text .Values.text`, large},
		"a separator":                      {`join .Values.text (splitList "" .Values.text)`, large},
		"a separator of lines":             {`wrapWith 1 .Values.text .Values.text`, large},
		"a pattern":                        {`regexMatch .Values.pattern "x"`, large},
		"a long pattern":                   {`regexFindAll .Values.text "x" 1`, large},
		"a pattern for a replacement":      {`regexReplaceAll .Values.pattern "x" "y"`, large},
		"a format":                         {`printf .Values.format 1`, large},
		"keys in TOML":                     {`get (fromToml .Values.toml) "Error" | fail`, "a key has more than 100 parts"},
		"a deep value":                     {`toYaml .Values.deep`, "nested more than 200 levels deep"},
		"a deep value in JSON":             {`toPrettyJson .Values.deep`, "nested more than 200 levels deep"},
		"a deep value in TOML":             {`toToml .Values.deep`, "nested more than 200 levels deep"},
		"the names of files":               {`.Files.Glob .Values.text`, "at most 1024 are allowed"},
		"aliases":                          {`fromYaml .Values.bomb | toJson | contains "Error" | not | ternary "no error" (fail "it has an error")`, "it has an error"},
		"a definition that repeats itself": {`tpl .Values.recursion .`, "too deeply; at most 1000 levels are allowed"},
		"a text for each of many":          {`range until 1000 }}{{ $.Values.text }}{{ end`, "yields too much text; at most 16777216 bytes are allowed"},
	} {
		chart := load(t, files{"Chart.yaml": metadata("top"), "templates/a.yaml": "{{ " + tt.expression + " }}"})
		values := release(shared)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := chart.Render(t.Context(), values)
		runtime.ReadMemStats(&after)
		if err == nil {
			t.Errorf("%s: no error", reason)
			continue
		}
		expectParts(t, err.Error(), "rendering chart top", "top/templates/a.yaml", tt.want)
		if allocated := after.TotalAlloc - before.TotalAlloc; allocated > 200_000_000 {
			t.Errorf("%s: it has allocated %d bytes", reason, allocated)
		}
	}
}
