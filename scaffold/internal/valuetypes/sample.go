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

// attempts is how many alternatives of anyOf and oneOf are tried.
const attempts = 8

// sample returns the least that a user has to set. It is an empty map if nothing that was tried is valid.
func (d *deriver) sample(s *source) []byte {
	for attempt := range attempts {
		g := &sampler{attempt: attempt}
		values := g.source(s)
		if !s.valid(values) {
			continue
		}
		content, err := yaml.Marshal(values)
		if err == nil {
			return content
		}
	}
	d.note("", "no sample: no values were found that the schema accepts")
	return []byte("{}\n")
}

// A sampler makes values that a schema accepts.
type sampler struct {
	attempt int
	size    int
}

func (g *sampler) source(s *source) map[string]any {
	values := map[string]any{}
	if s.schema != nil {
		if object, ok := g.object(gather(s.schema), wont{value: s.defaults, set: true}, 0).(map[string]any); ok {
			values = object
		}
	}
	for _, d := range s.dependencies {
		if !d.on(s.defaults) {
			continue
		}
		below := g.source(d.source)
		if len(below) == 0 {
			continue
		}
		own, _ := values[d.key()].(map[string]any)
		for key, value := range own {
			below[key] = value
		}
		values[d.key()] = below
	}
	return values
}

// choose decides for one alternative of each choice.
func (g *sampler) choose(f *facts) *facts {
	for range maxDepth {
		if len(f.choices) == 0 {
			break
		}
		c := f.choices[0]
		f = gather(append(slices.Clone(f.schemas), c.of[g.attempt%len(c.of)])...)
		f.choices = slices.DeleteFunc(f.choices, func(other choice) bool { return other.schema == c.schema && other.exactlyOne == c.exactlyOne })
	}
	return f
}

func (g *sampler) object(f *facts, def wont, depth int) any {
	f = g.choose(f)
	values := map[string]any{}
	names := slices.Clone(f.required)
	for _, name := range def.keys() {
		if len(f.properties[name]) > 0 && !accepts(f.properties[name], def.below(name).value) {
			names = append(names, name)
		}
	}
	for _, name := range names {
		below := def.below(name)
		schemas := f.properties[name]
		if _, done := values[name]; done || below.set && (len(schemas) == 0 || accepts(schemas, below.value)) {
			continue
		}
		values[name] = g.value(schemas, below, depth+1)
	}
	if f.minFields != nil {
		for _, name := range sortedKeys(f.properties) {
			if _, done := values[name]; !done && len(values) < *f.minFields {
				values[name] = g.value(f.properties[name], def.below(name), depth+1)
			}
		}
		for len(f.additional) > 0 && len(values) < *f.minFields {
			values["key"+strings.Repeat("x", len(values))] = g.value(f.additional, wont{}, depth+1)
		}
	}
	return values
}

// value returns a value that all schemas accept, as far as it is found.
func (g *sampler) value(schemas []*jsonschema.Schema, def wont, depth int) any {
	g.size++
	if len(schemas) == 0 || depth > maxDepth || g.size > maxNodes {
		return "value"
	}
	f := g.choose(gather(schemas...))
	candidates := slices.Clone(f.enum)
	if f.hint != nil {
		candidates = append(candidates, *f.hint)
	}
	candidates = append(candidates, f.examples...)
	for _, value := range candidates {
		if value != nil && accepts(schemas, value) {
			return value
		}
	}
	switch {
	case f.types&tObject != 0 && (f.types != tAll || len(f.properties) > 0):
		return g.object(f, def, depth)
	case f.types&tString != 0:
		return g.text(f)
	case f.types&tNumber != 0:
		return g.number(f)
	case f.types&tArray != 0:
		return g.list(f, depth)
	case f.types&tBool != 0:
		return true
	}
	return nil
}

func (g *sampler) list(f *facts, depth int) any {
	values := []any{}
	for f.minItems != nil && len(values) < *f.minItems && len(values) < maxMany {
		values = append(values, g.value(f.items, wont{}, depth+1))
	}
	return values
}

func (g *sampler) number(f *facts) any {
	value := new(big.Rat)
	switch {
	case f.min != nil:
		value.Set(f.min)
	case f.above != nil:
		value.Add(f.above, big.NewRat(1, 1))
	case f.max != nil && f.max.Sign() < 0:
		value.Set(f.max)
	case f.below != nil && f.below.Sign() <= 0:
		value.Sub(f.below, big.NewRat(1, 1))
	}
	if f.types&tFraction == 0 {
		value = roundUp(value, false)
	}
	for _, m := range f.multiple {
		value.Mul(roundUp(new(big.Rat).Quo(value, m), false), m)
	}
	return json.Number(decimal(value))
}

// formatted are texts in the formats that JSON Schema knows.
var formatted = map[string]string{
	"date": "2024-01-31", "date-time": "2024-01-31T12:00:00Z", "email": "user@example.org", "hostname": "example.org", "ipv4": "192.0.2.1",
	"ipv6": "2001:db8::1", "uri": "https://example.org/", "uuid": "123e4567-e89b-42d3-a456-426614174000", "time": "12:00:00Z", "duration": "P1D",
}

func (g *sampler) text(f *facts) string {
	for _, format := range f.formats {
		if value, ok := formatted[format]; ok {
			return value
		}
	}
	text := ""
	for _, p := range f.patterns {
		if parsed, err := syntax.Parse(p.String(), syntax.Perl); err == nil {
			text = shortest(parsed.Simplify())
			break
		}
	}
	if text == "" && len(f.patterns) == 0 {
		text = "value"
		if f.maxLength != nil && len(text) > *f.maxLength {
			text = text[:*f.maxLength]
		}
	}
	for f.minLength != nil && len(text) < *f.minLength && len(text) < maxMany {
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
	case syntax.OpCapture, syntax.OpPlus:
		return shortest(re.Sub[0])
	case syntax.OpConcat:
		var out strings.Builder
		for _, sub := range re.Sub {
			out.WriteString(shortest(sub))
		}
		return out.String()
	case syntax.OpAlternate:
		return shortest(re.Sub[0])
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
