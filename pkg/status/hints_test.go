// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package status_test

import (
	"testing"

	"github.com/component-operator/runtime/pkg/status"
)

func TestParseHints(t *testing.T) {
	t.Parallel()
	const allowed = "; must be one of: has-observed-generation, has-ready-condition, run-to-completion, conditions=<condition>[;<condition>…]"
	tests := []struct {
		reason string
		value  string
		want   status.Hints
		err    string
	}{
		{reason: "a template may render blanks", value: " \n"},
		{
			reason: "kebab case", value: "has-observed-generation,has-ready-condition,conditions=A",
			want: status.Hints{HasObservedGeneration: true, HasReadyCondition: true, Conditions: []string{"A"}},
		},
		{
			reason: "Pascal case", value: "HasObservedGeneration,HasReadyCondition,Conditions=A",
			want: status.Hints{HasObservedGeneration: true, HasReadyCondition: true, Conditions: []string{"A"}},
		},
		{
			reason: "blanks around separators", value: " has-ready-condition , conditions = A ; B ",
			want: status.Hints{HasReadyCondition: true, Conditions: []string{"A", "B"}},
		},
		{reason: "an unknown hint", value: "has-ready-condition,has-luck", err: `unknown status hint "has-luck"` + allowed},
		{reason: "other mixtures of case are typos", value: "Has-Ready-Condition", err: `unknown status hint "Has-Ready-Condition"` + allowed},
		{reason: "a value where none belongs", value: "has-ready-condition=true", err: `status hint "has-ready-condition" takes no value, got "true"` + allowed},
		{reason: "conditions without a value", value: "conditions", err: `status hint "conditions" needs names of conditions, got ""` + allowed},
	}
	for _, test := range tests {
		t.Run(test.reason, func(t *testing.T) {
			t.Parallel()
			got, err := status.ParseHints(test.value)
			message := ""
			if err != nil {
				message = err.Error()
			}
			diff(t, message, test.err)
			diff(t, got, test.want)
		})
	}
}
