// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package values

import (
	"math/big"
	"slices"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// formats are those that the API server checks as JSON Schema does. The others it does not know, or it takes them for
// something else: a duration is one of Go there.
var formats = []string{"date", "date-time", "email", "hostname", "ipv4", "ipv6", "uri", "uuid"}

// int32Only is a rule for integers or strings. An operator could not read a larger integer, nor any component beside
// it.
const int32Only = `XValidation:rule="type(self) != int || (self >= -2147483648 && self <= 2147483647)",` +
	`message="must be an integer of 32 bits, or a string"`

// bound translates the validations of a single value into markers. What has no marker is left to the chart's schema.
func (d *deriver) bound(n *node, f *facts, def fallback) {
	switch n.kind {
	case text:
		d.boundText(n, f)
	case integer, number:
		boundNumber(n, f)
	case list:
		n.limit("MinItems", first(f, func(s *jsonschema.Schema) *int { return s.MinItems }))
		n.limit("MaxItems", first(f, func(s *jsonschema.Schema) *int { return s.MaxItems }))
		isUnique := slices.ContainsFunc(f.schemas, func(s *jsonschema.Schema) bool { return s.UniqueItems })
		n.isSet = isUnique && slices.Contains([]kind{text, integer, number, boolean}, n.elem.kind)
		if isUnique && !n.isSet {
			d.unchecked(n, "uniqueItems")
		}
	case mapping:
		// The fields of values.yaml count for the schema, but the custom resource does not have them.
		if len(def.keys()) == 0 {
			n.limit("MinProperties", first(f, func(s *jsonschema.Schema) *int { return s.MinProperties }))
			n.limit("MaxProperties", first(f, func(s *jsonschema.Schema) *int { return s.MaxProperties }))
		}
	case intOrString:
		n.markers = append(n.markers, int32Only)
	case anything, boolean, structure, freeMap:
	}
	d.boundEnum(n, f)
	if f.conditional {
		d.unchecked(n, "conditions of the schema")
	}
}

func (n *node) mark(name, value string) { n.markers = append(n.markers, name+"="+value) }

func (n *node) limit(name string, value *int) {
	if value != nil && (*value > 0 || strings.HasPrefix(name, "Max")) {
		n.mark(name, strconv.Itoa(*value))
	}
}

func (d *deriver) boundText(n *node, f *facts) {
	n.limit("MinLength", first(f, func(s *jsonschema.Schema) *int { return s.MinLength }))
	n.limit("MaxLength", first(f, func(s *jsonschema.Schema) *int { return s.MaxLength }))
	if pattern := first(f, func(s *jsonschema.Schema) *jsonschema.Regexp { return asPointer(s.Pattern) }); pattern != nil {
		n.mark("Pattern", raw((*pattern).String()))
	}
	if format := first(f, func(s *jsonschema.Schema) *jsonschema.Format { return s.Format }); format != nil {
		if slices.Contains(formats, format.Name) {
			n.mark("Format", strconv.Quote(format.Name))
		} else {
			d.unchecked(n, "the format "+format.Name)
		}
	}
}

func asPointer(pattern jsonschema.Regexp) *jsonschema.Regexp {
	if pattern == nil {
		return nil
	}
	return &pattern
}

// raw returns the text as a Go string, without escapes if possible.
func raw(s string) string {
	if strconv.CanBackquote(s) {
		return "`" + s + "`"
	}
	return strconv.Quote(s)
}

func boundNumber(n *node, f *facts) {
	for _, limit := range []struct {
		name, exclusive string
		keyword         func(s *jsonschema.Schema) *big.Rat
	}{
		{"Minimum", "", func(s *jsonschema.Schema) *big.Rat { return s.Minimum }},
		{"Maximum", "", func(s *jsonschema.Schema) *big.Rat { return s.Maximum }},
		{"MultipleOf", "", func(s *jsonschema.Schema) *big.Rat { return s.MultipleOf }},
		{"Minimum", "ExclusiveMinimum", func(s *jsonschema.Schema) *big.Rat { return s.ExclusiveMinimum }},
		{"Maximum", "ExclusiveMaximum", func(s *jsonschema.Schema) *big.Rat { return s.ExclusiveMaximum }},
	} {
		value := first(f, limit.keyword)
		isMarked := slices.ContainsFunc(n.markers, func(marker string) bool { return strings.HasPrefix(marker, limit.name+"=") })
		if value == nil || isMarked || n.kind == integer && !value.IsInt() {
			continue
		}
		n.mark(limit.name, decimal(value))
		if limit.exclusive != "" {
			n.mark(limit.exclusive, "true")
		}
	}
}

func decimal(r *big.Rat) string {
	if r.IsInt() && r.Num().IsInt64() {
		return r.Num().String()
	}
	f, _ := r.Float64()
	return strconv.FormatFloat(f, 'f', -1, 64)
}

// boundEnum lists the values that are allowed.
func (d *deriver) boundEnum(n *node, f *facts) {
	listed := f.enum()
	switch {
	case listed == nil:
	case n.kind == text, n.kind == integer:
		var values []string
		for _, value := range *listed {
			if value != nil { // null is up to the type
				values = append(values, literal(value))
			}
		}
		n.mark("Enum", "{"+strings.Join(values, ",")+"}")
	default:
		d.unchecked(n, "the list of values")
	}
}
