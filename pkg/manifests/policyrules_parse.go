// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package manifests

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"sigs.k8s.io/yaml"
)

// ParsePolicyRules reads rules from a YAML document, which is a list:
//
//	# databases come first and are never deleted
//	- match: {kind: StatefulSet, name: "*-db", labels: "app=shop"}
//	  set: {apply-order: -10, delete-policy: orphan}
//
// The fields are those of PolicyRule and PolicyMatch; values under set may be strings, numbers or booleans. An empty document
// has no rules. It reports all problems, as NewPolicyRulesObjectTransformer does; the caller adds the name of the file.
func ParsePolicyRules(document []byte) ([]PolicyRule, error) {
	document, err := singleDocument(document)
	if err != nil {
		return nil, err
	}
	var content any
	if err := yaml.UnmarshalStrict(document, &content); err != nil {
		return nil, err
	}
	items, ok := content.([]any)
	if !ok && content != nil {
		return nil, fmt.Errorf("got %s; must be a list of rules, each with match and set", describeYAML(content))
	}
	rules := make([]PolicyRule, len(items))
	var problems []string
	for i, item := range items {
		rule, found := parseRule(item)
		for _, problem := range found {
			problems = append(problems, fmt.Sprintf("rule %d: %s", i+1, problem))
		}
		rules[i] = rule
	}
	if len(problems) > 0 {
		return nil, errors.New(strings.Join(problems, "; "))
	}
	if _, err := NewPolicyRulesObjectTransformer(rules); err != nil {
		return nil, err
	}
	return rules, nil
}

// ruleParser turns YAML into the fields of one rule.
type ruleParser struct {
	problems []string
}

func parseRule(item any) (PolicyRule, []string) {
	p := &ruleParser{}
	var rule PolicyRule
	p.fields("", item, map[string]func(string, any){
		"match": func(field string, value any) {
			p.fields(field, value, map[string]func(string, any){
				"kind":      p.text(&rule.Match.Kind),
				"name":      p.text(&rule.Match.Name),
				"namespace": p.text(&rule.Match.Namespace),
				"labels":    p.text(&rule.Match.Labels),
			})
		},
		"set": func(field string, value any) { rule.Set = p.values(field, value) },
		"override": func(field string, value any) {
			override, ok := value.(bool)
			p.expect(ok, field, value, "true or false")
			rule.Override = override
		},
	})
	return rule, p.problems
}

func (p *ruleParser) expect(ok bool, field string, value any, allowed string) {
	if ok {
		return
	}
	if field != "" {
		field += ": "
	}
	p.problems = append(p.problems, fmt.Sprintf("%sgot %s; must be %s", field, describeYAML(value), allowed))
}

// fields hands the value of each field to the function that knows it.
func (p *ruleParser) fields(parent string, value any, known map[string]func(string, any)) {
	allowed := strings.Join(slices.Sorted(maps.Keys(known)), ", ")
	content, ok := value.(map[string]any)
	p.expect(ok, parent, value, "a map with the fields "+allowed)
	if parent != "" {
		parent += "."
	}
	for _, field := range slices.Sorted(maps.Keys(content)) {
		if parse := known[field]; parse != nil {
			parse(parent+field, content[field])
		} else {
			p.problems = append(p.problems, fmt.Sprintf("unknown field %q; must be one of: %s", parent+field, allowed))
		}
	}
}

// text refuses an empty value, which would match everything: to match everything, leave the field out.
func (p *ruleParser) text(target *string) func(string, any) {
	return func(field string, value any) {
		text, ok := value.(string)
		p.expect(ok && text != "", field, value, "a non-empty string")
		*target = text
	}
}

func (p *ruleParser) values(field string, value any) map[string]string {
	content, ok := value.(map[string]any)
	p.expect(ok, field, value, "a map of annotations and values")
	values := make(map[string]string, len(content))
	for _, suffix := range slices.Sorted(maps.Keys(content)) {
		switch scalar := content[suffix].(type) {
		case string:
			values[suffix] = scalar
		case float64:
			values[suffix] = strconv.FormatFloat(scalar, 'f', -1, 64)
		case bool:
			values[suffix] = strconv.FormatBool(scalar)
		default:
			p.expect(false, field+"."+suffix, scalar, "a string, number or boolean")
		}
	}
	return values
}

// describeYAML describes a value for a message, in full if it is short.
func describeYAML(value any) string {
	switch value := value.(type) {
	case nil:
		return "nothing"
	case map[string]any:
		return "a map"
	case []any:
		return "a list"
	case string:
		return strconv.Quote(value)
	default:
		return fmt.Sprint(value)
	}
}
