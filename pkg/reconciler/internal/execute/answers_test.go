// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package execute

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	"github.com/component-operator/runtime/internal/testenv"
	"github.com/component-operator/runtime/pkg/cluster"
)

func statusError(code int32, reason metav1.StatusReason, message string, details *metav1.StatusDetails) error {
	return &apierrors.StatusError{ErrStatus: metav1.Status{Status: metav1.StatusFailure, Code: code, Reason: reason, Message: message, Details: details}}
}

// class is how the engine classifies an error.
type class struct {
	gone, noMatch, outdated, immutable, refusal bool
	awaited                                     string
}

func classify(err error) class {
	reason, _ := Awaitable(err)
	return class{gone: IsGone(err), noMatch: cluster.IsNoMatch(err), outdated: IsOutdated(err), immutable: IsImmutable(err), refusal: IsRefusal(err), awaited: reason}
}

func TestErrors(t *testing.T) {
	t.Parallel()
	resource := schema.GroupResource{Resource: "pods"}
	notFound := apierrors.NewNotFound(resource, "a")
	noMatch := &meta.NoKindMatchError{GroupKind: schema.GroupKind{Group: "g", Kind: "K"}}
	for _, tc := range []struct {
		reason string
		err    error
		want   class
	}{
		{"absent", notFound, class{gone: true}},
		{"an unknown type", fmt.Errorf("writing: %w", noMatch), class{gone: true, noMatch: true, awaited: "its type is not served"}},
		{"a group that is gone", &apiutil.ErrResourceDiscoveryFailed{{Group: "g", Version: "v1"}: notFound}, class{gone: true, noMatch: true, awaited: "its type is not served"}},
		{"a type that is not served, looked up first", &apiutil.ErrResourceDiscoveryFailed{{Group: "g", Version: "v1"}: &meta.NoResourceMatchError{}}, class{gone: true, noMatch: true, awaited: "its type is not served"}},
		{"a group that does not answer proves nothing", &apiutil.ErrResourceDiscoveryFailed{{Group: "g", Version: "v1"}: notFound, {Group: "g", Version: "v2"}: errors.New("no answer")}, class{}},
		{
			"another UID", statusError(422, metav1.StatusReasonInvalid, "x", &metav1.StatusDetails{Causes: []metav1.StatusCause{{Field: "metadata.uid"}}}),
			class{outdated: true, refusal: true},
		},
		{"invalid", statusError(422, metav1.StatusReasonInvalid, "x", &metav1.StatusDetails{Causes: []metav1.StatusCause{{Field: "spec.uid"}}}), class{refusal: true}},
		{"immutable is only what is invalid", statusError(500, metav1.StatusReasonInternalError, "field is immutable", nil), class{}},
		{"too large", apierrors.NewRequestEntityTooLargeError("x"), class{refusal: true}},
		{"forbidden may be granted", apierrors.NewForbidden(resource, "a", errors.New("x")), class{}},
		{
			"a namespace that goes", statusError(403, metav1.StatusReasonForbidden, "x", &metav1.StatusDetails{Causes: []metav1.StatusCause{{Type: "NamespaceTerminating"}}}),
			class{awaited: "its namespace is being deleted"},
		},
		{
			"a webhook that does not answer", statusError(500, metav1.StatusReasonInternalError, `Internal error occurred: failed calling webhook "a.b.c": failed to call webhook: no endpoints`, nil),
			class{awaited: `failed calling webhook "a.b.c": failed to call webhook: no endpoints`},
		},
		{"a webhook that denies is no failure of the call", statusError(403, metav1.StatusReasonForbidden, `admission webhook "a.b.c" denied the request: x`, nil), class{}},
		{
			"a conversion webhook", statusError(500, metav1.StatusReasonInternalError, "conversion webhook for g/v1, Kind=K failed: no endpoints", nil),
			class{awaited: "conversion webhook for g/v1, Kind=K failed: no endpoints"},
		},
		{"overload", apierrors.NewTooManyRequests("slow down", 3), class{awaited: "the API server cannot serve the request: slow down"}},
		{"unavailable", apierrors.NewServiceUnavailable("x"), class{awaited: "the API server cannot serve the request: x"}},
		{"an internal error is worth a retry", statusError(http.StatusInternalServerError, metav1.StatusReasonInternalError, "etcdserver: leader changed", nil), class{}},
		{"no answer", errors.New("connection refused"), class{}},
	} {
		t.Run(tc.reason, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(tc.want, classify(tc.err), cmp.AllowUnexported(class{})); diff != "" {
				t.Errorf("class (-want +got):\n%s", diff)
			}
		})
	}
	long, _ := Awaitable(apierrors.NewServiceUnavailable(strings.Repeat("ä", 1000)))
	if got := len(long); got > 300 || got < 297 {
		t.Errorf("messages must have at most 300 bytes, got %d", got)
	}
}

