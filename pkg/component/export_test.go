// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package component

import (
	"github.com/component-operator/runtime/internal/observe"
)

// Install is what the external tests need: they import API types, which import this package.
var Install = install

// SetContent loads all references of a spec: each object has the key k with the value "loaded".
func SetContent(spec any) error {
	return walker{}.walk(spec, func(found occurrence) error {
		reference, _ := found.Value.(dataReference)
		_, err := reference.load(&observe.ReferencedContent{Data: map[string][]byte{"k": []byte("loaded")}}, []string{"k"})
		return err
	})
}
