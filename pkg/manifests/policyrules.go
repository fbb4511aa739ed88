// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package manifests

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/component-operator/runtime/internal/annotations"
	"github.com/component-operator/runtime/pkg/generator"
)

// PolicyRule sets annotations of the reconciler on all objects that match.
type PolicyRule struct {
	// Match selects the objects. Defaults to all.
	Match PolicyMatch `json:"match,omitempty"`
	// Set contains the annotations by their suffix (the key without the name of the reconciler), such as "apply-order".
	// It must not be empty.
	Set map[string]string `json:"set"`
	// Override lets the rule replace annotations of the generated object. Defaults to false: the object's own
	// annotations win.
	Override bool `json:"override,omitempty"`
}

// PolicyMatch selects the objects that match all of its fields. An empty field matches all objects.
//
// Patterns match the whole value: * stands for any text, ? for any character, [a-z] for a character of a range; \
// escapes the next character.
type PolicyMatch struct {
	// Kind is a kind, such as "Deployment", or a kind with its group, such as "Deployment.apps".
	Kind string `json:"kind,omitempty"`
	// Name is a pattern for the name.
	Name string `json:"name,omitempty"`
	// Namespace is a pattern for the namespace. An object without a namespace counts as being in the one that is passed
	// to the generator, even if it is cluster-scoped, because the scope is not known yet.
	Namespace string `json:"namespace,omitempty"`
	// Labels is a label selector as kubectl accepts it, such as "app=web,tier in (a, b)".
	Labels string `json:"labels,omitempty"`
}

// PolicyRulesObjectTransformer sets annotations of the reconciler by rules. It can add waves and policies to charts and
// manifests of other authors without editing them. It is [Pure].
//
// Rules are applied in their order, so a later one wins over an earlier one. A rule without Override does not change
// annotations of the generated object.
type PolicyRulesObjectTransformer struct {
	rules []compiledRule
}

var (
	_ ContextObjectTransformer = &PolicyRulesObjectTransformer{}
	_ Pure                     = &PolicyRulesObjectTransformer{}
)

// compiledRule is a valid rule.
type compiledRule struct {
	PolicyRule
	matches objectMatch
}

// objectMatch reports whether a rule applies to an object of the given kind in the given namespace.
type objectMatch func(kind schema.GroupKind, namespace string, object client.Object) bool

// NewPolicyRulesObjectTransformer returns a transformer that applies the given rules. One error reports all problems,
// with the number of the rule, the field, the value and the allowed values: unknown annotations, values that the
// reconciler would refuse, and malformed conditions.
func NewPolicyRulesObjectTransformer(rules []PolicyRule) (*PolicyRulesObjectTransformer, error) {
	t := &PolicyRulesObjectTransformer{}
	var problems []string
	for i, rule := range rules {
		rule.Set = maps.Clone(rule.Set)
		matches, found := compileMatch(rule.Match)
		for _, problem := range append(found, checkSet(rule.Set)...) {
			problems = append(problems, fmt.Sprintf("rule %d: %s", i+1, problem))
		}
		t.rules = append(t.rules, compiledRule{PolicyRule: rule, matches: matches})
	}
	if len(problems) > 0 {
		return nil, errors.New(strings.Join(problems, "; "))
	}
	return t, nil
}

// checkSet returns the problems of the annotations of a rule.
func checkSet(set map[string]string) []string {
	if len(set) == 0 {
		return []string{"set: at least one of these annotations is required: " + strings.Join(annotations.Suffixes(), ", ")}
	}
	var problems []string
	for _, suffix := range slices.Sorted(maps.Keys(set)) {
		field := "set"
		if slices.Contains(annotations.Suffixes(), suffix) {
			field += "." + suffix
		}
		if err := annotations.Check(suffix, set[suffix]); err != nil {
			problems = append(problems, field+": "+err.Error())
		}
	}
	return problems
}

// TransformObjects fails if there are rules, because the name of the reconciler is only in the context.
func (t *PolicyRulesObjectTransformer) TransformObjects(namespace string, name string, objects []client.Object) ([]client.Object, error) {
	return t.TransformObjectsContext(context.Background(), namespace, name, objects)
}

// TransformObjectsContext returns the objects with the annotations that the rules set. The given objects are not
// changed.
func (t *PolicyRulesObjectTransformer) TransformObjectsContext(
	ctx context.Context, namespace string, _ string, objects []client.Object,
) ([]client.Object, error) {
	if len(t.rules) == 0 {
		return objects, nil
	}
	reconcilerName, err := generator.ReconcilerNameFromContext(ctx)
	if err != nil {
		return nil, err
	}
	if err := checkObjects(objects); err != nil {
		return nil, err
	}
	transformed := make([]client.Object, len(objects))
	for i, object := range objects {
		if transformed[i], err = t.apply(ctx, reconcilerName+"/", namespace, object); err != nil {
			return nil, err
		}
	}
	return transformed, nil
}

