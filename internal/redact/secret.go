// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package redact

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

const (
	// shortestSecret is the length, in bytes, from which on a value is removed wherever it is found. What is shorter is part of
	// too many words.
	shortestSecret = 8
	// lastApplied is where kubectl keeps the manifest: of a Secret, its values.
	lastApplied = "kubectl.kubernetes.io/last-applied-configuration"
)

// Secret returns a copy of a Secret whose values are what mask makes of them; it is called with decoded values, in the order of their
// keys. What is no Secret is returned as it is.
func Secret(object map[string]any, mask func(value string) any) map[string]any {
	if object["apiVersion"] != "v1" || object["kind"] != "Secret" {
		return object
	}
	object = maps.Clone(object)
	plain := func(value string) string { return value }
	maskField(object, "data", decoded, mask)
	maskField(object, "stringData", plain, mask)
	metadata, _ := object["metadata"].(map[string]any)
	annotations, _ := metadata["annotations"].(map[string]any)
	if annotations[lastApplied] != nil {
		metadata, annotations = maps.Clone(metadata), maps.Clone(annotations)
		annotations[lastApplied] = maskValue(annotations[lastApplied], plain, mask)
		metadata["annotations"], object["metadata"] = annotations, metadata
	}
	return object
}

func decoded(value string) string {
	if plain, err := base64.StdEncoding.DecodeString(value); err == nil {
		return string(plain)
	}
	return value
}

// maskField masks the values of one field, whatever it is.
func maskField(object map[string]any, field string, decode func(string) string, mask func(string) any) {
	switch value := object[field].(type) {
	case nil:
	case map[string]any:
		values := make(map[string]any, len(value))
		for _, key := range slices.Sorted(maps.Keys(value)) {
			values[key] = maskValue(value[key], decode, mask)
		}
		object[field] = values
	default:
		object[field] = maskValue(value, decode, mask)
	}
}

func maskValue(value any, decode func(string) string, mask func(string) any) any {
	if text, ok := value.(string); ok {
		return mask(decode(text))
	}
	return mask(fmt.Sprint(value))
}

// SecretText is Text for a message about a request whose body is a Secret, in JSON. Its values are removed wherever they are found, unless
// they are shorter than 8 bytes.
func SecretText(message string, body []byte) string {
	var object map[string]any
	if json.Unmarshal(body, &object) != nil {
		return Text(message)
	}
	var values []string
	Secret(object, func(value string) any {
		values = append(values, value)
		return nil
	})
	// The longest first: another value may be a part of it.
	slices.SortFunc(values, func(a, b string) int { return len(b) - len(a) })
	for _, value := range values {
		if len(value) < shortestSecret {
			continue
		}
		quoted := fmt.Sprintf("%q", value)
		for _, form := range []string{value, quoted[1 : len(quoted)-1], base64.StdEncoding.EncodeToString([]byte(value))} {
			message = strings.ReplaceAll(message, form, Mark)
		}
	}
	return Text(message)
}
