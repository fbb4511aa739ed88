// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package objectset_test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/internal/testenv"
	"github.com/component-operator/runtime/pkg/objectset"
	"github.com/component-operator/runtime/pkg/objectset/v1alpha1"
)

// revision returns a revision of a set with a Service that all revisions have, and with objects that only one has.
func (r *rig) revision(number int) *v1alpha1.ObjectSet {
	return r.set(replace(`
metadata: {name: demo-N, labels: {core.component-operator.dev/revisions-of: demo}}
spec:
  revision: N
  phases:
  - name: config
    objects:
    - object: {apiVersion: v1, kind: ConfigMap, metadata: {name: config}, data: {revision: "N"}}
    - object: {apiVersion: v1, kind: ConfigMap, metadata: {name: config-N}}
  - name: service
    objects:
    - object: {apiVersion: v1, kind: Service, metadata: {name: web}, spec: {selector: {app: web, revision: "N"}, ports: [{port: 80}]}}
  - name: end
    objects:
    - object: {apiVersion: v1, kind: ConfigMap, metadata: {name: end}, data: {revision: "N"}}
  availabilityProbes:
  - selector: {kind: {group: "", kind: Service}}
    probes:
    - cel: {rule: self.spec.clusterIP != ""}
`, "N", fmt.Sprint(number)))
}

// watching reads the Service every 5 ms until the returned function is called, which returns how often it was missing
// or without an owner.
func (r *rig) watching(uid string) (stop func() (reads, faults int)) {
	ctx, cancel := context.WithCancel(r.tb.Context())
	var running sync.WaitGroup
	reads, faults := 0, 0
	running.Go(func() {
		for ctx.Err() == nil {
			service := &corev1.Service{}
			err := r.client.Get(ctx, client.ObjectKey{Namespace: r.namespace, Name: "web"}, service)
			switch {
			case ctx.Err() != nil:
			case err != nil, string(service.UID) != uid, service.DeletionTimestamp != nil, service.Labels[r.name+"."+objectset.ObjectSetReconcilerName+"/owner-id"] == "":
				faults++
				fallthrough
			default:
				reads++
			}
			time.Sleep(5 * time.Millisecond)
		}
	})
	return func() (int, int) {
		cancel()
		running.Wait()
		return reads, faults
	}
}

// TestUpgradeUnderLoad hands a Service over from revision to revision. It never vanishes, and always has an owner.
func TestUpgradeUnderLoad(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.start()
	current := r.revision(1)
	r.create(current)
	r.awaitCondition(current, succeeded, "True/RolloutSuccess")
	stop := r.watching(string(r.get("v1", "Service", "web").GetUID()))
	for number := 2; number <= 4; number++ {
		next := r.revision(number)
		r.create(next)
		r.awaitCondition(next, succeeded, "True/RolloutSuccess")
		r.awaitCondition(current, inTransition, "True/HandedOver", "3 of 4 objects belong to later revisions")
		r.awaitCondition(current, available, "True/Available")
		r.patch(current, `{"spec":{"lifecycleState":"Archived"}}`)
		r.awaitCondition(current, v1alpha1.ConditionTypeArchived, "True/Archived")
		r.delete(current)
		r.awaitGone(current)
		current = next
	}
	if reads, faults := stop(); faults > 0 || reads < 20 {
		t.Errorf("of %d reads, the Service was missing or unowned in %d", reads, faults)
	}
	if r.get("v1", "ConfigMap", "config-3") != nil || r.get("v1", "ConfigMap", "config-4") == nil {
		t.Error("an archived revision must leave only what a later one has")
	}
	r.delete(current)
	r.awaitGone(current)
}

