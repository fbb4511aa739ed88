// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package handlers

import (
	"fmt"

	"github.com/component-operator/runtime/internal/manifest"
	"github.com/component-operator/runtime/pkg/resources/concepts"
)

// Hash returns the SHA-256 of entries, in hexadecimal form. It depends on keys and values only: not on their order, and
// not on the field that an entry is in.
func Hash(entries map[string][]byte) (string, error) {
	// Nil has another digest than what is empty.
	all := make(map[string][]byte, len(entries))
	for key, value := range entries {
		all[key] = append([]byte{}, value...)
	}
	return manifest.Digest(all)
}

// resource is a typed resource whose object is of type P.
type resource[P any] interface {
	comparable
	PreviewObject() (P, error)
	Registration() concepts.Registration
	Identity() string
}

// DesiredHash returns the hash of the object of a resource as it is still to be made. An error of making it is passed
// on. It is an error if the resource is nil, or read-only: then the object has another owner.
func DesiredHash[P any, R resource[P]](r R, kind string, hash func(P) (string, error)) (string, error) {
	var none R
	if r == none {
		return "", fmt.Errorf("hashing a %s: the resource must not be nil", kind)
	}
	if r.Registration().ReadOnly {
		return "", fmt.Errorf("hashing the entries of %s: the resource is read-only, so what will be in the object is not known here; must be a resource that writes its object. "+
			"For this one, extract its data or their DataHash (WithData), and use them in the pod template, for example as an annotation", r.Identity())
	}
	object, err := r.PreviewObject()
	if err != nil {
		return "", err
	}
	return hash(object)
}
