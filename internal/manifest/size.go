// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"bytes"
	"fmt"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v2"
)

const (
	// maxValues is the limit for the values in a text: each takes up to 600 bytes while it is decoded. The index of a
	// repository has so many in about 50 MiB.
	maxValues = 3 << 20
	// maxGrowth is how many times its length a text may have with its aliases replaced, apart from freeGrowth bytes:
	// objects are encoded without aliases.
	maxGrowth, freeGrowth = 8, 64 << 10
	// valueSize is what counts for a value in addition to its text.
	valueSize = 8
)

// CheckSize fails if texts in YAML would take much more memory when they are decoded than their length makes one
// expect. It accepts invalid YAML, which the decoder refuses.
func CheckSize(texts ...[]byte) error {
	length := 0
	for _, text := range texts {
		length += len(text)
	}
	if length > maxValues { // there are not more values than bytes
		if values := countYAML(texts); values > maxValues {
			return fmt.Errorf("it has about %d values; at most %d are allowed", values, maxValues)
		}
	}
	limit := maxGrowth*length + freeGrowth
	left := limit
	for _, text := range texts {
		if !hasAliases(text) {
			continue
		}
		decoder := yaml.NewDecoder(bytes.NewReader(text))
		for {
			var content any
			if decoder.Decode(&content) != nil {
				break
			}
			if left = without(left, content); left < 0 {
				return fmt.Errorf("with its aliases replaced, it has more than %d bytes, which is the limit for a text of %d bytes", limit, length)
			}
		}
	}
	return nil
}

// hasAliases reports whether a text may have anchors and aliases.
func hasAliases(text []byte) bool {
	return hasReference(text, '&') && hasReference(text, '*')
}

// hasReference looks for a sign at the beginning of a value. YAML also has line breaks outside of ASCII, and may be
// in UTF-16.
func hasReference(text []byte, sign byte) bool {
	for at := 0; ; at++ {
		next := bytes.IndexByte(text[at:], sign)
		if next < 0 {
			return false
		}
		at += next
		begins := at == 0 || text[at-1] >= utf8.RuneSelf || strings.ContainsRune("\x00 \t\r\n,[{:-", rune(text[at-1]))
		if begins && at+1 < len(text) && !strings.ContainsRune(" \t\r\n", rune(text[at+1])) {
			return true
		}
	}
}

// without returns what is left of a number of bytes after a value; it is negative if that is not enough.
func without(left int, value any) int {
	left -= valueSize
	switch value := value.(type) {
	case string:
		left -= len(value)
	case []any:
		for i := 0; i < len(value) && left >= 0; i++ {
			left = without(left, value[i])
		}
	case map[any]any:
		for key, item := range value {
			if left = without(without(left, key), item); left < 0 {
				break
			}
		}
	}
	return left
}
