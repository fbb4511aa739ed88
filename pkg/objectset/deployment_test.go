// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package objectset_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/internal/testenv"
	"github.com/component-operator/runtime/pkg/objectset/v1alpha1"
)

// template is a deployment with three phases. The second is available if the ConfigMap says so; N is a number that all
// objects have.
const template = `
metadata: {name: web}
spec:
  selector: {matchLabels: {team: shop}}
  template:
    metadata: {labels: {team: shop}}
    spec:
      phases:
      - name: config
        objects:
        - object: {apiVersion: v1, kind: ConfigMap, metadata: {name: config}, data: {revision: "N"}}
        - object: {apiVersion: v1, kind: ConfigMap, metadata: {name: config-N}}
      - name: app
        objects:
        - object: {apiVersion: v1, kind: ConfigMap, metadata: {name: app}, data: {revision: "N", ready: "READY"}}
      - name: end
        objects:
        - object: {apiVersion: v1, kind: ConfigMap, metadata: {name: end}, data: {revision: "N"}}
      availabilityProbes:
      - probes: [{cel: {rule: '!has(self.data) || !("ready" in self.data) || self.data.ready == "yes"', message: not ready}}]
`

// deployment returns a deployment that is available if ready is "yes".
func (r *rig) deployment(number int, ready string) *v1alpha1.ObjectDeployment {
	r.tb.Helper()
	deployment := &v1alpha1.ObjectDeployment{}
	r.decode(replace(template, "N", fmt.Sprint(number), "READY", ready), deployment)
	deployment.Namespace = r.namespace
	return deployment
}

// update changes the template of a deployment.
func (r *rig) update(deployment *v1alpha1.ObjectDeployment, number int, ready string) {
	r.tb.Helper()
	next := r.deployment(number, ready)
	testenv.Eventually(r.tb, func() (bool, string) {
		r.read(deployment)
		deployment.Spec.Template = next.Spec.Template
		if err := r.client.Update(r.tb.Context(), deployment); err != nil {
			return false, err.Error()
		}
		return true, ""
	})
}

// awaitDeployment waits until a condition of a deployment has a status and reason, and its message the texts.
func (r *rig) awaitDeployment(deployment v1alpha1.Deployment, name, want string, texts ...string) {
	r.tb.Helper()
	testenv.Eventually(r.tb, func() (bool, string) {
		r.read(deployment)
		status := deployment.GetDeploymentStatus()
		condition := meta.FindStatusCondition(status.Conditions, name)
		if condition == nil {
			condition = &metav1.Condition{}
		}
		lacks := []string{}
		if got := string(condition.Status) + "/" + condition.Reason; got != want {
			lacks = append(lacks, fmt.Sprintf("%s is %s, not %s", name, got, want))
		}
		for _, text := range texts {
			if !strings.Contains(condition.Message, text) {
				lacks = append(lacks, fmt.Sprintf("the message lacks %q", text))
			}
		}
		if status.ObservedGeneration != deployment.GetGeneration() {
			lacks = append(lacks, "the generation is not observed")
		}
		return len(lacks) == 0, fmt.Sprint(lacks, describeConditions(status.Conditions), r.sets())
	})
}

// sets returns the sets of the namespace in short.
func (r *rig) sets() []string {
	r.tb.Helper()
	list := &v1alpha1.ObjectSetList{}
	if err := r.client.List(r.tb.Context(), list, client.InNamespace(r.namespace)); err != nil {
		r.tb.Fatal(err)
	}
	var lines []string
	for _, set := range list.Items {
		lines = append(lines, fmt.Sprintf("%s %d %s", set.Name, set.Spec.Revision, set.Spec.LifecycleState))
	}
	slices.Sort(lines)
	return lines
}

func (r *rig) expectSets(want ...string) {
	r.tb.Helper()
	testenv.Eventually(r.tb, func() (bool, string) {
		got := r.sets()
		return slices.Equal(got, want), fmt.Sprintf("got sets %q, want %q", got, want)
	})
}

// data returns an entry of a ConfigMap; "-" if there is no such ConfigMap.
func (r *rig) data(name, key string) string {
	r.tb.Helper()
	object := r.get("v1", "ConfigMap", name)
	if object == nil {
		return "-"
	}
	data, _ := object.Object["data"].(map[string]any)
	return fmt.Sprint(data[key])
}

