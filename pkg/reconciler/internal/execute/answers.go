// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package execute

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apiextensions-apiserver/pkg/apihelpers"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/component-operator/runtime/internal/apiserver"
	"github.com/component-operator/runtime/internal/fieldset"
	"github.com/component-operator/runtime/internal/texts"
	"github.com/component-operator/runtime/pkg/cluster"
	"github.com/component-operator/runtime/pkg/inventory"
	"github.com/component-operator/runtime/pkg/reconciler/internal/decide"
	"github.com/component-operator/runtime/pkg/reconciler/internal/prepare"
	"github.com/component-operator/runtime/pkg/types"
)

// IsNotFound reports whether an object does not exist.
func IsNotFound(err error) bool { return apierrors.IsNotFound(err) }

// IsGone reports whether the object, or its type, does not exist.
func IsGone(err error) bool { return IsNotFound(err) || IsTypeless(err) }

// IsTypeless reports whether an object was not found because its type is not served in the requested version, or with
// the requested scope.
func IsTypeless(err error) bool { return cluster.IsTypeless(err) || errors.Is(err, ErrOtherScope) }

// IsOutdated reports whether a guarded write was refused because the object has changed since it was observed.
func IsOutdated(err error) bool {
	if apiserver.IsOutdated(err) || apierrors.IsAlreadyExists(err) {
		return true
	}
	// An apply with the UID of a former object of that name is refused as invalid.
	return apierrors.IsInvalid(err) && slices.ContainsFunc(detailsOf(err).Causes, func(cause metav1.StatusCause) bool { return cause.Field == "metadata.uid" })
}

// IsInvalid reports whether the server rejected the content of an object.
func IsInvalid(err error) bool { return err != nil && apierrors.IsInvalid(err) && !IsOutdated(err) }

// IsImmutable reports whether the server rejected a change of an immutable field. It recognizes only known messages.
func IsImmutable(err error) bool {
	hints := []string{"immutable", "Forbidden: updates to", "may not be changed", "may not change", "may not be updated", "cannot change roleRef"}
	return IsInvalid(err) && slices.ContainsFunc(hints, func(hint string) bool { return strings.Contains(err.Error(), hint) })
}

// detailsOf returns the object and the causes of an error, as far as the server names them.
func detailsOf(err error) metav1.StatusDetails {
	var status apierrors.APIStatus
	if !errors.As(err, &status) || status.Status().Details == nil {
		return metav1.StatusDetails{}
	}
	return *status.Status().Details
}

// lacksNamespace reports whether an object cannot be created because its namespace does not exist.
func lacksNamespace(err error) bool { return IsNotFound(err) && detailsOf(err).Kind == "namespaces" }

// Awaitable returns the reason to wait after a failed write, if that can succeed later without a change of the
// manifest.
func Awaitable(err error) (reason string, ok bool) {
	if cluster.IsNoMatch(err) {
		return "its type is not served", true
	}
	if unknown, ok := errors.AsType[*UnknownTypeError](err); ok {
		return texts.Truncate(unknown.Error(), 300), true
	}
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		return "", false
	}
	text := status.Status().Message
	if failure := webhookFailure(status.Status()); failure != "" {
		return texts.Truncate(failure, 300), true
	}
	switch {
	case DeniedBy(err, BarrierPrefix):
		return "its type is being deleted, or has just been deleted", true
	case IsDoomed(err):
		return "its namespace is being deleted", true
	case lacksNamespace(err):
		return fmt.Sprintf("namespace %s does not exist", detailsOf(err).Name), true
	case IsNotFound(err) && status.Status().Details != nil && detailsOf(err).Name == "":
		return "its type is not served yet", true
	case apierrors.IsTooManyRequests(err), apierrors.IsServerTimeout(err), apierrors.IsServiceUnavailable(err):
		return texts.Truncate("the API server cannot serve the request: "+text, 300), true
	default:
		return "", false
	}
}

// webhookFailure returns the API server's message about a failed webhook call; empty if none failed.
func webhookFailure(status metav1.Status) string {
	const calling, converting = "failed calling webhook", "conversion webhook for "
	if _, rest, found := strings.Cut(status.Message, calling); found && status.Code == http.StatusInternalServerError {
		return calling + rest
	}
	if _, rest, found := strings.Cut(status.Message, converting); found {
		return converting + rest
	}
	return ""
}

// IsDoomed reports whether an object cannot be created because its namespace is being deleted.
func IsDoomed(err error) bool { return apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause) }

