// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package observe

import (
	"strings"

	"github.com/component-operator/runtime/pkg/types"
)

// RecordLabel returns the key of the label, among those of an object, which says that dependents are recorded in the object, be it by another
// operator or by clm; empty if there is none. Such an object must not be a dependent: whoever deletes it, or writes what it was before, has its owner
// lose or confuse all that he has recorded.
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
