// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package conflicts

import (
	"errors"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/component-operator/runtime/internal/ellipsis"
)

// maxReason bounds what is shown of the text of an API server, in bytes.
const maxReason = 300

// IsOutdated reports whether a write was refused because the object is not the one on which it was decided.
func IsOutdated(err error) bool { return apierrors.IsConflict(err) && !IsDenied(err) }

// IsDenied reports whether an admission webhook has refused a write with the status code of a conflict.
func IsDenied(err error) bool {
	return apierrors.IsConflict(err) && strings.Contains(err.Error(), "denied the request")
}

// admission are parts of what API servers say when somebody may do what was requested, and admission control refuses it nevertheless.
var admission = []string{"denied the request", "denied request", "exceeded quota", "violates PodSecurity"}

// IsAdmission reports whether admission control has forbidden a write: a webhook, a policy, or a quota. No permission is lacking then.
func IsAdmission(err error) bool {
	return apierrors.IsForbidden(err) && slices.ContainsFunc(admission, func(part string) bool { return strings.Contains(err.Error(), part) })
}

// Reason returns what the API server says about an error, bounded in length; the error's text if it is not by the API server.
func Reason(err error) string {
	text := err.Error()
	var status apierrors.APIStatus
	if errors.As(err, &status) && status.Status().Message != "" {
		text = status.Status().Message
	}
	return ellipsis.Truncate(text, maxReason)
}
