// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package component

import (
	"errors"
	"testing"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/pkg/component/internal/queue"
	"github.com/component-operator/runtime/pkg/component/internal/resource"
	"github.com/component-operator/runtime/pkg/reconciler"
)

func TestPriorityOfTheNextPass(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		reason string
		script script
		want   *int
	}{
		{"a ready component is looked at only because time has passed", script{result: reconciler.Result{Done: true}}, new(queue.PriorityPeriodic)},
		{"so is one that waits for an event", script{}, new(queue.PriorityPeriodic)},
		{"what the engine asks for goes on with something", script{result: reconciler.Result{RequeueAfter: time.Second}}, new(queue.PriorityWoken)},
		{"a failure must not overtake what users change, nor wait behind all that is due", script{err: errors.New("no")}, new(queue.PriorityWoken)},
		{"a pass without a conclusion is repeated as it was", script{err: resource.ErrChanged}, nil},
	} {
		t.Run(test.reason, func(t *testing.T) {
			t.Parallel()
			s := newStage(t)
			test.script.client = s.script.client
			*s.script = test.script
			result, _ := s.worker.reconcile(t.Context(), client.ObjectKeyFromObject(s.widget))
			diff(t, "priority", test.want, result.Priority)
		})
	}
}
