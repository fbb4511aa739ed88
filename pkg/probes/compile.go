// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package probes

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/json"

	"github.com/component-operator/runtime/internal/judges"
)

// compile returns the probe ready for evaluation. The error begins with the field.
func compile(probe Probe) (compiled, error) {
	var c compiled
	if kind := probe.Selector.Kind; kind != nil {
		if kind.Kind == "" {
			return c, errors.New(`selector.kind.kind: invalid value ""; must be the name of a kind, such as Deployment`)
		}
		c.kind = &schema.GroupKind{Group: kind.Group, Kind: kind.Kind}
	}
	if probe.Selector.Labels != nil {
		selector, err := metav1.LabelSelectorAsSelector(probe.Selector.Labels)
		if err != nil {
			return c, fmt.Errorf("selector.selector: %w", err)
		}
		c.labels = selector
	}
	if len(probe.Checks) == 0 {
		return c, errors.New("probes: there are none; at least one is required")
	}
	for i, declared := range probe.Checks {
		check, err := compileCheck(declared)
		if err != nil {
			return c, fmt.Errorf("probes[%d]%w", i, err)
		}
		c.checks = append(c.checks, check)
	}
	return c, nil
}

func compileCheck(declared Check) (check, error) {
	var checks []check
	var failures []error
	add := func(check check, field string, err error) {
		checks = append(checks, check)
		if err != nil {
			failures = append(failures, fmt.Errorf(".%s%w", field, err))
		}
	}
	if declared.Condition != nil {
		check, err := conditionCheck(*declared.Condition)
		add(check, "condition", err)
	}
	if declared.FieldsEqual != nil {
		check, err := fieldsCheck(*declared.FieldsEqual)
		add(check, "fieldsEqual", err)
	}
	if declared.FieldValue != nil {
		check, err := valueCheck(*declared.FieldValue)
		add(check, "fieldValue", err)
	}
	if declared.CEL != nil {
		check, err := celCheck(*declared.CEL)
		add(check, "cel", err)
	}
	if len(checks) != 1 {
		return nil, fmt.Errorf(": it has %d checks; must have exactly one of condition, fieldsEqual, fieldValue and cel", len(checks))
	}
	if len(failures) > 0 {
		return nil, failures[0]
	}
	return checks[0], nil
}

func conditionCheck(declared Condition) (check, error) {
	wanted := cmp.Or(declared.Status, metav1.ConditionTrue)
	if declared.Type == "" {
		return nil, errors.New(`.type: invalid value ""; must be the type of a condition, such as Available`)
	}
	if !slices.Contains([]metav1.ConditionStatus{metav1.ConditionTrue, metav1.ConditionFalse, metav1.ConditionUnknown}, wanted) {
		return nil, fmt.Errorf(".status: invalid value %q; must be one of: True, False, Unknown", declared.Status)
	}
	return func(object *unstructured.Unstructured, budget *judges.Budget) (answer, string) {
		found, _, _ := unstructured.NestedFieldNoCopy(object.Object, "status", "conditions")
		items, isList := found.([]any)
		if !isList && found != nil {
			return unknown, "status.conditions is not a list of conditions"
		}
		if err := budget.Spend(uint64(len(items))); err != nil {
			return unknown, fmt.Sprintf("condition %s: looking for it %s", declared.Type, err)
		}
		for _, item := range items {
			fields, _ := item.(map[string]any)
			if fields["type"] == declared.Type {
				return compareCondition(object, fields, declared.Type, wanted)
			}
		}
		return unknown, "condition " + declared.Type + " is missing"
	}, nil
}

