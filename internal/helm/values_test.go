// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package helm

import (
	"crypto/sha512"
	"encoding/json"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/chartutil"
	"sigs.k8s.io/yaml"
)

// dice turns the bytes of a fuzzer into decisions; when they are used up, all decisions are 0.
type dice []byte

func (d *dice) roll(sides int) int {
	if len(*d) == 0 {
		return 0
	}
	rolled := int((*d)[0]) % sides
	*d = (*d)[1:]
	return rolled
}

// valueKeys are few, so that the same ones occur in all places, and include all that mean something.
var valueKeys = []string{"a", "b", "global", "sub", "deep", "renamed", "enabled", "tags", "exports", "data", ""}

// table returns a map of what a hand-written ToUnstructured might yield.
func (d *dice) table(depth int) map[string]any {
	table := map[string]any{}
	for range d.roll(5) {
		table[valueKeys[d.roll(len(valueKeys))]] = d.value(depth + 1)
	}
	return table
}

func (d *dice) value(depth int) any {
	kinds := 16
	if depth > 5 {
		kinds = 12
	}
	switch d.roll(kinds) {
	case 0, 1:
		return nil
	case 2:
		return d.roll(2) == 0
	case 3:
		return []string{"", "text", "<no value>", "1", "true", "ä\n", "{{ .x }}", "null"}[d.roll(8)]
	case 4:
		return int64(d.roll(256)) - 128
	case 5:
		return []any{int64(10_000_000), int64(1) << 53, uint64(1) << 63, float64(1e21), 1e-7, math.Copysign(0, -1), 10_000_000.0}[d.roll(7)]
	case 6:
		return float64(d.roll(256)) / 4
	case 7:
		return []any{1, int8(2), uint16(3), float32(0.1), json.Number("4"), json.Number("10000000.5"), uint8(5)}[d.roll(7)]
	case 8:
		return []string{"x", "y"}
	case 9:
		return map[string]string{"a": "x", "enabled": "true"}
	case 10:
		return struct {
			A *int `json:"a"`
		}{}
	case 11:
		list := []any{}
		for range d.roll(3) {
			list = append(list, d.value(depth+2))
		}
		return list
	default:
		return d.table(depth)
	}
}

// layeredChart is a chart in a chart in a chart, each of which shows its values.
func layeredChart(t testing.TB, layout, defaults []byte) files {
	t.Helper()
	decisions, contents := dice(layout), dice(defaults)
	show := func(name string) files {
		content, err := yaml.Marshal(contents.table(0))
		if err != nil {
			t.Fatal(err)
		}
		return files{"values.yaml": string(content), "templates/a.yaml": configMap(name, "values: {{ toJson .Values | quote }}")}
	}
	declaration := func(name string) string {
		choose := func(options ...string) string { return options[decisions.roll(len(options))] }
		return "dependencies: [{name: " + name + ", version: '*'" +
			choose("", ", alias: renamed") + choose("", ", condition: sub.enabled", ", condition: 'a.enabled,enabled'") + choose("", ", tags: [a]", ", tags: [a, b]") +
			choose("", ", import-values: [data]", ", import-values: [data, {child: a, parent: b}]", ", import-values: [{child: global, parent: .}]") + "}]"
	}
	top, sub, deep := show("top"), show("sub"), show("deep")
	top["Chart.yaml"] = metadata("top", declaration("sub"))
	sub["Chart.yaml"] = metadata("sub", declaration("deep"))
	deep["Chart.yaml"] = metadata("deep")
	return top.with(sub.below("charts/sub")).with(deep.below("charts/sub/charts/deep"))
}

// helmValues returns, by chart, what Helm makes of values in a values file.
func helmValues(t testing.TB, f files, given []byte) (map[string]any, error) {
	t.Helper()
	chart, err := loader.LoadFiles(f.buffered())
	if err != nil {
		return nil, err
	}
	values, err := chartutil.ReadValues(given)
	if err != nil {
		t.Fatal(err)
	}
	if err := chartutil.ProcessDependenciesWithMerge(chart, values); err != nil {
		return nil, err
	}
	rendered, err := chartutil.ToRenderValues(chart, values, chartutil.ReleaseOptions{}, nil)
	if err != nil {
		return nil, err
	}
	result := map[string]any{"top": rendered["Values"]}
	current, table := chart, rendered["Values"].(chartutil.Values)
	for _, name := range []string{"sub", "deep"} {
		if len(current.Dependencies()) == 0 {
			break
		}
		current = current.Dependencies()[0]
		if table, err = table.Table(current.Name()); err != nil {
			t.Fatal(err)
		}
		result[name] = table
	}
	return plain(t, result), nil
}

// plain returns what JSON makes of values, whose numbers are floats.
func plain(t testing.TB, values map[string]any) map[string]any {
	t.Helper()
	raw, err := json.Marshal(values)
	if err != nil {
		t.Fatal(err)
	}
	var result map[string]any
	if err := json.Unmarshal(raw, &result); err != nil {
		t.Fatal(err)
	}
	return result
}

