// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package valuetypes

import (
	"slices"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"sigs.k8s.io/yaml"
)

// optionalDepth limits how deep values are made, since a schema may refer to itself.
const optionalDepth = 12

// texts are tried for a string that is empty by default. The first one is a DNS name, because such strings are often host names.
var texts = []string{"example.org", "example", "value", "1"}

// optionalValues returns values for what is empty by default, as far as they are found. They need not be valid together.
func optionalValues(s *source) []byte {
	g := &sampler{}
	content, err := yaml.Marshal(g.optionalOf(s))
	if err != nil {
		return []byte("{}\n")
	}
	return content
}

func (g *sampler) optionalOf(s *source) map[string]any {
	var schemas []*jsonschema.Schema
	if s.schema != nil {
		schemas = append(schemas, s.schema)
	}
	values, _ := g.fill(schemas, wont{value: s.defaults, set: true}, 0).(map[string]any)
	if values == nil {
		values = map[string]any{}
	}
	for _, d := range s.dependencies {
		below := g.optionalOf(d.source)
		own, _ := values[d.key()].(map[string]any)
		for key, value := range own {
			below[key] = value
		}
		if len(below) > 0 {
			values[d.key()] = below
		}
	}
	return values
}

// fill returns a value if the default is empty, or what has to be added to it; nil if there is nothing to add.
func (g *sampler) fill(schemas []*jsonschema.Schema, def wont, depth int) any {
	g.size++
	if depth > optionalDepth || g.size > maxNodes {
		return nil
	}
	f := g.choose(gather(schemas...))
	fields, isMap := def.value.(map[string]any)
	switch {
	case isMap && len(fields) > 0, len(f.properties) > 0 && (isMap || !def.set):
		return g.fillObject(f, def, depth)
	case isMap || def.set && !isEmpty(def.value):
		return nil
	}
	if _, isText := def.value.(string); isText || len(schemas) > 0 && f.types&tString != 0 {
		return g.fillText(f, schemas)
	}
	return g.fillOther(f, schemas, depth)
}

// fillOther is fill for what is neither a text nor an object with known fields.
func (g *sampler) fillOther(f *facts, schemas []*jsonschema.Schema, depth int) any {
	switch {
	case len(schemas) == 0:
		return nil
	case f.types&tArray != 0 && len(f.items) > 0:
		if item := g.fill(f.items, wont{}, depth+1); item != nil {
			return []any{item}
		}
		return nil
	case f.types&tObject != 0 || f.types&tArray != 0:
		return nil // nothing says what could be in it
	}
	if value := g.value(schemas, wont{}, depth); accepts(schemas, value) {
		return value
	}
	return nil
}

func isEmpty(value any) bool {
	list, isList := value.([]any)
	return value == nil || value == "" || isList && len(list) == 0
}

func (g *sampler) fillObject(f *facts, def wont, depth int) any {
	names := append(sortedKeys(f.properties), def.keys()...)
	slices.Sort(names)
	values := map[string]any{}
	for _, name := range slices.Compact(names) {
		if value := g.fill(f.properties[name], def.below(name), depth+1); value != nil {
			values[name] = value
		}
	}
	if len(values) == 0 {
		return nil
	}
	return values
}

// fillText returns a text that is not empty and that the schemas accept; nil if none is found.
func (g *sampler) fillText(f *facts, schemas []*jsonschema.Schema) any {
	candidates := slices.Concat(f.enum, f.examples)
	for _, text := range texts {
		candidates = append(candidates, text)
	}
	for _, candidate := range append(candidates, g.text(f)) {
		if text, ok := candidate.(string); ok && text != "" && accepts(schemas, text) {
			return text
		}
	}
	return nil
}
