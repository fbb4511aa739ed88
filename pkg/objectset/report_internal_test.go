// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package objectset

import (
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/component-operator/runtime/pkg/component"
	"github.com/component-operator/runtime/pkg/inventory"
	"github.com/component-operator/runtime/pkg/objectset/v1alpha1"
	"github.com/component-operator/runtime/pkg/reconciler"
	"github.com/component-operator/runtime/pkg/status"
)

// setOf returns a set with one phase of so many objects, and its inventory with all of them available.
func setOf(objects int) (*v1alpha1.ObjectSet, []*reconciler.InventoryItem) {
	set := &v1alpha1.ObjectSet{}
	set.Spec.Phases = []v1alpha1.Phase{{Name: "only", Objects: make([]v1alpha1.Object, objects)}}
	set.Status.SetState(component.StateReady, component.ReadyConditionReasonReady, "")
	var inventory []*reconciler.InventoryItem
	for i := range objects {
		inventory = append(inventory, &reconciler.InventoryItem{
			NameInfo: reconciler.NameInfo{Name: fmt.Sprint(i)}, Digest: "x", Phase: reconciler.PhaseReady, Status: status.CurrentStatus, LastAppliedAt: &metav1.Time{},
		})
	}
	return set, inventory
}

// TestSuccess: a set succeeds when it has been available for its delay, which it is called for, and stays so.
func TestSuccess(t *testing.T) {
	t.Parallel()
	begin := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for _, delay := range []int32{0, 1, 3, 30, 3600} {
		set, inventory := setOf(1)
		set.Spec.SuccessDelaySeconds = delay
		at := func(after time.Duration) time.Duration {
			return report(set, component.Conclusion{Inventory: inventory, Result: &reconciler.Result{Done: true}, Now: metav1.NewTime(begin.Add(after))})
		}
		duration := time.Duration(delay) * time.Second
		if again := at(0); again != duration {
			t.Errorf("%d s: called again after %s", delay, again)
		}
		if _, succeeded := set.Status.GetCondition(v1alpha1.ConditionTypeSucceeded); succeeded != (delay == 0) {
			t.Errorf("%d s: succeeded %v at once", delay, succeeded)
		}
		if delay > 1 {
			if again := at(duration - time.Second); again != time.Second {
				t.Errorf("%d s: called again after %s, a second before", delay, again)
			}
		}
		if again := at(duration); again != 0 {
			t.Errorf("%d s: called again after %s when it has succeeded", delay, again)
		}
		condition, _ := set.Status.GetCondition(v1alpha1.ConditionTypeSucceeded)
		set.Status.SetState(component.StateProcessing, component.ReadyConditionReasonProcessing, "")
		inventory[0].Status = status.InProgressStatus
		at(duration + time.Hour)
		later, _ := set.Status.GetCondition(v1alpha1.ConditionTypeSucceeded)
		if condition.Status != component.ConditionTrue || later != condition {
			t.Errorf("%d s: the condition was %+v, and is %+v", delay, condition, later)
		}
	}
}

