// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package templating

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	utiljson "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/yaml"

	"github.com/component-operator/runtime/internal/documents"
)

// toYaml returns YAML without the final line break.
func toYaml(value any) (string, error) {
	if err := CheckEncoding(value); err != nil {
		return "", err
	}
	raw, err := yaml.Marshal(value)
	if err != nil {
		return "", err
	}
	return strings.TrimSuffix(string(raw), "\n"), nil
}

// fromYaml returns a value of any type. Integers are int64, so that they render unchanged.
func fromYaml(text string) (any, error) {
	if err := documents.CheckSize([]byte(text)); err != nil {
		return nil, err
	}
	raw, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		return nil, err
	}
	return fromJSON(string(raw))
}

func fromYamlArray(text string) ([]any, error) {
	value, err := fromYaml(text)
	if err != nil {
		return nil, err
	}
	return asArray(value)
}

func toJSON(value any) (string, error) {
	raw, err := json.Marshal(value)
	return string(raw), err
}

func toPrettyJSON(value any) (string, error) {
	if err := CheckEncoding(value); err != nil {
		return "", err
	}
	raw, err := json.MarshalIndent(value, "", "  ")
	return string(raw), err
}

// toRawJSON does not escape HTML characters.
func toRawJSON(value any) (string, error) {
	var buffer bytes.Buffer
	encoder := json.NewEncoder(&buffer)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		return "", err
	}
	return strings.TrimSuffix(buffer.String(), "\n"), nil
}

func fromJSON(text string) (any, error) {
	var value any
	if err := utiljson.Unmarshal([]byte(text), &value); err != nil {
		return nil, err
	}
	return value, nil
}

func fromJSONArray(text string) ([]any, error) {
	value, err := fromJSON(text)
	if err != nil {
		return nil, err
	}
	return asArray(value)
}

// asArray converts null to an empty array.
func asArray(value any) ([]any, error) {
	switch value := value.(type) {
	case nil:
		return nil, nil
	case []any:
		return value, nil
	default:
		return nil, fmt.Errorf("it is not an array, but a %T", value)
	}
}
