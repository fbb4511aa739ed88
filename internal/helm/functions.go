// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package helm

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"text/template"

	"github.com/BurntSushi/toml"
	"sigs.k8s.io/yaml"
	goyaml "sigs.k8s.io/yaml/goyaml.v3"

	"github.com/component-operator/runtime/internal/manifest"
	"github.com/component-operator/runtime/internal/templating"
)

// library has the functions of Helm, apart from include, tpl and lookup. The map must not be changed.
var library = newLibrary()

// newLibrary adds Helm's own functions to those of sprig. As in Helm, what cannot be written is the empty text, and
// what cannot be read is a map with the key "Error", or a list of the error alone.
func newLibrary() template.FuncMap {
	functions := templating.Sprig()
	for name, function := range map[string]any{
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
		// Templates must not explore the network of an operator.
		"getHostByName": func(string) string { return "" },
		// A rendering binds its own.
		"lookup": templating.Lookup{}.One,
	} {
		functions[name] = function
	}
	return functions
}

// limited is a function that writes a value, with a limit for its length.
func limited(write func(value any) string) func(value any) (string, error) {
	return func(value any) (string, error) {
		if err := templating.CheckEncoding(value); err != nil {
			return "", err
		}
		return write(value), nil
	}
}

func prettyJSON(value any) string {
	raw, err := json.MarshalIndent(value, "", "  ")
	if err != nil {
		return ""
	}
	return string(raw)
}

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

func toYaml(value any) string {
	raw, err := yaml.Marshal(value)
	if err != nil {
		return ""
	}
	return strings.TrimSuffix(string(raw), "\n")
}

func toYamlPretty(value any) string {
	var raw bytes.Buffer
	encoder := goyaml.NewEncoder(&raw)
	encoder.SetIndent(2)
	if err := encoder.Encode(value); err != nil {
		return ""
	}
	return strings.TrimSuffix(raw.String(), "\n")
}

// toToml returns the error if there is one, as Helm does.
func toToml(value any) string {
	var raw bytes.Buffer
	if err := toml.NewEncoder(&raw).Encode(value); err != nil {
		return err.Error()
	}
	return raw.String()
}

func toJSON(value any) string {
	raw, err := json.Marshal(value)
	if err != nil {
		return ""
	}
	return string(raw)
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

// required returns the value, unless it is nil or the empty text.
func required(message string, value any) (any, error) {
	if value == nil || value == "" {
		return nil, &refusal{message}
	}
	return value, nil
}

// refusal is the error of a template that calls fail or required.
type refusal struct{ message string }

func (e *refusal) Error() string { return e.message }
