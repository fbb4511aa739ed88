// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package manifests

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/internal/annotations"
	"github.com/component-operator/runtime/internal/manifest"
	"github.com/component-operator/runtime/pkg/generator"
)

// PolicyRule sets annotations of the reconciler on all objects that match.
type PolicyRule struct {
	// Match selects the objects. Defaults to all.
	Match PolicyMatch `json:"match,omitempty"`
	// Set holds the annotations by their suffix (the key without the name of the reconciler), such as "apply-order". It
	// must not be empty.
	Set map[string]string `json:"set"`
	// Override lets the rule replace annotations of the generated object. Defaults to false: the object's own
	// annotations win.
	Override bool `json:"override,omitempty"`
}

// PolicyMatch selects the objects that match all of its fields. An empty field matches all objects.
//
// Patterns match the whole value: * stands for any text, ? for any character, [a-z] for one of a range; \ escapes the
// next character.
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

// PolicyRulesObjectTransformer sets annotations of the reconciler by rules. This gives waves and policies to charts and
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
	matches func(metadata objectMetadata) bool
}

// NewPolicyRulesObjectTransformer returns a transformer that applies the given rules. One error reports all problems
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

// checkSet returns the problems with the annotations of a rule.
func checkSet(set map[string]string) []string {
	if len(set) == 0 {
		return []string{"set: at least one of these annotations is required: " + strings.Join(annotations.Suffixes(), ", ")}
	}
	var problems []string
	for _, suffix := range slices.Sorted(maps.Keys(set)) {
		err := annotations.Check(suffix, set[suffix])
		switch {
		case err == nil:
		case slices.Contains(annotations.Suffixes(), suffix):
			problems = append(problems, fmt.Sprintf("set.%s: %s", suffix, err))
		default:
			problems = append(problems, fmt.Sprintf("set: %s", err))
		}
	}
	return problems
}

// TransformObjects fails if there are rules: it would need the name of the reconciler, which is in the context.
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

// apply returns the object itself if no rule changes it.
func (t *PolicyRulesObjectTransformer) apply(ctx context.Context, prefix string, namespace string, object client.Object) (client.Object, error) {
	kind, err := kindOf(ctx, object)
	if err != nil {
		return nil, err
	}
	metadata := objectMetadata{kind: kind.GroupKind(), namespace: object.GetNamespace(), name: object.GetName(), labels: object.GetLabels()}
	if metadata.namespace == "" {
		metadata.namespace = namespace
	}
	present := object.GetAnnotations()
	wanted := maps.Clone(present)
	if wanted == nil {
		wanted = map[string]string{}
	}
	for _, rule := range t.rules {
		if !rule.matches(metadata) {
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
	sum, err := manifest.Digest(rules)
	if err != nil {
		return ""
	}
	return "policyrules/1 " + sum
}
