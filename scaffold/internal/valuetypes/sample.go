// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package valuetypes

import (
	"encoding/json"
	"math/big"
	"regexp/syntax"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"sigs.k8s.io/yaml"
)

const (
	// attempts is how many alternatives of anyOf and oneOf are tried.
	attempts = 8
	// sampleDepth limits how deep values are made, since a schema may refer to itself.
	sampleDepth = 12
	// sampleLength limits how long lists and texts are made.
	sampleLength = 1000
)

// A sampler makes values that a schema accepts.
type sampler struct {
	attempt int
	size    int
}

// sample returns the least that a user has to set. It is an empty map if nothing that was tried is valid.
func (d *deriver) sample(s *source) []byte {
	for attempt := range attempts {
		g := &sampler{attempt: attempt}
		values := s.collect(g.object, true)
		if !s.valid(merge(s.defaults, values)) {
			continue
		}
		if content, err := yaml.Marshal(values); err == nil {
			return content
		}
	}
	d.note("", "no sample: no values were found that the schema accepts")
	return []byte("{}\n")
}

// optional returns values for what is empty by default, as far as they are found. They need not be valid together.
func optional(s *source) []byte {
	content, err := yaml.Marshal(s.collect((&sampler{}).fill, false))
	if err != nil {
		return []byte("{}\n")
	}
	return content
}

// maker makes a value that schemas describe, or what has to be added to its default. Nil if there is nothing to add.
type maker func(schemas []*jsonschema.Schema, def fallback, depth int) any

// collect makes values for a chart and its subcharts, or for those that are switched on.
func (s *source) collect(made maker, onlyOn bool) map[string]any {
	var schemas []*jsonschema.Schema
	if s.schema != nil {
		schemas = append(schemas, s.schema)
	}
	values, _ := made(schemas, fallback{value: s.defaults, set: true}, 0).(map[string]any)
	for _, d := range s.dependencies {
		if onlyOn && !d.on(s.defaults) {
			continue
		}
		if below := d.source.collect(made, onlyOn); len(below) > 0 {
			values = merge(map[string]any{d.key(): below}, values)
		}
	}
	return merge(values, nil)
}

// choose decides for one alternative of each choice.
func (g *sampler) choose(schemas []*jsonschema.Schema) *facts {
	f := gather(schemas...)
	for i := 0; i < len(f.choices) && i < maxDepth; i++ {
		f.add(f.choices[i][g.attempt%len(f.choices[i])])
	}
	return f
}

// object returns an object with what is required, and with what has an invalid default.
func (g *sampler) object(schemas []*jsonschema.Schema, def fallback, depth int) any {
	f := g.choose(schemas)
	values := map[string]any{}
	if f.types&tObject == 0 {
		return values
	}
	for _, name := range slices.Concat(f.required, def.keys()) {
		below, known := def.below(name), f.properties[name]
		if below.set && accepts(known, below.value) || !below.set && !slices.Contains(f.required, name) {
			continue
		}
		values[name] = g.value(known, below, depth+1)
	}
	for _, name := range sortedKeys(f.properties) {
		if _, done := values[name]; !done && f.minFields != nil && len(values) < *f.minFields {
			values[name] = g.value(f.properties[name], def.below(name), depth+1)
		}
	}
	return values
}

// value returns a value that all schemas accept, as far as it is found.
func (g *sampler) value(schemas []*jsonschema.Schema, def fallback, depth int) any {
	g.size++
	if len(schemas) == 0 || depth > sampleDepth || g.size > maxNodes {
		return "value"
	}
	f := g.choose(schemas)
	known := slices.Concat(f.enum, f.hints)
	if i := slices.IndexFunc(known, func(value any) bool { return value != nil && accepts(schemas, value) }); i >= 0 {
		return known[i]
	}
	switch {
	case f.types&tObject != 0 && (f.types != tAll || len(f.properties) > 0):
		return g.object(schemas, def, depth)
	case f.types&tString != 0:
		return f.text()
	case f.types&tNumber != 0:
		return f.number(schemas)
	case f.types&tArray != 0:
		values := []any{}
		for f.minItems != nil && len(values) < min(*f.minItems, sampleLength) {
			values = append(values, g.value(f.items, fallback{}, depth+1))
		}
		return values
	case f.types&tBool != 0:
		return true
	}
	return nil
}

// number returns a number that the schemas accept, as far as it is found.
func (f *facts) number(schemas []*jsonschema.Schema) any {
	candidates := append([]*big.Rat{new(big.Rat), big.NewRat(1, 1)}, f.multiple...)
	for _, b := range []bound{f.min, f.max} {
		for _, distance := range []int64{0, 1, -1} {
			if b.value != nil {
				candidates = append(candidates, new(big.Rat).Add(b.value, big.NewRat(distance, 1)))
			}
		}
	}
	for _, candidate := range candidates {
		if value := json.Number(decimal(candidate)); accepts(schemas, value) {
			return value
		}
	}
	return json.Number("0")
}

