// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package objectset_test

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/internal/testenv"
	"github.com/component-operator/runtime/pkg/objectset/v1alpha1"
)

// fivePhases has a gate in the third phase that somebody else opens, a workload in the fourth, and a last phase.
const fivePhases = `
metadata: {name: shop}
spec:
  template:
    spec:
      phases:
      - name: settings
        objects:
        - object: {apiVersion: v1, kind: ConfigMap, metadata: {name: settings}, data: {revision: "NUMBER"}}
      - name: access
        objects:
        - object: {apiVersion: v1, kind: ServiceAccount, metadata: {name: web}}
        - object: {apiVersion: v1, kind: ConfigMap, metadata: {name: only-NUMBER}}
      - name: gate
        objects:
        - object: {apiVersion: v1, kind: ConfigMap, metadata: {name: gate}}
      - name: app
        objects:
        - object:
            apiVersion: apps/v1
            kind: Deployment
            metadata: {name: web}
            spec:
              selector: {matchLabels: {app: web}}
              template:
                metadata: {labels: {app: web}}
                spec: {serviceAccountName: web, containers: [{name: web, image: "web:NUMBER"}]}
        - object: {apiVersion: v1, kind: Service, metadata: {name: web}, spec: {selector: {app: web}, ports: [{port: 80}]}}
      - name: end
        objects:
        - object: {apiVersion: v1, kind: ConfigMap, metadata: {name: end}, data: {revision: "NUMBER"}}
      availabilityProbes:
      - selector: {kind: {group: apps, kind: Deployment}}
        probes:
        - condition: {type: Available}
        - fieldsEqual: {fieldA: .status.updatedReplicas, fieldB: .status.replicas}
      - selector: {kind: {group: "", kind: ConfigMap}}
        probes:
        - cel: {rule: 'self.metadata.name != "gate" || has(self.data) && self.data.open == "yes"', message: the gate is closed}
`

// TestFivePhases: a rollout that stops in the middle, drift meanwhile, repair, an upgrade under load, a pause, and a
// teardown that is held up.
func TestFivePhases(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.start()
	decode := func(number string) *v1alpha1.ObjectDeployment {
		shop := &v1alpha1.ObjectDeployment{}
		r.decode(replace(fivePhases, "NUMBER", number), shop)
		shop.Namespace = r.namespace
		return shop
	}
	shop := decode("1")
	r.create(shop)
	r.awaitDeployment(shop, v1alpha1.DeploymentProgressing, "True/RollingOut", `Phase "gate": ConfigMap `+r.namespace+"/gate: the gate is closed")
	if r.get("apps/v1", "Deployment", "web") != nil || r.data("end", "") != "-" {
		t.Error("a phase has begun before the one before was available")
	}

	// Drift in the first phases is corrected meanwhile.
	r.patch(r.get("v1", "ConfigMap", "settings"), `{"data":{"revision":"drift"}}`)
	if err := r.client.Delete(t.Context(), r.get("v1", "ServiceAccount", "web")); err != nil {
		t.Fatal(err)
	}
	r.eventually("drift is corrected", func() bool {
		return r.data("settings", "revision") == "1" && r.get("v1", "ServiceAccount", "web") != nil
	})

	// Somebody opens the gate.
	r.patch(r.get("v1", "ConfigMap", "gate"), `{"data":{"open":"yes"}}`)
	r.awaitDeployment(shop, v1alpha1.DeploymentReady, "True/Available", "Set shop-1: 7 of 7 objects in 5 phases are available")

	// An upgrade under load. The gate stays open: what others have written belongs to them.
	service := r.get("v1", "Service", "web")
	stop := r.watching(string(service.GetUID()))
	shop.Spec.Template = decode("2").Spec.Template
	if err := r.client.Update(t.Context(), shop); err != nil {
		t.Fatal(err)
	}
	r.awaitDeployment(shop, v1alpha1.DeploymentReady, "True/Available", "Set shop-2: 7 of 7 objects")
	if reads, faults := stop(); faults > 0 || reads == 0 {
		t.Errorf("of %d reads, the Service was missing or unowned in %d", reads, faults)
	}
	first := &v1alpha1.ObjectSet{}
	first.Namespace, first.Name = r.namespace, "shop-1"
	r.awaitCondition(first, v1alpha1.ConditionTypeArchived, "True/Archived")
	if r.data("only-1", "") != "-" || r.data("only-2", "") == "-" {
		t.Error("the archived set must leave only what the later one has")
	}

	// Paused, nothing is corrected.
	r.patch(shop, `{"spec":{"paused":true}}`)
	r.awaitDeployment(shop, v1alpha1.DeploymentPaused, "True/Paused", "No set is")
	before := r.requests.Len()
	r.patch(r.get("v1", "ConfigMap", "settings"), `{"data":{"revision":"drift"}}`)
	second := &v1alpha1.ObjectSet{}
	second.Namespace, second.Name = r.namespace, "shop-2"
	r.awaitCondition(second, v1alpha1.ConditionTypePaused, "True/Paused", "settings")
	time.Sleep(time.Second)
	for _, request := range r.requests.Since(before) {
		if request.IsWrite() && request.Subresource != "status" && request.Resource != "events" {
			t.Errorf("a paused deployment makes the request %s %s", request.Method, request.Path)
		}
	}
	r.patch(shop, `{"spec":{"paused":false}}`)
	r.eventually("drift is corrected", func() bool { return r.data("settings", "revision") == "2" })
	r.awaitDeployment(shop, v1alpha1.DeploymentReady, "True/Available")

	// A finalizer on the last object holds up the teardown.
	r.patch(r.get("v1", "ConfigMap", "end"), `{"metadata":{"finalizers":["example.io/hold"]}}`)
	r.delete(shop)
	r.awaitDeployment(shop, v1alpha1.DeploymentProgressing, "True/Deleting", "Set shop-2 is being deleted", `1 of 1 dependent of phase "end" not deleted: ConfigMap `+r.namespace+"/end")
	time.Sleep(time.Second)
	if r.get("apps/v1", "Deployment", "web") == nil || r.data("settings", "") == "-" {
		t.Error("an earlier phase must not go before the last one")
	}
	r.patch(r.get("v1", "ConfigMap", "end"), `{"metadata":{"finalizers":null}}`)
	r.awaitGone(shop)
	r.expectSets()
	pods := &corev1.PodList{}
	r.eventually("all pods are gone", func() bool {
		return r.client.List(t.Context(), pods, client.InNamespace(r.namespace)) == nil && len(pods.Items) == 0
	})
	for _, name := range []string{"settings", "only-2", "gate", "end"} {
		if r.data(name, "") != "-" {
			t.Errorf("ConfigMap %s is left", name)
		}
	}
}

// eventually waits until something is true.
func (r *rig) eventually(what string, holds func() bool) {
	r.tb.Helper()
	testenv.Eventually(r.tb, func() (bool, string) { return holds(), "not so: " + what })
}
