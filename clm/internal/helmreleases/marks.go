// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package helmreleases

import (
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// The annotations by which Helm knows that an object belongs to a release.
const (
	NameKey      = "meta.helm.sh/release-name"
	NamespaceKey = "meta.helm.sh/release-namespace"
)

// Owns reports whether an object has the marks of the release.
func (r *Release) Owns(object metav1.Object) bool {
	values := object.GetAnnotations()
	return values[NameKey] == r.Name && values[NamespaceKey] == r.Namespace
}

// Programs returns the field managers that have set the marks of an object: helm, or another program that contains
// Helm's packages, such as a controller.
func Programs(object metav1.Object) []string {
	var programs []string
	for _, entry := range object.GetManagedFields() {
		if entry.FieldsV1 != nil && strings.Contains(entry.FieldsV1.GetRawString(), `"f:`+NameKey+`"`) {
			programs = append(programs, entry.Manager)
		}
	}
	return programs
}
