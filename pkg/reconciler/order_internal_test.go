// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package reconciler

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

func TestTiers(t *testing.T) {
	t.Parallel()
	for kind, want := range map[string][2]int{ // apply, delete
		"Namespace": {-4, 3},
		"ValidatingWebhookConfiguration.admissionregistration.k8s.io": {-3, 1},
		"MutatingWebhookConfiguration.admissionregistration.k8s.io":   {-3, 1},
		"CustomResourceDefinition.apiextensions.k8s.io":               {-2, -1},
		"IngressClass.networking.k8s.io":                              {-2, 4},
		"RuntimeClass.node.k8s.io":                                    {-2, 4},
		"PriorityClass.scheduling.k8s.io":                             {-2, 4},
		"StorageClass.storage.k8s.io":                                 {-2, 4},
		"ClusterRole.rbac.authorization.k8s.io":                       {-2, 0},
		"Role.rbac.authorization.k8s.io":                              {-2, 0},
		"ServiceAccount":                                              {-1, 0},
		"LimitRange":                                                  {-1, 0},
		"ResourceQuota":                                               {-1, 0},
		"ConfigMap":                                                   {-1, 2},
		"Secret":                                                      {-1, 2},
		"ClusterRoleBinding.rbac.authorization.k8s.io":                {-1, 0},
		"RoleBinding.rbac.authorization.k8s.io":                       {-1, 0},
		"Service":                                                     {0, 2},
		"Deployment.apps":                                             {0, 0},
		"APIService.apiregistration.k8s.io":                           {0, -1}, // late by its stage
		"Namespace.example.com":                                       {0, 0},  // of the same name in another group
		"Secret.example.com":                                          {0, 0},
		"Service.serving.knative.dev":                                 {0, 0},
		"ValidatingAdmissionPolicy.admissionregistration.k8s.io":      {0, 0},
	} {
		parsed := schema.ParseGroupKind(kind)
		if got := [2]int{applyTier(parsed, true), deleteTier(parsed)}; got != want {
			t.Errorf("%s: got %v, want %v", kind, got, want)
		}
		if last := applyTier(parsed, false) == tierLast; last != isWebhookConfiguration(parsed) {
			t.Errorf("%s: comes last if it does not exist: %v", kind, last)
		}
	}
}

func TestSortInventory(t *testing.T) {
	t.Parallel()
	kind := func(group, kind string) schema.GroupVersionKind {
		return schema.GroupVersionKind{Group: group, Version: "v1", Kind: kind}
	}
	order := func(value int) func(*InventoryItem) { return func(i *InventoryItem) { i.DeleteOrder = value } }
	sorted := []*InventoryItem{
		item(kind("storage.k8s.io", "StorageClass"), "", "early", order(-1)),
		item(kind("apiextensions.k8s.io", "CustomResourceDefinition"), "", "x"),
		item(kind("", "Pod"), "a", "z"),
		item(kind("", "Pod"), "b", "a"),
		item(kind("", "Pod"), "b", "b"),
		item(kind("apps", "DaemonSet"), "a", "a"),
		item(kind("apps", "Deployment"), "a", "a"),
		item(kind("admissionregistration.k8s.io", "ValidatingWebhookConfiguration"), "", "a"),
		item(kind("", "ConfigMap"), "a", "a"),
		item(kind("", "Service"), "a", "a"),
		item(kind("", "Namespace"), "", "a"),
		item(kind("scheduling.k8s.io", "PriorityClass"), "", "a"),
		item(kind("", "Pod"), "a", "a", order(1)),
	}
	random := rand.New(rand.NewPCG(1, 2))
	for range 20 {
		shuffled := slices.Clone(sorted)
		random.Shuffle(len(shuffled), func(i, j int) { shuffled[i], shuffled[j] = shuffled[j], shuffled[i] })
		sortInventory(shuffled)
		if diff := cmp.Diff(sorted, shuffled); diff != "" {
			t.Fatalf("order (-want +got):\n%s", diff)
		}
	}
}

