// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apitypes "k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/component-operator/runtime/pkg/component"
	"github.com/component-operator/runtime/pkg/objectset"
	"github.com/component-operator/runtime/pkg/objectset/v1alpha1"
	"github.com/component-operator/runtime/pkg/operatortest"
)

// start runs the operator with the rights of its chart, for ObjectSets only: other tests have ClusterObjectSets in the
// same cluster.
func start(t *testing.T) *operatortest.Cluster {
	t.Helper()
	return operatortest.Start(t, operatortest.Options{
		Chart: "chart",
		Setup: func(mgr ctrl.Manager) error { return setup(mgr, objectset.Options{SkipClusterObjectSets: true}) },
	})
}

// sample is the set of testdata/sample.yaml.
func sample(t *testing.T, cluster *operatortest.Cluster) *v1alpha1.ObjectSet {
	t.Helper()
	set := &v1alpha1.ObjectSet{}
	for _, object := range operatortest.File(t, "testdata/sample.yaml") {
		object.SetNamespace(cluster.Namespace())
		cluster.Apply(t, object)
		set.Name, set.Namespace = object.GetName(), object.GetNamespace()
	}
	return set
}

// TestRights: with the chart alone, a set says what the operator may not do. Another ClusterRole lets it.
func TestRights(t *testing.T) {
	t.Parallel()
	cluster := start(t)
	set := sample(t, cluster)
	cluster.Eventually(t, func() error {
		cluster.Get(t, set)
		condition, _ := set.Status.GetCondition(v1alpha1.ConditionTypeAvailable)
		_, _, message := set.Status.GetState()
		if condition.Status != component.ConditionFalse || !strings.Contains(message, "deployments") || !strings.Contains(message, "forbidden") {
			return fmt.Errorf("unexpected condition %+v, message %s", condition, message)
		}
		return nil
	})

	verbs := []string{"get", "list", "watch", "create", "update", "patch", "delete"}
	role := &rbacv1.ClusterRole{
		ObjectMeta: metav1.ObjectMeta{Name: cluster.Namespace(), Labels: map[string]string{"core.component-operator.dev/aggregate-to-objectset-operator": "true"}},
		Rules: []rbacv1.PolicyRule{
			{APIGroups: []string{"apps"}, Resources: []string{"deployments"}, Verbs: verbs}, {APIGroups: []string{""}, Resources: []string{"configmaps"}, Verbs: verbs},
		},
	}
	if err := cluster.Client().Create(t.Context(), role); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := cluster.Client().Delete(context.WithoutCancel(t.Context()), role); err != nil {
			t.Error(err)
		}
	})
	cluster.WaitFor(t, set, "the set is available", func(status *component.Status) bool {
		condition, _ := status.GetCondition(v1alpha1.ConditionTypeAvailable)
		return condition.Status == component.ConditionTrue
	})
	// A deployment takes over from it.
	deployment := &v1alpha1.ObjectDeployment{ObjectMeta: metav1.ObjectMeta{Namespace: set.Namespace, Name: "sample"}}
	deployment.Spec.Template.Spec.SetContent = set.Spec.SetContent
	if err := cluster.Client().Patch(t.Context(), set, client.RawPatch(apitypes.MergePatchType, []byte(`{"metadata":{"labels":{"core.component-operator.dev/revisions-of":"sample"}}}`))); err != nil {
		t.Fatal(err)
	}
	if err := cluster.Client().Create(t.Context(), deployment); err != nil {
		t.Fatal(err)
	}
	cluster.Eventually(t, func() error {
		cluster.Get(t, deployment)
		cluster.Get(t, set)
		// If the operator sees the deployment before the label, another set takes over.
		if !meta.IsStatusConditionTrue(deployment.Status.Conditions, v1alpha1.DeploymentReady) || !metav1.IsControlledBy(set, deployment) {
			return fmt.Errorf("the deployment is not ready, or has not adopted the set: %+v", deployment.Status)
		}
		return nil
	})
	cluster.Delete(t, deployment)
	cluster.WaitGone(t, deployment)
	cluster.WaitGone(t, set)
}

// TestPage decodes the examples of the page about ObjectSets.
func TestPage(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../website/content/concepts/object-sets.md")
	if err != nil {
		t.Fatal(err)
	}
	example := func(kind string) string {
		for _, rest := range strings.Split(string(page), "```yaml\n")[1:] {
			if example, _, _ := strings.Cut(rest, "```"); strings.Contains(example, "\nkind: "+kind+"\n") {
				return example
			}
		}
		t.Fatalf("the page has no %s", kind)
		return ""
	}
	set, deployment := &v1alpha1.ObjectSet{}, &v1alpha1.ObjectDeployment{}
	if err := errors.Join(yaml.UnmarshalStrict([]byte(example("ObjectSet")), set), yaml.UnmarshalStrict([]byte(example("ObjectDeployment")), deployment)); err != nil {
		t.Fatal(err)
	}
	if _, err := set.Spec.GetJudge(); err != nil || len(set.Spec.Phases) != 2 {
		t.Errorf("unexpected example: %d phases, %v", len(set.Spec.Phases), err)
	}
	made := deployment.NewSet()
	if _, err := made.GetSetSpec().GetJudge(); err != nil || len(made.GetSetSpec().Phases) != 1 {
		t.Errorf("unexpected example: %d phases, %v", len(made.GetSetSpec().Phases), err)
	}
}
