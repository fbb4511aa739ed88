// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package component

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/component-operator/runtime/internal/testenv"
)

// TestManyObjectsInManyWaves brings 300 objects in 6 waves to readiness, 60 of them with pods.
func TestManyObjectsInManyWaves(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	reconciler := r.reconciler(ReconcilerOptions{})
	r.start(reconciler)
	var objects strings.Builder
	const waves, members, deployments = 6, 50, 10
	for wave := range waves {
		for i := range members {
			name := fmt.Sprintf("w%d-%d", wave, i)
			metadata := fmt.Sprintf("{name: %s, annotations: {%s/apply-order: %q}}", name, r.name, fmt.Sprint(wave))
			if i >= deployments {
				fmt.Fprintf(&objects, "---\n{apiVersion: v1, kind: ConfigMap, metadata: %s}\n", metadata)
				continue
			}
			fmt.Fprintf(&objects, `---
{apiVersion: apps/v1, kind: Deployment, metadata: %s, spec: {selector: {matchLabels: {app: %s}},
  template: {metadata: {labels: {app: %s}}, spec: {containers: [{name: a, image: a}]}}}}
`, metadata, name, name)
		}
	}
	widget := r.widget(objects.String())
	r.create(widget)
	awaitReady(r, widget)
	diff(t, "items of the inventory", waves*members, len(r.recorded(widget)))

	writes := r.requests.Count(func(request testenv.Request) bool {
		return request.Method == http.MethodPatch && (request.Resource == "configmaps" || request.Resource == "deployments")
	})
	diff(t, "writes to dependents", waves*members, writes)
	statuses := r.requests.Count(func(request testenv.Request) bool { return request.Subresource == "status" })
	if most := 10 * waves; statuses > most {
		t.Errorf("want at most %d writes of the status, got %d", most, statuses)
	}
}
