// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package reconciler_test

import (
	stdcontext "context"
	"fmt"
	"strconv"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/internal/observe"
	"github.com/component-operator/runtime/internal/testenv"
	"github.com/component-operator/runtime/pkg/cluster"
	"github.com/component-operator/runtime/pkg/reconciler"
)

// ledger is a server in memory that accepts each apply: the work of a pass cannot be counted without it apart from that of
// a client. It knows no other request.
type ledger struct {
	cluster.Client
	scheme  *runtime.Scheme
	mapper  meta.RESTMapper
	version int
}

func (l *ledger) Scheme() *runtime.Scheme     { return l.scheme }
func (l *ledger) RESTMapper() meta.RESTMapper { return l.mapper }

// Apply numbers the object.
func (l *ledger) Apply(_ stdcontext.Context, object runtime.ApplyConfiguration, _ ...client.ApplyOption) error {
	applied, ok := object.(interface {
		SetUID(uid types.UID)
		SetResourceVersion(version string)
	})
	if !ok {
		return fmt.Errorf("unexpected object of type %T", object)
	}
	l.version++
	applied.SetUID(types.UID(strconv.Itoa(l.version)))
	applied.SetResourceVersion(strconv.Itoa(l.version))
	return nil
}

// sight is an observer that sees what was recorded.
type sight map[string]observe.Observation

func (sight) Watch(stdcontext.Context, string, []observe.Need) error      { return nil }
func (sight) WatchNames(stdcontext.Context, string, []observe.Name) error { return nil }
func (sight) Version(observe.Name) (string, observe.View)                 { return "", observe.Unseen }
func (sight) Guard(string, []schema.GroupVersionResource)                 {}

func (s sight) Get(_ schema.GroupVersionKind, _, name string) (observe.Observation, observe.View) {
	if seen, ok := s[name]; ok {
		return seen, observe.Present
	}
	return observe.Observation{}, observe.Absent
}

func (s sight) Record(_ schema.GroupVersionKind, _, name string, observation observe.Observation) {
	s[name] = observation
}

// settledPass returns a pass over a number of dependents that are all as they should be.
func settledPass(tb testing.TB, count int) func() reconciler.Result {
	tb.Helper()
	mapper := meta.NewDefaultRESTMapper(nil)
	mapper.Add(schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}, meta.RESTScopeNamespace)
	server := &ledger{scheme: testenv.Scheme(tb), mapper: mapper}
	engine, err := reconciler.NewMadeUp(prefix, server, reconciler.Options{MaxConcurrency: 1}, sight{})
	if err != nil {
		tb.Fatal(err)
	}
	request := reconciler.ApplyRequest{Owner: reconciler.Owner{ID: "owner", Store: &world{TB: tb}}, Version: "1"}
	for i := range count {
		request.Objects = append(request.Objects, &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "v1", "kind": "ConfigMap",
			"metadata": map[string]any{"namespace": "default", "name": fmt.Sprintf("c%05d", i), "annotations": map[string]any{
				prefix + "/apply-order": strconv.Itoa(i % 10),
			}},
			"data": map[string]any{"a": fmt.Sprintf("%0256d", i), "b": fmt.Sprintf("%0256d", i)},
		}})
	}
	pass := func() reconciler.Result {
		result, err := engine.Apply(tb.Context(), request)
		if err != nil || !result.Done || len(result.Inventory) != count {
			tb.Fatalf("expected %d dependents to be done, got %d, %v", count, len(result.Inventory), err)
		}
		request.Inventory = result.Inventory
		return result
	}
	pass()
	return pass
}

func TestCostOfAPassIsLinear(t *testing.T) {
	cost := func(count int) float64 {
		pass := settledPass(t, count)
		if result := pass(); len(result.Actions) > 0 {
			t.Fatalf("expected nothing to do, got %v", actions(result))
		}
		return testing.AllocsPerRun(3, func() { pass() }) / float64(count)
	}
	few, many := cost(500), cost(5000)
	t.Logf("%.2f allocations per dependent of 500, %.2f of 5000", few, many)
	if many > 1.1*few {
		t.Errorf("expected the cost of a dependent not to depend on how many there are: %.2f allocations of 500, %.2f of 5000", few, many)
	}
	if many > 5 {
		t.Errorf("expected at most 5 allocations per dependent that is as it should be, got %.2f", many)
	}
}

func BenchmarkSettledPass(b *testing.B) {
	for _, count := range []int{1000, 10000} {
		b.Run(strconv.Itoa(count), func(b *testing.B) {
			pass := settledPass(b, count)
			b.ReportAllocs()
			for b.Loop() {
				pass()
			}
		})
	}
}