// TestVerdicts is about what the conditions say after a pass.
func TestVerdicts(t *testing.T) {
	t.Parallel()
	wait := reconciler.Notice{Object: reconciler.ObjectInfo{TypeVersionInfo: reconciler.TypeVersionInfo{Version: "v1", Kind: "Pod"}, NameInfo: reconciler.NameInfo{Name: "0"}}, Message: "not yet"}
	for _, tc := range []struct {
		reason                            string
		change                            func(set *v1alpha1.ObjectSet, conclusion *component.Conclusion)
		available, progressing, intransit string
		message                           string
	}{
		{
			"ready", func(*v1alpha1.ObjectSet, *component.Conclusion) {},
			"True/Available", "False/Idle", "False/Settled", "2 of 2 objects in 1 phases are available",
		},
		{
			"an object is not available", func(set *v1alpha1.ObjectSet, c *component.Conclusion) {
				set.Status.SetState(component.StateProcessing, component.ReadyConditionReasonProcessing, "")
				c.Inventory[0].Status, c.Result = status.InProgressStatus, &reconciler.Result{Waits: []reconciler.Notice{wait}}
			}, "False/ProbeFailure", "True/RollingOut", "False/Settled", `Phase "only": Pod 0: not yet`,
		},
		{
			"an object is not applied", func(set *v1alpha1.ObjectSet, c *component.Conclusion) {
				set.Status.SetState(component.StateProcessing, component.ReadyConditionReasonProcessing, "")
				c.Inventory, c.Result = c.Inventory[:1], &reconciler.Result{Waits: []reconciler.Notice{wait}}
			}, "False/ProbeFailure", "True/RollingOut", "True/RollingOut", `Phase "only": Pod 0: not yet`,
		},
		{
			"too late", func(set *v1alpha1.ObjectSet, c *component.Conclusion) {
				set.Status.SetState(component.StateError, component.ReadyConditionReasonTimeout, "timeout")
				c.Inventory[0].Status, c.Result = status.InProgressStatus, &reconciler.Result{Waits: []reconciler.Notice{wait}}
			}, "False/ProbeFailure", "False/ProgressDeadlineExceeded", "False/Settled", `Phase "only": Pod 0: not yet`,
		},
		{
			"handed over", func(_ *v1alpha1.ObjectSet, c *component.Conclusion) { c.Inventory[1].Holder = "x" },
			"True/Available", "False/Idle", "True/HandedOver", "2 of 2 objects in 1 phases are available",
		},
		{
			"refused", func(set *v1alpha1.ObjectSet, c *component.Conclusion) {
				set.Status.SetState(component.StateError, component.ReadyConditionReasonError, "")
				c.Refusal = &reconciler.RefusedError{Problems: []string{"no"}}
			}, "False/PreflightError", "False/PreflightError", "False/Settled", "No",
		},
		{
			"somebody else's", func(set *v1alpha1.ObjectSet, c *component.Conclusion) {
				set.Status.SetState(component.StateError, component.ReadyConditionReasonError, "")
				c.Refusal = &reconciler.RefusedError{Problems: []string{"no"}, Foreign: true}
			}, "False/CollisionDetected", "False/CollisionDetected", "False/Settled", "No",
		},
		{
			"somebody else's, and too late", func(set *v1alpha1.ObjectSet, c *component.Conclusion) {
				set.Status.SetState(component.StateError, component.ReadyConditionReasonTimeout, "timeout")
				c.Refusal, c.Result = &reconciler.RefusedError{Problems: []string{"no"}, Foreign: true}, &reconciler.Result{}
			}, "False/CollisionDetected", "False/CollisionDetected", "False/Settled", "No",
		},
		{
			"a type is not served, and too late", func(set *v1alpha1.ObjectSet, c *component.Conclusion) {
				set.Status.SetState(component.StateError, component.ReadyConditionReasonTimeout, "timeout")
				blocked := wait
				blocked.Reason = inventory.NoticeReasonBlocked
				c.Inventory, c.Result = c.Inventory[:1], &reconciler.Result{Waits: []reconciler.Notice{blocked}}
			}, "False/PreflightError", "False/PreflightError", "True/RollingOut", `Phase "only": Pod 0: not yet`,
		},
		{
			"nothing is known about the objects, and too late", func(set *v1alpha1.ObjectSet, c *component.Conclusion) {
				set.Status.SetState(component.StateError, component.ReadyConditionReasonTimeout, "no answer")
				c.Result = &reconciler.Result{}
			}, "False/ProbeFailure", "False/ProgressDeadlineExceeded", "False/Settled", "No answer",
		},
		{
			"something is awaited before", func(set *v1alpha1.ObjectSet, c *component.Conclusion) {
				set.Status.SetState(component.StatePending, component.ReadyConditionReasonRetrying, "a type is not known")
				c.Result = nil
			}, "Unknown/ProbeFailure", "True/RollingOut", "False/Settled", "A type is not known",
		},
		{
			"archiving", func(set *v1alpha1.ObjectSet, _ *component.Conclusion) {
				set.Spec.LifecycleState = v1alpha1.LifecycleStateArchived
				set.Status.SetState(component.StateProcessing, component.ReadyConditionReasonProcessing, "archiving")
			}, "False/ArchivalInProgress", "True/ArchivalInProgress", "/", "Archiving",
		},
		{
			"archived", func(set *v1alpha1.ObjectSet, c *component.Conclusion) {
				set.Spec.LifecycleState = v1alpha1.LifecycleStateArchived
				set.Status.SetState(component.StatePending, component.ReadyConditionReasonArchived, "archived")
				c.Inventory, c.Archived = nil, true
			}, "/", "False/Archived", "/", "",
		},
	} {
		set, inventory := setOf(2)
		conclusion := component.Conclusion{Inventory: inventory, Result: &reconciler.Result{Done: true}, Now: metav1.Now()}
		tc.change(set, &conclusion)
		report(set, conclusion)
		get := func(name component.ConditionType) (text, message string) {
			condition, _ := set.Status.GetCondition(name)
			return string(condition.Status) + "/" + condition.Reason, condition.Message
		}
		for name, want := range map[component.ConditionType]string{
			v1alpha1.ConditionTypeAvailable: tc.available, v1alpha1.ConditionTypeProgressing: tc.progressing, v1alpha1.ConditionTypeInTransition: tc.intransit,
		} {
			if got, _ := get(name); got != want {
				t.Errorf("%s: %s is %s, want %s", tc.reason, name, got, want)
			}
		}
		if _, message := get(v1alpha1.ConditionTypeAvailable); message != tc.message {
			t.Errorf("%s: message %q, want %q", tc.reason, message, tc.message)
		}
		before := set.DeepCopy().Status.Conditions
		conclusion.Now = metav1.NewTime(conclusion.Now.Add(time.Hour))
		report(set, conclusion)
		if diff := cmp.Diff(before, set.Status.Conditions); diff != "" {
			t.Errorf("%s: the conditions change although nothing else does (-before +after):\n%s", tc.reason, diff)
		}
	}
}

