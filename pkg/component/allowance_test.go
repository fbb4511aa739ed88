// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package component

import (
	"context"
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apitypes "k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/pkg/manifests"
	"github.com/component-operator/runtime/pkg/types"
)

func TestAllowances(t *testing.T) {
	t.Parallel()
	begin := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	key, other := apitypes.NamespacedName{Name: "a"}, apitypes.NamespacedName{Name: "b"}
	for _, tc := range []struct {
		reason string
		passes int
		every  time.Duration
		after  time.Duration
		want   time.Duration
	}{
		{"nothing has happened", 0, 0, 0, 0},
		{"a burst is allowed", 49, 0, 0, 0},
		{"after a burst a pass waits", 50, 0, 0, time.Second},
		{"the time that has gone counts", 50, 0, 700 * time.Millisecond, 300 * time.Millisecond},
		{"one pass is allowed each second", 50, 0, time.Second, 0},
		{"what others cause is not counted for ever", 1000, 0, 0, time.Second},
		{"passes that are a second apart never wait", 1000, time.Second, 0, 0},
	} {
		t.Run(tc.reason, func(t *testing.T) {
			t.Parallel()
			var a allowances
			now := begin
			for range tc.passes {
				now = now.Add(tc.every)
				a.spend(key, now)
			}
			now = now.Add(tc.after)
			if got := a.delay(key, now); got != tc.want {
				t.Errorf("want %s, got %s", tc.want, got)
			}
			if got := a.delay(other, now); got != 0 {
				t.Errorf("another component has to wait for %s", got)
			}
			a.forget(key)
			if got := a.delay(key, now); got != 0 || len(a.spent) > 0 {
				t.Errorf("what is forgotten has to wait for %s", got)
			}
		})
	}
}

// TestForeignLabelDoesNotKeepAComponentBusy has somebody who may write ConfigMaps give one of them the label of a
// component, and change it all the time.
func TestForeignLabelDoesNotKeepAComponentBusy(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	generator := &pureSpecObjects{}
	counting := manifests.GeneratorFunc(func(ctx context.Context, namespace, name string, parameters types.Unstructurable) ([]client.Object, error) {
		return generator.Generate(ctx, namespace, name, parameters)
	})
	r.start(NewReconciler[*Widget](r.name, counting, ReconcilerOptions{}))
	widget := r.widget(oneConfigMap)
	r.create(widget)
	awaitReady(r, widget)
	own := &corev1.ConfigMap{}
	if err := r.client.Get(t.Context(), client.ObjectKey{Namespace: r.namespace, Name: "settings"}, own); err != nil {
		t.Fatal(err)
	}
	label := r.name + "/owner-id"
	bait := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: r.namespace, Name: "bait", Labels: map[string]string{label: own.Labels[label]}}}
	r.create(bait)
	begin, before := time.Now(), generator.count()
	for i := range 300 {
		change(r, bait, func(c *corev1.ConfigMap) { c.Data = map[string]string{"n": fmt.Sprint(i)} })
	}
	if got, allowed := generator.count()-before, burst+int(time.Since(begin)/recovery)+5; got > allowed {
		t.Errorf("%d passes for 300 changes of a foreign object, allowed are %d", got, allowed)
	}
	// What is wanted of the component itself does not wait.
	change(r, widget, func(w *Widget) {
		w.Spec.Objects = r.objects("{apiVersion: v1, kind: ConfigMap, metadata: {name: other}}")
	})
	await(r, widget, "the new spec to be reached", func() bool { return r.configMap("other") != nil })
}