// TestUnfinishedUpgrade: while a later revision is stuck, the earlier one knows what it has lost, and how that is.
func TestUnfinishedUpgrade(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.start()
	revision := func(number, labels, previous string) *v1alpha1.ObjectSet {
		return r.set(replace(`
metadata: {name: demo-N, LABELS}
spec:
  revision: N
  previous: [PREVIOUS]
  phases:
  - name: web
    objects:
    - object: {apiVersion: v1, kind: ConfigMap, metadata: {name: web}, data: {ready: "yes", revision: "N"}}
  - name: stuck
    objects:
    - object: {apiVersion: v1, kind: ConfigMap, metadata: {name: stuck-N}}
  availabilityProbes:
  - probes:
    - cel: {rule: 'self.metadata.name == "stuck-1" || has(self.data) && self.data.ready == "yes"'}
`, "LABELS", labels, "PREVIOUS", previous, "N", number))
	}
	const series = "labels: {core.component-operator.dev/revisions-of: demo}"
	first, second := revision("1", series, ""), revision("2", series, "")
	r.create(first)
	r.awaitCondition(first, succeeded, "True/RolloutSuccess")
	r.create(second)
	r.awaitCondition(second, available, "False/ProbeFailure", `Phase "stuck": ConfigMap NS/stuck-2`)
	r.awaitCondition(first, inTransition, "True/HandedOver", "ConfigMap NS/web")
	r.awaitCondition(first, available, "True/Available")
	// The probes of the later revision count.
	r.patch(second, `{"spec":{"lifecycleState":"Paused"}}`)
	r.awaitCondition(second, v1alpha1.ConditionTypePaused, "True/Paused")
	r.patch(r.get("v1", "ConfigMap", "web"), `{"data":{"ready":"no"}}`)
	r.awaitCondition(second, available, "False/ProbeFailure", `Phase "web"`)
	r.awaitCondition(first, available, "False/ProbeFailure", `Phase "web"`)

	// A paused set says what it has lost; one that was created paused judges what exists.
	r.patch(first, `{"spec":{"lifecycleState":"Paused"}}`)
	r.awaitCondition(first, inTransition, "True/HandedOver")
	third := revision("3", series, "")
	third.Spec.LifecycleState = v1alpha1.LifecycleStatePaused
	r.create(third)
	r.awaitCondition(third, available, "False/ProbeFailure", `Phase "web": ConfigMap NS/web`)
	r.expectPhases(third, "web 1 0 0 0", "stuck 1 0 0 0")

	// A set that leaves the series is no sibling any more.
	r.patch(first, `{"metadata":{"labels":{"core.component-operator.dev/revisions-of":"other"}},"spec":{"lifecycleState":"Active"}}`)
	r.awaitCondition(first, available, "False/CollisionDetected")
	r.await(first, func(*v1alpha1.SetStatus) string {
		if phases := phasesOf(first); phases[0] != "web 1 1 0 0" && phases[0] != "web 1 1 1 0" {
			return "something is still handed over"
		}
		return ""
	})
}

// TestDeathDuringUpgrade kills the operator at each write of an upgrade by a deployment, until the earlier set is
// archived. The next one finishes it. Reads need not be counted: the state that the next process finds is the same
// before and after them.
func TestDeathDuringUpgrade(t *testing.T) {
	t.Parallel()
	const most = 36 // an upgrade has about 30 writes
	var deaths atomic.Int64
	t.Cleanup(func() { t.Logf("%d deaths", deaths.Load()) })
	for survived := range most {
		t.Run(fmt.Sprint(survived), func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			stop := r.start()
			demo := &v1alpha1.ObjectDeployment{ObjectMeta: metav1.ObjectMeta{Namespace: r.namespace, Name: "demo"}}
			demo.Spec.Template.Spec.SetContent = r.revision(1).Spec.SetContent
			r.create(demo)
			r.awaitDeployment(demo, v1alpha1.DeploymentProgressing, "False/Idle")
			stop()
			watched := r.watching(string(r.get("v1", "Service", "web").GetUID()))

			demo.Spec.Template.Spec.SetContent = r.revision(2).Spec.SetContent
			if err := r.client.Update(t.Context(), demo); err != nil {
				t.Fatal(err)
			}
			mortal, left := testenv.Dying(testenv.Config(t), survived)
			end := r.startWith(mortal)
			testenv.Eventually(t, func() (bool, string) {
				r.read(demo)
				isOver := demo.Status.ObservedGeneration == demo.Generation && meta.IsStatusConditionFalse(demo.Status.Conditions, v1alpha1.DeploymentProgressing)
				return left.Load() < 0 || isOver, describeConditions(demo.Status.Conditions)
			})
			end()
			if left.Load() < 0 {
				deaths.Add(1)
			} else if survived < 15 {
				t.Errorf("it was over after %d writes", survived)
			}

			r.start()
			r.awaitDeployment(demo, v1alpha1.DeploymentReady, "True/Available", "Set demo-2: 4 of 4 objects")
			r.expectSets("demo-1 1 Archived", "demo-2 2 Active")
			if reads, faults := watched(); faults > 0 {
				t.Errorf("of %d reads, the Service was missing or unowned in %d", reads, faults)
			}
			if r.get("v1", "ConfigMap", "config-1") != nil || r.get("v1", "ConfigMap", "config-2") == nil {
				t.Error("the archived revision must leave only what the later one has")
			}
			r.delete(demo)
			r.awaitGone(demo)
			r.expectSets()
		})
	}
}
