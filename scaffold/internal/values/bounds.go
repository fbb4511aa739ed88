// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package values

import (
	"math/big"
	"slices"
	"strconv"
	"strings"
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
		if given(f.min, f.max, f.above, f.below, f.multiple) || given(f.minLength, f.maxLength) || given(f.pattern, f.format) {
			d.unchecked(n, "bounds and patterns")
		}
	case anything, boolean:
	}
	d.boundEnum(n, f)
}

// given reports whether there is one of several bounds.
func given[T any](bounds ...*T) bool {
	return slices.ContainsFunc(bounds, func(bound *T) bool { return bound != nil })
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
	if f.pattern != nil {
		n.mark("Pattern", raw(*f.pattern))
	}
	switch {
	case f.format == nil:
	case slices.Contains(formats, *f.format):
		n.mark("Format", strconv.Quote(*f.format))
	default:
		d.unchecked(n, "the format "+*f.format)
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
	for _, limit := range []struct {
		names []string
		value *big.Rat
	}{
		{[]string{"Minimum"}, f.min},
		{[]string{"Maximum"}, f.max},
		{[]string{"MultipleOf"}, f.multiple},
		{[]string{"Minimum", "ExclusiveMinimum"}, f.above},
		{[]string{"Maximum", "ExclusiveMaximum"}, f.below},
	} {
		isMarked := slices.ContainsFunc(n.markers, func(marker string) bool { return strings.HasPrefix(marker, limit.names[0]+"=") })
		switch {
		case limit.value == nil:
		case isMarked || n.kind == integer && !limit.value.IsInt():
			d.unchecked(n, strings.ToLower(limit.names[0])+" "+decimal(limit.value))
		default:
			n.mark(limit.names[0], decimal(limit.value))
			for _, exclusive := range limit.names[1:] {
				n.mark(exclusive, "true")
			}
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
	switch {
	case f.enum == nil:
	case n.kind == text, n.kind == integer:
		var values []string
		for _, value := range *f.enum {
			if s, ok := value.(string); ok && n.kind == text {
				values = append(values, strconv.Quote(s))
			} else if typeOf(value) == tInt && n.kind == integer {
				values = append(values, literal(value))
			}
		}
		n.mark("Enum", "{"+strings.Join(values, ",")+"}")
	default:
		d.unchecked(n, "the list of values")
	}
}
