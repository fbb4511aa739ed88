// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package valuetypes

import (
	"fmt"
	"math/big"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// A predicate is an expression in the making. It knows what it could not express.
type predicate struct {
	lacks   []string
	regexps int
	size    int
	above   []*jsonschema.Schema
}

// A place is where a schema applies.
type place struct {
	n          *node
	expression string
	def        wont
}

func (p *predicate) lack(format string, args ...any) string {
	what := fmt.Sprintf(format, args...)
	if !slices.Contains(p.lacks, what) {
		p.lacks = append(p.lacks, what)
	}
	return yes
}

// of returns an expression that is true if the value matches the schema.
func (p *predicate) of(s *jsonschema.Schema, n *node, expression string, def wont) string {
	p.size += len(expression)
	if slices.Contains(p.above, s) || p.size > maxRule {
		return p.lack("its size")
	}
	p.above = append(p.above, s)
	defer func() { p.above = p.above[:len(p.above)-1] }()
	if s.Bool != nil {
		return map[bool]string{true: yes, false: no}[*s.Bool]
	}
	at := place{n: n, expression: expression, def: def}
	terms := []string{p.typed(s, at), p.values(s, at)}
	for _, part := range parts(s) {
		terms = append(terms, p.at(part, at))
	}
	for _, part := range conditions {
		if part.has(s) {
			terms = append(terms, part.of(p, s, at))
		}
	}
	if len(s.AnyOf) > 0 {
		terms = append(terms, or(p.each(s.AnyOf, at)...))
	}
	if len(s.OneOf) > 0 {
		terms = append(terms, exactlyOne(p.each(s.OneOf, at)...))
	}
	terms = append(terms, p.keywords(s, at)...)
	for _, keyword := range keywords(s) {
		if slices.Contains([]string{"format", "propertyNames", "patternProperties", "unevaluatedProperties", "uniqueItems", "contains", "unevaluatedItems"}, keyword) {
			p.lack("%s", keyword)
		}
	}
	return and(terms...)
}

func (p *predicate) at(s *jsonschema.Schema, at place) string {
	return p.of(s, at.n, at.expression, at.def)
}

func (p *predicate) each(schemas []*jsonschema.Schema, at place) []string {
	terms := make([]string, 0, len(schemas))
	for _, s := range schemas {
		terms = append(terms, p.at(s, at))
	}
	return terms
}

// keywords returns the terms for what applies to one type only.
func (p *predicate) keywords(s *jsonschema.Schema, at place) []string {
	switch at.n.kind {
	case structure:
		return []string{p.required(s.Required, at), p.properties(s, at), p.further(s, at), p.counted(s, at)}
	case text:
		return []string{p.text(s, at)}
	case integer, number:
		return []string{p.numeric(s, at)}
	case list, mapping:
		return []string{p.items(s, at)}
	case intOrString:
		return []string{
			or("type("+at.expression+") != int", p.numeric(s, at)),
			or("type("+at.expression+") != string", p.text(s, at)),
		}
	case boolean:
	case anything, freeMap:
		if !only(s, "type", "enum", "const", "$ref", "allOf", "anyOf", "oneOf", "not", "if") {
			p.lack("rules for values that have several types")
		}
	}
	return nil
}

// typed compares the types that the schema allows with those that the value may have.
func (p *predicate) typed(s *jsonschema.Schema, at place) string {
	has, wants := at.n.kind.types(), ownTypes(s)
	switch {
	case has&wants == 0:
		return no
	case has&^wants == 0, s.Const != nil, s.Enum != nil:
		return yes
	case at.n.kind == intOrString && wants&tInt != 0:
		return "type(" + at.expression + ") == int"
	case at.n.kind == intOrString:
		return "type(" + at.expression + ") == string"
	}
	return p.lack("types")
}

func (p *predicate) values(s *jsonschema.Schema, at place) string {
	var values []any
	switch {
	case s.Const != nil:
		values = []any{*s.Const}
	case s.Enum != nil:
		values = s.Enum.Values
	default:
		return yes
	}
	var terms []string
	for _, value := range values {
		if typeOf(value)&at.n.kind.types() == 0 {
			continue
		}
		text, ok := celValue(value, at.n.kind)
		if !ok || at.n.kind == anything {
			return p.lack("lists of values")
		}
		terms = append(terms, at.expression+" == "+text)
	}
	return or(terms...)
}

func (p *predicate) required(names []string, at place) string {
	var terms []string
	for _, name := range names {
		terms = append(terms, p.present(name, at))
	}
	return and(terms...)
}

// present returns an expression that is true if the merged values have a field.
func (p *predicate) present(name string, at place) string {
	f := at.n.field(name)
	switch {
	case f == nil && at.n.closed:
		return no
	case f == nil:
		return p.lack("%s, which has no type", name)
	case f.required, f.def.set:
		return yes
	}
	return p.set(f, at)
}

// set returns an expression that is true if the user sets a field.
func (p *predicate) set(f *field, at place) string {
	name, ok := celName(f.name)
	if !ok {
		return p.lack("%s, whose name CEL does not have", f.name)
	}
	if f.node.kind == anything {
		return p.lack("%s, which is free-form", f.name)
	}
	return "has(" + at.expression + "." + name + ")"
}

func (p *predicate) properties(s *jsonschema.Schema, at place) string {
	var terms []string
	for _, name := range sortedKeys(s.Properties) {
		f := at.n.field(name)
		if f == nil {
			continue // no such field can be set
		}
		terms = append(terms, p.property(s.Properties[name], f, at))
	}
	return and(terms...)
}

func (p *predicate) property(s *jsonschema.Schema, f *field, at place) string {
	celled, _ := celName(f.name)
	if f.node.kind == anything && s.Bool == nil && len(keywords(s)) > 0 {
		return p.lack("%s, which is free-form", f.name)
	}
	match := p.of(s, f.node, at.expression+"."+celled, f.def)
	set := yes
	if !f.required {
		if set = p.set(f, at); match == yes && !f.def.set {
			return yes
		}
	}
	if !f.def.set || f.required {
		return or(not(set), match)
	}
	if accepts([]*jsonschema.Schema{s}, f.def.value) {
		return or(not(set), match)
	}
	return and(set, match)
}

// further forbids the fields that the schema does not name.
func (p *predicate) further(s *jsonschema.Schema, at place) string {
	allowed, isBool := s.AdditionalProperties.(bool)
	if s.AdditionalProperties == nil || isBool && allowed {
		return yes
	}
	if !isBool {
		return p.lack("additionalProperties")
	}
	var terms []string
	for _, f := range at.n.fields {
		if s.Properties[f.name] != nil {
			continue
		}
		if f.def.set || f.required {
			return no
		}
		terms = append(terms, not(p.set(f, at)))
	}
	return and(terms...)
}

// counted bounds the number of fields. Those of values.yaml are always there.
func (p *predicate) counted(s *jsonschema.Schema, at place) string {
	if s.MinProperties == nil && s.MaxProperties == nil {
		return yes
	}
	always := 0
	var terms []string
	for _, f := range at.n.fields {
		if f.def.set || f.required {
			always++
			continue
		}
		terms = append(terms, p.set(f, at))
	}
	if s.MaxProperties != nil && *s.MaxProperties == always {
		// No further field may be set.
		return not(or(terms...))
	}
	for i, term := range terms {
		terms[i] = "(" + term + " ? 1 : 0)"
	}
	sum := strings.Join(append(terms, strconv.Itoa(always)), " + ")
	var bounds []string
	if s.MinProperties != nil && *s.MinProperties > always {
		bounds = append(bounds, fmt.Sprintf("%s >= %d", sum, *s.MinProperties))
	}
	if s.MaxProperties != nil && *s.MaxProperties < always+len(terms) {
		bounds = append(bounds, fmt.Sprintf("%s <= %d", sum, *s.MaxProperties))
	}
	return and(bounds...)
}

func (p *predicate) text(s *jsonschema.Schema, at place) string {
	terms := p.sizes(at, s.MinLength, s.MaxLength)
	if s.Pattern != nil {
		if _, ok := s.Pattern.(unusable); ok {
			return p.lack("the pattern %s", s.Pattern)
		}
		p.regexps += len(s.Pattern.String())
		terms = append(terms, at.expression+".matches("+quoted(s.Pattern.String())+")")
	}
	return and(terms...)
}

func (p *predicate) sizes(at place, low, high *int) []string {
	var terms []string
	if low != nil && *low > 0 {
		terms = append(terms, fmt.Sprintf("size(%s) >= %d", at.expression, *low))
	}
	if high != nil {
		terms = append(terms, fmt.Sprintf("size(%s) <= %d", at.expression, *high))
	}
	return terms
}

func (p *predicate) numeric(s *jsonschema.Schema, at place) string {
	var terms []string
	for _, bound := range []struct {
		operator string
		value    *big.Rat
	}{{">=", s.Minimum}, {"<=", s.Maximum}, {">", s.ExclusiveMinimum}, {"<", s.ExclusiveMaximum}} {
		if bound.value == nil {
			continue
		}
		text := decimal(bound.value)
		if at.n.kind == number && !strings.Contains(text, ".") {
			text += ".0"
		} else if at.n.kind != number && strings.Contains(text, ".") {
			return p.lack("bounds with fractions")
		}
		terms = append(terms, at.expression+" "+bound.operator+" "+text)
	}
	if s.MultipleOf != nil {
		if at.n.kind == number || !s.MultipleOf.IsInt() {
			return p.lack("multipleOf")
		}
		terms = append(terms, fmt.Sprintf("%s %% %s == 0", at.expression, decimal(s.MultipleOf)))
	}
	return and(terms...)
}

func (p *predicate) items(s *jsonschema.Schema, at place) string {
	low, high := s.MinItems, s.MaxItems
	if at.n.kind == mapping {
		low, high = s.MinProperties, s.MaxProperties
		if !only(s, "type", "minProperties", "maxProperties", "$ref", "allOf") {
			p.lack("the fields of maps")
		}
	}
	if at.n.kind == list && !only(s, "type", "minItems", "maxItems", "$ref", "allOf") {
		if items := gather(s).items; len(items) > 0 && slices.ContainsFunc(items, func(i *jsonschema.Schema) bool { return !only(i, "type") }) {
			p.lack("items")
		}
	}
	return and(p.sizes(at, low, high)...)
}

var celIdentifier = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_./-]*$`)

var celReserved = []string{
	"true", "false", "null", "in", "as", "break", "const", "continue", "else", "for", "function", "if", "import", "let", "loop",
	"package", "namespace", "return",
}

// celName returns how CEL writes the name of a field in Kubernetes. False if it cannot.
func celName(name string) (string, bool) {
	if !celIdentifier.MatchString(name) {
		return "", false
	}
	if slices.Contains(celReserved, name) {
		return "__" + name + "__", true
	}
	return strings.NewReplacer("__", "__underscores__", ".", "__dot__", "-", "__dash__", "/", "__slash__").Replace(name), true
}
