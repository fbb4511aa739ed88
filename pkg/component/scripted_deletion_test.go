// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package component

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/internal/clients"
	"github.com/component-operator/runtime/pkg/reconciler"
	"github.com/component-operator/runtime/pkg/types"
)

func TestDeletionByScript(t *testing.T) {
	t.Parallel()
	gone := reconciler.Result{Done: true}
	for _, test := range []struct {
		reason  string
		prepare func(s *script)
		abandon bool
		local   bool
		deaf    bool // the API server of the component does not accept statuses
		want    verdict
		wantErr bool
		gone    bool
	}{
		{
			reason:  "all is gone",
			prepare: func(s *script) { s.result = gone },
			gone:    true,
		}, {
			reason:  "the target does not answer, and is abandoned",
			prepare: func(s *script) { s.err, s.result.Inventory = errors.New("connection refused"), deployed("web") },
			abandon: true,
			gone:    true,
		}, {
			reason:  "there is no other cluster that could be abandoned",
			prepare: func(s *script) { s.err, s.result.Inventory = errors.New("connection reset"), deployed("web") },
			abandon: true, local: true,
			want: verdict{state: StateError, reason: ReadyConditionReasonError, message: "Connection reset"}, wantErr: true,
		}, {
			reason:  "what is out of reach is not the target",
			prepare: func(s *script) { s.saves, s.result.Inventory = 1, deployed("web", "worker") },
			abandon: true, deaf: true,
			want:    verdict{state: StateReady, reason: ReadyConditionReasonReady, message: "1 dependent is ready"},
			wantErr: true,
		}, {
			reason: "the component does not answer whether its hooks are still wanted",
			prepare: func(s *script) {
				s.err, s.result.Inventory = &reconciler.FencedError{Reason: errors.New("connection refused")}, deployed("web")
			},
			abandon: true,
			want:    verdict{state: StateError, reason: ReadyConditionReasonError, message: "The call was stopped: connection refused"}, wantErr: true,
		}, {
			reason:  "the operator is about to end",
			prepare: func(s *script) { s.connectErr = clients.ErrClosed },
			abandon: true,
			want:    verdict{state: StateReady, reason: ReadyConditionReasonReady, message: "1 dependent is ready"},
		}, {
			reason: "a target that answers is not abandoned",
			prepare: func(s *script) {
				s.err, s.result.Inventory = apierrors.NewMethodNotSupported(schema.GroupResource{Resource: "deployments"}, "delete"), deployed("web")
			},
			abandon: true,
			want: verdict{
				state: StateError, reason: ReadyConditionReasonError,
				message: `Delete is not supported on resources of kind "deployments"`,
			}, wantErr: true,
		},
	} {
		t.Run(test.reason, func(t *testing.T) {
			t.Parallel()
			s := newStage(t)
			if !test.local {
				s.create(s.secret("target", map[string]string{"value": "scripted"}))
				change(s.rig, s.widget, func(w *Widget) {
					w.Spec.KubeConfig = &KubeConfigSpec{SecretRef: SecretKeyReference{Name: "target"}}
				})
			}
			s.script.result = reconciler.Result{Done: true, Inventory: deployed("web")}
			_, _, _ = s.pass()
			s.delete(s.widget)
			if test.deaf {
				s.worker.resource.Client = deafClient{s.worker.resource.Client}
			}
			if test.abandon {
				change(s.rig, s.widget, func(w *Widget) {
					w.Annotations = map[string]string{s.name + "/" + types.AnnotationKeySuffixAbandonTarget: "true"}
				})
			}
			test.prepare(s.script)
			got, _, err := s.pass()
			if (err != nil) != test.wantErr {
				t.Errorf("got error %v", err)
			}
			if test.gone {
				s.awaitGone(s.widget)
				if !s.script.released {
					t.Error("want the target to be released")
				}
				return
			}
			if err := s.rig.client.Get(t.Context(), client.ObjectKeyFromObject(s.widget), s.widget); err != nil {
				t.Errorf("want the component to stay, got %v", err)
			}
			message, _, _ := strings.Cut(got.message, "; the dependents are in the cluster at https://")
			diff(t, "verdict", test.want.message, message)
			diff(t, "state", test.want.state, got.state)
		})
	}
}

