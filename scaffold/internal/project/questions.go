// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package project

import (
	"maps"
	"regexp"
	"slices"
	"strings"
)

// questions are what templates ask the cluster.
type questions struct {
	// apiVersions are those whose existence templates ask for.
	apiVersions []string
	looksUp     bool
}

var (
	versionQuestion = regexp.MustCompile(`\.APIVersions\.Has\s+"([^"/]+/[^"/]+(?:/[^"/]+)?)"`)
	lookup          = regexp.MustCompile(`\blookup\s+["$.(]`)
)

// questionsOf finds out what templates ask, as far as their text shows it.
func questionsOf(files map[string][]byte) questions {
	var asked questions
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if !strings.HasPrefix(name, "templates/") && !strings.Contains(name, "/templates/") {
			continue
		}
		for _, found := range versionQuestion.FindAllSubmatch(files[name], -1) {
			asked.apiVersions = append(asked.apiVersions, string(found[1]))
		}
		asked.looksUp = asked.looksUp || lookup.Match(files[name])
	}
	slices.Sort(asked.apiVersions)
	asked.apiVersions = slices.Compact(asked.apiVersions)
	return asked
}
