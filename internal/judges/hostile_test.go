// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package judges_test

import (
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/component-operator/runtime/internal/judges"
)

// hostile is an object of the size that the API server accepts.
var hostile = func() *unstructured.Unstructured {
	numbers, equal, words := make([]any, 20_000), make([]any, 20_000), make([]any, 20_000)
	labels := map[string]any{}
	for i := range numbers {
		numbers[i], equal[i], words[i] = int64(i), "a", fmt.Sprintf("word-%d", i)
		labels[fmt.Sprintf("key-%d", i)] = map[string]any{"a": "b"}
	}
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "Hostile", "big": strings.Repeat("a", 200_000), "numbers": numbers, "equal": equal, "words": words, "labels": labels,
		"pattern": strings.Repeat("x{1000}", 100), "count": int64(1) << 60,
	}}
}()

// TestHostileExpressions evaluates expressions whose cost is out of proportion to the object. Each is refused, or ends
// before it has allocated 200 MB.
func TestHostileExpressions(t *testing.T) { //nolint:paralleltest // it measures what is allocated
	double := strings.Repeat(`.map(x, [x, x])`, 25)
	for text, reason := range map[string]string{
		`self.big.replace("", self.big).size() > 0`:                                                                       "the result has 40 GB",
		`self.big.replace("a", self.big, 100000).size() > 0`:                                                              "the result has 20 GB",
		`self.equal.join(self.big).size() > 0`:                                                                            "the result has 4 GB",
		`self.numbers.transformList(i, n, self.big).join("").size() > 0`:                                                  "the result has 4 GB",
		`self.big.split("").map(c, self.big + c).size() > 0`:                                                              "the results have 40 GB together",
		`self.numbers.map(n, self.big + self.big).size() > 0`:                                                             "the results have 8 GB together",
		`lists.range(self.count).size() > 0`:                                                                              "the result has 2^60 entries",
		`[self.big].map(x, x+x).map(x, x+x).map(x, x+x).map(x, x+x).map(x, x+x).size() > 0`:                               "each step doubles the text",
		`[self.labels]` + double + ` == [self.labels]` + double:                                                           "each step doubles the values that are compared",
		`[self.numbers]` + double + ` == [self.numbers]` + double:                                                         "each step doubles the values that are compared",
		`self.numbers.all(n, self.labels == self.labels)`:                                                                 "equality reads all entries",
		`self.numbers.all(n, self.numbers == self.numbers)`:                                                               "equality reads all entries",
		`self.numbers.all(n, !(n + 100000 in self.numbers))`:                                                              "each search reads all entries",
		`self.words.all(n, self.big.matches("(a|aa)+b|" + n) || true)`:                                                    "each match reads the whole text",
		`self.words.all(n, self.big.matches("(a?){50}b") || true)`:                                                        "each match reads the whole text",
		`self.big.matches(self.pattern)`:                                                                                  "the regular expression has 100,000 instructions",
		`self.words.all(n, self.big.indexOf(n) < 0)`:                                                                      "each search reads the whole text",
		`sets.contains(self.words, self.words)`:                                                                           "each entry is compared with each one",
		`sets.equivalent(self.words, self.words)`:                                                                         "each entry is compared with each one",
		`sets.intersects(self.numbers, self.words)`:                                                                       "each entry is compared with each one",
		`self.words.distinct().size() > 0`:                                                                                "each entry is compared with each one",
		`self.numbers.all(n, self.words.sort().size() > 0)`:                                                               "it sorts 20,000 times",
		`self.numbers.all(n, self.words.sortBy(w, w).size() > 0)`:                                                         "it sorts 20,000 times",
		`self.numbers.all(n, self.big.lowerAscii().size() > 0)`:                                                           "it copies the text 20,000 times",
		`self.numbers.all(n, self.big.charAt(199999) == "a")`:                                                             "it decodes the text 20,000 times",
		`self.numbers.all(n, self.big.substring(1).size() > 0)`:                                                           "it decodes the text 20,000 times",
		`self.numbers.all(n, "%s%s".format([self.big, self.labels]).size() > 0)`:                                          "it formats large values 20,000 times",
		`self.numbers.map(n, [n` + strings.Repeat(",1", 1500) + `]).size() > 0`:                                           "the lists have 30 million entries together",
		`self.numbers.all(n, self.numbers.reverse().slice(1, 10000).flatten().size() > 0)`:                                "it copies the list 20,000 times",
		`self.numbers.map(n, self.labels).flatten().size() > 0 && self.numbers.map(n, self.numbers).flatten().size() > 0`: "the list has 400 million entries",
	} {
		expression, err := judges.Compile(text)
		if err != nil {
			if !strings.Contains(err.Error(), "must be at most 10000000") {
				t.Errorf("%.100s: %v", text, err)
			}
			continue
		}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err = expression.Holds(hostile, judges.NewBudget(judges.Full))
		runtime.ReadMemStats(&after)
		if !errors.Is(err, judges.ErrTooExpensive) {
			t.Errorf("%.100s: %s; expected the evaluation to end, got %v", text, reason, err)
		}
		if allocated := after.TotalAlloc - before.TotalAlloc; allocated > 200_000_000 {
			t.Errorf("%.100s: it has allocated %d bytes", text, allocated)
		}
	}
}

// TestHostileTexts compiles texts that cost much time and memory to parse or to check. Each is refused, or takes less
// than 100 MB.
func TestHostileTexts(t *testing.T) { //nolint:paralleltest // it measures what is allocated
	repeat := strings.Repeat
	for name, text := range map[string]string{
		"lists in lists":                   repeat("[", 200) + repeat("]", 200) + ".size() > 0",
		"many lists in lists":              repeat(repeat("[", 20)+repeat("]", 20)+".size() > 0 || ", 70) + "true",
		"maps in maps":                     repeat(`{"a":`, 100) + "1" + repeat("}", 100) + ".size() > 0",
		"many maps in maps":                repeat(repeat("{1:", 20)+"1"+repeat("}", 20)+".size() > 0 || ", 40) + "true",
		"maps of maps":                     "{1:1}" + repeat(".transformMap(k,v,{k:v})", 160) + ".size() > 0",
		"lists of lists":                   "[1]" + repeat(".map(x,[x,x])", 300) + ".size() > 0",
		"loops in loops":                   repeat("[1].map(x,", 200) + "x" + repeat(")", 200) + ".size() > 0",
		"unknown names":                    repeat("abc||", 800) + "true",
		"parentheses":                      repeat("(", 2000) + "true" + repeat(")", 2000),
		"fields of fields":                 "self" + repeat(".a", 2000) + " == 1",
		"nothing that makes sense":         repeat("{[(.?", 800),
		"a large regular expression":       `self.a.matches("` + repeat("x{1000}", 500) + `")`,
		"regular expressions of this size": repeat(`self.a.matches("`+repeat("x{1000}", 60)+`") || `, 5) + "true",
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := judges.Compile(text)
		runtime.ReadMemStats(&after)
		if allocated := after.TotalAlloc - before.TotalAlloc; allocated > 100_000_000 {
			t.Errorf("%s: it has allocated %d bytes, %v", name, allocated, err)
		}
	}
}
