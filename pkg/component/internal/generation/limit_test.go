// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package generation

import (
	"context"
	"errors"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/internal/chunks"
	"github.com/component-operator/runtime/pkg/inventory"
	"github.com/component-operator/runtime/pkg/types"
)

// crowd is a generator that returns many objects.
type crowd int

func (g crowd) Generate(context.Context, string, string, types.Unstructurable) ([]client.Object, error) {
	return slices.Repeat([]client.Object{&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "a"}}}, int(g)), nil
}

// TestTooManyObjects has a user who asks for a million replicas of an object.
func TestTooManyObjects(t *testing.T) {
	t.Parallel()
	const want = "the generator returns 1000000 objects; at most 100000 are allowed"
	_, _, err := Request{Generator: crowd(1_000_000)}.call(t.Context(), parameters{})
	if refused, ok := errors.AsType[*inventory.RefusedError](err); !ok || refused.Error() != want {
		t.Errorf("want the objects to be refused, got %v", err)
	}
	if objects, _, err := (Request{Generator: crowd(chunks.MaxItems)}).call(t.Context(), parameters{}); err != nil || len(objects) != chunks.MaxItems {
		t.Errorf("want %d objects to be accepted, got %d (%v)", chunks.MaxItems, len(objects), err)
	}
}
