// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package contents

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	internalhelm "github.com/component-operator/runtime/internal/helm"
	"github.com/component-operator/runtime/scaffold/internal/permissions"
)

// choicesOf returns the values that the schemas of a chart, and of the charts inside, list for single properties.
func choicesOf(anatomy internalhelm.Anatomy, path []string) ([]permissions.Choice, error) {
	var choices []permissions.Choice
	if len(anatomy.Schema) > 0 {
		var schema property
		if err := json.Unmarshal(anatomy.Schema, &schema); err != nil {
			return nil, fmt.Errorf("%s: %w", anatomy.Name, err)
		}
		choices = schema.choices(path, schema.definitions())
	}
	for _, dependency := range anatomy.Dependencies {
		inner, err := choicesOf(dependency, append(slices.Clip(path), cmp.Or(dependency.Alias, dependency.Name)))
		if err != nil {
			return nil, err
		}
		choices = append(choices, inner...)
	}
	return choices, nil
}

// property is the part of a JSON schema that lists values.
type property struct {
	Ref         string              `json:"$ref"`
	Enum        []any               `json:"enum"`
	Properties  map[string]property `json:"properties"`
	Definitions map[string]property `json:"definitions"`
	Defs        map[string]property `json:"$defs"`
}

// UnmarshalJSON accepts that a schema is a boolean, which lists nothing.
func (p *property) UnmarshalJSON(content []byte) error {
	if text := strings.TrimSpace(string(content)); text == "true" || text == "false" {
		return nil
	}
	type plain property
	return json.Unmarshal(content, (*plain)(p))
}

// choices returns the values that are listed for the property at a path. Of references, it follows those to definitions of the same schema, and each but once.
func (p property) choices(path []string, definitions map[string]property) []permissions.Choice {
	var choices []permissions.Choice
	for _, value := range p.Enum {
		if value != nil && len(path) > 0 {
			choices = append(choices, permissions.Choice{Path: path, Value: value})
		}
	}
	for _, name := range slices.Sorted(maps.Keys(p.Properties)) {
		choices = append(choices, p.Properties[name].choices(append(slices.Clip(path), name), definitions)...)
	}
	if referred, found := definitions[p.Ref]; found {
		others := maps.Clone(definitions)
		delete(others, p.Ref)
		choices = append(choices, referred.choices(path, others)...)
	}
	return choices
}

// definitions returns the definitions of a schema by the references to them.
func (p property) definitions() map[string]property {
	all := map[string]property{}
	for name, definition := range p.Definitions {
		all["#/definitions/"+name] = definition
	}
	for name, definition := range p.Defs {
		all["#/$defs/"+name] = definition
	}
	return all
}

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
