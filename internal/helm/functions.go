// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package helm

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"text/template"

	"github.com/BurntSushi/toml"
	"sigs.k8s.io/yaml"
	goyaml "sigs.k8s.io/yaml/goyaml.v3"

	"github.com/component-operator/runtime/internal/manifest"
	"github.com/component-operator/runtime/internal/templating"
)

// library contains the functions of Helm, except for include, tpl and lookup. The map must not be changed.
var library = newLibrary()

// newLibrary adds Helm's own functions to those of sprig. As in Helm, a value that cannot be encoded yields the empty
// string, and a text that cannot be decoded yields a map with the key "Error", or a list with only the error.
func newLibrary() template.FuncMap {
	functions := templating.Sprig()
	maps.Copy(functions, map[string]any{
		"toYaml":        limited(toYaml),
		"toYamlPretty":  limited(toYamlPretty),
		"toToml":        limited(toToml),
		"toJson":        toJSON,
		"fromYaml":      func(text string) map[string]any { return readMap(text, unmarshalYaml) },
		"fromJson":      func(text string) map[string]any { return readMap(text, json.Unmarshal) },
		"toPrettyJson":  limited(prettyJSON),
		"fromToml":      func(text string) map[string]any { return readMap(text, unmarshalToml) },
		"fromYamlArray": func(text string) []any { return readList(text, unmarshalYaml) },
		"fromJsonArray": func(text string) []any { return readList(text, json.Unmarshal) },
		"required":      required,
		"fail":          func(message string) (string, error) { return "", &refusal{message} },
		// Templates must not look up names in the operator's network.
		"getHostByName": func(string) string { return "" },
		// Each rendering binds its own.
		"lookup": templating.Lookup{}.One,
	})
	return functions
}

// limited wraps a function that encodes a value, and limits the length of the result.
func limited(write func(value any) string) func(value any) (string, error) {
	return func(value any) (string, error) {
		if err := templating.CheckEncoding(value); err != nil {
			return "", err
		}
		return write(value), nil
	}
}

// written returns an encoded value without a final line break; empty if encoding failed.
func written(raw []byte, err error) string {
	if err != nil {
		return ""
	}
	return strings.TrimSuffix(string(raw), "\n")
}

func prettyJSON(value any) string { return written(json.MarshalIndent(value, "", "  ")) }

func toJSON(value any) string { return written(json.Marshal(value)) }

func toYaml(value any) string { return written(yaml.Marshal(value)) }

// maxKeyParts is the maximum number of parts of a dotted key: the library takes much memory for each.
const maxKeyParts = 100

func unmarshalToml(raw []byte, value any) error {
	for line := range strings.Lines(string(raw)) {
		if key, _, _ := strings.Cut(line, "="); strings.Count(key, ".") > maxKeyParts {
			return fmt.Errorf("a key has more than %d parts", maxKeyParts)
		}
	}
	return toml.Unmarshal(raw, value)
}

func toYamlPretty(value any) string {
	var raw bytes.Buffer
	encoder := goyaml.NewEncoder(&raw)
	encoder.SetIndent(2)
	err := encoder.Encode(value)
	return written(raw.Bytes(), err)
}

// toToml returns the error as text, like Helm does.
func toToml(value any) string {
	var raw bytes.Buffer
	if err := toml.NewEncoder(&raw).Encode(value); err != nil {
		return err.Error()
	}
	return raw.String()
}

func unmarshalYaml(raw []byte, value any) error {
	if err := manifest.CheckSize(raw); err != nil {
		return err
	}
	return yaml.Unmarshal(raw, value)
}

func readMap(text string, unmarshal func(raw []byte, value any) error) map[string]any {
	value := map[string]any{}
	if err := unmarshal([]byte(text), &value); err != nil {
		value["Error"] = err.Error()
	}
	return value
}

func readList(text string, unmarshal func(raw []byte, value any) error) []any {
	list := []any{}
	if err := unmarshal([]byte(text), &list); err != nil {
		list = []any{err.Error()}
	}
	return list
}

// required returns the value. It fails if that is nil or the empty string.
func required(message string, value any) (any, error) {
	if value == nil || value == "" {
		return nil, &refusal{message}
	}
	return value, nil
}

// refusal is the error of a template that calls fail or required.
type refusal struct{ message string }

func (e *refusal) Error() string { return e.message }

// bullet starts each finding in the report of the schema validation. Explanations are below their finding, indented by
// this many blanks per level.
const (
	bullet      = "- "
	indentation = 2
)

// typeMismatch is the SDK's error if the values for a dependency are not a map; its format is broken.
var typeMismatch = regexp.MustCompile(`type mismatch on (\S+): %!t\(.*\)`)

// readable makes the text of an error about values readable. It does not wrap the SDK's error, which contains no other
// error.
func readable(err error) error {
	return errors.New(stableReport(typeMismatch.ReplaceAllString(err.Error(), "the values of dependency $1 are not a map")))
}

// maxCalls is the number of nested calls above which an error shows only the outermost and the innermost.
const maxCalls = 4

var call = regexp.MustCompile(`error calling (?:include|tpl): `)

// located makes the text of a template error readable. The text contains the template where rendering began and the
// place that failed.
func located(err error) error {
	if err == nil {
		return nil
	}
	text := err.Error()
	var refused *refusal
	switch calls := call.Split(text, -1); {
	case errors.As(err, &refused):
		place, _, _ := strings.Cut(text, ": ")
		return &templateError{fmt.Sprintf("execution error at (%s): %s", place, refused.message), err}
	case len(calls) > maxCalls:
		return &templateError{fmt.Sprintf("%s%d calls further: %s", calls[0], len(calls)-1, calls[len(calls)-1]), err}
	default:
		return err
	}
}

type templateError struct {
	text string
	err  error
}

func (e *templateError) Error() string { return e.text }

func (e *templateError) Unwrap() error { return e.err }

var additionalProperties = regexp.MustCompile(`(additional properties )(.*)( not allowed)$`)

// stableReport sorts the findings of the schema validation, which come in random order, because status messages must be
// stable. Other lines (the names of charts) keep their place.
func stableReport(report string) string {
	var out, findings []string
	flush := func() {
		out = append(out, sortFindings(findings, 0)...)
		findings = nil
	}
	for _, line := range strings.Split(strings.TrimSpace(report), "\n") {
		if strings.HasPrefix(strings.TrimLeft(line, " "), bullet) {
			findings = append(findings, sortProperties(line))
			continue
		}
		flush()
		out = append(out, line)
	}
	flush()
	return strings.Join(out, "\n")
}

// sortFindings sorts the findings of one level. Each is followed by its explanations.
func sortFindings(lines []string, level int) []string {
	prefix := strings.Repeat(" ", level*indentation) + bullet
	var groups [][]string
	for _, line := range lines {
		if strings.HasPrefix(line, prefix) || len(groups) == 0 {
			groups = append(groups, nil)
		}
		last := len(groups) - 1
		groups[last] = append(groups[last], line)
	}
	for i, group := range groups {
		if len(group) > 1 {
			groups[i] = append(group[:1:1], sortFindings(group[1:], level+1)...)
		}
	}
	slices.SortStableFunc(groups, slices.Compare)
	return slices.Concat(groups...)
}

func sortProperties(line string) string {
	parts := additionalProperties.FindStringSubmatch(line)
	if parts == nil {
		return line
	}
	names := strings.Split(parts[2], ", ")
	slices.Sort(names)
	return strings.TrimSuffix(line, parts[0]) + parts[1] + strings.Join(names, ", ") + parts[3]
}
