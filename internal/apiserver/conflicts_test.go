// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package apiserver_test

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/component-operator/runtime/internal/apiserver"
)

func answer(code int32, reason metav1.StatusReason, message string) error {
	return fmt.Errorf("writing: %w", &apierrors.StatusError{ErrStatus: metav1.Status{Code: code, Reason: reason, Message: message}})
}

func TestAdmission(t *testing.T) {
	t.Parallel()
	for message, want := range map[string]bool{
		`configmaps "a" is forbidden: User "u" cannot delete resource "configmaps" in API group "" in the namespace "n"`: false,
		`configmaps "a" is forbidden: ValidatingAdmissionPolicy 'p' with binding 'p' denied request: protected`:          true,
		`admission webhook "validation.gatekeeper.sh" denied the request: [protected] no`:                                true,
		`pods "a" is forbidden: exceeded quota: q, requested: pods=1, used: pods=1, limited: pods=1`:                     true,
		`pods "a" is forbidden: violates PodSecurity "restricted:latest": host namespaces`:                               true,
		`Forbidden`: false,
	} {
		if got := apiserver.IsAdmission(answer(http.StatusForbidden, metav1.StatusReasonForbidden, message)); got != want {
			t.Errorf("%s: got %v", message, got)
		}
		if apiserver.IsAdmission(answer(http.StatusInternalServerError, metav1.StatusReasonInternalError, message)) {
			t.Errorf("%s: only 403 forbids", message)
		}
		denied := strings.Contains(message, "denied")
		for _, code := range []int32{http.StatusBadRequest, http.StatusConflict, http.StatusUnprocessableEntity} {
			if got := apiserver.IsAdmission(answer(code, "", message)); got != denied {
				t.Errorf("%s, code %d: got %v", message, code, got)
			}
		}
	}
}

func TestKindsOfConflicts(t *testing.T) {
	t.Parallel()
	const denial = `admission webhook "x.example.com" denied the request: not now`
	for _, tc := range []struct {
		reason           string
		err              error
		outdated, denied bool
		text             string
	}{
		{"the object has changed", apierrors.NewConflict(schema.GroupResource{Resource: "secrets"}, "a", errors.New("changed")), true, false, `Operation cannot be fulfilled on secrets "a": changed`},
		{"a webhook that gives the code", answer(http.StatusConflict, "", denial), false, true, denial},
		{"a webhook that gives code and reason", answer(http.StatusConflict, metav1.StatusReasonConflict, denial), false, true, denial},
		{"a webhook that says nothing", answer(http.StatusConflict, metav1.StatusReasonConflict, `admission webhook "x.example.com" denied the request without explanation`), false, true, `admission webhook "x.example.com" denied the request without explanation`},
		{"another denial is no conflict at all", answer(http.StatusForbidden, metav1.StatusReasonForbidden, denial), false, false, denial},
		{"no answer", errors.New("no answer"), false, false, "no answer"},
		{"a long text", answer(http.StatusConflict, "", strings.Repeat("x", 400)), true, false, strings.Repeat("x", 297) + "…"},
	} {
		t.Run(tc.reason, func(t *testing.T) {
			t.Parallel()
			if got := apiserver.IsOutdated(tc.err); got != tc.outdated {
				t.Errorf("outdated: %v", got)
			}
			if got := apiserver.IsDenied(tc.err); got != tc.denied {
				t.Errorf("denied: %v", got)
			}
			if got := apiserver.Reason(tc.err); got != tc.text {
				t.Errorf("reason: %q", got)
			}
		})
	}
}