// TestDeployment takes a deployment through its life: rollout, upgrade, broken upgrade, repair, rollback, pause,
// deletion.
func TestDeployment(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.start()
	web := r.deployment(1, "yes")
	r.create(web)
	r.awaitDeployment(web, v1alpha1.DeploymentReady, "True/Available", "Set web-1: 4 of 4 objects in 3 phases are available")
	r.awaitDeployment(web, v1alpha1.DeploymentProgressing, "False/Idle")
	first := &v1alpha1.ObjectSet{ObjectMeta: metav1.ObjectMeta{Namespace: r.namespace, Name: "web-1"}}
	r.read(first)
	if first.Labels["team"] != "shop" || first.Labels[v1alpha1.LabelRevisionsOf] != "web" || !metav1.IsControlledBy(first, web) {
		t.Errorf("unexpected metadata %+v", first.ObjectMeta)
	}

	// An upgrade archives the earlier set, whose own object goes.
	r.update(web, 2, "yes")
	r.awaitDeployment(web, v1alpha1.DeploymentProgressing, "False/Idle", "Set web-2")
	r.expectSets("web-1 1 Archived", "web-2 2 Active")
	if r.data("config-1", "") != "-" || r.data("config", "revision") != "2" || web.Status.Revision != 2 || web.Status.SetName != "web-2" {
		t.Errorf("unexpected state after the upgrade: %+v", web.Status)
	}

	// A broken upgrade leaves the last good set active.
	r.update(web, 3, "no")
	r.awaitDeployment(web, v1alpha1.DeploymentProgressing, "True/RollingOut", `Set web-3: Phase "app": ConfigMap`, "not ready")
	r.expectSets("web-1 1 Archived", "web-2 2 Active", "web-3 3 Active")
	if r.data("config-2", "") != "<nil>" || r.data("app", "revision") != "3" {
		t.Error("the broken upgrade must have adopted what it applied, and left the rest")
	}
	r.awaitDeployment(web, v1alpha1.DeploymentReady, "False/RollingOut")

	// A broken repair of it: the set in between is paused.
	r.update(web, 4, "no")
	r.awaitDeployment(web, v1alpha1.DeploymentProgressing, "True/RollingOut", "Set web-4")
	r.expectSets("web-1 1 Archived", "web-2 2 Active", "web-3 3 Paused", "web-4 4 Active")
	if r.data("end", "revision") != "2" {
		t.Error("a phase has begun before the one before was available")
	}

	// Back to the last set that has succeeded.
	r.patch(web, `{"spec":{"rollbackTo":{}}}`)
	r.awaitDeployment(web, v1alpha1.DeploymentReady, "True/Available", "Set web-5")
	r.expectSets("web-1 1 Archived", "web-2 2 Archived", "web-3 3 Archived", "web-4 4 Archived", "web-5 5 Active")
	if web.Spec.RollbackTo != nil || r.data("app", "revision") != "2" || r.data("config-2", "") != "<nil>" || r.data("config-4", "") != "-" || r.data("config-3", "") != "-" {
		t.Errorf("unexpected state after the rollback: %+v", web.Spec)
	}

	// Paused: nothing changes.
	r.patch(web, `{"spec":{"paused":true}}`)
	r.awaitDeployment(web, v1alpha1.DeploymentPaused, "True/Paused", "No set is created, changed or deleted")
	r.update(web, 6, "yes")
	r.awaitDeployment(web, v1alpha1.DeploymentProgressing, "False/Paused")
	r.expectSets("web-1 1 Archived", "web-2 2 Archived", "web-3 3 Archived", "web-4 4 Archived", "web-5 5 Paused")
	r.patch(web, `{"spec":{"paused":false,"revisionHistoryLimit":2}}`)
	r.awaitDeployment(web, v1alpha1.DeploymentReady, "True/Available", "Set web-6")
	r.expectSets("web-4 4 Archived", "web-5 5 Archived", "web-6 6 Active")

	r.delete(web)
	r.awaitGone(web)
	r.expectSets()
	if r.data("app", "") != "-" || r.data("config", "") != "-" {
		t.Error("objects are left")
	}
}

// describeConditions returns what conditions say.
func describeConditions(conditions []metav1.Condition) string {
	var lines []string
	for _, condition := range conditions {
		lines = append(lines, fmt.Sprintf("%s=%s/%s: %s", condition.Type, condition.Status, condition.Reason, condition.Message))
	}
	return strings.Join(lines, "\n")
}
