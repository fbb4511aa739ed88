// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package judges_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/component-operator/runtime/internal/judges"
)

var widgetWith = &unstructured.Unstructured{Object: map[string]any{
	"apiVersion": "example.io/v1", "kind": "Widget",
	"metadata": map[string]any{"name": "a", "generation": int64(3)},
	"spec":     map[string]any{"replicas": int64(2), "share": 0.5, "data.key": "x"},
	"status": map[string]any{
		"phase": "Running", "ready": float64(2),
		"conditions": []any{map[string]any{"type": "Ready", "status": "True"}, map[string]any{"type": "Synced", "status": "False"}},
	},
}}

func TestHolds(t *testing.T) {
	t.Parallel()
	for text, expected := range map[string]string{
		`self.status.phase == "Running"`:                                              "true",
		`self.status.phase in ["Failed", "Broken"]`:                                   "false",
		`self.status.conditions.exists(c, c.type == "Ready" && c.status == "True")`:   "true",
		`self.status.conditions.all(c, c.status == "True")`:                           "false",
		`self.status.ready == self.spec.replicas`:                                     "true",
		`self.status.ready >= 1`:                                                      "true",
		`self.spec.share < 1`:                                                         "true",
		`self.spec["data.key"] == "x"`:                                                "true",
		`has(self.status.missing)`:                                                    "false",
		`self.?status.missing.orValue("none") == "none"`:                              "true",
		`self.?status.conditions.orValue([]).exists(c, c.type == "Ready")`:            "true",
		`self.metadata.generation == 3`:                                               "true",
		`self.status.phase.lowerAscii().startsWith("run")`:                            "true",
		`size(self.status.conditions.filter(c, c.status == "True")) == 1`:             "true",
		`sets.contains(["Running", "Done"], [self.status.phase])`:                     "true",
		`self.status.missing == "x"`:                                                  "no such key: missing",
		`self.status.phase.a == "x"`:                                                  "no such key: a",
		`self.status.phase`:                                                           "of type string, not bool",
		`self.status.missing == "x" || self.status.phase == "Running"`:                "true",
		`self.status.phase == "Running" && has(self.status.conditions[5].lastSeenAt)`: "index out of bounds",
	} {
		expression, err := judges.Compile(text)
		if err != nil {
			// The type of a bare field is not known before it is evaluated, so it is refused.
			if text == `self.status.phase` && strings.Contains(err.Error(), "of type dyn") {
				continue
			}
			t.Errorf("%s: %v", text, err)
			continue
		}
		holds, err := expression.Holds(widgetWith, judges.NewBudget(judges.Full))
		switch {
		case err != nil && !strings.Contains(err.Error(), expected), err == nil && fmt.Sprint(holds) != expected:
			t.Errorf("%s: expected %s, got %v, %v", text, expected, holds, err)
		case expression.String() != text:
			t.Errorf("%s became %s", text, expression)
		}
	}
}

func TestInvalidExpressions(t *testing.T) {
	t.Parallel()
	for text, expected := range map[string]string{
		"":                             "it is empty; must be a CEL expression over self that evaluates to true or false",
		" ":                            "it is empty; must be a CEL expression over self that evaluates to true or false",
		"self.status.phase = 1":        "line 1, column 19: Syntax error",
		"self.status.x ==\n  slef.y":   "line 2, column 3: undeclared reference to 'slef'",
		"self.status.phase":            "it is of type dyn; must be a CEL expression",
		"size(self.status.conditions)": "it is of type int; must be a CEL expression",
		`"true"`:                       "it is of type string; must be a CEL expression",
		`self.a.all(x, self.b.all(y, self.c.all(z, x == y && y == z)))`: "must be at most 10000000",
		strings.Repeat("true && ", 600) + "true":                        "must be at most 4096 bytes",
		`{b"a": 1}.size() > 0`:                                          "it cannot be compiled: runtime error: hash of unhashable type types.Bytes",
		`timestamp("x") < now()`:                                        "undeclared reference to 'now'",
	} {
		_, err := judges.Compile(text)
		if err == nil || !strings.Contains(err.Error(), expected) {
			t.Errorf("%q: expected an error with %q, got %v", text, expected, err)
		}
	}
}

// TestSecretsAreNotShown evaluates expressions whose errors contain values.
func TestSecretsAreNotShown(t *testing.T) {
	t.Parallel()
	secret := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Secret", "data": map[string]any{"password": "hunter2"}}}
	for text, expected := range map[string]string{
		`int(self.data.password) > 1`: "the reason is not shown, because the object is a Secret",
		`self.data.user == "x"`:       "no such key: user",
	} {
		expression, err := judges.Compile(text)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := expression.Holds(secret, judges.NewBudget(judges.Full)); err == nil || err.Error() != expected {
			t.Errorf("%s: expected %q, got %v", text, expected, err)
		}
	}
}

// TestExpressionsAreCompiledInParallel is for the race detector: unknown names and comprehensions concern the same
// field of cel-go's environment.
func TestExpressionsAreCompiledInParallel(t *testing.T) {
	t.Parallel()
	var group sync.WaitGroup
	for worker := range 20 {
		group.Go(func() {
			if _, err := judges.Compile(fmt.Sprintf("unknown%d == 1", worker)); err == nil {
				t.Errorf("an unknown name was accepted")
			}
		})
		group.Go(func() {
			if _, err := judges.Compile(fmt.Sprintf("self.items.exists(i, i == %d)", worker)); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
}
