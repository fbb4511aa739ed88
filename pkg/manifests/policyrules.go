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
	"github.com/component-operator/runtime/internal/digest"
	"github.com/component-operator/runtime/pkg/generator"
)

// PolicyRule sets annotations of the reconciler on all objects that match.
type PolicyRule struct {
	// Match says which objects are meant. Defaults to all.
	Match PolicyMatch `json:"match,omitempty"`
	// Set holds the annotations by their suffix (the key without the name of the reconciler), such as "apply-order". It must not be empty.
	Set map[string]string `json:"set"`
	// Override says that the rule replaces annotations that the object came with. Defaults to false: these win.
	Override bool `json:"override,omitempty"`
}

// PolicyMatch selects the objects that satisfy all of its fields. A field that is empty is satisfied by all objects.
//
// Patterns match as a whole: * stands for any text, ? for any character, [a-z] for one of a range; \ takes the meaning away.
type PolicyMatch struct {
	// Kind is a kind, such as "Deployment", or a kind with its group, such as "Deployment.apps".
	Kind string `json:"kind,omitempty"`
	// Name is a pattern for the name.
	Name string `json:"name,omitempty"`
	// Namespace is a pattern for the namespace. An object without one counts as being where the generator is told to put its objects;
	// that includes objects of kinds that have no namespace, since their scope is not known before their types are.
	Namespace string `json:"namespace,omitempty"`
	// Labels is a label selector as kubectl accepts it, such as "app=web,tier in (a, b)".
	Labels string `json:"labels,omitempty"`
}

// PolicyRulesObjectTransformer sets annotations of the reconciler as rules say, so that manifests which know nothing of it get
// waves and policies without being touched. It is [Pure].
//
// Rules are applied in their order, so a later one wins over an earlier one. A rule without Override leaves annotations alone that the
// object came with.
type PolicyRulesObjectTransformer struct {
	rules []compiledRule
}

var (
	_ ContextObjectTransformer = &PolicyRulesObjectTransformer{}
	_ Pure                     = &PolicyRulesObjectTransformer{}
)

// compiledRule is a rule that was found to be good.
type compiledRule struct {
	PolicyRule
	matches func(metadata objectMetadata) bool
}

// NewPolicyRulesObjectTransformer returns a transformer that applies the given rules. It reports all that is wrong with them in
// one error, by the number of the rule, the field, the value and what is allowed: unknown annotations, values that the reconciler would
// refuse, and conditions that no object can satisfy.
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

// checkSet returns what is wrong with the annotations of a rule.
func checkSet(set map[string]string) []string {
	if len(set) == 0 {
		return []string{"set: at least one annotation is required; allowed are: " + strings.Join(annotations.Suffixes(), ", ")}
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

// TransformObjects fails unless there is no rule: without the context the name of the reconciler is not known.
func (t *PolicyRulesObjectTransformer) TransformObjects(namespace string, name string, objects []client.Object) ([]client.Object, error) {
	return t.TransformObjectsContext(context.Background(), namespace, name, objects)
}

// TransformObjectsContext returns the objects with the annotations that the rules set. The given objects are not changed.
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
	sum, err := digest.Of(rules)
	if err != nil {
		return ""
	}
	return "policyrules/1 " + sum
}