// apply returns the object with the rules applied, or the object itself if no rule changes it.
func (t *PolicyRulesObjectTransformer) apply(ctx context.Context, prefix string, namespace string, object client.Object) (client.Object, error) {
	kind, err := kindOf(ctx, object)
	if err != nil {
		return nil, err
	}
	present := object.GetAnnotations()
	wanted := maps.Clone(present)
	if wanted == nil {
		wanted = map[string]string{}
	}
	for _, rule := range t.rules {
		if !rule.matches(kind.GroupKind(), cmp.Or(object.GetNamespace(), namespace), object) {
			continue
		}
		for suffix, value := range rule.Set {
			if _, own := present[prefix+suffix]; !own || rule.Override {
				wanted[prefix+suffix] = value
			}
		}
	}
	if maps.Equal(wanted, present) {
		return object, nil
	}
	copied, err := copyOf(object)
	if err != nil {
		return nil, err
	}
	copied.SetAnnotations(wanted)
	return copied, nil
}

// Fingerprint covers all rules.
func (t *PolicyRulesObjectTransformer) Fingerprint() string {
	rules := make([]PolicyRule, len(t.rules))
	for i, rule := range t.rules {
		rules[i] = rule.PolicyRule
	}
	return fingerprintWith("policyrules/1", rules)
}

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

// nonEmpty is a condition. It must not be empty: a rule matches all objects if the condition is left out.
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

// scalar is the value of an annotation: a string, or the text of a number or boolean.
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

var (
	possibleKind      = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9-]*(\.[a-z0-9]([a-z0-9.-]*[a-z0-9])?)?$`)
	possibleName      = regexp.MustCompile(`^[^/%]+$`)
	possibleNamespace = regexp.MustCompile(`^[a-z0-9*?^\[\]\\-]+$`)
)

// compileMatch returns the compiled condition, and its problems.
func compileMatch(match PolicyMatch) (objectMatch, []string) {
	var problems []string
	refuse := func(field, value, allowed string) {
		problems = append(problems, fmt.Sprintf("match.%s: invalid value %q; must be %s", field, value, allowed))
	}
	if allowed := allowedKinds(match.Kind); allowed != "" {
		refuse("kind", match.Kind, allowed)
	}
	if !possiblePattern(match.Name, possibleName) {
		refuse("name", match.Name, `a pattern that a name can match, such as "web" or "web-*"`)
	}
	if !possiblePattern(match.Namespace, possibleNamespace) {
		refuse("namespace", match.Namespace, `a pattern that a namespace can match, such as "demo" or "demo-*"`)
	}
	selector, err := labels.Parse(match.Labels)
	if err != nil {
		refuse("labels", match.Labels, fmt.Sprintf(`a label selector such as "app=web,tier in (a, b),!legacy" (%s)`, err))
		return nil, problems
	}
	wanted, group, hasGroup := strings.Cut(match.Kind, ".")
	return func(kind schema.GroupKind, namespace string, object client.Object) bool {
		return (wanted == "" || wanted == kind.Kind) && (!hasGroup || group == kind.Group) &&
			matchesPattern(match.Name, object.GetName()) && matchesPattern(match.Namespace, namespace) &&
			selector.Matches(labels.Set(object.GetLabels()))
	}, problems
}

func matchesPattern(pattern, text string) bool {
	if pattern == "" {
		return true
	}
	matched, err := path.Match(pattern, text)
	return err == nil && matched
}

// possiblePattern reports whether a pattern is well-formed and can match a name.
func possiblePattern(pattern string, possible *regexp.Regexp) bool {
	_, err := path.Match(pattern, "")
	return err == nil && (pattern == "" || possible.MatchString(pattern))
}

// allowedKinds returns the kinds to use instead; empty if nothing is wrong. It accepts unknown kinds, which may be
// defined later, except those that differ from a known kind only in spelling.
func allowedKinds(text string) string {
	if text == "" {
		return ""
	}
	if !possibleKind.MatchString(text) {
		return `a kind such as "Deployment" or "Deployment.apps"`
	}
	kind, _, _ := strings.Cut(text, ".")
	var similar []string
	for known := range clientgoscheme.Scheme.AllKnownTypes() {
		if known.Kind == kind {
			return ""
		}
		if strings.EqualFold(known.Kind, kind) {
			similar = append(similar, known.Kind)
		}
	}
	slices.Sort(similar)
	similar = slices.Compact(similar)
	if len(similar) > 1 {
		return "one of: " + strings.Join(similar, ", ")
	}
	return strings.Join(similar, "")
}