func TestGroup(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		reason string
		items  []int
		want   [][]int
	}{
		{"nothing", nil, nil},
		{"one", []int{1}, [][]int{{1}}},
		{"all alike", []int{10, 11, 12}, [][]int{{10, 11, 12}}},
		{"runs", []int{1, 2, 11, 21, 22}, [][]int{{1, 2}, {11}, {21, 22}}},
		{"runs that are not sorted stay apart", []int{1, 11, 2}, [][]int{{1}, {11}, {2}}},
	} {
		if diff := cmp.Diff(tc.want, group(tc.items, func(i int) int { return i / 10 })); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
		}
	}
}

func TestPatterns(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		reason, pattern, group string
		want                   bool
	}{
		{"exact", "apps", "apps", true},
		{"exact", "apps", "Apps", false},
		{"the core group", "", "", true},
		{"the core group is no pattern", "", "apps", false},
		{"any", "*", "apps", true},
		{"any, the core group included", "*", "", true},
		{"one label", "*.example.com", "a.example.com", true},
		{"more labels", "*.example.com", "b.a.example.com", true},
		{"no label", "*.example.com", "example.com", false},
		{"an empty label", "*.example.com", ".example.com", false},
		{"part of a label", "*.example.com", "badexample.com", false},
		{"an asterisk elsewhere", "a.*", "a.b", false},
		{"an asterisk elsewhere", "a.*.com", "a.b.com", false},
		{"an asterisk elsewhere", "*a.com", "ba.com", false},
		{"two asterisks", "*.*", "a.b", false},
		{"two asterisks", "**", "a", false},
		{"two asterisks", "*.a.*", "x.a.b", false},
	} {
		if got := matchesGroup(tc.pattern, tc.group); got != tc.want {
			t.Errorf("%s: pattern %q, group %q: got %v", tc.reason, tc.pattern, tc.group, got)
		}
	}
	gvk := schema.GroupVersionKind{Group: "a.example.com", Version: "v1", Kind: "Widget"}
	for _, tc := range []struct {
		pattern TypeVersionInfo
		want    bool
	}{
		{TypeVersionInfo{"a.example.com", "v1", "Widget"}, true},
		{TypeVersionInfo{"*.example.com", "*", "*"}, true},
		{TypeVersionInfo{"*", "v1", "*"}, true},
		{TypeVersionInfo{"*", "v2", "*"}, false},
		{TypeVersionInfo{"*", "v*", "*"}, false},
		{TypeVersionInfo{"*", "*", "Wid*"}, false},
		{TypeVersionInfo{"*", "*", "widget"}, false},
		{TypeVersionInfo{"b.example.com", "*", "*"}, false},
		{TypeVersionInfo{}, false},
	} {
		if got := tc.pattern.matches(gvk); got != tc.want {
			t.Errorf("%+v: got %v", tc.pattern, got)
		}
		if kind := (TypeInfo{tc.pattern.Group, tc.pattern.Kind}); tc.want && !kind.matches(gvk.GroupKind()) {
			t.Errorf("%+v: expected a match", kind)
		}
	}
}

func TestManagedTypes(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		reason, apiVersion, kind string
		spec                     any
		want                     []TypeVersionInfo
	}{
		{"a definition brings a kind in all versions", "apiextensions.k8s.io/v1", "CustomResourceDefinition", map[string]any{"group": "g", "names": map[string]any{"kind": "K"}, "versions": []any{}}, []TypeVersionInfo{{"g", "*", "K"}}},
		{"an APIService brings all kinds of a version", "apiregistration.k8s.io/v1", "APIService", map[string]any{"group": "g", "version": "v1"}, []TypeVersionInfo{{"g", "v1", "*"}}},
		{"nothing else does", "v1", "ConfigMap", map[string]any{"group": "g"}, nil},
		{"nor a namesake", "example.com/v1", "CustomResourceDefinition", map[string]any{"group": "g"}, nil},
		{"a definition that is none must not crash", "apiextensions.k8s.io/v1", "CustomResourceDefinition", "nonsense", []TypeVersionInfo{{"", "*", ""}}},
	} {
		object := &unstructured.Unstructured{Object: map[string]any{"apiVersion": tc.apiVersion, "kind": tc.kind, "metadata": map[string]any{"name": "x"}, "spec": tc.spec}}
		if diff := cmp.Diff(tc.want, managedTypesOf(object)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
		}
	}
}

