// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package fieldset

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// ancientChanges is the manager to which the API server attributes older updates if there are more than ten managers that have made such.
const ancientChanges = "ancient-changes"

// IsCopy reports whether somebody has made the object from one that the manager wrote, labels and annotations included: the controller of
// EndpointSlices, say, or whoever exports and imports objects. Then the manager owns none of its fields. If the server does not tell who wrote
// what, an object with a controller counts as a copy.
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
