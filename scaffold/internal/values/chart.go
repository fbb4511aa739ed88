// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package values

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

// A source is a chart as it was read: its schema, and its defaults with those of its subcharts.
type source struct {
	schema       *jsonschema.Schema
	defaults     map[string]any // numbers are json.Number
	remarks      map[string]remark
	dependencies []dependency
}

type dependency struct {
	Dependency
	source *source
}

// load reads a chart and its subcharts. The path is that of the chart's values in those of the outermost parent.
func load(chart Chart, path string) (*source, error) {
	s := &source{}
	var err error
	if s.defaults, err = readValues(chart.Values); err != nil {
		return nil, in(path, err)
	}
	if s.remarks, err = readRemarks(chart.Values); err != nil {
		return nil, in(path, err)
	}
	if len(chart.Schema) > 0 {
		if s.schema, err = compile(chart.Schema); err != nil {
			return nil, in(path, err)
		}
	}
	for _, d := range chart.Dependencies {
		key := d.key()
		if key == "" {
			return nil, in(path, errors.New("a dependency has no name"))
		}
		below, err := load(d.Chart, join(path, key))
		if err != nil {
			return nil, err
		}
		s.dependencies = append(s.dependencies, dependency{Dependency: d, source: below})
		if err := s.adopt(key, below); err != nil {
			return nil, in(path, err)
		}
	}
	s.addSwitches()
	return s, nil
}

// addSwitches adds the values by which Helm switches subcharts on and off, and those for all charts. Without any, a
// subchart is on.
func (s *source) addSwitches() {
	add := func(path []string, value any, text string) {
		values := s.defaults
		for _, key := range path[:len(path)-1] {
			below, isObject := values[key].(map[string]any)
			if !isObject && values[key] != nil {
				return
			}
			if !isObject {
				below = map[string]any{}
				values[key] = below
			}
			values = below
		}
		if last := path[len(path)-1]; values[last] == nil {
			values[last] = value
		}
		full := strings.Join(path, separator)
		if s.remarks[full].text == "" {
			s.remarks[full] = remark{text: text}
		}
	}
	for _, d := range s.dependencies {
		for _, condition := range d.conditions() {
			add(strings.Split(condition, "."), true, "Switches a subchart on and off.")
		}
		for _, tag := range d.Tags {
			add([]string{"tags", tag}, true, "Switches subcharts on and off.")
		}
	}
	if len(s.dependencies) > 0 {
		add([]string{"global"}, map[string]any{}, "Values for all charts.")
	}
}

// in says which subchart an error is about.
func in(path string, err error) error {
	if path == "" {
		return err
	}
	return fmt.Errorf("subchart %q: %w", path, err)
}

func (d Dependency) key() string {
	if d.Alias != "" {
		return d.Alias
	}
	return d.Name
}

func (d Dependency) conditions() []string {
	return strings.FieldsFunc(d.Condition, func(c rune) bool { return c == ',' || c == ' ' })
}

// adopt puts the defaults of a subchart below those of its parent, which win.
func (s *source) adopt(key string, below *source) error {
	inherited := map[string]any{}
	for name, value := range below.defaults {
		if name != "global" {
			inherited[name] = value
		}
	}
	switch own := s.defaults[key].(type) {
	case nil:
		s.defaults[key] = inherited
	case map[string]any:
		s.defaults[key] = merge(inherited, own)
	default:
		return fmt.Errorf("values.yaml: %q is the name of a subchart and must be an object, not %s", key, literal(own))
	}
	for path, r := range below.remarks {
		full := key + separator + path
		if own, ok := s.remarks[full]; ok && own.text != "" {
			r.text = own.text
		}
		s.remarks[full] = r
	}
	return nil
}

// readValues reads values.yaml as Helm does. Integers stay apart from other numbers.
func readValues(content []byte) (map[string]any, error) {
	var values any
	err := yaml.Unmarshal(content, &values, func(d *json.Decoder) *json.Decoder { d.UseNumber(); return d })
	if err != nil {
		return nil, fmt.Errorf("reading values.yaml: %w", err)
	}
	switch values := values.(type) {
	case nil:
		return map[string]any{}, nil
	case map[string]any:
		return values, nil
	default:
		return nil, fmt.Errorf("values.yaml: the root is %s: must be an object", literal(values))
	}
}

// merge returns the values with those of a higher precedence put over them, as Helm merges: objects key by key,
// anything else as a whole; null removes a key. The arguments are not changed.
func merge(low, high map[string]any) map[string]any {
	merged := make(map[string]any, len(low)+len(high))
	for key, value := range low {
		merged[key] = value
	}
	for key, value := range high {
		lower, lowerIsMap := merged[key].(map[string]any)
		higher, higherIsMap := value.(map[string]any)
		switch {
		case value == nil:
			delete(merged, key)
		case lowerIsMap && higherIsMap:
			merged[key] = merge(lower, higher)
		default:
			merged[key] = value
		}
	}
	return merged
}

// on reports whether the subchart is part of a release with the values of the parent: the first condition that is a
// boolean decides, then tags do.
func (d dependency) on(parent map[string]any) bool {
	for _, path := range d.conditions() {
		if value, found, err := unstructured.NestedBool(parent, strings.Split(path, ".")...); found && err == nil {
			return value
		}
	}
	tags, _ := parent["tags"].(map[string]any)
	var given []any
	for _, tag := range d.Tags {
		given = append(given, tags[tag])
	}
	return slices.Contains(given, any(true)) || !slices.Contains(given, any(false))
}

// dependency returns the subchart whose values are in a field. Nil if there is none.
func (s *source) dependency(name string) *dependency {
	for i, d := range s.dependencies {
		if d.key() == name {
			return &s.dependencies[i]
		}
	}
	return nil
}

// A fallback is the default of a value: what it is if the user does not set it.
type fallback struct {
	value   any
	set     bool // false also for null
	path    string
	remarks map[string]remark
}

// below returns the default of a field.
func (f fallback) below(name string) fallback {
	path := name
	if f.path != "" {
		path = f.path + separator + name
	}
	fields, _ := f.value.(map[string]any)
	value := fields[name]
	return fallback{value: value, set: value != nil, path: path, remarks: f.remarks}
}

func (f fallback) remark() remark { return f.remarks[f.path] }

// keys returns the names that values.yaml has below this value. Sorted.
func (f fallback) keys() []string {
	fields, _ := f.value.(map[string]any)
	return sortedKeys(fields)
}

// isInteger reports whether a number has no fraction, and was not written as one.
func (f fallback) isInteger() bool {
	n, ok := f.value.(json.Number)
	return ok && !f.remark().float && !strings.ContainsAny(n.String(), ".eE")
}
