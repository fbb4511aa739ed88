// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package valuetypes

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"sigs.k8s.io/yaml"
)

// A source is a chart as it was read: its schemas, and its defaults with those of its subcharts.
type source struct {
	schema       *jsonschema.Schema
	defaults     map[string]any // numbers are json.Number
	remarks      map[string]remark
	dependencies []dependency
	own          []string // fields with which the parent switches this chart on and off
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
		for path := range strings.SplitSeq(d.Condition, ",") {
			if name, ok := strings.CutPrefix(strings.TrimSpace(path), key+"."); ok && !strings.Contains(name, ".") {
				below.own = append(below.own, name)
			}
		}
		s.dependencies = append(s.dependencies, dependency{Dependency: d, source: below})
		if err := s.adopt(key, below); err != nil {
			return nil, in(path, err)
		}
	}
	return s, nil
}

// in says which subchart an error is about.
func in(path string, err error) error {
	if path == "" {
		return err
	}
	return fmt.Errorf("subchart %q: %w", path, err)
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
	if err := yaml.Unmarshal(content, &values, func(d *json.Decoder) *json.Decoder { d.UseNumber(); return d }); err != nil {
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

// merge returns the values with those of a higher precedence put over them, as Helm merges: objects key by key, anything else
// as a whole; null removes a key. The arguments are not changed.
func merge(low, high map[string]any) map[string]any {
	merged := make(map[string]any, len(low)+len(high))
	for key, value := range low {
		merged[key] = value
	}
	for key, value := range high {
		if value == nil {
			delete(merged, key)
			continue
		}
		lower, lowerIsMap := merged[key].(map[string]any)
		higher, higherIsMap := value.(map[string]any)
		if lowerIsMap && higherIsMap {
			merged[key] = merge(lower, higher)
			continue
		}
		merged[key] = value
	}
	return merged
}

// valid reports whether the chart, and its subcharts that are switched on, accept what the user sets.
func (s *source) valid(values map[string]any) bool {
	merged := merge(s.defaults, values)
	return s.validMerged(merged)
}

func (s *source) validMerged(merged map[string]any) bool {
	if s.schema != nil && !accepts([]*jsonschema.Schema{s.schema}, any(merged)) {
		return false
	}
	for _, d := range s.dependencies {
		if !d.on(merged) {
			continue
		}
		switch below := merged[d.key()].(type) {
		case nil:
		case map[string]any:
			if !d.source.validMerged(below) {
				return false
			}
		default:
			return false
		}
	}
	return true
}

// A wont is the default of a value: what it is if the user does not set it.
type wont struct {
	value   any
	set     bool // false also for null
	path    string
	remarks map[string]remark
}

// below returns the default of a field.
func (w wont) below(name string) wont {
	path := name
	if w.path != "" {
		path = w.path + separator + name
	}
	fields, _ := w.value.(map[string]any)
	value := fields[name]
	return wont{value: value, set: value != nil, path: path, remarks: w.remarks}
}

// none returns the default of what is below lists and maps: these are not merged.
func (w wont) none() wont { return wont{} }

func (w wont) remark() remark { return w.remarks[w.path] }

// keys returns the names that values.yaml has below this value, in order.
func (w wont) keys() []string {
	fields, _ := w.value.(map[string]any)
	return sortedKeys(fields)
}

// isInteger reports whether a number has no fraction, and was not written as one.
func (w wont) isInteger() bool {
	n, ok := w.value.(json.Number)
	return ok && !w.remark().float && !strings.ContainsAny(n.String(), ".eE")
}
