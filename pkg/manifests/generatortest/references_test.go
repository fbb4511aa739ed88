// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package generatortest

import (
	"context"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/pkg/component"
)

type shopSpec struct {
	Password *component.SecretKeyReference `json:"passwordRef,omitempty" loadedAs:"password" fallbackKeys:"password,pass"`
	Settings *component.ConfigMapReference `json:"settings,omitempty" loadedAs:"settings"`
}

func (s *shopSpec) ToUnstructured() map[string]any { return component.ToUnstructured(s) }

func metaOf(namespace, name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: namespace, Name: name}
}

// TestReferences loads references as an operator does, and reports those that are missing as it does.
func TestReferences(t *testing.T) {
	t.Parallel()
	secret := &corev1.Secret{ObjectMeta: metaOf("", "db"), StringData: map[string]string{"pass": "abc"}}
	settings := &corev1.ConfigMap{ObjectMeta: metaOf("shops", "colours"), Data: map[string]string{"wall": "red"}}
	both := shopSpec{Password: &component.SecretKeyReference{Name: "db"}, Settings: &component.ConfigMapReference{Name: "colours"}}
	for _, tc := range []struct {
		reason     string
		spec       shopSpec
		references []client.Object
		want       string // part of the problem; none means that the content is in the golden file
	}{
		{"both are there", both, []client.Object{secret, settings}, ""},
		{"one is missing", both, []client.Object{secret}, `generating: waiting for references: spec.settings: reading ConfigMap shops/colours: configmaps "colours" not found`},
		{"a key is missing", shopSpec{Password: &component.SecretKeyReference{Name: "db", Key: "word"}}, []client.Object{secret}, `spec.passwordRef: Secret shops/db has no key word; its keys are: pass`},
	} {
		var seen map[string]any
		suite := suiteOf(t, func(_ context.Context, parameters map[string]any) ([]client.Object, error) {
			seen = parameters
			return []client.Object{configMap("a", nil)}, nil
		})
		problems := suite.examine(t.Context(), Case{Name: "a", Namespace: "shops", Parameters: &tc.spec, References: tc.references}.withDefaults(), true)
		if got := strings.Join(problems, "\n"); tc.want == "" && got != "" || !strings.Contains(got, tc.want) {
			t.Errorf("%s: want %q, got %q", tc.reason, tc.want, got)
		}
		if loaded, _ := seen["settings"].(map[string]any); tc.reason == "both are there" && (seen["password"] != "abc" || loaded["wall"] != "red") {
			t.Errorf("%s: the generator got %v", tc.reason, seen)
		}
		if tc.want != "" && seen != nil {
			t.Errorf("%s: the generator was called", tc.reason)
		}
	}
	if len(secret.Data) > 0 || secret.Namespace != "" {
		t.Error("a given object has changed")
	}
}
