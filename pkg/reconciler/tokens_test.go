// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package reconciler_test

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/component-operator/runtime/internal/testenv"
)

func TestTokensAreLeftToTheirController(t *testing.T) {
	t.Parallel()
	const manifests = `
apiVersion: v1
kind: ServiceAccount
metadata: {name: robot}
---
apiVersion: v1
kind: Secret
metadata: {name: token, annotations: {kubernetes.io/service-account.name: robot}}
type: kubernetes.io/service-account-token
`
	w := newWorld(t)
	w.mustApply(manifests)
	token := func() string {
		secret := w.get("v1", "Secret", "token")
		if secret == nil {
			return ""
		}
		data, _, _ := unstructured.NestedString(secret.Object, "data", "token")
		return data
	}
	// The controller deletes a Secret that it sees before its ServiceAccount; then the Secret is created again.
	testenv.Eventually(t, func() (bool, string) {
		_, err := w.apply(manifests)
		return err == nil && token() != "", "no token"
	})
	before := token()
	w.rest(manifests)
	w.mustApply(strings.Replace(manifests, "{name: token,", "{name: token, labels: {a: b},", 1))
	if token() != before {
		t.Error("the token was taken away")
	}
}
