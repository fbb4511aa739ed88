// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package judges

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// known are the functions of the environment. Whoever adds one decides whether it needs a price: what it reads, and
// what it returns, is charged before it runs.
const known = `
!_ -_ @in @not_strictly_false @sortByAssociatedKeys _!=_ _%_ _&&_ _*_ _+_ _-_ _/_ _<=_ _<_ _==_ _>=_ _>_ _?._ _?_:_ _[?_] _[_] __not_strictly_false__ _in_ _||_
bool bytes cel.@mapInsert charAt contains distinct double duration dyn endsWith first flatten format
getDate getDayOfMonth getDayOfWeek getDayOfYear getFullYear getHours getMilliseconds getMinutes getMonth getSeconds
hasAll hasAny hasExactly hasOnly hasValue in indexOf int join last lastIndexOf lists.range lowerAscii matches
math.@max math.@min math.abs math.bitAnd math.bitNot math.bitOr math.bitShiftLeft math.bitShiftRight math.bitXor math.ceil math.floor math.isFinite math.isInf math.isNaN
math.round math.sign math.sqrt math.trunc optional.none optional.of optional.ofNonZeroValue optional.unwrap or orValue replace reverse
sets.contains sets.equivalent sets.intersects size slice sort split startsWith string strings.quote substring timestamp trim type uint unwrapOpt upperAscii value
`

func TestFunctions(t *testing.T) {
	t.Parallel()
	env, err := environment()
	if err != nil {
		t.Fatal(err)
	}
	found := slices.Sorted(maps.Keys(env.Functions()))
	if diff := cmp.Diff(slices.Sorted(slices.Values(strings.Fields(known))), found); diff != "" {
		t.Errorf("other functions (-known +found):\n%s", diff)
	}
	for function := range prices {
		if !slices.Contains(found, function) {
			t.Errorf("function %s has a price, and does not exist", function)
		}
	}
}

// TestPrices evaluates calls whose work depends on something else than the number of values.
func TestPrices(t *testing.T) {
	t.Parallel()
	labels := map[string]any{}
	for i := range 1000 {
		labels[fmt.Sprint(i)] = "a"
	}
	judged := &unstructured.Unstructured{Object: map[string]any{
		"text": strings.Repeat("ä", 5000), "labels": labels, "maps": []any{labels}, "invalid": strings.Repeat("(", 500), "zone": "Nowhere/Land",
	}}
	for _, tc := range []struct {
		text   string
		least  uint64
		reason string
	}{
		{`self.text.size() > 0`, 1000, "it counts the characters of 10,000 bytes"},
		{`self.labels.transformMap(k, v, v).size() > 0`, 500_000, "it reads all keys for each entry"},
		{`self.maps.transformMapEntry(i, m, m).size() > 0`, 500_000, "it inserts 1000 entries into the same map"},
		{`"a".matches(self.invalid) || true`, 500, "it parses 500 bytes"},
		{`timestamp(0).getHours(self.zone) > 0 || true`, 100, "it reads a file"},
	} {
		expression, err := Compile(tc.text)
		if err != nil {
			t.Fatal(err)
		}
		budget := NewBudget(10 * Full)
		if _, err := expression.Holds(judged, budget); err != nil {
			t.Errorf("%s: %v", tc.text, err)
		}
		if cost := budget.tracker.ActualCost(); cost < tc.least {
			t.Errorf("%s: %s; expected a cost of at least %d, got %d", tc.text, tc.reason, tc.least, cost)
		}
	}
}

// TestPatience ends an evaluation that takes too long, although it costs little.
func TestPatience(t *testing.T) {
	t.Parallel()
	expression, err := Compile(`self.a.all(x, self.a.all(y, x == y || x != y))`)
	if err != nil {
		t.Fatal(err)
	}
	budget := NewBudget(1 << 60)
	budget.patience = 1
	if _, err := expression.Holds(object(20_000), budget); err == nil || err.Error() != "costs too much for this object: it takes longer than 1ns" {
		t.Errorf("expected the evaluation to end, got %v", err)
	}
}

// object has a list a with this number of entries.
func object(count int) *unstructured.Unstructured {
	list := make([]any, count)
	for i := range list {
		list[i] = int64(i)
	}
	return &unstructured.Unstructured{Object: map[string]any{"a": list}}
}

// TestBudgets spends a budget on several evaluations.
func TestBudgets(t *testing.T) {
	t.Parallel()
	expression, err := Compile(`self.a.all(x, x >= 0)`)
	if err != nil {
		t.Fatal(err)
	}
	budget, evaluations := NewBudget(Brief), 0
	for ; evaluations < 1000; evaluations++ {
		if _, err = expression.Holds(object(100), budget); err != nil {
			break
		}
	}
	if !errors.Is(err, ErrTooExpensive) || evaluations < 5 || evaluations > 50 {
		t.Errorf("expected the budget to be spent after some evaluations, got %v after %d", err, evaluations)
	}
	if err := budget.Spend(0); !errors.Is(err, ErrTooExpensive) {
		t.Errorf("a spent budget is as good as new (%v)", err)
	}
	if fresh := NewBudget(10); fresh.Spend(10) != nil || fresh.Spend(0) != nil || fresh.Spend(1) == nil || fresh.Spend(0) == nil {
		t.Error("expected that exactly the limit can be spent")
	}
}
