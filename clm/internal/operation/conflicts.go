// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package operation

import (
	"errors"
	"fmt"

	"github.com/component-operator/runtime/clm/internal/display"
	"github.com/component-operator/runtime/clm/internal/releases"
	"github.com/component-operator/runtime/pkg/reconciler"
)

// Conflicting returns a RefusedError that names the fields that the plan would take from other field managers, by
// object; nil if there are none. The plan must have been compared.
func (p *Plan) Conflicting() error {
	var all []error
	for _, change := range p.Changes {
		if len(change.Conflicts) > 0 {
			all = append(all, releases.Refused("%s: %s", change.Object, conflictsText(change.Conflicts)))
		}
	}
	if len(all) == 0 {
		return nil
	}
	advice := "fields with other values belong to other field managers; to take them over: --conflicts=force"
	if p.Operation == Apply {
		advice += "; to take over only those that the manifest changes: --conflicts=keep"
	}
	return errors.Join(append(all, releases.Refused("%s", advice))...)
}

// shownFields bounds how many fields of an object an error names.
const shownFields = 10

// conflictsText names fields and their managers.
func conflictsText(conflicts []reconciler.FieldChange) string {
	texts := make([]string, len(conflicts))
	for i, conflict := range conflicts {
		texts[i] = fmt.Sprintf("%s belongs to %s", conflict.Path, conflict.Manager)
	}
	return display.Enumerate(texts, shownFields)
}
