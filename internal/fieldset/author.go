// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package fieldset

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// ancientChanges is the manager that the API server attributes older updates to if there are more than ten managers
// with updates.
const ancientChanges = "ancient-changes"

// IsCopy reports whether others have made the object from one that the manager wrote, with its labels and annotations:
// the EndpointSlice controller, for example, or a user who exports and imports objects. The manager owns no fields of a
// copy. If field ownership is not recorded, an object with a controller counts as a copy.
func IsCopy(object metav1.Object, manager string) bool {
	entries := object.GetManagedFields()
	known := len(entries) > 0
	for _, entry := range entries {
		if entry.Manager == manager && entry.Subresource == "" {
			return false
		}
		known = known && entry.Manager != ancientChanges
	}
	return known || metav1.GetControllerOf(object) != nil
}
