// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package execute

import (
	"fmt"
	"strings"

	"github.com/component-operator/runtime/pkg/inventory"
	"github.com/component-operator/runtime/pkg/reconciler/internal/prepare"
	"github.com/component-operator/runtime/pkg/types"
)

// RejectionText says that the API server has rejected a desired object, and what helps if a field cannot be changed, or
// a list has a key twice. The prefix is that of annotations.
func RejectionText(t *prepare.Object, prefix string, err error) string {
	// What the server says about a whole spec ends with a difference of several lines.
	text := "rejected by the API server: " + strings.TrimRight(err.Error(), " \n")
	if IsImmutable(err) && !t.RecreateIfImmutable && t.Update != inventory.UpdatePolicyRecreate {
		text += fmt.Sprintf("; to recreate the object, set the annotation %s: \"true\"", prefix+types.AnnotationKeySuffixRecreateIfImmutable)
	}
	if strings.Contains(text, duplicateEntries) {
		text += "; server-side apply accepts each key only once: keep one of these entries in the manifest (of environment variables, the last one counts)"
	}
	return text
}

// duplicateEntries is what the API server says of a list that has a key several times, such as the name of an
// environment variable, or the number of a container's port. Other requests than an apply may have such lists.
const duplicateEntries = "duplicate entries for key"