func compareCondition(object *unstructured.Unstructured, fields map[string]any, name string, wanted metav1.ConditionStatus) (answer, string) {
	if observed, ok := fields["observedGeneration"].(int64); ok && observed != object.GetGeneration() {
		return unknown, fmt.Sprintf("condition %s is of generation %d, not %d", name, observed, object.GetGeneration())
	}
	if fields["status"] == string(wanted) {
		return yes, ""
	}
	words := fmt.Sprintf("condition %s is %v, not %s", name, fields["status"], wanted)
	if reason, _ := fields["reason"].(string); reason != "" {
		words += " (" + reason + ")"
	}
	if message, _ := fields["message"].(string); message != "" {
		words += ": " + message
	}
	return no, words
}

func fieldsCheck(declared FieldsEqual) (check, error) {
	a, err := newPath(declared.FieldA)
	if err != nil {
		return nil, fmt.Errorf(".fieldA: %w", err)
	}
	b, err := newPath(declared.FieldB)
	if err != nil {
		return nil, fmt.Errorf(".fieldB: %w", err)
	}
	return func(object *unstructured.Unstructured, budget *judges.Budget) (answer, string) {
		left, hasLeft := a.find(object)
		right, hasRight := b.find(object)
		if err := budget.Spend(judges.Size(left) + judges.Size(right)); err != nil {
			return unknown, fmt.Sprintf("%s and %s: comparing them %s", a, b, err)
		}
		switch {
		case hasLeft != hasRight && hasLeft:
			return no, fmt.Sprintf("%s%s, and %s is missing", a, is(object, left), b)
		case hasLeft != hasRight:
			return no, fmt.Sprintf("%s is missing, and %s%s", a, b, is(object, right))
		case equality.Semantic.DeepEqual(left, right):
			return yes, ""
		case isSecret(object):
			return no, fmt.Sprintf("%s and %s have different values", a, b)
		default:
			return no, fmt.Sprintf("%s%s, and %s%s", a, is(object, left), b, is(object, right))
		}
	}, nil
}

func valueCheck(declared FieldValue) (check, error) {
	field, err := newPath(declared.Field)
	if err != nil {
		return nil, fmt.Errorf(".field: %w", err)
	}
	var wanted any
	if err := json.Unmarshal(declared.Value.Raw, &wanted); err != nil {
		return nil, fmt.Errorf(".value: invalid value %q: %w; must be a JSON value", declared.Value.Raw, err)
	}
	return func(object *unstructured.Unstructured, budget *judges.Budget) (answer, string) {
		found, exists := field.find(object)
		if err := budget.Spend(judges.Size(found)); err != nil {
			return unknown, fmt.Sprintf("%s: comparing it %s", field, err)
		}
		switch {
		case !exists:
			return unknown, fmt.Sprintf("%s is missing", field)
		case equality.Semantic.DeepEqual(found, wanted):
			return yes, ""
		case isSecret(object):
			return no, fmt.Sprintf("%s has another value", field)
		default:
			return no, fmt.Sprintf("%s%s, not %s", field, is(object, found), text(wanted))
		}
	}, nil
}

// is says what the value of a field is. Values of Secrets are not shown.
func is(object *unstructured.Unstructured, value any) string {
	if isSecret(object) {
		return " exists"
	}
	return " is " + text(value)
}

func isSecret(object *unstructured.Unstructured) bool {
	return object.GroupVersionKind().GroupKind() == schema.GroupKind{Kind: "Secret"}
}

// text returns a value as JSON.
func text(value any) string {
	encoded, err := json.Marshal(value)
	if err != nil {
		return fmt.Sprint(value)
	}
	return string(encoded)
}

func celCheck(declared CEL) (check, error) {
	expression, err := judges.Compile(declared.Rule)
	if err != nil {
		return nil, fmt.Errorf(".rule: %w", err)
	}
	return func(object *unstructured.Unstructured, budget *judges.Budget) (answer, string) {
		switch holds, err := expression.Holds(object, budget); {
		case err != nil:
			return unknown, fmt.Sprintf("%s cannot be evaluated: %s", expression, err)
		case holds:
			return yes, ""
		default:
			return no, cmp.Or(strings.TrimSpace(declared.Message), expression.String()+" is false")
		}
	}, nil
}
