// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package apiserver

import "k8s.io/apimachinery/pkg/util/resourceversion"

// Older reports whether one resource version is older than another one. Versions that cannot be compared, such as an
// empty one, count as not older.
func Older(version, than string) bool {
	if version == than {
		return false
	}
	result, err := resourceversion.CompareResourceVersion(version, than)
	return err == nil && result < 0
}