// TestReportNeedsItsLastWrite in the cache: a status that equals an outdated one may differ from that of the server.
func TestReportNeedsItsLastWrite(t *testing.T) {
	t.Parallel()
	scheme := runtime.NewScheme()
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	web := &v1alpha1.ObjectDeployment{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web"}}
	// A cache that is behind by one write cannot be provoked on a server.
	clnt := fake.NewClientBuilder().WithScheme(scheme).WithObjects(web).WithStatusSubresource(web).Build()
	d := deployments{client: clnt, events: events.NewFakeRecorder(10), reported: &sync.Map{}}
	read := func() *v1alpha1.ObjectDeployment {
		found := &v1alpha1.ObjectDeployment{}
		if err := clnt.Get(t.Context(), client.ObjectKeyFromObject(web), found); err != nil {
			t.Fatal(err)
		}
		return found
	}
	outdated, archiving := read(), v1alpha1.DeploymentStatus{ObservedGeneration: 1}
	for _, name := range []string{v1alpha1.DeploymentStalled, v1alpha1.DeploymentReady} {
		archiving.Conditions = append(archiving.Conditions, metav1.Condition{Type: name, Status: metav1.ConditionFalse, Reason: v1alpha1.ReasonArchiving})
	}
	if err := d.report(t.Context(), outdated, archiving); err != nil {
		t.Fatal(err)
	}
	if err := d.report(t.Context(), outdated, outdated.Status); !errors.Is(err, errOutdated) {
		t.Errorf("got %v", err)
	}
	if err := d.report(t.Context(), read(), archiving); err != nil {
		t.Errorf("the cache is up to date: %v", err)
	}
}
