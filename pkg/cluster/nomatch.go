// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"errors"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
)

// IsNoMatch tells whether an error of a client, or of its REST mapper, says that a type is not served. An API that does not
// answer proves nothing.
func IsNoMatch(err error) bool {
	var discovery *apiutil.ErrResourceDiscoveryFailed
	if errors.As(err, &discovery) {
		for _, cause := range *discovery {
			// Which of both it is depends on whether it was the first look-up.
			if !apierrors.IsNotFound(cause) && !meta.IsNoMatchError(cause) {
				return false
			}
		}
		return true
	}
	return meta.IsNoMatchError(err)
}
