// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
)

// Keyed returns a digest that cannot be computed without the key, in the form of Of: the HMAC-SHA-256 of the digest.
// Without a key it returns the digest as it is.
func Keyed(key []byte, digest string) string {
	if len(key) == 0 {
		return digest
	}
	sum := hmac.New(sha256.New, key)
	sum.Write([]byte(digest)) // never fails
	return hex.EncodeToString(sum.Sum(nil))
}
