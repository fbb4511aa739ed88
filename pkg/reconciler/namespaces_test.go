// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package reconciler_test

import (
	"fmt"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

func TestMissingNamespaceOfManyObjects(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	var manifests strings.Builder
	for i := range 12 {
		fmt.Fprintf(&manifests, "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c%d, namespace: NS-more}\n---\n", i)
	}
	t.Cleanup(func() {
		namespace := &unstructured.Unstructured{}
		namespace.SetAPIVersion("v1")
		namespace.SetKind("Namespace")
		namespace.SetName(w.namespace + "-more")
		_ = w.client.Delete(context(t), namespace)
	})
	result, err := w.apply(manifests.String())
	if err != nil || !result.Done {
		t.Fatalf("expected all in one pass, got %v, %v", result.Done, err)
	}
}
