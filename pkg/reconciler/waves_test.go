// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package reconciler_test

import (
	"testing"

	"github.com/component-operator/runtime/pkg/reconciler"
)

const threeWaves = `
apiVersion: v1
kind: ConfigMap
metadata: {name: first, annotations: {PREFIX/apply-order: "-1"}}
data: {a: "1"}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: second}
spec:
  replicas: 2
  selector: {matchLabels: {app: second}}
  template:
    metadata: {labels: {app: second}}
    spec: {containers: [{name: main, image: example.com/none}]}
---
apiVersion: v1
kind: Service
metadata: {name: third, annotations: {PREFIX/apply-order: "1"}}
spec: {selector: {app: second}, ports: [{port: 80}]}
`

func TestWavesFollowReadiness(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	result, err := w.apply(threeWaves)
	if err != nil {
		t.Fatal(err)
	}
	w.expectActions(result, "Created ConfigMap first", "Created Deployment second")
	w.expectInventory("Deployment second Creating InProgress", "ConfigMap first Ready Current", "Service third ScheduledForApplication InProgress")
	if result.Done || result.Wave != 0 || len(result.Waits) != 1 {
		t.Errorf("expected to wait for the Deployment of wave 0, got %+v", result)
	}
	result = w.settle(threeWaves, func(result reconciler.Result) (bool, string) { return result.Done, notices(result.Waits) })
	w.expectActions(result, "Created Service third")
	w.expectInventory("Deployment second Ready Current", "ConfigMap first Ready Current", "Service third Ready Current")
	w.mustDelete()
	if w.configMap("first") != nil {
		t.Error("expected the ConfigMap to be gone")
	}
	w.expectInventory()
}
