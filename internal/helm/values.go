// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package helm

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"

	"helm.sh/helm/v3/pkg/strvals"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"

	"github.com/component-operator/runtime/internal/manifest"
)

// ValuesInput has the sources of a release's values.
type ValuesInput struct {
	// Files are YAML files, a later one wins over an earlier one, and so does a later document of a file.
	Files []string
	// Set, SetString and SetFile win over files, in this order; their items have the form path=value, several of them
	// separated by commas. The last are read from the file that is given as value.
	Set, SetString, SetFile []string
	// Read returns the content of a file. It must not be nil.
	Read func(name string) ([]byte, error)
}

// MergeValues returns the values that Helm makes of the same input: maps are merged, everything else is replaced. A
// null stays, because it removes a default of the chart. Whole numbers of files are floats, those of Set are integers.
// The result is never nil.
func MergeValues(input ValuesInput) (map[string]any, error) {
	merged := map[string]any{}
	for _, name := range input.Files {
		content, err := input.Read(name)
		if err != nil {
			return nil, fmt.Errorf("reading values %s: %w", name, err)
		}
		if err := mergeFile(merged, content); err != nil {
			return nil, fmt.Errorf("parsing values %s: %w", name, err)
		}
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

// mergeFile lays the documents of a file over values, which it changes: one after the other, as Helm 4 does.
func mergeFile(values map[string]any, content []byte) error {
	if err := manifest.CheckSeparated(content); err != nil {
		return err
	}
	// Without a line break at the end, the reader may leave out the last line.
	reader := utilyaml.NewYAMLReader(bufio.NewReader(io.MultiReader(bytes.NewReader(content), strings.NewReader("\n"))))
	for {
		document, err := reader.Read()
		if errors.Is(err, io.EOF) {
			return nil
		}
		var given map[string]any
		if err == nil {
			err = yaml.Unmarshal(document, &given)
		}
		if err != nil {
			return err
		}
		mergeGiven(values, given)
	}
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
