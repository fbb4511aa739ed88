// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package expressions

import (
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// known are the functions of the environment. Whoever adds one decides whether it needs a price: what it reads, and what it returns, is charged before it runs.
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

// TestBudgets are spent by several evaluations together.
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
