// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package valuetypes

import "github.com/santhosh-tekuri/jsonschema/v6"

// A condition is a keyword by which one part of a value decides about another.
type condition struct {
	keyword string
	has     func(s *jsonschema.Schema) bool
	of      func(p *predicate, s *jsonschema.Schema, at place) string
}

// conditions is filled by init, since its functions lead back to it.
var conditions []condition

func init() {
	conditions = []condition{
		{"not", func(s *jsonschema.Schema) bool { return s.Not != nil }, func(p *predicate, s *jsonschema.Schema, at place) string {
			return not(p.at(s.Not, at))
		}},
		{"if", func(s *jsonschema.Schema) bool { return s.If != nil && (s.Then != nil || s.Else != nil) }, ifThenElse},
		{"dependencies", func(s *jsonschema.Schema) bool { return len(s.Dependencies) > 0 }, dependencies},
		{"dependentRequired", func(s *jsonschema.Schema) bool { return len(s.DependentRequired) > 0 }, dependentRequired},
		{"dependentSchemas", func(s *jsonschema.Schema) bool { return len(s.DependentSchemas) > 0 }, dependentSchemas},
	}
}

func ifThenElse(p *predicate, s *jsonschema.Schema, at place) string {
	condition, then, otherwise := p.at(s.If, at), yes, yes
	if s.Then != nil {
		then = p.at(s.Then, at)
	}
	if s.Else != nil {
		otherwise = p.at(s.Else, at)
	}
	return and(or(not(condition), then), or(condition, otherwise))
}

func dependentRequired(p *predicate, s *jsonschema.Schema, at place) string {
	var terms []string
	for _, name := range sortedKeys(s.DependentRequired) {
		terms = append(terms, p.ifSet(name, at, p.required(s.DependentRequired[name], at)))
	}
	return and(terms...)
}

func dependentSchemas(p *predicate, s *jsonschema.Schema, at place) string {
	var terms []string
	for _, name := range sortedKeys(s.DependentSchemas) {
		terms = append(terms, p.ifSet(name, at, p.at(s.DependentSchemas[name], at)))
	}
	return and(terms...)
}

func dependencies(p *predicate, s *jsonschema.Schema, at place) string {
	var terms []string
	for _, name := range sortedKeys(s.Dependencies) {
		switch dependency := s.Dependencies[name].(type) {
		case []string:
			terms = append(terms, p.ifSet(name, at, p.required(dependency, at)))
		case *jsonschema.Schema:
			terms = append(terms, p.ifSet(name, at, p.at(dependency, at)))
		}
	}
	return and(terms...)
}

// ifSet returns an expression that is true if a field is absent, or the other expression is true.
func (p *predicate) ifSet(name string, at place, then string) string {
	if at.n.kind != structure {
		return p.lack("fields of a free-form object")
	}
	if then == yes || at.n.field(name) == nil {
		return yes
	}
	return or(not(p.present(name, at)), then)
}