func renderedValues(t testing.TB, f files, values map[string]any) (map[string]any, error) {
	t.Helper()
	chart, err := Load(f.fs(), ".")
	if err != nil {
		return nil, err
	}
	objects, err := chart.Render(t.Context(), release(values))
	if err != nil {
		return nil, err
	}
	result := map[string]any{}
	for _, object := range objects {
		data, _ := object.Object["data"].(map[string]any)
		text, _ := data["values"].(string)
		var content any
		if err := json.Unmarshal([]byte(text), &content); err != nil {
			t.Fatal(err)
		}
		result[object.GetName()] = content
	}
	return result, nil
}

// FuzzValues compares the values that templates see with what Helm makes of the same values in a values file.
func TestValuesDoNotGrow(t *testing.T) {
	t.Parallel()
	read := func(string) ([]byte, error) { return []byte(bomb(1<<10, 100)), nil }
	_, err := MergeValues(ValuesInput{Files: []string{"a.yaml"}, Read: read})
	if want := "parsing values a.yaml: with its aliases replaced, it has more than"; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("want an error with %q, got %v", want, err)
	}
}

func FuzzValues(f *testing.F) {
	for i := range byte(16) {
		layout, defaults, given := sha512.Sum512([]byte{i, 0}), sha512.Sum512([]byte{i, 1}), sha512.Sum512([]byte{i, 2})
		f.Add(layout[:], defaults[:], given[:])
	}
	for _, seed := range [][3]string{
		{"", "", ""},
		{"\x01", "\x02\x00\x04\x05\x02\x03\x0c\x02\x00\x00\x01\x04\x07", "\x02\x00\x00\x05\x0c\x01\x00\x00"},
		{"\x00\x01\x01\x02", "\x03\x02\x0c\x02\x00\x04\x01\x01\x05\x03\x0c\x01\x08\x0c\x01\x09\x0c\x01\x00\x04\x01", "\x04\x02\x0c\x01\x00\x00\x03\x0c\x02\x06\x02\x00\x04\x0c\x01\x00\x00"},
		{"\x00\x02\x02\x03\x01\x01\x01\x01", "\x04\x00\x07\x04\x01\x05\x02\x02\x06\x03\x03\x0f\x01\x02\x00", "\x03\x07\x0c\x02\x00\x02\x01\x01\x02\x00"},
	} {
		f.Add([]byte(seed[0]), []byte(seed[1]), []byte(seed[2]))
	}
	f.Fuzz(func(t *testing.T, layout, defaults, given []byte) {
		chart := layeredChart(t, layout, defaults)
		rolls, again := dice(given), dice(given)
		values, before := rolls.table(0), again.table(0)
		file, err := yaml.Marshal(values)
		if err != nil {
			t.Fatal(err)
		}
		want, wantErr := helmValues(t, chart, file)
		got, gotErr := renderedValues(t, chart, values)
		if (wantErr == nil) != (gotErr == nil) {
			t.Fatalf("Helm yields error %v, but we yield %v, for values\n%s\nof chart\n%v", wantErr, gotErr, file, chart)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("unexpected values (-Helm +got) for\n%s\nof chart\n%v:\n%s", file, chart, diff)
		}
		if diff := cmp.Diff(before, values); diff != "" {
			t.Errorf("the given values were changed (-before +after):\n%s", diff)
		}
	})
}

func TestDocumentsOfValuesFiles(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ reason, content, want, problem string }{
		{"documents are merged", "a: {b: 1, c: 2}\n---\n# more\na: {c: 3, d: null}\ne: [1]\n", `{"a":{"b":1,"c":3,"d":null},"e":[1]}`, ""},
		{"documents without content", "---\n---\na: b\n--- # nothing\n", `{"a":"b"}`, ""},
		{"no line break at the end", "{a: b}\n---\n" + strings.Repeat("#", 4076) + "\nc: d", `{"a":"b","c":"d"}`, ""},
		{"the end of a document", "a: b\n...\n---\nc: d\n", `{"a":"b","c":"d"}`, ""},
		{"a second value in a document", "{a: b}\n\n{c: d}\n", "", "line 3: another value begins here"},
		{"a second value in a later document", "a: b\n---\n{c: d}\n{e: f}\n", "", "line 4: another value begins here"},
		{"a document that is not a map", "a: b\n---\n[c]\n", "", "cannot unmarshal array"},
	} {
		got, err := MergeValues(ValuesInput{Files: []string{"v.yaml"}, Read: func(string) ([]byte, error) { return []byte(test.content), nil }})
		if test.problem != "" {
			if err == nil || !strings.Contains(err.Error(), "parsing values v.yaml: ") || !strings.Contains(err.Error(), test.problem) {
				t.Errorf("%s: want an error with %q, got %v", test.reason, test.problem, err)
			}
			continue
		}
		if encoded, _ := json.Marshal(got); err != nil || string(encoded) != test.want {
			t.Errorf("%s: want %s, got %s, %v", test.reason, test.want, encoded, err)
		}
	}
}
