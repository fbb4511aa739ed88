// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package objectset_test

import (
	"strings"
	"testing"
	"time"

	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/internal/testenv"
	"github.com/component-operator/runtime/pkg/objectset/v1alpha1"
)

// TestDeletionOfDeployment: during an unfinished upgrade, the earlier set has what comes later in the order of the
// phases. So it goes first, and the later set waits for it: it is paused, or being deleted as well, by the garbage
// collector.
func TestDeletionOfDeployment(t *testing.T) {
	t.Parallel()
	for _, policy := range []metav1.DeletionPropagation{metav1.DeletePropagationBackground, metav1.DeletePropagationForeground} {
		t.Run(string(policy), func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			r.start()
			web := r.deployment(1, "yes")
			r.create(web)
			r.awaitDeployment(web, v1alpha1.DeploymentReady, "True/Available")
			r.update(web, 2, "no")
			r.awaitDeployment(web, v1alpha1.DeploymentProgressing, "True/RollingOut", "Set web-2", "not ready")
			r.patch(r.get("v1", "ConfigMap", "end"), `{"metadata":{"finalizers":["example.io/hold"]}}`)

			if err := r.client.Delete(t.Context(), web, client.PropagationPolicy(policy)); err != nil {
				t.Fatal(err)
			}
			r.awaitDeployment(web, v1alpha1.DeploymentProgressing, "True/Deleting", "Set web-1 is being deleted", `phase "end" not deleted: ConfigMap `)
			if policy == metav1.DeletePropagationForeground {
				second := &v1alpha1.ObjectSet{ObjectMeta: metav1.ObjectMeta{Namespace: r.namespace, Name: "web-2"}}
				r.awaitCondition(second, progressing, "True/Deleting", "set web-1, which is older, is deleted first")
			} else {
				r.expectSets("web-1 1 Active", "web-2 2 Paused")
			}
			if r.data("app", "revision") != "2" || r.data("config-1", "") != "<nil>" {
				t.Error("an earlier phase must not go before a later one")
			}
			r.patch(r.get("v1", "ConfigMap", "end"), `{"metadata":{"finalizers":null}}`)
			r.awaitGone(web)
			r.expectSets()
			for _, name := range []string{"config", "config-1", "config-2", "app", "end"} {
				if r.data(name, "") != "-" {
					t.Errorf("ConfigMap %s is left", name)
				}
			}
		})
	}
}

// TestOrphansOfDeployment: sets that were left behind are adopted by the next deployment of the same name, with their
// revisions. Their objects stay all the time.
func TestOrphansOfDeployment(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.start()
	web := r.deployment(1, "yes")
	r.create(web)
	r.awaitDeployment(web, v1alpha1.DeploymentReady, "True/Available")
	uid := r.get("v1", "ConfigMap", "app").GetUID()
	if err := r.client.Delete(t.Context(), web, client.PropagationPolicy(metav1.DeletePropagationOrphan)); err != nil {
		t.Fatal(err)
	}
	r.awaitGone(web)
	r.expectSets("web-1 1 Active")

	// One that somebody else controls is not adopted.
	foreign := r.set("metadata: {name: foreign, labels: {core.component-operator.dev/revisions-of: web}}\nspec: {lifecycleState: Paused, phases: [{name: none}]}")
	foreign.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "ConfigMap", Name: "app", UID: uid, Controller: new(true)}}
	r.create(foreign)

	again := r.deployment(2, "yes")
	r.create(again)
	r.awaitDeployment(again, v1alpha1.DeploymentReady, "True/Available", "Set web-2")
	r.expectSets("foreign 0 Paused", "web-1 1 Archived", "web-2 2 Active")
	if r.get("v1", "ConfigMap", "app").GetUID() != uid {
		t.Error("the object was created again")
	}

	// The label that makes a series is put back.
	second := &v1alpha1.ObjectSet{ObjectMeta: metav1.ObjectMeta{Namespace: r.namespace, Name: "web-2"}}
	r.patch(second, `{"metadata":{"labels":{"core.component-operator.dev/revisions-of":null}}}`)
	r.await(second, func(*v1alpha1.SetStatus) string {
		if second.Labels[v1alpha1.LabelRevisionsOf] != "web" {
			return "the label is missing"
		}
		return ""
	})
}

