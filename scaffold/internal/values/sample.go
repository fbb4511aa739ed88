// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package values

import (
	"encoding/json"
	"math/big"
	"regexp/syntax"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

const (
	// sampleDepth limits how deep values are made, since a schema may refer to itself.
	sampleDepth = 12
	// sampleLength limits how long lists and texts are made.
	sampleLength = 1000
)

// A sampler makes values that a schema accepts, as far as they are found. Of alternatives, it takes the first one.
type sampler struct {
	// everything means that what is empty by default gets a value, too. Such values need not be valid together.
	everything bool
	size       int
}

// chart makes values for a chart and its subcharts. Those that are switched off require nothing.
func (g *sampler) chart(s *source) map[string]any {
	var schemas []*jsonschema.Schema
	if s.schema != nil {
		schemas = append(schemas, s.schema)
	}
	values := g.object(schemas, fallback{value: s.defaults, set: true}, 0)
	for _, d := range s.dependencies {
		if below := g.chart(d.source); len(below) > 0 && (g.everything || d.on(s.defaults)) {
			values = merge(map[string]any{d.key(): below}, values)
		}
	}
	return values
}

// choose decides for the first alternative of each choice.
func choose(schemas []*jsonschema.Schema) *facts {
	f := gather(schemas...)
	for i := 0; i < len(f.choices) && i < maxDepth; i++ {
		f.add(f.choices[i][0])
	}
	return f
}

// object returns an object with what is required, what has an invalid default, and, with everything, what is empty.
func (g *sampler) object(schemas []*jsonschema.Schema, def fallback, depth int) map[string]any {
	f := choose(schemas)
	values := map[string]any{}
	for _, name := range slices.Concat(f.required, sortedKeys(f.properties), def.keys()) {
		known, below := f.properties[name], def.below(name)
		_, done := values[name]
		wanted := !below.set && slices.Contains(f.required, name) || below.set && !accepts(known, below.value) ||
			f.minFields != nil && len(values) < *f.minFields
		if done || !wanted && !(g.everything && isEmpty(below.value)) {
			continue
		}
		if value := g.value(known, below, depth+1); value != nil {
			values[name] = value
		}
	}
	return values
}

// isEmpty reports whether a value is empty, or an object, in which values may be empty.
func isEmpty(value any) bool {
	list, isList := value.([]any)
	_, isObject := value.(map[string]any)
	return value == nil || value == "" || isList && len(list) == 0 || isObject
}

// texts are tried for strings. The first one is a DNS name, because strings that are empty by default often are host
// names.
var texts = []any{"example.org", "example", "value", "1"}

// value returns a value that all schemas accept, as far as it is found. Nil if there is none.
func (g *sampler) value(schemas []*jsonschema.Schema, def fallback, depth int) any {
	g.size++
	if depth > sampleDepth || g.size > maxNodes {
		return nil
	}
	f := choose(schemas)
	_, isObject := def.value.(map[string]any)
	switch {
	case isObject || f.types != tAll && f.types&tObject != 0 || len(f.properties) > 0:
		if values := g.object(schemas, def, depth); len(values) > 0 || !g.everything {
			return values
		}
		return nil
	case f.types&^tNull == tArray || len(f.items) > 0:
		return g.list(f, depth)
	case len(schemas) == 0 && def.value != "" && g.everything:
		return nil // Nothing says what it could be.
	}
	return f.scalar(schemas)
}

func (g *sampler) list(f *facts, depth int) any {
	values := []any{}
	for f.minItems != nil && len(values) < min(*f.minItems, sampleLength) || g.everything && len(values) == 0 {
		value := g.value(f.items, fallback{}, depth+1)
		if value == nil {
			return nil
		}
		values = append(values, value)
	}
	return values
}

// scalar returns the first one that the schemas accept of listed values, defaults, examples and usual values. Nil if
// there is none.
func (f *facts) scalar(schemas []*jsonschema.Schema) any {
	var candidates []any
	if f.enum != nil {
		candidates = append(candidates, *f.enum...)
	}
	candidates = slices.Concat(candidates, f.hints, f.texts(), []any{true})
	numbers := []*big.Rat{new(big.Rat), big.NewRat(1, 1)}
	for _, bound := range []*big.Rat{f.multiple, f.min, f.max, f.above, f.below} {
		for _, distance := range []int64{0, 1, -1} {
			if bound != nil {
				numbers = append(numbers, new(big.Rat).Add(bound, big.NewRat(distance, 1)))
			}
		}
	}
	for _, number := range numbers {
		candidates = append(candidates, json.Number(decimal(number)))
	}
	for _, value := range candidates {
		if value != nil && value != "" && accepts(schemas, value) {
			return value
		}
	}
	return nil
}

// formatted are texts in the formats that JSON Schema knows.
var formatted = map[string]string{
	"date": "2024-01-31", "date-time": "2024-01-31T12:00:00Z", "email": "user@example.org", "hostname": "example.org",
	"ipv4": "192.0.2.1", "ipv6": "2001:db8::1", "uri": "https://example.org/", "uuid": "123e4567-e89b-42d3-a456-426614174000",
	"time": "12:00:00Z", "duration": "P1D",
}

// texts returns texts in the format, of the pattern, and of the least length.
func (f *facts) texts() []any {
	all := slices.Clone(texts)
	if f.format != nil && formatted[*f.format] != "" {
		all = append([]any{formatted[*f.format]}, all...)
	}
	text := ""
	if f.pattern != nil {
		if parsed, err := syntax.Parse(*f.pattern, syntax.Perl); err == nil {
			text = shortest(parsed.Simplify())
		}
	}
	if f.minLength != nil {
		text += strings.Repeat("x", max(0, min(*f.minLength, sampleLength)-len(text)))
	}
	return append(all, text)
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
