// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package valuetypes

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// schemaURL is the address under which Helm compiles a schema.
const schemaURL = "file:///values.schema.json"

// errOutside is the answer to references that lead out of the schema.
var errOutside = errors.New("only references within the schema are allowed, such as #/definitions/name")

type noLoader struct{}

// Load refuses: reading a schema must not read files or fetch from addresses that its author chose.
func (noLoader) Load(string) (any, error) { return nil, errOutside }

// An unusable pattern is one that Go's regular expressions cannot express. Helm refuses the schema; the types leave the pattern out.
type unusable string

// MatchString reports true: what cannot be checked is accepted.
func (u unusable) MatchString(string) bool { return true }

func (u unusable) String() string { return string(u) }

func compilePattern(text string) (jsonschema.Regexp, error) {
	compiled, err := regexp.Compile(text)
	if err != nil {
		return unusable(text), nil //nolint:nilerr // noted where the pattern is used
	}
	return compiled, nil
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
	compiler.UseRegexpEngine(compilePattern)
	if err := compiler.AddResource(schemaURL, document); err != nil {
		return nil, fmt.Errorf("reading values.schema.json: %w", err)
	}
	schema, err := safely(func() (*jsonschema.Schema, error) { return compiler.Compile(schemaURL) })
	if err != nil {
		if place := brokenReference(document, "#"); place != "" {
			return nil, fmt.Errorf("values.schema.json: %s cannot be resolved, %w", place, errOutside)
		}
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

// brokenReference returns path, keyword and value of the first reference that does not lead to a place in the document.
// Empty if there is none, or if the document gives its parts names of their own.
func brokenReference(document any, place string) string {
	var find func(part any, place string) string
	find = func(part any, place string) string {
		switch part := part.(type) {
		case map[string]any:
			if ref, ok := part["$ref"].(string); ok && !resolves(document, ref) {
				return fmt.Sprintf("%s/$ref: %q", place, ref)
			}
			for _, key := range sortedKeys(part) {
				if found := find(part[key], place+"/"+key); found != "" {
					return found
				}
			}
		case []any:
			for i, element := range part {
				if found := find(element, fmt.Sprintf("%s/%d", place, i)); found != "" {
					return found
				}
			}
		}
		return ""
	}
	return find(document, place)
}

// resolves reports whether a reference leads to a place in the document. Anchors count as places.
func resolves(document any, ref string) bool {
	pointer, ok := strings.CutPrefix(ref, "#")
	if !ok {
		return false
	}
	if pointer == "" || !strings.HasPrefix(pointer, "/") {
		return true
	}
	for token := range strings.SplitSeq(pointer[1:], "/") {
		token = strings.NewReplacer("~1", "/", "~0", "~").Replace(token)
		switch part := document.(type) {
		case map[string]any:
			if document, ok = part[token]; !ok {
				return false
			}
		case []any:
			var index int
			if _, err := fmt.Sscanf(token, "%d", &index); err != nil || index < 0 || index >= len(part) {
				return false
			}
			document = part[index]
		default:
			return false
		}
	}
	return true
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
