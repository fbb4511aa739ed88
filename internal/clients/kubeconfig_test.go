// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package clients_test

import (
	"runtime"
	"strings"
	"testing"

	"github.com/component-operator/runtime/internal/clients"
)

// TestKubeConfigsThatGrow has a kubeconfig repeat a long text by aliases. It is not parallel, because it measures the
// memory of the process.
func TestKubeConfigsThatGrow(t *testing.T) { //nolint:paralleltest // see above
	const size, count, limit = 200 << 10, 2_000, 64 << 20
	raw := "apiVersion: v1\nkind: Config\npreferences: {extensions: [{name: &a " + strings.Repeat("x", size) + "}" + strings.Repeat(", {name: *a}", count) + "]}\n"
	factory := newFactory(t, clients.Options{})
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, err := factory.Get(clients.Key{KubeConfig: []byte(raw)})
	runtime.ReadMemStats(&after)
	if err == nil || !strings.Contains(err.Error(), "invalid kubeconfig: with its aliases replaced") || strings.Contains(err.Error(), "xxx") {
		t.Errorf("got %v", err)
	}
	if taken := after.TotalAlloc - before.TotalAlloc; taken > limit {
		t.Errorf("a kubeconfig of %d KiB took %d MiB", len(raw)>>10, taken>>20)
	}
}
