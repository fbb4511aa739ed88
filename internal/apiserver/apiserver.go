// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apitypes "k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/internal/texts"
)

// maxReason bounds how much of an API server's text is shown, in bytes.
const maxReason = 300

// IsOutdated reports whether a write was refused because the object has changed since it was read.
func IsOutdated(err error) bool { return apierrors.IsConflict(err) && !IsDenied(err) }

// IsDenied reports whether an admission webhook has refused a write with the status code of a conflict.
func IsDenied(err error) bool {
	return apierrors.IsConflict(err) && strings.Contains(err.Error(), "denied the request")
}

// admission are parts of the messages with which API servers forbid a write for admission control, not for a missing
// permission.
var admission = []string{"exceeded quota", "violates PodSecurity"}

// IsAdmission reports whether admission control has denied a write: a webhook, a policy, or a quota. The writer has the
// permission. A webhook may give any code, of which those from 500 on count as its failure, and a
// ValidatingAdmissionPolicy answers 422 (Invalid) unless it says otherwise.
func IsAdmission(err error) bool {
	var status apierrors.APIStatus
	if !errors.As(err, &status) || status.Status().Code >= http.StatusInternalServerError {
		return false
	}
	return denial.MatchString(err.Error()) ||
		apierrors.IsForbidden(err) && slices.ContainsFunc(admission, func(part string) bool { return strings.Contains(err.Error(), part) })
}

// IsRejected reports whether the server has rejected the content of a request, and would do so again: it is invalid, or
// a webhook or a ValidatingAdmissionPolicy has denied it. Of an error that joins others, one suffices.
func IsRejected(err error) bool {
	if joined, isJoined := err.(interface{ Unwrap() []error }); isJoined {
		return slices.ContainsFunc(joined.Unwrap(), IsRejected)
	}
	if wrapped := errors.Unwrap(err); wrapped != nil {
		return IsRejected(wrapped)
	}
	var status apierrors.APIStatus
	return errors.As(err, &status) && (apierrors.IsInvalid(err) || denial.MatchString(status.Status().Message))
}

// denial matches what the API server says if a webhook or a ValidatingAdmissionPolicy has denied a request.
var denial = regexp.MustCompile(`denied (the )?request`)

// Reason returns the API server's message, bounded in length; for any other error, its text.
func Reason(err error) string {
	text := err.Error()
	var status apierrors.APIStatus
	if errors.As(err, &status) && status.Status().Message != "" {
		text = status.Status().Message
	}
	return texts.Truncate(text, maxReason)
}

// MergePatch returns a JSON merge patch with the content. The API server refuses it with a conflict unless the object
// still has the UID and the resource version.
func MergePatch(uid apitypes.UID, resourceVersion string, content map[string]any) (client.Patch, error) {
	given, _ := content["metadata"].(map[string]any)
	metadata := map[string]any{}
	maps.Copy(metadata, given)
	metadata["uid"], metadata["resourceVersion"] = uid, resourceVersion
	content = maps.Clone(content)
	content["metadata"] = metadata
	body, err := json.Marshal(content)
	if err != nil {
		return nil, fmt.Errorf("encoding a patch: %w", err)
	}
	return client.RawPatch(apitypes.MergePatchType, body), nil
}

// Older reports whether one resource version is older than another one. Versions that cannot be compared, such as an
// empty one, count as not older.
func Older(version, than string) bool {
	if version == than {
		return false
	}
	result, err := resourceversion.CompareResourceVersion(version, than)
	return err == nil && result < 0
}
