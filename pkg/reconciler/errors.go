// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package reconciler

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/component-operator/runtime/internal/conflicts"
	"github.com/component-operator/runtime/pkg/cluster"
)

func isNotFound(err error) bool { return apierrors.IsNotFound(err) }

// isGone tells whether an error says that the object, or its type, does not exist.
func isGone(err error) bool { return isNotFound(err) || isTypeless(err) }

// isTypeless reports whether an error that says that an object does not exist says so because its type is not served in the
// version, or with the scope, by which it was asked for.
func isTypeless(err error) bool { return cluster.IsTypeless(err) || errors.Is(err, errOtherScope) }

// isOutdated tells whether a guarded write was refused because the object is not the one on which it was decided.
func isOutdated(err error) bool {
	if conflicts.IsOutdated(err) || apierrors.IsAlreadyExists(err) {
		return true
	}
	// An apply with a UID is refused as invalid if the object was created anew.
	return apierrors.IsInvalid(err) && hasCause(err, "metadata.uid")
}

// isImmutable tells whether the server refused a change that can only be made by creating the object anew.
func isImmutable(err error) bool {
	if err == nil || !apierrors.IsInvalid(err) || isOutdated(err) {
		return false
	}
	text := err.Error()
	return strings.Contains(text, "immutable") || strings.Contains(text, "Forbidden: updates to") || strings.Contains(text, "may not be changed") ||
		strings.Contains(text, "may not be updated") || strings.Contains(text, "cannot change roleRef")
}

func hasCause(err error, field string) bool {
	var status apierrors.APIStatus
	if !errors.As(err, &status) || status.Status().Details == nil {
		return false
	}
	for _, cause := range status.Status().Details.Causes {
		if cause.Field == field {
			return true
		}
	}
	return false
}

// awaitable returns what a failed write waits for, if it failed for a reason that is expected to go away without
// anybody changing the manifest.
func awaitable(err error) (reason string, ok bool) {
	if cluster.IsNoMatch(err) {
		return "its type is not served", true
	}
	var unknown *unknownTypeError
	if errors.As(err, &unknown) {
		return shorten(unknown.Error(), 300), true
	}
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		return "", false
	}
	text := status.Status().Message
	if call, failed := failedWebhook(status.Status()); failed {
		return shorten("the call failed of "+call, 300), true
	}
	switch {
	case deniedBy(err, barrierPrefix):
		return "its type is being deleted, or was until now", true
	case isDoomed(err):
		return "its namespace is being deleted", true
	case isNotFound(err) && kindOf(err) == "namespaces":
		return fmt.Sprintf("namespace %s does not exist", status.Status().Details.Name), true
	case isNotFound(err) && status.Status().Details != nil && status.Status().Details.Name == "":
		return "its type is not served yet", true
	case apierrors.IsTooManyRequests(err), apierrors.IsServerTimeout(err), apierrors.IsServiceUnavailable(err):
		return shorten("the API server is not able to serve the request: "+text, 300), true
	default:
		return "", false
	}
}

// failedWebhook returns which call of a webhook has failed, and how, if that is what the API server says.
func failedWebhook(status metav1.Status) (call string, failed bool) {
	if status.Code == http.StatusInternalServerError && strings.Contains(status.Message, "failed calling webhook") {
		_, call, failed = strings.Cut(status.Message, "failed calling ")
		return call, failed
	}
	_, call, failed = strings.Cut(status.Message, "conversion webhook for ")
	return "the conversion webhook for " + call, failed
}

// isDoomed tells whether nothing can be created any more where the object belongs.
func isDoomed(err error) bool { return apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause) }

func kindOf(err error) string {
	var status apierrors.APIStatus
	if errors.As(err, &status) && status.Status().Details != nil {
		return status.Status().Details.Kind
	}
	return ""
}

// isRefusal tells whether the server will never accept the object as it is.
func isRefusal(err error) bool {
	// The server has no reason for values that do not fit the schema or the type, such as bad quantities; it calls them an internal error. That a
	// webhook cannot convert an object has another text.
	if strings.Contains(err.Error(), "failed to create typed patch object") || strings.Contains(err.Error(), "unable to convert unstructured object to") {
		return true
	}
	if strings.Contains(err.Error(), "etcdserver: request is too large") {
		return true
	}
	switch apierrors.ReasonForError(err) {
	case metav1.StatusReasonInvalid, metav1.StatusReasonBadRequest, metav1.StatusReasonRequestEntityTooLarge, metav1.StatusReasonMethodNotAllowed:
		return true
	default:
		return false
	}
}

func shorten(text string, limit int) string {
	if runes := []rune(text); len(runes) > limit {
		return string(runes[:limit-1]) + "…"
	}
	return text
}

// joined joins errors that are not nil. The result is a *RefusedError only if each of them is: as long as one may go away by itself, a retry is not
// useless.
func joined(errs ...error) error {
	errs = slices.DeleteFunc(slices.Clone(errs), func(err error) bool { return err == nil })
	lasting := func(err error) bool {
		var refused *RefusedError
		return errors.As(err, &refused)
	}
	if slices.ContainsFunc(errs, func(err error) bool { return !lasting(err) }) {
		for i, err := range errs {
			if lasting(err) {
				errs[i] = errors.New(err.Error())
			}
		}
	}
	return errors.Join(errs...)
}
