// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"bytes"
	"fmt"
)

// CheckJSON returns an error if JSON texts together may have more than that many values: objects, lists, and what
// follows the first value in these. A value may take a hundred times as much memory as text, so texts from a client
// that is not trusted are checked before they are decoded. CheckJSON needs no memory. It does not check whether the
// texts are valid.
func CheckJSON(limit int, texts ...[]byte) error {
	values := 0
	for _, text := range texts {
		quoted := false
		for i := 0; i < len(text); i++ {
			switch c := text[i]; {
			case c == '"':
				quoted = !quoted
			case quoted && c == '\\':
				i++
			case !quoted && (c == ',' || c == '[' || c == '{'):
				values++
			}
		}
	}
	return checkValues(values, limit)
}

// CheckYAML is CheckJSON for YAML. It may count a part of a string as a value.
func CheckYAML(limit int, texts ...[]byte) error { return checkValues(countYAML(texts), limit) }

// countYAML returns at least the number of values in texts. It needs no memory.
func countYAML(texts [][]byte) int {
	values := 0
	for _, text := range texts {
		for _, mark := range []string{"\n", ",", "[", "{", "- ", ": ", "? "} {
			values += bytes.Count(text, []byte(mark))
		}
	}
	return values
}

func checkValues(values, limit int) error {
	if values > limit {
		return fmt.Errorf("it has %d values; must be at most %d", values, limit)
	}
	return nil
}
