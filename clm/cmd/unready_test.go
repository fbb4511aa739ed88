// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	quantity "k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/internal/testenv"
)

// TestNoWaitWithNothingToDo has a dependent fail after the release has become ready.
func TestNoWaitWithNothingToDo(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	source := p.file("app.yaml", twoWaves)
	p.must("apply", "web", source)
	quota := &corev1.ResourceQuota{
		ObjectMeta: metav1.ObjectMeta{Namespace: p.namespace, Name: "none"},
		Spec:       corev1.ResourceQuotaSpec{Hard: corev1.ResourceList{corev1.ResourcePods: quantity.MustParse("0")}},
	}
	if err := p.client.Create(t.Context(), quota); err != nil {
		t.Fatal(err)
	}
	testenv.Eventually(t, func() (bool, string) {
		// It takes the server some time to know of the quota.
		if err := p.client.DeleteAllOf(t.Context(), &corev1.Pod{}, client.InNamespace(p.namespace), client.GracePeriodSeconds(0)); err != nil {
			return false, err.Error()
		}
		web := &appsv1.Deployment{}
		err := p.client.Get(t.Context(), client.ObjectKey{Namespace: p.namespace, Name: "web"}, web)
		return err == nil && web.Status.AvailableReplicas == 0, fmt.Sprintf("it is still available: %v", err)
	})
	p.expect(p.clm("apply", "web", source, "--no-wait", "--timeout", "10m"), 0, "is up to date")
	p.expect(p.clm("apply", "web", source, "--timeout", "1s"), exitNotReady, "timed out after 1s")
	p.must("delete", "web")
}

// TestHistoryOfFailures must not grow with each attempt.
func TestHistoryOfFailures(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.must("apply", "web", p.file("app.yaml", configMap("a", "0")))
	for i := 1; i <= 4; i++ {
		bad := p.file("app.yaml", strings.Replace(configMap("a", fmt.Sprint(i))+"---"+twoWaves, "matchLabels: {app: web}", "matchLabels: {app: other}", 1))
		p.expect(p.clm("apply", "web", bad, "--history-max", "2"), 1, "rejected by the API server")
	}
	var numbers []string
	for _, revision := range p.items(p.must("history", "web", "-o", "json").stdout) {
		numbers = append(numbers, revision.GetName()+" "+p.text(revision, "status", "state"))
	}
	if diff := cmp.Diff([]string{"web.1 Superseded", "web.4 Failed", "web.5 Failed"}, numbers); diff != "" {
		t.Errorf("want the last revision that was ready, and two more (-want +got):\n%s", diff)
	}
	p.must("delete", "web")
}
