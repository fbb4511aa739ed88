// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"errors"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
)

// IsNoMatch reports whether an error of a client, or of its REST mapper, means that a type is not served. An API that
// does not answer is another error.
func IsNoMatch(err error) bool {
	var discovery *apiutil.ErrResourceDiscoveryFailed
	if errors.As(err, &discovery) {
		for _, cause := range *discovery {
			// The REST mapper returns either, depending on whether it was the first look-up.
			if !apierrors.IsNotFound(cause) && !meta.IsNoMatchError(cause) {
				return false
			}
		}
		return true
	}
	return meta.IsNoMatchError(err)
}

// IsTypeless reports whether an error means that an object does not exist because its type is not served in the
// requested version, scope or name. The type may still be served otherwise.
func IsTypeless(err error) bool {
	if IsNoMatch(err) {
		return true
	}
	var status apierrors.APIStatus
	if !apierrors.IsNotFound(err) || !errors.As(err, &status) {
		return false
	}
	// The API server names the missing object, unless no handler exists for its type.
	details := status.Status().Details
	return details == nil || details.Name == "" || apierrors.HasStatusCause(err, metav1.CauseTypeUnexpectedServerResponse)
}
