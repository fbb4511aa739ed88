// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package observe

import (
	"strings"

	"github.com/component-operator/runtime/pkg/types"
)

// RecordLabel returns the key of the label which says that the object records dependents, of any operator or clm; empty
// if there is none. Such an object must not be a dependent: deleting it, or restoring an earlier state, would make its
// owner lose or confuse its record.
func RecordLabel(labels map[string]string) string {
	found := ""
	for key, value := range labels {
		isRecord := strings.HasSuffix(key, "/"+types.LabelKeySuffixInventoryOwnerId) ||
			value == types.LabelValueRecordRelease && strings.HasSuffix(key, "/"+types.LabelKeySuffixRecord)
		if isRecord && (found == "" || key < found) {
			found = key
		}
	}
	return found
}
