// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package texts

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

const (
	// shortestSecret is the length, in bytes, of the shortest value that is removed wherever it occurs. Shorter values
	// are part of too many words.
	shortestSecret = 8
	// lastApplied is the annotation with kubectl's copy of the manifest, including the values of a Secret.
	lastApplied = "kubectl.kubernetes.io/last-applied-configuration"
)

// Secret returns a copy of a Secret with its values replaced by mask, which gets the decoded values in the order of
// their keys. Other objects are returned as they are.
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

// maskField masks the values of one field of any type.
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

// SecretText is Text for a message about a request whose body is a Secret, in JSON. It removes the Secret's values of 8
// bytes and more wherever they occur.
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
