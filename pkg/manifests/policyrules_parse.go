// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package manifests

import (
	"encoding/json"
	"fmt"

	"sigs.k8s.io/yaml"
)

// ParsePolicyRules reads rules from a YAML document, which is a list:
//
//	# databases come first and are never deleted
//	- match: {kind: StatefulSet, name: "*-db", labels: "app=shop"}
//	  set: {apply-order: -10, delete-policy: orphan}
//
// The fields are those of PolicyRule and PolicyMatch; values under set may be strings, numbers or booleans. An empty
// document has no rules. The caller adds the name of the file to errors.
func ParsePolicyRules(document []byte) ([]PolicyRule, error) {
	document, err := singleDocument(document)
	if err != nil {
		return nil, err
	}
	var given []struct {
		Match struct {
			Kind      nonEmpty `json:"kind"`
			Name      nonEmpty `json:"name"`
			Namespace nonEmpty `json:"namespace"`
			Labels    nonEmpty `json:"labels"`
		} `json:"match"`
		Set      map[string]scalar `json:"set"`
		Override bool              `json:"override"`
	}
	if err := yaml.UnmarshalStrict(document, &given); err != nil {
		return nil, fmt.Errorf("it must be a list of rules, each with match and set: %w", err)
	}
	rules := make([]PolicyRule, len(given))
	for i, rule := range given {
		match := rule.Match
		rules[i] = PolicyRule{
			Match: PolicyMatch{
				Kind: string(match.Kind), Name: string(match.Name), Namespace: string(match.Namespace), Labels: string(match.Labels),
			},
			Set:      make(map[string]string, len(rule.Set)),
			Override: rule.Override,
		}
		for suffix, value := range rule.Set {
			rules[i].Set[suffix] = string(value)
		}
	}
	_, err = NewPolicyRulesObjectTransformer(rules)
	return rules, err
}

// nonEmpty is a condition. An empty one would match all objects, which a rule says by leaving it out.
type nonEmpty string

// UnmarshalJSON refuses everything but non-empty strings.
func (n *nonEmpty) UnmarshalJSON(raw []byte) error {
	var text string
	if json.Unmarshal(raw, &text) != nil || text == "" {
		return fmt.Errorf("invalid condition %s; must be a non-empty string", raw)
	}
	*n = nonEmpty(text)
	return nil
}

// scalar is the value of an annotation: a string, or a number or boolean as it is written.
type scalar string

// UnmarshalJSON refuses null, lists and maps.
func (s *scalar) UnmarshalJSON(raw []byte) error {
	var text string
	if raw[0] != '"' {
		text = string(raw)
	} else if err := json.Unmarshal(raw, &text); err != nil {
		return err
	}
	if text == "null" || raw[0] == '[' || raw[0] == '{' {
		return fmt.Errorf("invalid value %s of an annotation; must be a string, number or boolean", raw)
	}
	*s = scalar(text)
	return nil
}
