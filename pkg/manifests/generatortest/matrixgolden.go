// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package generatortest

import (
	"fmt"
	"slices"
	"strings"
)

// indexName is the name of the golden file that says which combinations lead to which outcome. No outcome has it.
const indexName = "index"

// outcome is what several combinations lead to.
type outcome struct {
	name, text   string
	combinations []string
}

// outcomesOf returns the different outcomes, in the order in which they are found first.
func outcomesOf(results []result) []outcome {
	var outcomes []outcome
	for _, r := range results {
		i := slices.IndexFunc(outcomes, func(o outcome) bool { return o.text == r.text })
		if i < 0 {
			i = len(outcomes)
			outcomes = append(outcomes, outcome{name: r.fileName(), text: r.text})
		}
		outcomes[i].combinations = append(outcomes[i].combinations, r.name())
	}
	return outcomes
}

// compare compares the outcomes with the golden files, or writes these.
func (m Matrix) compare(results []result, update bool) []string {
	suite := m.suite(nil)
	var problems []string
	index := strings.Builder{}
	index.WriteString(header)
	known := []string{suite.path(indexName)}
	outcomes := outcomesOf(results)
	for _, o := range outcomes {
		for _, problem := range suite.compare(o.name, o.text, update) {
			problems = append(problems, strings.Join(o.combinations, ", ")+": "+problem)
		}
		fmt.Fprintf(&index, "%s.yaml:\n- %s\n", o.name, strings.Join(o.combinations, "\n- "))
		known = append(known, suite.path(o.name))
	}
	for _, problem := range suite.compare(indexName, index.String(), update) {
		problems = append(problems, "which combinations have the same outcome: "+problem)
	}
	return append(problems, suite.strays(known, "no outcome belongs to it", update)...)
}