// TestStates that sets get from others: pausing is undone, archiving is final.
func TestStates(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.start()
	web := r.deployment(1, "yes")
	r.create(web)
	r.awaitDeployment(web, v1alpha1.DeploymentReady, "True/Available")
	first := &v1alpha1.ObjectSet{ObjectMeta: metav1.ObjectMeta{Namespace: r.namespace, Name: "web-1"}}
	r.patch(first, `{"spec":{"lifecycleState":"Paused"}}`)
	r.expectSets("web-1 1 Active")
	r.patch(first, `{"spec":{"lifecycleState":"Archived"}}`)
	r.expectSets("web-1 1 Archived", "web-2 2 Active")
	r.awaitDeployment(web, v1alpha1.DeploymentReady, "True/Available", "Set web-2")
	r.patch(first, `{"spec":{"lifecycleState":"Active"}}`)
	r.expectSets("web-1 1 Archived", "web-2 2 Active")
	r.awaitDeployment(web, v1alpha1.DeploymentProgressing, "False/Idle")

	// The deadline and the change cause reach the current set.
	r.patch(web, `{"metadata":{"annotations":{"kubernetes.io/change-cause":"why"}},"spec":{"progressDeadlineSeconds":700}}`)
	second := &v1alpha1.ObjectSet{ObjectMeta: metav1.ObjectMeta{Namespace: r.namespace, Name: "web-2"}}
	r.await(second, func(*v1alpha1.SetStatus) string {
		if second.Annotations[v1alpha1.AnnotationChangeCause] != "why" || second.Spec.ProgressDeadlineSeconds != 700 {
			return "the settings are not those of the deployment"
		}
		return ""
	})
	r.expectSets("web-1 1 Archived", "web-2 2 Active")
}

// TestTroubles of deployments are in the conditions, and go when somebody mends them.
func TestTroubles(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.start()
	web := r.deployment(1, "yes")

	// The selector is that of another template.
	web.Spec.Template.Metadata.Labels = map[string]string{"team": "bank"}
	r.create(web)
	r.awaitDeployment(web, v1alpha1.DeploymentStalled, "True/PreflightError", `spec.selector: invalid value "team=shop"; must match spec.template.metadata.labels, which are "team=bank"`)
	// The server refuses the set.
	r.patch(web, `{"spec":{"selector":null,"template":{"metadata":{"labels":{"team":"not a label"}}}}}`)
	r.awaitDeployment(web, v1alpha1.DeploymentStalled, "True/WriteRefused", "creating set web-1", "metadata.labels: Invalid value")
	// An object belongs to somebody else.
	r.create(newUnstructured(t, strings.ReplaceAll("{apiVersion: v1, kind: ConfigMap, metadata: {name: app, namespace: NS}}", "NS", r.namespace)))
	r.update(web, 1, "yes")
	r.awaitDeployment(web, v1alpha1.DeploymentStalled, "True/CollisionDetected", "Set web-1", "ConfigMap "+r.namespace+"/app")
	if err := r.client.Delete(t.Context(), r.get("v1", "ConfigMap", "app")); err != nil {
		t.Fatal(err)
	}
	r.awaitDeployment(web, v1alpha1.DeploymentReady, "True/Available", "Set web-1")
	// The deadline passes. The set goes on nevertheless.
	r.patch(web, `{"spec":{"progressDeadlineSeconds":1}}`)
	r.update(web, 2, "no")
	r.awaitDeployment(web, v1alpha1.DeploymentStalled, "True/ProgressDeadlineExceeded", `Set web-2: Not available within 1s: phase "app": ConfigMap`, "not ready")
	r.awaitDeployment(web, v1alpha1.DeploymentAvailable, "False/ObjectSetUnavailable", "Set web-2", "not ready")
	// There is nothing to roll back to.
	r.patch(web, `{"spec":{"rollbackTo":{"revision":7}}}`)
	r.awaitDeployment(web, v1alpha1.DeploymentStalled, "True/RollbackRefused", "spec.rollbackTo.revision: invalid value 7; must be one of: 2, 1")
	r.patch(web, `{"spec":{"rollbackTo":{"revision":1}}}`)
	r.awaitDeployment(web, v1alpha1.DeploymentStalled, "False/Idle", "Set web-3")
	if r.data("app", "ready") != "yes" {
		t.Error("the template of revision 1 is not back")
	}
	// Each has left an event.
	r.eventually("events tell of the troubles", func() bool {
		list := &eventsv1.EventList{}
		if err := r.client.List(t.Context(), list, client.InNamespace(r.namespace)); err != nil {
			t.Fatal(err)
		}
		seen := map[string]bool{}
		for _, event := range list.Items {
			if event.Regarding.UID == web.UID {
				seen[event.Type+" "+event.Reason] = true
			}
		}
		return seen["Warning WriteRefused"] && seen["Warning CollisionDetected"] && seen["Warning ProgressDeadlineExceeded"] && seen["Warning RollbackRefused"] && seen["Normal Available"]
	})
}

