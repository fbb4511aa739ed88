// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package answers

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/component-operator/runtime/internal/conflicts"
	"github.com/component-operator/runtime/internal/ellipsis"
	"github.com/component-operator/runtime/pkg/cluster"
	"github.com/component-operator/runtime/pkg/inventory"
)

// IsNotFound reports whether an error says that an object does not exist.
func IsNotFound(err error) bool { return apierrors.IsNotFound(err) }

// IsGone reports whether an error says that the object, or its type, does not exist.
func IsGone(err error) bool { return IsNotFound(err) || IsTypeless(err) }

// IsTypeless reports whether an error that says that an object does not exist says so because its type is not served in the
// version, or with the scope, by which it was asked for.
func IsTypeless(err error) bool { return cluster.IsTypeless(err) || errors.Is(err, ErrOtherScope) }

// IsOutdated reports whether a guarded write was refused because the object is not the one on which it was decided.
func IsOutdated(err error) bool {
	if conflicts.IsOutdated(err) || apierrors.IsAlreadyExists(err) {
		return true
	}
	// An apply with a UID is refused as invalid if the object was created anew.
	return apierrors.IsInvalid(err) && hasCause(err, "metadata.uid")
}

// IsImmutable reports whether the server refused a change that can only be made by creating the object anew.
func IsImmutable(err error) bool {
	if err == nil || !apierrors.IsInvalid(err) || IsOutdated(err) {
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

// Awaitable returns what a failed write waits for, if it failed for a reason that is expected to go away without
// anybody changing the manifest.
func Awaitable(err error) (reason string, ok bool) {
	if cluster.IsNoMatch(err) {
		return "its type is not served", true
	}
	var unknown *UnknownTypeError
	if errors.As(err, &unknown) {
		return ellipsis.Truncate(unknown.Error(), 300), true
	}
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		return "", false
	}
	text := status.Status().Message
	if call, failed := failedWebhook(status.Status()); failed {
		return ellipsis.Truncate("the call failed of "+call, 300), true
	}
	switch {
	case DeniedBy(err, BarrierPrefix):
		return "its type is being deleted, or was until now", true
	case IsDoomed(err):
		return "its namespace is being deleted", true
	case IsNotFound(err) && KindOf(err) == "namespaces":
		return fmt.Sprintf("namespace %s does not exist", status.Status().Details.Name), true
	case IsNotFound(err) && status.Status().Details != nil && status.Status().Details.Name == "":
		return "its type is not served yet", true
	case apierrors.IsTooManyRequests(err), apierrors.IsServerTimeout(err), apierrors.IsServiceUnavailable(err):
		return ellipsis.Truncate("the API server is not able to serve the request: "+text, 300), true
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

// IsDoomed reports whether nothing can be created any more where the object belongs.
func IsDoomed(err error) bool { return apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause) }

// KindOf returns the kind that an error is about, as the server names it; empty if it does not say.
func KindOf(err error) string {
	var status apierrors.APIStatus
	if errors.As(err, &status) && status.Status().Details != nil {
		return status.Status().Details.Kind
	}
	return ""
}

// IsRefusal reports whether the server will never accept the object as it is.
func IsRefusal(err error) bool {
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

// DeniedBy reports whether a request was denied by the ValidatingAdmissionPolicy whose name begins with the text.
func DeniedBy(err error, name string) bool {
	return apierrors.IsForbidden(err) && strings.Contains(err.Error(), "ValidatingAdmissionPolicy '"+name)
}

// BarrierPrefix is what the names of all barriers begin with, whoever puts them up.
const BarrierPrefix = "deletion-barrier-"

// IsAboutObjects reports whether an error is about single objects: the pass itself may go on.
func IsAboutObjects(err error) bool {
	var fenced *inventory.FencedError
	var stale *inventory.StaleError
	return !errors.As(err, &fenced) && !errors.As(err, &stale) && !errors.Is(err, context.Canceled) && !errors.Is(err, context.DeadlineExceeded)
}

// ErrOtherScope is about an object that cannot exist as it is recorded, because its type has another scope. Whether the client knows the
// scope of now has to be found out.
var ErrOtherScope = errors.New("its type has another scope")

// IsNoDryRun reports whether a dry run failed merely because a webhook does not know such.
func IsNoDryRun(err error) bool {
	return apierrors.IsBadRequest(err) && strings.Contains(err.Error(), "does not support dry run")
}

// UnknownTypeError says that it cannot be told whether there are objects of a type. Such a type must never be taken for gone.
type UnknownTypeError struct {
	Kind schema.GroupKind
	Err  error
}

func (e *UnknownTypeError) Error() string {
	return fmt.Sprintf("it is not known whether there are objects of type %s: %s", e.Kind, e.Err)
}

func (e *UnknownTypeError) Unwrap() error { return e.Err }

// IsUnknownType reports whether an error is an UnknownTypeError.
func IsUnknownType(err error) bool {
	var unknown *UnknownTypeError
	return errors.As(err, &unknown)
}

// Join joins errors that are not nil. As long as one of them may go away by itself, a retry is not useless, and the others are nothing but text: the
// result is a *inventory.RefusedError only if each of them is, and says that the permission is missing only if each of them is that or a refusal.
func Join(errs ...error) error {
	errs = slices.DeleteFunc(slices.Clone(errs), func(err error) bool { return err == nil })
	refused := func(err error) bool {
		var refusal *inventory.RefusedError
		return errors.As(err, &refusal)
	}
	lasting := func(err error) bool {
		return refused(err) || apierrors.IsForbidden(err) || apierrors.IsUnauthorized(err)
	}
	all := func(is func(error) bool) bool {
		return !slices.ContainsFunc(errs, func(err error) bool { return !is(err) })
	}
	allRefused, allLasting := all(refused), all(lasting)
	for i, err := range errs {
		if refused(err) && !allRefused || lasting(err) && !allLasting {
			errs[i] = errors.New(err.Error())
		}
	}
	return errors.Join(errs...)
}
