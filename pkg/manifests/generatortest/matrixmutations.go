// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package generatortest

import (
	"fmt"
	"slices"
	"strings"
)

// mutationName identifies a mutation.
type mutationName struct{ resource, name string }

func (n mutationName) String() string { return fmt.Sprintf("%s: mutation %q", n.resource, n.name) }

// mutation is a mutation in one combination.
type mutation struct {
	mutationName

	enabled bool
	why     string
}

// checkMutations returns which mutations are on in no combination although they should be, and what is wrong with exclusions.
func checkMutations(results []result, excluded []Exclusion) []string {
	var problems []string
	names := mutationNames(results)
	for _, name := range names {
		isExcluded := slices.ContainsFunc(excluded, func(e Exclusion) bool { return name == mutationName{e.Resource, e.Mutation} })
		if on, off := states(results, name); len(on) == 0 && !isExcluded {
			problems = append(problems, fmt.Sprintf("%s is not on in any combination; add a case, or exclude it:\n  %s", name, strings.Join(off, "\n  ")))
		}
	}
	for _, e := range excluded {
		name := mutationName{e.Resource, e.Mutation}
		if on, _ := states(results, name); len(on) > 0 {
			problems = append(problems, fmt.Sprintf("%s is excluded (%s), and on in: %s", name, e.Reason, strings.Join(on, ", ")))
		}
		if !slices.Contains(names, name) {
			problems = append(problems, fmt.Sprintf("%s is excluded (%s), and does not exist", name, e.Reason))
		}
	}
	return problems
}

// mutationNames returns all mutations, in the order in which they are found first.
func mutationNames(results []result) []mutationName {
	var names []mutationName
	for _, r := range results {
		for _, m := range r.mutations {
			if !slices.Contains(names, m.mutationName) {
				names = append(names, m.mutationName)
			}
		}
	}
	return names
}

// states returns in which combinations a mutation is on, and why it is off in the others.
func states(results []result, name mutationName) (on, off []string) {
	for _, r := range results {
		enabled, why := false, "there is no such mutation"
		for _, m := range r.mutations {
			if m.mutationName == name && !enabled {
				enabled, why = m.enabled, m.why
			}
		}
		if enabled {
			on = append(on, r.name())
		} else {
			off = append(off, r.name()+": "+why)
		}
	}
	return on, off
}
