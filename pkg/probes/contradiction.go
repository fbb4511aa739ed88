// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package probes

import (
	"cmp"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// demand is what a check demands of one condition or field.
type demand struct {
	place, subject, value string
	selector              Selector
}

// contradiction returns an error if two checks cannot be true of the same object, and their selectors select the same objects, or one of them selects
// objects whatever their labels are.
func contradiction(probes []Probe) error {
	var demands []demand
	for i, probe := range probes {
		for k, check := range probe.Checks {
			found := demand{place: fmt.Sprintf("probes[%d].probes[%d]", i, k), selector: probe.Selector}
			switch {
			case check.Condition != nil:
				found.subject, found.value = "condition "+check.Condition.Type, string(cmp.Or(check.Condition.Status, metav1.ConditionTrue))
			case check.FieldValue != nil:
				found.subject, found.value = strings.Trim(check.FieldValue.Field, "{}"), string(check.FieldValue.Value.Raw)
			default:
				continue
			}
			for _, other := range demands {
				if other.subject == found.subject && other.value != found.value && overlap(other.selector, found.selector) {
					return fmt.Errorf("%s: it requires %s to be %s, but %s requires %s; must be one of the two", found.place, found.subject, found.value, other.place, other.value)
				}
			}
			demands = append(demands, found)
		}
	}
	return nil
}

// overlap reports whether there may be an object that both select. Different labels are supposed to be on different objects.
func overlap(a, b Selector) bool {
	kinds := a.Kind == nil || b.Kind == nil || *a.Kind == *b.Kind
	return kinds && (isAll(a.Labels) || isAll(b.Labels) || equality.Semantic.DeepEqual(a.Labels, b.Labels))
}

func isAll(selector *metav1.LabelSelector) bool {
	return selector == nil || len(selector.MatchLabels) == 0 && len(selector.MatchExpressions) == 0
}