var (
	crdKind       = schema.GroupVersionKind{Group: groupCRD, Version: "v1", Kind: "CustomResourceDefinition"}
	namespaceKind = schema.GroupVersionKind{Version: "v1", Kind: "Namespace"}
)

func TestValidatePlan(t *testing.T) {
	t.Parallel()
	orders := func(apply, remove int) func(*target) {
		return func(t *target) { t.applyOrder, t.deleteOrder = apply, remove }
	}
	purge := func(t *target) { order := 3; t.purgeOrder = &order }
	instance := func(t *target) { t.instance = true }
	widget := named("example.com/v1", "Widget", "ns", "w")
	crd := func(phase Phase, apply, remove int) *InventoryItem {
		return item(crdKind, "", "widgets", func(i *InventoryItem) {
			i.Phase, i.ApplyOrder, i.DeleteOrder = phase, apply, remove
			i.ManagedTypes = []TypeVersionInfo{{"example.com", "*", "Widget"}}
		})
	}
	namespace := func(phase Phase, apply, remove int) *InventoryItem {
		return item(namespaceKind, "", "ns", func(i *InventoryItem) { i.Phase, i.ApplyOrder, i.DeleteOrder = phase, apply, remove })
	}
	released := func(i *InventoryItem) *InventoryItem { i.DeletePolicy = DeletePolicyOrphan; return i }
	additional := []TypeInfo{{"example.com", "Widget"}}
	for _, tc := range []struct {
		reason     string
		target     *target
		items      []*InventoryItem
		additional []TypeInfo
		want       []string
	}{
		{"an ordinary object", wish(orders(-5, 9)), nil, nil, nil},
		{"may be purged", wish(purge), nil, nil, nil},
		{"a namespace may not be purged", wish(named("v1", "Namespace", "", "ns"), purge), nil, nil, []string{"Namespace ns: a purge order"}},
		{"a definition may not be purged", wish(named("apiextensions.k8s.io/v1", "CustomResourceDefinition", "", "x"), purge), nil, nil, []string{"a purge order"}},
		{"an APIService may not be purged", wish(named("apiregistration.k8s.io/v1", "APIService", "", "x"), purge), nil, nil, []string{"a purge order"}},
		{"in the same wave as its type", wish(widget, instance, orders(2, 2)), []*InventoryItem{crd(PhaseReady, 2, 2)}, nil, nil},
		{"after, and before", wish(widget, instance, orders(3, 1)), []*InventoryItem{crd(PhaseReady, 2, 2)}, nil, nil},
		{"before its type", wish(widget, instance, orders(1, 2)), []*InventoryItem{crd(PhaseReady, 2, 2)}, nil, []string{"Widget.example.com ns/w: apply order 1 is not allowed; it must be at least that of CustomResourceDefinition widgets (2), which defines its type"}},
		{"after its type is gone", wish(widget, instance, orders(2, 3)), []*InventoryItem{crd(PhaseReady, 2, 2)}, nil, []string{"delete order 3 is not allowed; it must be at most that of CustomResourceDefinition widgets (2)"}},
		{"both are reported", wish(widget, instance, orders(1, 3)), []*InventoryItem{crd(PhaseReady, 2, 2)}, nil, []string{"apply order 1", "delete order 3"}},
		{"the type goes", wish(widget, instance), []*InventoryItem{crd(PhaseScheduledForDeletion, 0, 0)}, nil, []string{"cannot stay, because CustomResourceDefinition widgets, which defines its type, is to be deleted"}},
		{"the type is going", wish(widget, instance), []*InventoryItem{crd(PhaseDeleting, 0, 0)}, nil, []string{"cannot stay"}},
		{"the type is only released", wish(widget, orders(-9, 9)), []*InventoryItem{released(crd(PhaseScheduledForDeletion, 0, 0))}, nil, nil},
		{"the namespace is only released", wish(named("v1", "ConfigMap", "ns", "a")), []*InventoryItem{released(namespace(PhaseScheduledForDeletion, 0, 0))}, nil, nil},
		{"the type is being deleted, and releasing comes too late", wish(widget), []*InventoryItem{released(crd(PhaseDeleting, 0, 0))}, nil, []string{"cannot stay"}},
		{"additional types have no definition here", wish(widget, instance, orders(-9, 9)), nil, additional, nil},
		{"in the same wave as its namespace", wish(orders(2, 2), named("v1", "ConfigMap", "ns", "a")), []*InventoryItem{namespace(PhaseReady, 2, 2)}, nil, nil},
		{"before its namespace", wish(orders(1, 2), named("v1", "ConfigMap", "ns", "a")), []*InventoryItem{namespace(PhaseReady, 2, 2)}, nil, []string{"ConfigMap ns/a: apply order 1 is not allowed; it must be at least that of Namespace ns (2), which contains it"}},
		{"after its namespace is gone", wish(orders(2, 3), named("v1", "ConfigMap", "ns", "a")), []*InventoryItem{namespace(PhaseReady, 2, 2)}, nil, []string{"delete order 3"}},
		{"the namespace goes", wish(named("v1", "ConfigMap", "ns", "a")), []*InventoryItem{namespace(PhaseScheduledForDeletion, 0, 0)}, nil, []string{"cannot stay, because Namespace ns, which contains it, is to be deleted"}},
		{"another namespace", wish(orders(-9, 9), named("v1", "ConfigMap", "other", "a")), []*InventoryItem{namespace(PhaseReady, 2, 2)}, nil, nil},
		{"no namespace", wish(orders(-9, 9), named("v1", "Node", "", "ns")), []*InventoryItem{namespace(PhaseReady, 2, 2)}, nil, nil},
	} {
		t.Run(tc.reason, func(t *testing.T) {
			t.Parallel()
			err := validatePlan([]*target{tc.target}, tc.items, tc.additional)
			if (err != nil) != (len(tc.want) > 0) {
				t.Fatalf("got %v, want %q", err, tc.want)
			}
			for _, want := range tc.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("expected %q in %q", want, err)
				}
			}
		})
	}
}

