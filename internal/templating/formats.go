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

	"github.com/component-operator/runtime/internal/manifest"
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
	if err := manifest.CheckSize([]byte(text)); err != nil {
		return nil, err
	}
	raw, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		return nil, err
	}
	return fromJSON(string(raw))
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
	err := utiljson.Unmarshal([]byte(text), &value)
	return value, err
}

// arrayFrom returns a function that reads an array. Null is an empty one.
func arrayFrom(read func(text string) (any, error)) func(text string) ([]any, error) {
	return func(text string) ([]any, error) {
		value, err := read(text)
		if err != nil || value == nil {
			return nil, err
		}
		array, ok := value.([]any)
		if !ok {
			return nil, fmt.Errorf("it is not an array, but a %T", value)
		}
		return array, nil
	}
}
