// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package valuetypes

import (
	"math/big"
	"slices"
	"strconv"
	"strings"
)

// formats are those that the API server checks as JSON Schema does. The others it does not know, or it takes them for
// something else: a duration is one of Go there.
var formats = []string{"date", "date-time", "email", "hostname", "ipv4", "ipv6", "uri", "uuid"}

// int32Only is a rule for integers or strings. An operator could not read a larger integer, nor any component beside it.
const int32Only = `XValidation:rule="type(self) != int || (self >= -2147483648 && self <= 2147483647)",` +
	`message="must be an integer of 32 bits, or a string"`

// bound translates the validations of a single value into markers. What has no marker is left to the chart's schema.
func (d *deriver) bound(n *node, f *facts, def fallback) {
	for _, keyword := range f.beyond {
		d.unchecked(n, keyword)
	}
	switch n.kind {
	case text:
		d.boundText(n, f)
	case integer, number:
		d.boundNumber(n, f)
	case list:
		n.limit("MinItems", f.minItems)
		n.limit("MaxItems", f.maxItems)
		n.isSet = f.unique && slices.Contains([]kind{text, integer, number, boolean}, n.elem.kind)
		if f.unique && !n.isSet {
			d.unchecked(n, "uniqueItems")
		}
	case mapping, structure, freeMap:
		d.boundFields(n, f, def)
	case intOrString:
		n.markers = append(n.markers, int32Only)
		if f.min.value != nil || f.max.value != nil || given(f.minLength, f.maxLength) || len(f.patterns)+len(f.formats)+len(f.multiple) > 0 {
			d.unchecked(n, "bounds and patterns")
		}
	case anything, boolean:
	}
	d.boundEnum(n, f)
}

// given reports whether there is one of several bounds.
func given(bounds ...*int) bool {
	return slices.ContainsFunc(bounds, func(bound *int) bool { return bound != nil })
}

// boundFields bounds the number of fields in a map. Those of values.yaml count for the schema, but the custom resource
// does not have them.
func (d *deriver) boundFields(n *node, f *facts, def fallback) {
	switch {
	case n.kind == mapping && len(def.keys()) == 0:
		n.limit("MinProperties", f.minFields)
		n.limit("MaxProperties", f.maxFields)
	case given(f.minFields, f.maxFields):
		d.unchecked(n, "the number of fields")
	}
}

func (n *node) mark(name, value string) { n.markers = append(n.markers, name+"="+value) }

func (n *node) limit(name string, value *int) {
	if value != nil && (*value > 0 || strings.HasPrefix(name, "Max")) {
		n.mark(name, strconv.Itoa(*value))
	}
}

func (d *deriver) boundText(n *node, f *facts) {
	n.limit("MinLength", f.minLength)
	n.limit("MaxLength", f.maxLength)
	for i, pattern := range f.patterns {
		if i > 0 {
			d.unchecked(n, "the pattern "+pattern)
			continue
		}
		n.mark("Pattern", raw(pattern))
	}
	for i, format := range f.formats {
		if i > 0 || !slices.Contains(formats, format) {
			d.unchecked(n, "the format "+format)
			continue
		}
		n.mark("Format", strconv.Quote(format))
	}
}

// raw returns the text as a Go string, without escapes if possible.
func raw(s string) string {
	if strconv.CanBackquote(s) {
		return "`" + s + "`"
	}
	return strconv.Quote(s)
}

func (d *deriver) boundNumber(n *node, f *facts) {
	fits := func(value *big.Rat) bool { return n.kind == number || value.IsInt() }
	for _, limit := range []struct {
		name string
		bound
	}{{"Minimum", f.min}, {"Maximum", f.max}} {
		switch {
		case limit.value == nil:
		case !fits(limit.value):
			d.unchecked(n, strings.ToLower(limit.name)+" "+decimal(limit.value))
		default:
			n.mark(limit.name, decimal(limit.value))
			if limit.exclusive {
				n.mark("Exclusive"+limit.name, "true")
			}
		}
	}
	for i, multiple := range f.multiple {
		if i > 0 || !fits(multiple) {
			d.unchecked(n, "multipleOf "+decimal(multiple))
			continue
		}
		n.mark("MultipleOf", decimal(multiple))
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
	switch {
	case !f.listed:
	case n.kind == text, n.kind == integer:
		var values []string
		for _, value := range f.enum {
			if s, ok := value.(string); ok {
				values = append(values, strconv.Quote(s))
			} else if value != nil {
				values = append(values, literal(value))
			}
		}
		n.mark("Enum", "{"+strings.Join(values, ",")+"}")
	default:
		d.unchecked(n, "the list of values")
	}
}