// formatted are texts in the formats that JSON Schema knows.
var formatted = map[string]string{
	"date": "2024-01-31", "date-time": "2024-01-31T12:00:00Z", "email": "user@example.org", "hostname": "example.org",
	"ipv4": "192.0.2.1", "ipv6": "2001:db8::1", "uri": "https://example.org/", "uuid": "123e4567-e89b-42d3-a456-426614174000",
	"time": "12:00:00Z", "duration": "P1D",
}

// text returns a text in the format, or one that the pattern matches.
func (f *facts) text() string {
	for _, format := range f.formats {
		if value, ok := formatted[format]; ok {
			return value
		}
	}
	text := "value"
	if f.maxLength != nil {
		text = text[:min(len(text), *f.maxLength)]
	}
	if len(f.patterns) > 0 {
		text = ""
		if parsed, err := syntax.Parse(f.patterns[0], syntax.Perl); err == nil {
			text = shortest(parsed.Simplify())
		}
	}
	for f.minLength != nil && len(text) < min(*f.minLength, sampleLength) {
		text += "x"
	}
	return text
}

// shortest returns a text that a regular expression matches, if it has no conditions on its surroundings.
func shortest(re *syntax.Regexp) string {
	switch re.Op { //nolint:exhaustive // the others match the empty text
	case syntax.OpLiteral:
		return string(re.Rune)
	case syntax.OpCharClass:
		return string(printable(re.Rune))
	case syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		return "x"
	case syntax.OpCapture, syntax.OpPlus, syntax.OpAlternate:
		return shortest(re.Sub[0])
	case syntax.OpConcat:
		var out strings.Builder
		for _, sub := range re.Sub {
			out.WriteString(shortest(sub))
		}
		return out.String()
	}
	return ""
}

// printable returns a character of a class, if possible one that needs no quotes.
func printable(class []rune) rune {
	for _, wanted := range "a0Ax1" {
		for i := 0; i+1 < len(class); i += 2 {
			if class[i] <= wanted && wanted <= class[i+1] {
				return wanted
			}
		}
	}
	if len(class) == 0 {
		return 'x'
	}
	return class[0]
}

// texts are tried for a string that is empty by default. The first one is a DNS name, because such strings are often
// host names.
var texts = []any{"example.org", "example", "value", "1"}

// fill returns a value if the default is empty, or what has to be added to it; nil if there is nothing to add.
func (g *sampler) fill(schemas []*jsonschema.Schema, def fallback, depth int) any {
	g.size++
	if depth > sampleDepth || g.size > maxNodes {
		return nil
	}
	f := g.choose(schemas)
	fields, isMap := def.value.(map[string]any)
	_, isText := def.value.(string)
	switch {
	case isMap && len(fields) > 0, len(f.properties) > 0 && (isMap || !def.set):
		return g.fillObject(f, def, depth)
	case isMap || def.set && !isEmpty(def.value):
		return nil
	case isText || len(schemas) > 0 && f.types&tString != 0:
		return f.filledText(schemas)
	}
	return g.fillOther(f, schemas, depth)
}

// filledText returns a text that is not empty and that the schemas accept; nil if none is found.
func (f *facts) filledText(schemas []*jsonschema.Schema) any {
	for _, value := range slices.Concat(f.enum, f.hints, texts, []any{f.text()}) {
		if text, ok := value.(string); ok && text != "" && accepts(schemas, text) {
			return text
		}
	}
	return nil
}

// fillOther is fill for what is neither a text nor an object with known fields.
func (g *sampler) fillOther(f *facts, schemas []*jsonschema.Schema, depth int) any {
	switch {
	case f.types&tArray != 0 && len(f.items) > 0:
		if item := g.fill(f.items, fallback{}, depth+1); item != nil {
			return []any{item}
		}
	case f.types&(tObject|tArray) == 0:
		if value := g.value(schemas, fallback{}, depth); accepts(schemas, value) {
			return value
		}
	}
	return nil
}

func isEmpty(value any) bool {
	list, isList := value.([]any)
	return value == nil || value == "" || isList && len(list) == 0
}

func (g *sampler) fillObject(f *facts, def fallback, depth int) any {
	values := map[string]any{}
	for _, name := range slices.Concat(sortedKeys(f.properties), def.keys()) {
		if _, done := values[name]; done {
			continue
		}
		if value := g.fill(f.properties[name], def.below(name), depth+1); value != nil {
			values[name] = value
		}
	}
	if len(values) == 0 {
		return nil
	}
	return values
}
