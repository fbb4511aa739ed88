// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"crypto/sha256"
	"encoding/base32"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"maps"
	"slices"
	"strings"
)

// Digest returns the SHA-256 of the JSON form of v, in lower-case hexadecimal. Map keys are
// sorted, struct fields have the order of their declaration; so a struct and a map of the same content
// usually differ. It fails if v has no JSON form.
func Digest(v any) (string, error) {
	raw, err := json.Marshal(v)
	if err != nil {
		return "", fmt.Errorf("encoding %T for its digest: %w", v, err)
	}
	sum := sha256.Sum256(raw)
	return hex.EncodeToString(sum[:]), nil
}

// DigestOfMap is Of for a map that may be large: of a value that is a slice of maps, it encodes one at a time.
func DigestOfMap(content map[string]any) (string, error) {
	sum := sha256.New()
	sum.Write([]byte("{"))
	for i, key := range slices.Sorted(maps.Keys(content)) {
		err := add(sum, i, key)
		sum.Write([]byte(":"))
		if list, ok := content[key].([]map[string]any); ok && list != nil {
			err = errors.Join(err, addList(sum, list))
		} else {
			err = errors.Join(err, add(sum, 0, content[key]))
		}
		if err != nil {
			return "", fmt.Errorf("encoding %q for a digest: %w", key, err)
		}
	}
	sum.Write([]byte("}"))
	return hex.EncodeToString(sum.Sum(nil)), nil
}

func addList(sum hash.Hash, list []map[string]any) error {
	sum.Write([]byte("["))
	for i, element := range list {
		if err := add(sum, i, element); err != nil {
			return err
		}
	}
	sum.Write([]byte("]"))
	return nil
}

// add adds the JSON form of the element of a list or map with that index.
func add(sum hash.Hash, index int, v any) error {
	raw, err := json.Marshal(v)
	if index > 0 {
		sum.Write([]byte(","))
	}
	sum.Write(raw)
	return err
}

// OwnerLabel returns the value of the owner label for an owner id: the lower-case, unpadded base32 form of
// its SHA-256. It is 52 characters long and always a valid label value.
func OwnerLabel(ownerID string) string {
	sum := sha256.Sum256([]byte(ownerID))
	return strings.ToLower(base32.StdEncoding.WithPadding(base32.NoPadding).EncodeToString(sum[:]))
}
