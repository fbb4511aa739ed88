// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package sync_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/component-operator/runtime/pkg/sync"
)

// TestMessagesStayShort has objects, the validator and the health be about values of a megabyte: the state of the
// operation has to be recorded.
func TestMessagesStayShort(t *testing.T) {
	t.Parallel()
	large := strings.Repeat("x", 200<<10)
	w := newWorld(t)
	var waves string
	for i := range 5 {
		waves += configMap(fmt.Sprintf("a%d", i), "argocd.argoproj.io/sync-wave", large)
	}
	refused := sync.WithPermissionValidator(func(object *unstructured.Unstructured, _ *metav1.APIResource) error {
		return errors.New("no: " + large)
	})
	for reason, operation := range map[string]sync.SyncContext{
		"annotations that cannot be read": w.begin("one", waves),
		"a validator that quotes objects": w.begin("one", configMap("a"), refused),
	} {
		operation.Sync(t.Context())
		phase, message, results := operation.GetState()
		size := len(message)
		for _, result := range results {
			size += len(result.Message)
		}
		if phase != sync.OperationFailed || size == 0 || size > 16<<10 {
			t.Errorf("%s: %s with %d bytes of messages: %.100s", reason, phase, size, message)
		}
	}
}
