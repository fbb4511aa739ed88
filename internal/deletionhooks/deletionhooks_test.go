// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package deletionhooks_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/internal/deletionhooks"
	"github.com/component-operator/runtime/pkg/reconciler"
)

const name = "test.example.io"

func configMap(name string, annotations ...string) *corev1.ConfigMap {
	object := &corev1.ConfigMap{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"},
		ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: map[string]string{}},
	}
	for i := 0; i < len(annotations); i += 2 {
		object.Annotations[annotations[i]] = annotations[i+1]
	}
	return object
}

func TestSplit(t *testing.T) {
	t.Parallel()
	const key = name + "/deletion-hook"
	given := []client.Object{
		configMap("regular"), configMap("a", key, "PreDelete", name+"/drift-policy", "ignore", name+"/apply-order", "1"),
		configMap("a", key, "post-delete"), configMap("b", key, "post-delete"),
	}
	regular, hooks, err := deletionhooks.Split(given, name, clientgoscheme.Scheme)
	if err != nil || len(regular) != 1 || len(hooks) != 3 {
		t.Fatalf("got %v, %v, %v", regular, hooks, err)
	}
	if diff := cmp.Diff(map[string]string{name + "/apply-order": "1"}, deletionhooks.At(deletionhooks.PreDelete, hooks)[0].GetAnnotations()); diff != "" {
		t.Errorf("what makes a hook of an object, and what means nothing for hooks, has to go: %s", diff)
	}
	if given[1].GetAnnotations()[key] == "" {
		t.Error("what was given must not change")
	}
	if after := deletionhooks.At(deletionhooks.PostDelete, hooks); len(after) != 2 || after[0].GetName() != "a" || after[1].GetName() != "b" {
		t.Errorf("got %v", after)
	}
	_, _, err = deletionhooks.Split([]client.Object{configMap("", key, "later"), configMap("a", key, "pre-delete"), configMap("a", key, "preDelete")}, name, clientgoscheme.Scheme)
	var refused *reconciler.RefusedError
	if !errors.As(err, &refused) || len(refused.Problems) != 3 || !strings.Contains(err.Error(), `invalid value "later"`) {
		t.Errorf("want all that is wrong to be named, got %v", err)
	}
}

// engine does nothing; its calls need as many rounds as are given.
type engine struct {
	rounds int
	calls  []string
}

func (e *engine) Apply(ctx context.Context, request reconciler.ApplyRequest) (reconciler.Result, error) {
	inventory := []*reconciler.InventoryItem{{TypeVersionInfo: reconciler.TypeVersionInfo{Kind: "ConfigMap"}, NameInfo: reconciler.NameInfo{Name: "a"}}}
	if err := request.Store.Save(ctx, inventory); err != nil {
		return reconciler.Result{Inventory: request.Inventory}, err
	}
	return e.answer("apply", inventory), nil
}

func (e *engine) Delete(_ context.Context, _ reconciler.DeleteRequest) (reconciler.Result, error) {
	return e.answer("delete", nil), nil
}

func (e *engine) answer(call string, inventory []*reconciler.InventoryItem) reconciler.Result {
	e.calls = append(e.calls, call)
	e.rounds--
	return reconciler.Result{Done: e.rounds < 0, Inventory: inventory}
}

// TestStep goes through both times, and checks what is saved when.
func TestStep(t *testing.T) {
	t.Parallel()
	errDeath := errors.New("the process died")
	for _, test := range []struct {
		reason string
		at     deletionhooks.Time
		stage  deletionhooks.Stage
		hooks  []client.Object
		items  int
		rounds int
		saves  int // that succeed
		want   []string
		end    deletionhooks.Stage
	}{
		{
			"all in one step; the stage is saved before hooks are applied, and again before they go", deletionhooks.PreDelete, "",
			[]client.Object{configMap("a")},
			0, 0, 9,
			[]string{"saved PreDelete", "apply", "saved PreDeleteCleanup", "delete"},
			deletionhooks.StageDependents,
		},
		{
			"it waits", deletionhooks.PostDelete, deletionhooks.StageDependents,
			[]client.Object{configMap("a")},
			0, 1, 9,
			[]string{"saved PostDelete", "apply"},
			deletionhooks.StagePostDelete,
		},
		{"nothing is applied that is not saved", deletionhooks.PreDelete, "", []client.Object{configMap("a")}, 0, 0, 0, nil, deletionhooks.StagePreDelete},
		{
			"nothing is removed before it is saved that it is done", deletionhooks.PreDelete, "",
			[]client.Object{configMap("a")},
			0, 0, 1,
			[]string{"saved PreDelete", "apply"},
			deletionhooks.StagePreDeleteCleanup,
		},
		{
			"what is done is not applied again", deletionhooks.PreDelete, deletionhooks.StagePreDeleteCleanup,
			[]client.Object{configMap("a")},
			1, 0, 9,
			[]string{"delete"},
			deletionhooks.StageDependents,
		},
		{"what is over is left alone", deletionhooks.PreDelete, deletionhooks.StagePostDelete, []client.Object{configMap("a")}, 1, 0, 9, nil, deletionhooks.StagePostDelete},
		{"without hooks nothing is saved", deletionhooks.PreDelete, "", nil, 0, 0, 9, nil, deletionhooks.StageDependents},
		{
			"without hooks those go that were applied", deletionhooks.PostDelete, deletionhooks.StagePostDelete, nil, 1, 0, 9,
			[]string{"saved PostDeleteCleanup", "delete"},
			deletionhooks.StageDone,
		},
		{"a stage that is not known counts as none", deletionhooks.PreDelete, "Later", nil, 0, 0, 9, nil, deletionhooks.StageDependents},
	} {
		e := &engine{rounds: test.rounds}
		saves := test.saves
		runner := &deletionhooks.Runner{Engine: e, Save: func(_ context.Context, state deletionhooks.State) error {
			if saves--; saves < 0 {
				return errDeath
			}
			e.calls = append(e.calls, "saved "+string(state.Stage))
			return nil
		}}
		progress, err := runner.Step(t.Context(), test.at, deletionhooks.State{Stage: test.stage, Inventory: make([]*reconciler.InventoryItem, test.items)}, test.hooks)
		if diff := cmp.Diff(test.want, e.calls); diff != "" {
			t.Errorf("%s: (-want +got)\n%s", test.reason, diff)
		}
		if progress.State.Stage != test.end || progress.Done != test.at.Over(test.end) || (err != nil) != (saves < 0) {
			t.Errorf("%s: got %+v, %v", test.reason, progress, err)
		}
	}
}
