// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package valuetypes

import (
	"fmt"
	"math/big"
	"slices"
	"strconv"
	"strings"
)

// formats are those that the API server checks as JSON Schema does. The others it does not know, or it takes them for something
// else: a duration is one of Go there.
var formats = []string{"date", "date-time", "email", "hostname", "ipv4", "ipv6", "uri", "uuid"}

// bound translates the validations of a single value into markers.
func (d *deriver) bound(n *node, f *facts, def wont) {
	switch n.kind {
	case text:
		d.boundText(n, f)
	case integer, number:
		d.boundNumber(n, f)
	case list:
		d.boundList(n, f)
	case structure:
		d.boundFields(n, f, def)
	case mapping, freeMap:
		d.boundFields(n, f, def)
	case intOrString, boolean, anything:
	}
	d.boundEnum(n, f)
	for _, keyword := range f.beyond {
		d.unchecked(n.path, keyword)
	}
	if n.kind == anything && (f.min != nil || f.minLength != nil || len(f.patterns) > 0 || f.listed || len(f.choices) > 0) {
		d.unchecked(n.path, "its validations")
	}
}

func (d *deriver) unchecked(path, what string) {
	d.note(path, "not checked before the chart is rendered: %s", what)
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
	if f.maxLength != nil {
		n.maxItems = *f.maxLength
	}
	first := true
	for _, p := range f.patterns {
		if _, ok := p.(unusable); ok {
			d.unchecked(n.path, fmt.Sprintf("the pattern %s, which Go's regular expressions do not have", p))
			continue
		}
		if !first {
			d.rule(n, "self.matches("+quoted(p.String())+")", "must match "+p.String(), len(p.String()))
			continue
		}
		first = false
		n.mark("Pattern", raw(p.String()))
	}
	for i, format := range f.formats {
		if i > 0 || !slices.Contains(formats, format) {
			d.unchecked(n.path, "the format "+format)
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
	low, high := f.min, f.max
	lowExclusive, highExclusive := false, false
	if f.above != nil && (low == nil || f.above.Cmp(low) >= 0) {
		low, lowExclusive = f.above, true
	}
	if f.below != nil && (high == nil || f.below.Cmp(high) <= 0) {
		high, highExclusive = f.below, true
	}
	if n.kind == integer {
		low, lowExclusive = roundUp(low, lowExclusive), false
		if high != nil {
			high = new(big.Rat).Neg(roundUp(new(big.Rat).Neg(high), highExclusive))
		}
		highExclusive = false
	}
	if low != nil {
		n.mark("Minimum", decimal(low))
	}
	if lowExclusive {
		n.mark("ExclusiveMinimum", "true")
	}
	if high != nil {
		n.mark("Maximum", decimal(high))
	}
	if highExclusive {
		n.mark("ExclusiveMaximum", "true")
	}
	d.boundMultiple(n, f)
}

func (d *deriver) boundMultiple(n *node, f *facts) {
	for i, m := range f.multiple {
		switch {
		case n.kind == integer && m.Num().IsInt64() && m.Num().Int64() == 1:
			// All integers are multiples of 1, of 1/2 and so on.
		case i == 0 && (n.kind == number || m.IsInt()):
			n.mark("MultipleOf", decimal(m))
		default:
			d.unchecked(n.path, "multipleOf "+decimal(m))
		}
	}
}

// roundUp returns the least integer that is not below the bound; if the bound is exclusive, the least above it.
func roundUp(r *big.Rat, exclusive bool) *big.Rat {
	if r == nil {
		return nil
	}
	floor := new(big.Int).Div(r.Num(), r.Denom())
	if !r.IsInt() || exclusive {
		floor.Add(floor, big.NewInt(1))
	}
	return new(big.Rat).SetInt(floor)
}

func decimal(r *big.Rat) string {
	if r.IsInt() && r.Num().IsInt64() {
		return r.Num().String()
	}
	f, _ := r.Float64()
	return strconv.FormatFloat(f, 'f', -1, 64)
}

func (d *deriver) boundList(n *node, f *facts) {
	n.limit("MinItems", f.minItems)
	n.limit("MaxItems", f.maxItems)
	if !f.unique {
		return
	}
	switch n.elem.kind {
	case text, integer, number, boolean:
		n.isSet = true
	case anything, freeMap, mapping, list, structure, intOrString:
		d.unchecked(n.path, "uniqueItems")
	}
}

// boundFields bounds the number of fields. Those of values.yaml count for the schema, but the custom resource
// does not have them.
func (d *deriver) boundFields(n *node, f *facts, def wont) {
	for _, keyword := range []struct {
		name  string
		limit *int
	}{{"minProperties", f.minFields}, {"maxProperties", f.maxFields}} {
		if keyword.limit == nil || keyword.name == "minProperties" && *keyword.limit == 0 {
			continue
		}
		if n.path == "" || len(def.keys()) > 0 {
			d.unchecked(n.path, keyword.name)
			continue
		}
		n.limit(strings.ToUpper(keyword.name[:1])+keyword.name[1:], keyword.limit)
	}
}

// boundEnum lists the values that are allowed.
func (d *deriver) boundEnum(n *node, f *facts) {
	if !f.listed {
		return
	}
	var values, alternatives []string
	for _, value := range f.enum {
		if value == nil {
			continue
		}
		values = append(values, markerValue(value))
		if expression, ok := celValue(value, n.kind); ok {
			alternatives = append(alternatives, "self == "+expression)
		}
	}
	switch n.kind {
	case text, integer:
		if !n.nullable {
			n.mark("Enum", "{"+strings.Join(values, ",")+"}")
			return
		}
		d.rule(n, strings.Join(alternatives, " || "), "must be one of "+strings.Join(values, ", "), 0)
	case number, boolean, intOrString:
		d.rule(n, strings.Join(alternatives, " || "), "must be one of "+strings.Join(values, ", "), 0)
	case anything, freeMap, mapping, list, structure:
		if n.kind != anything {
			d.unchecked(n.path, "the list of values")
		}
	}
}

func markerValue(value any) string {
	if s, ok := value.(string); ok {
		return strconv.Quote(s)
	}
	return literal(value)
}