// TestADeletionThatKnowsNothing has lost the inventory, and cannot look for dependents, because their cluster is out of
// reach.
func TestADeletionThatKnowsNothing(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.create(s.secret("target", map[string]string{"value": "scripted"}))
	change(s.rig, s.widget, func(w *Widget) { w.Spec.KubeConfig = &KubeConfigSpec{SecretRef: SecretKeyReference{Name: "target"}} })
	s.script.result = reconciler.Result{Done: true, Inventory: deployed("web")}
	_, _, _ = s.pass()
	s.wipe(s.widget)
	s.delete(s.widget)
	s.script.connectErr = errors.New("no route to host")
	for range 2 {
		got, _, _ := s.pass()
		if err := s.rig.client.Get(t.Context(), client.ObjectKeyFromObject(s.widget), s.widget); err != nil {
			t.Fatalf("want the component to stay, got %v", err)
		}
		diff(t, "state", StateDeletionPending, got.state)
		for _, part := range []string{"number is not known", "no route to host", s.name + `/abandon-target of the component to "true"`} {
			if !strings.Contains(got.message, part) {
				t.Errorf("want the message to contain %q, got %q", part, got.message)
			}
		}
	}
	change(s.rig, s.widget, func(w *Widget) {
		w.Annotations = map[string]string{s.name + "/" + types.AnnotationKeySuffixAbandonTarget: "true"}
	})
	_, _, _ = s.pass()
	s.awaitGone(s.widget)
}

// deafClient cannot write statuses.
type deafClient struct{ client.Client }

func (c deafClient) SubResource(string) client.SubResourceClient { return deafStatus{} }

type deafStatus struct{ client.SubResourceClient }

func (deafStatus) Patch(context.Context, client.Object, client.Patch, ...client.SubResourcePatchOption) error {
	return errors.New("connection reset")
}

// staleClient reads the component as it was.
type staleClient struct {
	client.Client
	then *Widget
}

func (c staleClient) Get(_ context.Context, _ client.ObjectKey, object client.Object, _ ...client.GetOption) error {
	widget, ok := object.(*Widget)
	if !ok {
		return fmt.Errorf("unexpected %T", object)
	}
	*widget = *deepCopy(c.then)
	return nil
}

// TestAFinishedComponentIsNotDeletedAgain is about a pass that begins before the cache has heard of the end.
func TestAFinishedComponentIsNotDeletedAgain(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	calls := 0
	s.worker.hooks.postDelete = []HookFunc[Component]{func(context.Context, client.Client, Component) error {
		calls++
		return nil
	}}
	s.script.result = reconciler.Result{Done: true, Inventory: deployed("web")}
	_, _, _ = s.pass()
	s.delete(s.widget)
	if err := s.rig.client.Get(t.Context(), client.ObjectKeyFromObject(s.widget), s.widget); err != nil {
		t.Fatal(err)
	}
	then, present := deepCopy(s.widget), s.worker.resource.Client
	s.script.result = reconciler.Result{Done: true}
	_, _, _ = s.pass()
	s.awaitGone(s.widget)
	s.worker.resource.Client = staleClient{Client: present, then: then}
	_, requeue, err := s.pass()
	if calls != 1 || requeue != 0 || err != nil {
		t.Errorf("want nothing to happen, got %d calls of the hook, another pass after %s, error %v", calls, requeue, err)
	}
	s.worker.resource.Client = present
	_, _, _ = s.pass()
	if len(s.worker.memories.byKey) > 0 {
		t.Error("want nothing to be remembered")
	}
}