// IsRefusal reports whether the server will never accept the object as it is.
func IsRefusal(err error) bool {
	// The server reports values that do not fit the schema or the type, such as bad quantities, as internal errors
	// without a reason. Failures of conversion webhooks have another text.
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

// DeniedBy reports whether a ValidatingAdmissionPolicy whose name begins with the given text denied the request.
func DeniedBy(err error, name string) bool {
	return apierrors.IsForbidden(err) && strings.Contains(err.Error(), "ValidatingAdmissionPolicy '"+name)
}

// BarrierPrefix is the beginning of the names of all barriers, of any operator.
const BarrierPrefix = "deletion-barrier-"

// UnsavedError means that the inventory could not be saved.
type UnsavedError struct{ Err error }

// Error names the reason.
func (e *UnsavedError) Error() string { return "saving the inventory: " + e.Err.Error() }

// Unwrap returns the reason.
func (e *UnsavedError) Unwrap() error { return e.Err }

// IsAboutObjects reports whether an error concerns single objects, so that the pass may go on.
func IsAboutObjects(err error) bool {
	return !Is[*inventory.FencedError](err) && !Is[*inventory.StaleError](err) && !Is[*UnsavedError](err) &&
		!errors.Is(err, context.Canceled) && !errors.Is(err, context.DeadlineExceeded)
}

// Is reports whether an error is one of the type, or wraps one.
func Is[E error](err error) bool {
	_, is := errors.AsType[E](err)
	return is
}

// IsFailure reports whether an error triggers on-failure hooks. Errors that may go away without a change of the input
// do not count, and neither do objects of other owners.
func IsFailure(err error) bool {
	refused, isRefused := errors.AsType[*inventory.RefusedError](err)
	return isRefused && !refused.Foreign || err != nil && (apiserver.IsDenied(err) || apiserver.IsAdmission(err))
}

// ErrOtherScope means that an object cannot exist as recorded, because its type has another scope now. The caller must
// check whether the client's knowledge of the scope is outdated.
var ErrOtherScope = errors.New("its type has another scope")

// IsNoDryRun reports whether a dry run failed merely because a webhook does not support dry runs.
func IsNoDryRun(err error) bool {
	return apierrors.IsBadRequest(err) && strings.Contains(err.Error(), "does not support dry run")
}

// UnknownTypeError means that a type cannot be read, so that objects of it may exist.
type UnknownTypeError struct {
	Kind schema.GroupKind
	Err  error
}

func (e *UnknownTypeError) Error() string {
	return fmt.Sprintf("it is not known whether there are any objects of type %s: %s", e.Kind, e.Err)
}

func (e *UnknownTypeError) Unwrap() error { return e.Err }

// Join joins errors that are not nil. Since callers give up on permanent errors, the result is a
// *inventory.RefusedError only if all errors are, and a missing permission only if all errors are missing permissions
// or refusals. Otherwise, such errors keep only their text.
func Join(errs ...error) error {
	errs = slices.DeleteFunc(slices.Clone(errs), func(err error) bool { return err == nil })
	refused := Is[*inventory.RefusedError]
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

// group discovers the types of an API group, once per pass, and updates the client's mapper.
func (api *Server) group(ctx context.Context, name string) (*cluster.Group, error) {
	discovered, _ := api.groups.LoadOrStore(name, sync.OnceValues(func() (group *cluster.Group, err error) {
		err = api.ReadAnyway(func(clnt cluster.Client) (err error) {
			group, err = cluster.ReadGroup(ctx, clnt.DiscoveryClient(), name)
			return err
		})
		if err == nil {
			cluster.LearnTypes(api.Client.RESTMapper(), group)
		}
		return group, err
	}))
	answer, _ := discovered.(func() (*cluster.Group, error))
	return answer()
}

// served returns the mappings of a type that is served now, the preferred version first. It returns none only if no
// readable objects can exist: no version is served, and no CustomResourceDefinition defines the type (apart from ones
// that are being deleted or were never established). If the server does not prove that, the error is an
// *UnknownTypeError; if a definition serves no version, it is a *RefusedError.
func (api *Server) served(ctx context.Context, kind schema.GroupKind) ([]*meta.RESTMapping, error) {
	group, err := api.group(ctx, kind.Group)
	if err != nil {
		return nil, &UnknownTypeError{Kind: kind, Err: err}
	}
	if mappings := group.Mappings(kind.Kind); len(mappings) > 0 {
		return mappings, nil
	}
	if err := group.Failure(); err != nil {
		return nil, &UnknownTypeError{Kind: kind, Err: err}
	}
	crd, err := api.definition(ctx, kind)
	if err != nil || crd == nil {
		return nil, err
	}
	for _, version := range crd.Spec.Versions {
		if version.Served {
			return nil, &UnknownTypeError{Kind: kind, Err: fmt.Errorf("it is defined in version %s, and not served yet", version.Name)}
		}
	}
	return nil, inventory.NewRefusedError(fmt.Sprintf(
		"CustomResourceDefinition %s: serves no version, so its instances cannot be listed; let it serve one of: %s",
		crd.Name, strings.Join(crd.Status.StoredVersions, ", ")))
}

// definition returns the CustomResourceDefinition of a type; nil if there is none. One that is being deleted, or was
// never served and so has no instances, does not count.
func (api *Server) definition(ctx context.Context, kind schema.GroupKind) (*apiextensionsv1.CustomResourceDefinition, error) {
	api.definitionsOnce.Do(func() {
		api.definitions.SetGroupVersionKind(schema.GroupVersionKind{Group: prepare.GroupCRD, Version: "v1", Kind: "CustomResourceDefinitionList"})
		api.definitionsErr = api.ReadAnyway(func(clnt cluster.Client) error { return clnt.List(ctx, &api.definitions) })
	})
	if api.definitionsErr != nil {
		return nil, fmt.Errorf("listing definitions of types: %w", api.definitionsErr)
	}
	for i := range api.definitions.Items {
		object := &api.definitions.Items[i]
		group, _, _ := unstructured.NestedString(object.Object, "spec", "group")
		name, _, _ := unstructured.NestedString(object.Object, "spec", "names", "kind")
		if group != kind.Group || name != kind.Kind || object.GetDeletionTimestamp() != nil {
			continue
		}
		crd := &apiextensionsv1.CustomResourceDefinition{}
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, crd); err != nil {
			return nil, &UnknownTypeError{Kind: kind, Err: fmt.Errorf("reading %s: %w", types.IDOf(object), err)}
		}
		// The condition never becomes False again.
		if apihelpers.IsCRDConditionTrue(crd, apiextensionsv1.Established) {
			return crd, nil
		}
	}
	return nil, nil
}

// LookServed is Look for an object that should be gone. Only the server, not the observer, can prove that it is gone.
func (api *Server) LookServed(ctx context.Context, item *inventory.Item) (decide.Situation, error) {
	// Whether an object without our label is still ours also depends on its annotations, which the observer does not
	// have.
	if s, ok := api.Known(item); ok && s.Exists {
		return s, nil
	}
	s, err := api.AskServed(ctx, item)
	api.Renew(item, s, err)
	return s, err
}

// AskServed is Ask for an object that should be gone: with ReadAnyway, and in each served version. It sets the item's
// version to the one in which the server has answered. The object counts as gone only if the server says so, or does
// not serve the type at all.
func (api *Server) AskServed(ctx context.Context, item *inventory.Item) (decide.Situation, error) {
	s, err := api.AskAnyway(ctx, item)
	if err != nil || s.Exists || s.Typed {
		return s, err
	}
	kind := item.GroupVersionKind().GroupKind()
	mappings, err := api.served(ctx, kind)
	if err != nil || len(mappings) == 0 {
		return s, err
	}
	asked := false
	for _, mapping := range mappings {
		if (mapping.Scope.Name() == meta.RESTScopeNameNamespace) != (item.Namespace != "") {
			continue
		}
		asked = true
		probe := *item
		probe.Version = mapping.GroupVersionKind.Version
		found, err := api.AskAnyway(ctx, &probe)
		if err != nil {
			return s, err
		}
		if found.Exists || found.Typed {
			item.Version = probe.Version
			return found, nil
		}
	}
	if asked {
		return s, &UnknownTypeError{Kind: kind, Err: errors.New("the API server announces versions that it does not serve")}
	}
	return s, api.checkScope(ctx, item)
}

// checkScope returns an error unless it is certain that the type no longer has the scope of the object: then the object
// was deleted with the former definition of the type.
func (api *Server) checkScope(ctx context.Context, item *inventory.Item) error {
	kind := item.GroupVersionKind().GroupKind()
	crd, err := api.definition(ctx, kind)
	if err != nil || crd == nil {
		return err
	}
	if (crd.Spec.Scope == apiextensionsv1.NamespaceScoped) == (item.Namespace != "") {
		return &UnknownTypeError{Kind: kind, Err: fmt.Errorf("it is defined with scope %s, and not served with it yet", crd.Spec.Scope)}
	}
	return nil
}

// ServedNow returns the mapping of a type in its preferred version; nil if there are no objects of the type.
func (api *Server) ServedNow(ctx context.Context, kind schema.GroupKind) (*meta.RESTMapping, error) {
	mappings, err := api.served(ctx, kind)
	if err != nil || len(mappings) == 0 {
		return nil, err
	}
	return mappings[0], nil
}

// undeclaredField matches how the server names a field that is not in the schema of a type.
var undeclaredField = regexp.MustCompile(`(\.[^\s:]+): field not declared in schema`)

// Undeclared returns the unknown fields that caused an apply to be rejected, sorted. Other writes drop such fields with
// a warning, but an apply is refused.
func Undeclared(err error) []string {
	var fields []string
	for _, match := range undeclaredField.FindAllStringSubmatch(err.Error(), -1) {
		fields = append(fields, match[1])
	}
	slices.Sort(fields)
	return slices.Compact(fields)
}

// Prune removes the fields from the object and reports whether that changed it.
func Prune(object *unstructured.Unstructured, fields []string) bool {
	changed := false
	for _, field := range fields {
		path, err := fieldset.ParsePath(field)
		if err != nil {
			return false
		}
		if fieldset.Exists(object.Object, path) {
			fieldset.Remove(object.Object, []fieldpath.Path{path}, nil)
			changed = true
		}
	}
	return changed
}
