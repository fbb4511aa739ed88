// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package reconciler_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/component-operator/runtime/pkg/reconciler"
)

// largeSpec is 300 objects in 6 waves: what a chart of a real application consists of.
func largeSpec() string {
	var manifests strings.Builder
	add := func(wave int, name, apiVersion, kind, body string) {
		fmt.Fprintf(&manifests, "---\napiVersion: %s\nkind: %s\nmetadata: {name: %s, annotations: {PREFIX/apply-order: \"%d\"}}\n%s\n", apiVersion, kind, name, wave, body)
	}
	const pod = "metadata: {labels: {app: NAME}}, spec: {restartPolicy: POLICY, containers: [{name: main, image: example.com/none}]}"
	template := func(name, policy string) string {
		return strings.NewReplacer("NAME", name, "POLICY", policy).Replace(pod)
	}
	for wave := range 6 {
		for i := range 50 {
			name := fmt.Sprintf("w%d-%02d", wave, i)
			switch {
			case i < 20:
				add(wave, name, "v1", "ConfigMap", "data: {a: b}")
			case i < 30:
				add(wave, name, "v1", "Secret", "stringData: {a: b}")
			case i < 40:
				add(wave, name, "v1", "Service", "spec: {selector: {app: x}, ports: [{port: 80}]}")
			case i < 45:
				add(wave, name, "v1", "ServiceAccount", "")
			case i < 49:
				add(wave, name, "apps/v1", "Deployment", "spec: {replicas: 1, selector: {matchLabels: {app: "+name+"}}, template: {"+template(name, "Always")+"}}")
			default:
				add(wave, name, "batch/v1", "Job", "spec: {template: {"+template(name, "Never")+"}}")
			}
		}
	}
	return manifests.String()
}

func TestLargeSpec(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	manifests := largeSpec()
	w.settle(manifests, func(result reconciler.Result) (bool, string) {
		w.expectWavesInOrder()
		return result.Done, notices(result.Waits)
	})
	if n := len(w.owner.Inventory); n != 300 {
		t.Errorf("expected 300 items, got %d", n)
	}
	w.rest(manifests)
	w.requests.Reset()
	w.expectActions(w.mustApply(manifests))
	if writes := w.writes(); len(writes) > 0 {
		t.Errorf("expected rest, got %v", writes)
	}
	w.mustDelete()
}

// expectWavesInOrder checks that nothing of a wave was written before everything of the waves before was ready.
func (w *world) expectWavesInOrder() {
	w.Helper()
	unready := 1 << 15
	for _, item := range w.owner.Inventory {
		if item.Phase != reconciler.PhaseReady {
			unready = min(unready, item.ApplyOrder)
		}
	}
	for _, item := range w.owner.Inventory {
		if item.ApplyOrder > unready && item.Phase != reconciler.PhaseScheduledForApplication {
			w.Errorf("%s of wave %d is %s, although wave %d is not ready", item, item.ApplyOrder, item.Phase, unready)
		}
	}
}