func TestRepetition(t *testing.T) {
	t.Parallel()
	p := pacing{free: 2, step: time.Second, limit: 5 * time.Second, calm: time.Minute}
	now := time.Unix(1000, 0)
	var r repetition
	for i, want := range []time.Duration{0, 0, time.Second, 2 * time.Second, 4 * time.Second, 5 * time.Second, 5 * time.Second} {
		if got := r.wait(now, p); got != want {
			t.Errorf("occurrence %d: got a delay of %s, want %s", i, got, want)
		}
		now = now.Add(r.wait(now, p))
		if got := r.wait(now, p); got != 0 {
			t.Errorf("occurrence %d: after its delay it may happen, got %s", i, got)
		}
		r.happened(now)
	}
	if got := r.wait(now.Add(time.Second), p); got != 4*time.Second {
		t.Errorf("time that passed counts, got %s", got)
	}
	if got := r.wait(now.Add(-time.Hour), p); got != time.Hour+5*time.Second {
		t.Errorf("a clock that is set back must not lead to a hot loop, got %s", got)
	}
	if got := r.wait(now.Add(time.Minute), p); got != 0 || r.count == 0 {
		t.Errorf("within the calm the count stays, got %s and %d", got, r.count)
	}
	if got := r.wait(now.Add(time.Minute+1), p); got != 0 || r.count != 0 {
		t.Errorf("after the calm it starts afresh, got %s and %d", got, r.count)
	}
	r = repetition{count: 1 << 40, last: now}
	if got := r.delay(p); got != p.limit {
		t.Errorf("the delay must not overflow, got %s", got)
	}
}

