// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package types_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	apitypes "k8s.io/apimachinery/pkg/types"

	"github.com/component-operator/runtime/pkg/types"
)

func TestKeysAsText(t *testing.T) {
	t.Parallel()
	object := &corev1.ConfigMap{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"}, ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "a"}}
	for name, tc := range map[string]struct{ got, want string }{
		"Object":        {types.ObjectKeyToString(object), "/v1, Kind=ConfigMap ns/a"},
		"Type":          {types.TypeKeyToString(types.TypeKeyFromGroupAndVersionAndKind("apps", "v1", "Deployment")), "apps/v1, Kind=Deployment"},
		"ClusterScoped": {types.NameKeyToString(types.NameKeyFromNamespaceAndName("", "a")), "a"},
		"Namespaced":    {types.NameKeyToString(types.NameKeyFromNamespacedName(apitypes.NamespacedName{Namespace: "ns", Name: "a"})), "ns/a"},
		"TextOwn":       {types.ObjectText(schema.GroupKind{Group: "apps", Kind: "Deployment"}, "ns", "a"), "Deployment ns/a"},
		"TextCore":      {types.ObjectText(schema.GroupKind{Group: "rbac.authorization.k8s.io", Kind: "ClusterRole"}, "", "a"), "ClusterRole a"},
		"TextForeign":   {types.ObjectText(schema.GroupKind{Group: "example.com", Kind: "Widget"}, "ns", "a"), "Widget.example.com ns/a"},
	} {
		if tc.got != tc.want {
			t.Errorf("%s: expected %q, got %q", name, tc.want, tc.got)
		}
	}
}

func TestUnstructurableMapIsCopied(t *testing.T) {
	t.Parallel()
	original := types.UnstructurableMap{"map": map[string]any{"a": 1}, "list": []any{map[string]any{"b": 2}}, "nil": nil}
	copied := original.ToUnstructured()
	copied["map"].(map[string]any)["a"] = "changed"
	copied["list"].([]any)[0].(map[string]any)["b"] = "changed"
	want := types.UnstructurableMap{"map": map[string]any{"a": 1}, "list": []any{map[string]any{"b": 2}}, "nil": nil}
	if diff := cmp.Diff(want, original); diff != "" {
		t.Errorf("the original must not change (-want +got):\n%s", diff)
	}
	if types.UnstructurableMap(nil).ToUnstructured() != nil {
		t.Error("nothing stays nothing")
	}
}

func TestRetriableError(t *testing.T) {
	t.Parallel()
	cause := errors.New("not yet")
	delay := time.Minute
	err := fmt.Errorf("running a hook: %w", types.NewRetriableError(cause, &delay))
	var retriable types.RetriableError
	if !errors.As(err, &retriable) || !errors.Is(err, cause) {
		t.Fatal("expected both the retriable error and its cause in the chain")
	}
	if retriable.Error() != "not yet" || *retriable.RetryAfter() != delay {
		t.Errorf("got %q, %v", retriable.Error(), retriable.RetryAfter())
	}
}

// TestWaveText covers the borders between the orders of objects and of hooks.
func TestWaveText(t *testing.T) {
	t.Parallel()
	for order, want := range map[int]string{
		0: "wave 0", types.MaxOrder: "wave 32767", types.MinOrder: "the first wave",
		types.PostApplyOrder + types.MinOrder: "post-apply wave -32768", types.PostApplyOrder + types.MaxOrder: "post-apply wave 32767",
		types.OnFailureOrder + types.MinOrder: "on-failure wave -32768", types.OnFailureOrder + 3: "on-failure wave 3",
	} {
		if got := types.WaveText(order); got != want {
			t.Errorf("order %d: got %q, want %q", order, got, want)
		}
	}
}
