// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package component

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apitypes "k8s.io/apimachinery/pkg/types"
	coordinationv1client "k8s.io/client-go/kubernetes/typed/coordination/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"

	"github.com/component-operator/runtime/internal/shards"
	"github.com/component-operator/runtime/internal/testenv"
	"github.com/component-operator/runtime/pkg/component/internal/outcomes"
	"github.com/component-operator/runtime/pkg/component/internal/resource"
	"github.com/component-operator/runtime/pkg/reconciler"
)

func TestShardingIsValidated(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		reason  string
		options Sharding
		want    string
	}{
		{"only the number of shards has no default", Sharding{Shards: 12}, ""},
		{"there must be shards", Sharding{}, "option Sharding.Shards 0: must be positive"},
		{"leases have whole seconds", Sharding{Shards: 1, LeaseDuration: 12500 * time.Millisecond}, "option Sharding.LeaseDuration 12.5s: must be whole seconds, and at most 1h0m0s"},
		{"others see renewals up to one second late", Sharding{Shards: 1, RenewDeadline: 14500 * time.Millisecond}, "option Sharding.RenewDeadline 14.5s: must be at least one second less than LeaseDuration (15s)"},
		{"a renewal may fail once", Sharding{Shards: 1, RetryPeriod: 6 * time.Second}, "option Sharding.RetryPeriod 6s: must be positive, and at most half of RenewDeadline (10s)"},
	} {
		t.Run(test.reason, func(t *testing.T) {
			t.Parallel()
			before := test.options
			completed, err := ReconcilerOptions{Sharding: &test.options}.complete("test.example.io")
			switch {
			case test.want == "" && err != nil:
				t.Errorf("want it to be accepted, got %v", err)
			case test.want == "" && (completed.Sharding.LeaseDuration == 0 || completed.Sharding.RenewDeadline == 0 || completed.Sharding.RetryPeriod == 0):
				t.Errorf("want defaults, got %+v", completed.Sharding)
			case test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)):
				t.Errorf("want %q, got %v", test.want, err)
			}
			diff(t, "options of the caller", before, test.options)
		})
	}
	_, err := ReconcilerOptions{Sharding: &Sharding{Shards: 1}}.complete(strings.Repeat("a.", 122) + "example")
	if err == nil || !strings.Contains(err.Error(), "makes the names of leases invalid") {
		t.Errorf("want the name of the lease to be refused, got %v", err)
	}
}

func TestShardingNeedsTheRightSetup(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	sharding := &Sharding{Shards: 2, Namespace: r.namespace}
	err := r.reconciler(ReconcilerOptions{Sharding: &Sharding{Shards: 2}}).SetupWithManager(r.manager(nil))
	if err == nil || !strings.Contains(err.Error(), "option Sharding.Namespace: required") {
		t.Errorf("want a namespace to be asked for outside of a cluster, got %v", err)
	}
	mgr := r.manager(nil)
	err = r.reconciler(ReconcilerOptions{Sharding: sharding}).SetupWithManagerAndBuilder(mgr, ctrl.NewControllerManagedBy(mgr))
	if err == nil || !strings.Contains(err.Error(), "must not need leader election") {
		t.Errorf("want leader election to be refused, got %v", err)
	}
	mgr = r.manager(nil)
	builder := ctrl.NewControllerManagedBy(mgr).WithOptions(controller.Options{NeedLeaderElection: new(false)})
	if err := r.reconciler(ReconcilerOptions{Sharding: sharding}).SetupWithManagerAndBuilder(mgr, builder); err != nil {
		t.Errorf("want it to be accepted, got %v", err)
	}
}

// overTenure returns a tenure that has ended.
func (r *rig) overTenure() *shards.Tenure {
	r.tb.Helper()
	keeper := shards.New(shards.Options{
		Name: r.name, Namespace: r.namespace, Identity: "a", Shards: 1,
		LeaseDuration: 3 * time.Second, RenewDeadline: 2 * time.Second, RetryPeriod: 500 * time.Millisecond,
		Client:   coordinationv1client.NewForConfigOrDie(testenv.Config(r.tb)),
		Acquired: func(int) {}, Lost: func(int) {},
	})
	ctx, cancel := context.WithCancel(r.tb.Context())
	done := make(chan error)
	go func() {
		keeper.Run(ctx)
		done <- nil
	}()
	var tenure *shards.Tenure
	testenv.Eventually(r.tb, func() (entered bool, _ string) {
		tenure, entered = keeper.Enter(0)
		return entered, "the shard is not held"
	})
	if err := tenure.Check(); err != nil {
		r.tb.Errorf("want the tenure to have begun, got %v", err)
	}
	tenure.Leave()
	cancel()
	if err := <-done; err != nil {
		r.tb.Error(err)
	}
	return tenure
}

// TestNothingIsWrittenAfterTheTenure has a pass continue that was not interrupted.
func TestNothingIsWrittenAfterTheTenure(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	sc := s.begin(s.worker, s.widget)
	sc.tenure = s.overTenure()
	sc.status.Revision = 7
	err := sc.record.SaveStatus(t.Context())
	if o := outcomes.Of(err); !errors.Is(err, resource.ErrNotOurs) || o.Kind != outcomes.Abandoned {
		t.Errorf("want the status not to be written, got %v, %+v", err, o)
	}
	o := sc.ensureFinalizer(t.Context())
	if o.Kind != outcomes.Abandoned || !strings.Contains(o.Message, "this replica no longer holds the shard") {
		t.Errorf("want the finalizer not to be written, got %+v", o)
	}
	chunk := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: "chunk"}}
	clnt := sc.handle.Writer()
	for _, err := range []error{
		clnt.Create(t.Context(), chunk), clnt.Delete(t.Context(), chunk),
		clnt.Patch(t.Context(), chunk, client.RawPatch(apitypes.MergePatchType, []byte("{}"))),
	} {
		if !errors.Is(err, resource.ErrNotOurs) {
			t.Errorf("want chunks not to be written, got %v", err)
		}
	}
	fenced := &reconciler.FencedError{Reason: sc.owner().Fence()}
	if fenced.Reason == nil || outcomes.Of(fenced).Kind != outcomes.Abandoned {
		t.Errorf("want dependents not to be written, got %v", fenced.Reason)
	}
	sc.component.SetAnnotations(map[string]string{s.name + "/abandon-target": "true"})
	if o := sc.destination.Unreachable(t.Context(), fenced); o.Kind != outcomes.Abandoned || sc.destination.Abandoned() {
		t.Errorf("want dependents not to be given up, got %+v", o)
	}
	version := s.widget.ResourceVersion
	if err := s.client.Get(t.Context(), client.ObjectKeyFromObject(s.widget), s.widget); err != nil {
		t.Fatal(err)
	}
	diff(t, "version", version, s.widget.ResourceVersion)
	if result, err := sc.conclude(t.Context(), o); err != nil || result.Priority != nil || result.RequeueAfter != abandonedDelay {
		t.Errorf("want the pass to be repeated as it was, got %v, %v", result, err)
	}
}