func TestPacings(t *testing.T) {
	t.Parallel()
	for name, p := range map[string]pacing{"correction": correctionPacing(time.Hour), "verification": verificationPacing(time.Hour), "retry": retryPacing()} {
		now, r, total := time.Unix(0, 0), repetition{}, time.Duration(0)
		for range 100 {
			delay := r.wait(now, p)
			if delay < 0 || delay > p.limit {
				t.Fatalf("%s: delay %s", name, delay)
			}
			now, total = now.Add(delay), total+delay
			r.happened(now)
		}
		if r.count != 100 {
			t.Errorf("%s: a fight that goes on must not be forgotten, count is %d", name, r.count)
		}
		if total < 80*p.limit {
			t.Errorf("%s: the delay does not reach its limit: %s in total", name, total)
		}
	}
	for _, tc := range []struct {
		reason string
		pacing pacing
		want   time.Duration
	}{
		{"the reapply interval of the object is the limit of corrections", correctionPacing(2 * time.Hour), 2 * time.Hour},
		{"a short one does not make a fight a hot loop", correctionPacing(time.Second), 10 * time.Minute},
		{"the reapply interval is the limit of verifications", verificationPacing(2 * time.Minute), 2 * time.Minute},
		{"a short one does not have an object verified with each write of others", verificationPacing(time.Second), time.Minute},
	} {
		if got := (&repetition{count: 50}).delay(tc.pacing); got != tc.want {
			t.Errorf("%s: want %s, got %s", tc.reason, tc.want, got)
		}
	}
}

func TestMemory(t *testing.T) {
	t.Parallel()
	m := newMemory()
	a, b := objectKey{name: "a"}, objectKey{name: "b"}
	if m.peek("o", a) != nil {
		t.Error("nothing is remembered")
	}
	m.of("o", a).fight = "x"
	m.of("o", b).fight = "y"
	m.of("p", a).fight = "z"
	if m.peek("o", a).fight != "x" || m.peek("p", a).fight != "z" {
		t.Error("owners must be told apart")
	}
	kept := item(schema.GroupVersionKind{}, "", "b")
	m.retain("o", &prepared{version: "1"})
	m.retain("p", &prepared{})
	m.keep("o", []*InventoryItem{kept})
	if m.recall("o") == nil || m.recall("p") != nil {
		t.Error("what was computed is kept as long as there is an inventory, provided that it can be recognised")
	}
	if m.peek("o", a) != nil || m.peek("o", b) == nil || m.peek("p", a) == nil {
		t.Error("only what is not wanted by this owner is forgotten")
	}
	for _, owner := range []string{"o", "p", "unknown"} {
		m.keep(owner, nil)
	}
	if len(m.owners) != 0 || len(m.prepared) != 0 {
		t.Errorf("owners leak: %v", m.owners)
	}
}

// TestTypeMustNotGoBeforeItsInstances goes the whole way, because the definition is recorded and not among the objects.
func TestTypeMustNotGoBeforeItsInstances(t *testing.T) {
	t.Parallel()
	widget := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "example.com/v1", "kind": "Widget", "metadata": map[string]any{"namespace": "ns", "name": "w"},
	}}
	request := ApplyRequest{Owner: Owner{ID: "o", Inventory: []*InventoryItem{item(crdKind, "", "widgets", func(i *InventoryItem) {
		i.Phase, i.Digest, i.ManagedTypes = PhaseReady, "2:x", []TypeVersionInfo{{"example.com", "*", "Widget"}}
	})}}}
	targets, err := newTypesOnly(t).newTargets([]*unstructured.Unstructured{widget}, request, defaultPolicies())
	if err != nil {
		t.Fatal(err)
	}
	err = validatePlan(targets, planInventory(targets, request.Inventory).items, nil)
	if err == nil || !strings.Contains(err.Error(), "Widget.example.com ns/w: cannot stay") {
		t.Errorf("expected a refusal that names the instance, got %v", err)
	}
}
