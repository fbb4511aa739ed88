// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package digest

import (
	"crypto/sha256"
	"encoding/base32"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"
)

// Of returns the SHA-256 of the JSON form of v, in lower-case hexadecimal. Map keys are
// sorted, struct fields have the order of their declaration; so a struct and a map of the same content
// usually differ. It fails if v has no JSON form.
func Of(v any) (string, error) {
	raw, err := json.Marshal(v)
	if err != nil {
		return "", fmt.Errorf("encoding %T for its digest: %w", v, err)
	}
	sum := sha256.Sum256(raw)
	return hex.EncodeToString(sum[:]), nil
}

// OwnerLabel returns the value of the owner label for an owner id: the lower-case, unpadded base32 form of
// its SHA-256. It is 52 characters long and always a valid label value.
func OwnerLabel(ownerID string) string {
	sum := sha256.Sum256([]byte(ownerID))
	return strings.ToLower(base32.StdEncoding.WithPadding(base32.NoPadding).EncodeToString(sum[:]))
}
