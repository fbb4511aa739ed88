// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package helm

import (
	"fmt"
	"strings"

	"helm.sh/helm/v3/pkg/strvals"
	"sigs.k8s.io/yaml"

	"github.com/component-operator/runtime/internal/documents"
)

// ValuesInput has the sources of a release's values.
type ValuesInput struct {
	// Files are YAML files, a later one wins over an earlier one.
	Files []string
	// Set, SetString and SetFile win over files, in this order; their items have the form path=value, several of them
	// separated by commas. The last are read from the file that is given as value.
	Set, SetString, SetFile []string
	// Read returns the content of a file. It must not be nil.
	Read func(name string) ([]byte, error)
}

// MergeValues returns the values that Helm makes of the same input: maps are merged, everything else is replaced. A null
// stays, because it removes a default of the chart. Whole numbers of files are floats, those of Set are integers. The result
// is never nil.
func MergeValues(input ValuesInput) (map[string]any, error) {
	merged := map[string]any{}
	for _, name := range input.Files {
		content, err := input.Read(name)
		if err != nil {
			return nil, fmt.Errorf("reading values %s: %w", name, err)
		}
		var given map[string]any
		if err := documents.CheckSingle(content); err != nil {
			return nil, fmt.Errorf("parsing values %s: %w", name, err)
		}
		if err := yaml.Unmarshal(content, &given); err != nil {
			return nil, fmt.Errorf("parsing values %s: %w", name, err)
		}
		mergeGiven(merged, given)
	}
	// An assignment may contain a password, so errors name its path at most.
	for _, assignment := range input.Set {
		if err := strvals.ParseInto(assignment, merged); err != nil {
			return nil, fmt.Errorf("parsing --set %s: %w", pathOf(assignment), err)
		}
	}
	for _, assignment := range input.SetString {
		if err := strvals.ParseIntoString(assignment, merged); err != nil {
			return nil, fmt.Errorf("parsing --set-string %s: %w", pathOf(assignment), err)
		}
	}
	for _, assignment := range input.SetFile {
		read := func(name []rune) (any, error) {
			content, err := input.Read(string(name))
			return string(content), err
		}
		if err := strvals.ParseIntoFile(assignment, merged, read); err != nil {
			return nil, fmt.Errorf("parsing --set-file %s: %w", pathOf(assignment), err)
		}
	}
	return merged, nil
}

// mergeGiven lays values over others, which it changes. Unlike with the defaults of a
// chart, null is a value like others here.
func mergeGiven(under, over map[string]any) {
	for key, value := range over {
		below, isMap := under[key].(map[string]any)
		if above, ok := value.(map[string]any); ok && isMap {
			mergeGiven(below, above)
			continue
		}
		under[key] = value
	}
}

// pathOf returns the path of an assignment.
func pathOf(assignment string) string {
	path, _, _ := strings.Cut(assignment, "=")
	return path
}