// TestErrorsOfTheServer provokes the errors, because their texts are no contract.
func TestErrorsOfTheServer(t *testing.T) {
	t.Parallel()
	c, namespace := testenv.Client(t), testenv.Namespace(t)
	apply := func(text string, changes ...func(*unstructured.Unstructured)) error {
		object := testenv.Object(t, strings.ReplaceAll(text, "NS", namespace))
		for _, change := range changes {
			change(object)
		}
		return c.Apply(t.Context(), client.ApplyConfigurationFromUnstructured(object), client.ForceOwnership, client.FieldOwner("us"))
	}
	version := func(rv string) func(*unstructured.Unstructured) {
		return func(u *unstructured.Unstructured) { u.SetResourceVersion(rv) }
	}
	uid := func(value types.UID) func(*unstructured.Unstructured) {
		return func(u *unstructured.Unstructured) { u.SetUID(value) }
	}
	const another = types.UID("00000000-0000-0000-0000-000000000000")
	const configMap = "{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: NS}, immutable: true, data: {a: b}}"
	const deployment = "{apiVersion: apps/v1, kind: Deployment, metadata: {name: a, namespace: NS}, spec: {selector: {matchLabels: {a: X}}, template: {metadata: {labels: {a: X}}, spec: {containers: [{name: c, image: i}]}}}}"
	const job = "{apiVersion: batch/v1, kind: Job, metadata: {name: a, namespace: NS}, spec: {suspend: true, template: {spec: {restartPolicy: Never, containers: [{name: c, image: X}]}}}}"
	const binding = "{apiVersion: rbac.authorization.k8s.io/v1, kind: RoleBinding, metadata: {name: a, namespace: NS}, roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: X}}"
	const claim = "{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: a, namespace: NS}, spec: {storageClassName: X, accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}}"
	x := func(text, value string) string { return strings.ReplaceAll(text, "X", value) }
	for _, object := range []string{configMap, x(deployment, "one"), x(job, "one"), x(binding, "one"), x(claim, "one")} {
		if err := apply(object); err != nil {
			t.Fatal(err)
		}
	}
	for _, tc := range []struct {
		reason string
		err    error
		want   class
	}{
		{"create only, and it exists", apply(configMap, version("1")), class{outdated: true}},
		{"an outdated version", apply(configMap, version("2")), class{outdated: true}},
		{"another UID", apply(configMap, uid(another)), class{outdated: true, refusal: true}},
		{"a UID, and it is absent", apply(strings.Replace(configMap, "name: a", "name: b", 1), uid(another)), class{outdated: true}},
		{"an immutable ConfigMap", apply(strings.Replace(configMap, "a: b", "a: c", 1)), class{immutable: true, refusal: true}},
		{"the selector of a Deployment", apply(x(deployment, "two")), class{immutable: true, refusal: true}},
		{"the template of a Job", apply(x(job, "two")), class{immutable: true, refusal: true}},
		{"the role of a binding", apply(x(binding, "two")), class{immutable: true, refusal: true}},
		{"the class of a claim", apply(x(claim, "two")), class{immutable: true, refusal: true}},
		{"no such namespace", apply(strings.Replace(configMap, namespace, "x", 1), func(u *unstructured.Unstructured) { u.SetNamespace("none-" + namespace) }), class{gone: true, awaited: "namespace none-" + namespace + " does not exist"}},
		{"no such type", apply("{apiVersion: x.example.com/v1, kind: X, metadata: {name: a, namespace: NS}}"), class{gone: true, noMatch: true, awaited: "its type is not served"}},
		{"a bad value", apply(strings.Replace(x(deployment, "one"), "selector:", "replicas: many, selector:", 1)), class{refusal: true}},
		{"an unknown field", apply(strings.Replace(x(deployment, "one"), "selector:", "nonsense: 1, selector:", 1)), class{refusal: true}},
		{"a value that is refused by validation", apply(strings.Replace(x(deployment, "one"), "selector:", "replicas: -1, selector:", 1)), class{refusal: true}},
	} {
		t.Run(tc.reason, func(t *testing.T) {
			if tc.err == nil {
				t.Fatal("expected an error")
			}
			if diff := cmp.Diff(tc.want, classify(tc.err), cmp.AllowUnexported(class{})); diff != "" {
				t.Errorf("class of %q (-want +got):\n%s", tc.err, diff)
			}
		})
	}
}
