// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package valuetypes

import (
	"fmt"
	"strconv"
	"strings"
)

// Bounds on rules. The API server refuses definitions whose rules may cost too much; what it estimates grows with the number
// of values that a rule is for, and with the length of texts and expressions.
const (
	maxMany   = 1000 // values
	maxRule   = 4000 // characters of a rule
	maxRegexp = 100  // characters of the regular expressions in a rule
	allRegexp = 800  // and in all rules
)

// A rule is a CEL expression that must be true for a value.
type rule struct {
	expression, message string
}

// rule adds a rule to a node, if its cost has a bound.
func (d *deriver) rule(n *node, expression, message string, regexps int) {
	switch {
	case n.many == 0:
		d.unchecked(n.path, message+" (in a list or map without bounds)")
		return
	case len(expression) > maxRule, regexps > maxRegexp, d.regexp+regexps > allRegexp, regexps > 0 && n.many > 1:
		d.unchecked(n.path, message+" (too expensive)")
		return
	}
	d.regexp += regexps
	n.rules = append(n.rules, rule{expression: expression, message: message})
}

// addRules translates what depends on several fields, or on alternatives.
func (d *deriver) addRules(n *node, f *facts, in input) {
	if n.kind == intOrString {
		d.rule(n, "type(self) != int || (self >= -2147483648 && self <= 2147483647)", "must be an integer of 32 bits, or a string", 0)
		d.scalarRules(n, f)
	}
	for _, c := range f.choices {
		keyword, wrap := "anyOf", or
		if c.exactlyOne {
			keyword, wrap = "oneOf", exactlyOne
		}
		p := &predicate{}
		terms := make([]string, 0, len(c.of))
		for _, s := range c.of {
			terms = append(terms, p.of(s, n, "self", in.def))
		}
		d.express(n, keyword, wrap(terms...), p)
	}
	for _, s := range f.conditional {
		for _, part := range conditions {
			if part.has(s) {
				p := &predicate{}
				d.express(n, part.keyword, part.of(p, s, place{n: n, expression: "self", def: in.def}), p)
			}
		}
	}
}

// express adds the rule of a keyword, or notes why there is none.
func (d *deriver) express(n *node, keyword, expression string, p *predicate) {
	switch {
	case n.kind == anything || n.kind == freeMap || len(p.lacks) > 0:
		what := keyword
		if len(p.lacks) > 0 {
			what += ", because of " + strings.Join(p.lacks, ", ")
		}
		d.unchecked(n.path, what)
	case expression == yes:
	default:
		d.rule(n, expression, "must match "+keyword+" of the chart's schema", p.regexps)
	}
}

// scalarRules checks integers and strings where both are allowed.
func (d *deriver) scalarRules(n *node, f *facts) {
	var integers, strs []string
	if f.min != nil {
		integers = append(integers, "self >= "+decimal(roundUp(f.min, false)))
	}
	if f.max != nil && f.max.IsInt() {
		integers = append(integers, "self <= "+decimal(f.max))
	}
	if f.minLength != nil {
		strs = append(strs, fmt.Sprintf("size(self) >= %d", *f.minLength))
	}
	if f.maxLength != nil {
		strs = append(strs, fmt.Sprintf("size(self) <= %d", *f.maxLength))
	}
	regexps := 0
	for _, pattern := range f.patterns {
		if _, ok := pattern.(unusable); ok {
			d.unchecked(n.path, "the pattern "+pattern.String())
			continue
		}
		regexps += len(pattern.String())
		strs = append(strs, "self.matches("+quoted(pattern.String())+")")
	}
	if len(integers) > 0 {
		d.rule(n, or("type(self) != int", and(integers...)), "the integer is out of bounds", 0)
	}
	if len(strs) > 0 {
		d.rule(n, or("type(self) != string", and(strs...)), "the string must match the chart's schema", regexps)
	}
	if f.above != nil || f.below != nil || len(f.multiple) > 0 || len(f.formats) > 0 {
		d.unchecked(n.path, "further validations of the integer or string")
	}
}

// The constants of CEL.
const (
	yes = "true"
	no  = "false"
)

func and(terms ...string) string {
	var left []string
	for _, term := range terms {
		switch term {
		case no:
			return no
		case yes:
		default:
			left = append(left, term)
		}
	}
	return joined(left, " && ", yes)
}

func or(terms ...string) string {
	var left []string
	for _, term := range terms {
		switch term {
		case yes:
			return yes
		case no:
		default:
			left = append(left, term)
		}
	}
	return joined(left, " || ", no)
}

func joined(terms []string, operator, none string) string {
	switch len(terms) {
	case 0:
		return none
	case 1:
		return terms[0]
	}
	return "(" + strings.Join(terms, operator) + ")"
}

func not(term string) string {
	switch term {
	case yes:
		return no
	case no:
		return yes
	}
	if inner, ok := strings.CutPrefix(term, "!"); ok && !strings.ContainsAny(inner, " ") {
		return inner
	}
	if strings.HasPrefix(term, "has(") && strings.Index(term, ")") == len(term)-1 {
		return "!" + term
	}
	return "!(" + term + ")"
}

// exactlyOne returns an expression that is true if one of the terms is, and the others are not.
func exactlyOne(terms ...string) string {
	var counted []string
	for _, term := range terms {
		switch term {
		case no:
		case yes:
			counted = append(counted, "1")
		default:
			counted = append(counted, "("+term+" ? 1 : 0)")
		}
	}
	switch {
	case len(counted) == 0:
		return no
	case len(counted) == 1 && counted[0] == "1":
		return yes
	}
	return strings.Join(counted, " + ") + " == 1"
}

// quoted returns a string of CEL.
func quoted(s string) string {
	var out strings.Builder
	out.WriteByte('\'')
	for _, c := range s {
		switch {
		case c == '\\' || c == '\'':
			out.WriteByte('\\')
			out.WriteRune(c)
		case c < ' ' || c == 0x7f || c > 0xffff:
			fmt.Fprintf(&out, "\\U%08x", c)
		default:
			out.WriteRune(c)
		}
	}
	return out.String() + "'"
}

// celValue returns a scalar of CEL, in the type that values of the kind have. False if there is none.
func celValue(value any, k kind) (string, bool) {
	if typeOf(value)&k.types() == 0 {
		return "", false
	}
	if s, ok := value.(string); ok {
		return quoted(s), true
	}
	if typeOf(value)&(tBool|tNumber) == 0 {
		return "", false
	}
	text := literal(value)
	if k == number && !strings.ContainsAny(text, ".eE") {
		text += ".0"
	}
	if k != number && typeOf(value) == tInt {
		if _, err := strconv.ParseInt(text, 10, 64); err != nil {
			return "", false
		}
	}
	return text, true
}
