// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package deletionhooks_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/internal/deletionhooks"
	"github.com/component-operator/runtime/pkg/behaviors"
	"github.com/component-operator/runtime/pkg/inventory"
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
	both := configMap("a", key, "pre-delete", name+"/apply-hook", "post-apply")
	if _, _, err = deletionhooks.Split([]client.Object{both}, name, clientgoscheme.Scheme); err == nil || !strings.Contains(err.Error(), "a deletion hook cannot also be an apply hook") {
		t.Errorf("got %v", err)
	}
	versioned := configMap("a", key, "pre-delete", name+"/versioned", "true")
	if _, _, err = deletionhooks.Split([]client.Object{versioned}, name, clientgoscheme.Scheme); err == nil || !strings.Contains(err.Error(), "a deletion hook has no versions") {
		t.Errorf("got %v", err)
	}
	behaving := behaviors.Attach(configMap("a", key, "pre-delete"), behaviors.AtStep(1))
	if _, _, err = deletionhooks.Split([]client.Object{behaving}, name, clientgoscheme.Scheme); err == nil || !strings.Contains(err.Error(), "ConfigMap a: is a deletion hook, and cannot have behaviors (Stepped)") {
		t.Errorf("a hook is stored, so that its behaviors would be lost, got %v", err)
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

func (e *engine) Delete(_ context.Context, request reconciler.DeleteRequest) (reconciler.Result, error) {
	if !request.Unasked {
		return reconciler.Result{}, errors.New("hooks are removed without approval")
	}
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
		stage  inventory.DeletionStage
		hooks  []client.Object
		items  int
		rounds int
		saves  int // that succeed
		want   []string
		end    inventory.DeletionStage
	}{
		{
			"all in one step; the stage is saved before hooks are applied, and again before they go", deletionhooks.PreDelete, "",
			[]client.Object{configMap("a")},
			0, 0, 9,
			[]string{"saved PreDelete", "apply", "saved PreDeleteCleanup", "delete"},
			inventory.DeletionStageDependents,
		},
		{
			"it waits", deletionhooks.PostDelete, inventory.DeletionStageDependents,
			[]client.Object{configMap("a")},
			0, 1, 9,
			[]string{"saved PostDelete", "apply"},
			inventory.DeletionStagePostDelete,
		},
		{"nothing is applied that is not saved", deletionhooks.PreDelete, "", []client.Object{configMap("a")}, 0, 0, 0, nil, inventory.DeletionStagePreDelete},
		{
			"nothing is removed before it is saved that it is done", deletionhooks.PreDelete, "",
			[]client.Object{configMap("a")},
			0, 0, 1,
			[]string{"saved PreDelete", "apply"},
			inventory.DeletionStagePreDeleteCleanup,
		},
		{
			"what is done is not applied again", deletionhooks.PreDelete, inventory.DeletionStagePreDeleteCleanup,
			[]client.Object{configMap("a")},
			1, 0, 9,
			[]string{"delete"},
			inventory.DeletionStageDependents,
		},
		{"what is over is left alone", deletionhooks.PreDelete, inventory.DeletionStagePostDelete, []client.Object{configMap("a")}, 1, 0, 9, nil, inventory.DeletionStagePostDelete},
		{"without hooks nothing is saved", deletionhooks.PreDelete, "", nil, 0, 0, 9, nil, inventory.DeletionStageDependents},
		{
			"without hooks those go that were applied", deletionhooks.PostDelete, inventory.DeletionStagePostDelete, nil, 1, 0, 9,
			[]string{"saved PostDeleteCleanup", "delete"},
			inventory.DeletionStageDone,
		},
		{"a stage that is not known counts as none", deletionhooks.PreDelete, "Later", nil, 0, 0, 9, nil, inventory.DeletionStageDependents},
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

// recorder is an engine that keeps what it is asked for. Deletions need another round.
type recorder struct {
	applied []reconciler.ApplyRequest
	deleted []reconciler.DeleteRequest
}

func (r *recorder) Apply(_ context.Context, request reconciler.ApplyRequest) (reconciler.Result, error) {
	r.applied = append(r.applied, request)
	return reconciler.Result{}, nil
}

func (r *recorder) Delete(_ context.Context, request reconciler.DeleteRequest) (reconciler.Result, error) {
	r.deleted = append(r.deleted, request)
	return reconciler.Result{}, nil
}

// TestPoliciesOfHooks passes policies of an owner that would allow more than hooks may do.
func TestPoliciesOfHooks(t *testing.T) {
	t.Parallel()
	r := &recorder{}
	owners := reconciler.Policies{
		Adoption: reconciler.AdoptionPolicyAlways, Drift: reconciler.DriftPolicyIgnore, MissingNamespaces: reconciler.MissingNamespacesPolicyCreate,
		Update: reconciler.UpdatePolicyRecreate,
	}
	runner := &deletionhooks.Runner{Engine: r, Policies: owners, Save: func(context.Context, deletionhooks.State) error { return nil }}
	if _, err := runner.Step(t.Context(), deletionhooks.PreDelete, deletionhooks.State{}, []client.Object{configMap("a")}); err != nil || len(r.applied) != 1 {
		t.Fatalf("want the hook to be applied, got %v, %v", r.applied, err)
	}
	want := owners
	want.Adoption, want.Drift, want.MissingNamespaces = reconciler.AdoptionPolicyNever, reconciler.DriftPolicyCorrect, reconciler.MissingNamespacesPolicyDoNotCreate
	if diff := cmp.Diff(want, r.applied[0].Policies); diff != "" {
		t.Errorf("policies (-want +got):\n%s", diff)
	}
	if !r.applied[0].RunOnce {
		t.Error("want hooks to run once")
	}
}

// TestDependentsThatAreHooks has a hook and a dependent of the same name, beside other dependents.
func TestDependentsThatAreHooks(t *testing.T) {
	t.Parallel()
	item := func(kind, namespace, name string) *reconciler.InventoryItem {
		return &reconciler.InventoryItem{
			TypeVersionInfo: reconciler.TypeVersionInfo{Version: "v1", Kind: kind}, NameInfo: reconciler.NameInfo{Namespace: namespace, Name: name},
		}
	}
	dependents := []*reconciler.InventoryItem{item("ConfigMap", "home", "a"), item("ConfigMap", "home", "b"), item("ConfigMap", "other", "a"), item("Secret", "home", "a")}
	for _, test := range []struct {
		reason  string
		stage   inventory.DeletionStage
		deleted []*reconciler.InventoryItem
	}{
		{"a dependent that is a hook goes before the hook is applied", "", dependents[:1]},
		{"once hooks are applied, it is one of them", inventory.DeletionStagePreDelete, nil},
	} {
		r := &recorder{}
		runner := &deletionhooks.Runner{Engine: r, Owner: reconciler.Owner{Namespace: "home", Inventory: dependents}, Save: func(context.Context, deletionhooks.State) error { return nil }}
		if _, err := runner.Step(t.Context(), deletionhooks.PreDelete, deletionhooks.State{Stage: test.stage}, []client.Object{configMap("a")}); err != nil {
			t.Fatal(err)
		}
		var deleted []*reconciler.InventoryItem
		for _, request := range r.deleted {
			if deleted = append(deleted, request.Inventory...); !request.Unasked {
				t.Errorf("%s: want nobody to be asked again in the middle of a deletion", test.reason)
			}
		}
		if diff := cmp.Diff(test.deleted, deleted); diff != "" {
			t.Errorf("%s: deleted (-want +got):\n%s", test.reason, diff)
		}
		if (len(r.applied) == 0) != (len(test.deleted) > 0) {
			t.Errorf("%s: want hooks to be applied only when nothing is left to be deleted, got %d calls", test.reason, len(r.applied))
		}
	}
}

// TestMain fails if a test leaves a goroutine behind.
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }
