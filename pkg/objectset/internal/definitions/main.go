// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

// Command definitions completes generated definitions: it requires apiVersion, kind and metadata.name of each embedded
// object, which it knows by the mark EmbeddedResource. The generator cannot say that of an object with fields of any
// kind. A CEL rule could, but the server would evaluate it for each object in each write, also of the status. The same
// is true of the server's own checks of embedded objects, which take a fifth of the time of a write of a large set. So
// the mark is removed, and the reconciler makes these checks.
package main

import (
	"fmt"
	"os"
	"path/filepath"

	"sigs.k8s.io/yaml"
)

func main() {
	if err := run(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "definitions:", err)
		os.Exit(1)
	}
}

// run completes the definitions in a directory.
func run(directory string) error {
	files, err := filepath.Glob(filepath.Join(directory, "*.yaml"))
	if err != nil {
		return err
	}
	for _, file := range files {
		raw, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		var definition map[string]any
		if err := yaml.Unmarshal(raw, &definition); err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
		complete(definition)
		if raw, err = yaml.Marshal(definition); err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
		if err := os.WriteFile(file, append([]byte("---\n"), raw...), 0o600); err != nil {
			return err
		}
	}
	return nil
}

// embedded marks the schemas of embedded objects.
const embedded = "x-kubernetes-embedded-resource"

// complete completes all schemas of embedded objects in a value.
func complete(value any) {
	switch value := value.(type) {
	case map[string]any:
		if value[embedded] == true {
			delete(value, embedded)
			value["required"] = []any{"apiVersion", "kind", "metadata"}
			value["properties"] = map[string]any{"metadata": map[string]any{
				"type": "object", "x-kubernetes-preserve-unknown-fields": true,
				"required": []any{"name"}, "properties": map[string]any{"name": map[string]any{"type": "string", "minLength": 1}},
			}}
		}
		for _, part := range value {
			complete(part)
		}
	case []any:
		for _, part := range value {
			complete(part)
		}
	}
}
