// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package entries

import (
	"github.com/component-operator/runtime/internal/digest"
)

// Hash returns the SHA-256 of entries, in hexadecimal form. It depends on keys and values only: not on their order, and not on the field that an entry is in.
func Hash(entries map[string][]byte) (string, error) {
	// Nil has another digest than what is empty.
	all := make(map[string][]byte, len(entries))
	for key, value := range entries {
		all[key] = append([]byte{}, value...)
	}
	return digest.Of(all)
}

// Desired returns the hash of an object that is still to be made. An error of making it is passed on.
func Desired[P any](preview func() (P, error), hash func(P) (string, error)) (string, error) {
	object, err := preview()
	if err != nil {
		return "", err
	}
	return hash(object)
}