// TestSuccessDelayOfDeployment: the earlier set is archived when the delay of the later one is over, which nothing else
// has to happen for. At rest, nothing is requested.
func TestSuccessDelayOfDeployment(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.start()
	web := r.deployment(1, "yes")
	r.create(web)
	r.awaitDeployment(web, v1alpha1.DeploymentReady, "True/Available")
	next := r.deployment(2, "yes")
	next.Spec.Template.Spec.SuccessDelaySeconds = 15
	web.Spec.Template = next.Spec.Template
	if err := r.client.Update(t.Context(), web); err != nil {
		t.Fatal(err)
	}
	r.awaitDeployment(web, v1alpha1.DeploymentProgressing, "True/PendingSuccess", "Set web-2 is available, and has not succeeded yet")
	r.expectSets("web-1 1 Active", "web-2 2 Active")
	r.awaitDeployment(web, v1alpha1.DeploymentReady, "True/Available", "Set web-2")
	r.expectSets("web-1 1 Archived", "web-2 2 Active")
	second := &v1alpha1.ObjectSet{ObjectMeta: metav1.ObjectMeta{Namespace: r.namespace, Name: "web-2"}}
	r.read(second)
	from, _ := second.Status.GetCondition(available)
	to, _ := second.Status.GetCondition(succeeded)
	if passed := to.LastTransitionTime.Sub(from.LastTransitionTime.Time); passed < 15*time.Second {
		t.Errorf("it succeeded after %s", passed)
	}

	r.quiesce()
	before := r.requests.Len()
	time.Sleep(3 * time.Second)
	if after := r.requests.Since(before); len(after) > 0 {
		t.Errorf("requests at rest: %v", after)
	}
}

// TestClusterDeployment: the same for sets without a namespace.
func TestClusterDeployment(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.start()
	deployment := &v1alpha1.ClusterObjectDeployment{}
	change := func(number string) {
		r.decode(replace(`
metadata: {name: RIG, labels: {LABEL: RIG}}
spec:
  template:
    metadata: {labels: {LABEL: RIG}}
    spec:
      phases:
      - name: only
        objects:
        - object: {apiVersion: v1, kind: ConfigMap, metadata: {name: config, namespace: NS}, data: {revision: "NUMBER"}}
        - object: {apiVersion: v1, kind: ConfigMap, metadata: {name: config-NUMBER, namespace: NS}}
`, "RIG", r.name, "LABEL", labelRig, "NUMBER", number), deployment)
	}
	change("1")
	r.create(deployment)
	r.awaitDeployment(deployment, v1alpha1.DeploymentReady, "True/Available", "Set "+r.name+"-1")
	testenv.Eventually(t, func() (bool, string) {
		r.read(deployment)
		change("2")
		err := r.client.Update(t.Context(), deployment)
		return err == nil, "changing the deployment"
	})
	r.awaitDeployment(deployment, v1alpha1.DeploymentReady, "True/Available", "Set "+r.name+"-2")
	if r.data("config", "revision") != "2" || r.data("config-1", "") != "-" {
		t.Error("the upgrade is not complete")
	}
	r.patch(deployment, `{"spec":{"rollbackTo":{}}}`)
	r.awaitDeployment(deployment, v1alpha1.DeploymentReady, "True/Available", "Set "+r.name+"-3")
	if r.data("config", "revision") != "1" {
		t.Error("the rollback is not complete")
	}
	r.delete(deployment)
	r.awaitGone(deployment)
	if r.data("config", "") != "-" {
		t.Error("an object is left")
	}
}

// TestDeploymentSchema has the API server refuse what its schema can tell.
func TestDeploymentSchema(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	for _, tc := range []struct{ reason, old, new, want string }{
		{"valid", "", "", ""},
		{"no template", "template:", "paused: true\n  other:", "spec.template: Required value"},
		{"no phase", "phases:", "other:", "spec.template.spec.phases: Required value"},
		{"a long name", "name: web", "name: " + strings.Repeat("a", 64), "metadata.name may have 63 characters"},
		{"the longest name", "name: web", "name: " + strings.Repeat("a", 63), ""},
		{"the label of the series", "labels: {team: shop}", "labels: {core.component-operator.dev/revisions-of: a}", "revisions-of names the deployment"},
		{"a negative history", "  template:\n", "  revisionHistoryLimit: -1\n  template:\n", "spec.revisionHistoryLimit"},
		{"no deadline", "  template:\n", "  progressDeadlineSeconds: 0\n  template:\n", "spec.progressDeadlineSeconds"},
		{"a negative revision", "  template:\n", "  rollbackTo: {revision: -1}\n  template:\n", "spec.rollbackTo.revision"},
	} {
		document := strings.Replace("apiVersion: core.component-operator.dev/v1alpha1\nkind: ObjectDeployment"+template, tc.old, tc.new, 1)
		object := newUnstructured(t, document)
		object.SetNamespace(r.namespace)
		err := r.client.Create(t.Context(), object, client.DryRunAll)
		if tc.want == "" && err != nil || tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)) {
			t.Errorf("%s: got %v, want an error with %q", tc.reason, err, tc.want)
		}
	}
}
