// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package inventory

import (
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/component-operator/runtime/pkg/types"
)

// Blocker is an object that does not belong to the owner, and forbids the deletion of its type.
type Blocker struct {
	// Type is the managed type.
	Type schema.GroupVersionKind
	// Namespace and Name are those of one instance; there may be more. Both are empty if the client may not list the
	// type.
	Namespace, Name string
}

// String names the type and the instance.
func (b Blocker) String() string {
	if b.Name == "" {
		return b.Type.GroupKind().String() + " (no permission to list them)"
	}
	return types.ObjectText(b.Type.GroupKind(), b.Namespace, b.Name)
}
