// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package values

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// schemaURL is the address under which Helm compiles a schema.
const schemaURL = "file:///values.schema.json"

type noLoader struct{}

// Load refuses: reading a schema must not read files or fetch from addresses that its author chose.
func (noLoader) Load(string) (any, error) {
	return nil, errors.New("only references within the schema are allowed, such as #/definitions/name")
}

// compile reads a schema, with the drafts that Helm knows.
func compile(content []byte) (*jsonschema.Schema, error) {
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(content))
	if err != nil {
		return nil, fmt.Errorf("reading values.schema.json as JSON: %w", err)
	}
	if _, isBool := document.(bool); isBool {
		return nil, errors.New("values.schema.json: the root is true or false: must be an object with keywords")
	}
	compiler := jsonschema.NewCompiler()
	compiler.UseLoader(noLoader{})
	if err := compiler.AddResource(schemaURL, document); err != nil {
		return nil, fmt.Errorf("reading values.schema.json: %w", err)
	}
	schema, err := safely(func() (*jsonschema.Schema, error) { return compiler.Compile(schemaURL) })
	if err != nil {
		return nil, fmt.Errorf("compiling values.schema.json: %w", err)
	}
	return schema, nil
}

// safely turns a panic of the library into an error, as Helm does.
func safely[T any](call func() (T, error)) (result T, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("unusable schema: %v", r)
		}
	}()
	return call()
}

// accepts reports whether all schemas accept a value.
func accepts(schemas []*jsonschema.Schema, value any) bool {
	return !slices.ContainsFunc(schemas, func(s *jsonschema.Schema) bool {
		_, err := safely(func() (struct{}, error) { return struct{}{}, s.Validate(value) })
		return err != nil
	})
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for key := range m {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys
}

// literal returns a value as JSON, for comments.
func literal(value any) string {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		return fmt.Sprint(value)
	}
	return strings.TrimSpace(out.String())
}
