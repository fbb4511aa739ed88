// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package component

import (
	"cmp"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/component-operator/runtime/pkg/manifests"
	"github.com/component-operator/runtime/pkg/reconciler"
)

func TestBadOptions(t *testing.T) {
	t.Parallel()
	const name = "test.example.io"
	for _, test := range []struct {
		reason  string
		name    string
		options ReconcilerOptions
		want    string
	}{
		{"the name prefixes annotations", "Not A Name", ReconcilerOptions{}, `name "Not A Name"`},
		{"and not too many", name, ReconcilerOptions{FieldOwner: new(strings.Repeat("a", 129))}, "must have 1 to 128 characters"},
		{"a finalizer is a qualified name", name, ReconcilerOptions{Finalizer: new("a/b/c")}, `Finalizer "a/b/c"`},
		{"a service account has a name", name, ReconcilerOptions{DefaultServiceAccount: new("A B")}, `DefaultServiceAccount "A B"`},
		{"an interval does not occupy the operator", name, ReconcilerOptions{ReapplyInterval: new(time.Millisecond)}, `option ReapplyInterval: invalid value "1ms"; must be a duration of at least 1s`},
		{"a number is not negative", name, ReconcilerOptions{MaxConcurrentReconciles: -1}, "MaxConcurrentReconciles -1"},
		{"an empty prefix reclaims everything", name, ReconcilerOptions{ReclaimedFieldManagers: []string{"kubectl", ""}}, "ReclaimedFieldManagers"},
	} {
		t.Run(test.reason, func(t *testing.T) {
			t.Parallel()
			err := NewReconciler[*Widget](test.name, &manifests.DummyGenerator{}, test.options).SetupWithManager(nil)
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("want an error with %q, got %v", test.want, err)
			}
		})
	}
	if err := NewReconciler[*Widget](name, nil, ReconcilerOptions{}).SetupWithManager(nil); err == nil {
		t.Error("want an error without a generator")
	}
	if err := NewReconciler[Component](name, &manifests.DummyGenerator{}, ReconcilerOptions{}).SetupWithManager(nil); err == nil {
		t.Error("want an error for components that are no pointers to structs")
	}
}

func TestSetup(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	mgr := r.manager(nil)
	own := r.reconciler(ReconcilerOptions{})
	if err := r.reconciler(ReconcilerOptions{UpdatePolicy: new(reconciler.UpdatePolicy("Wrong"))}).SetupWithManager(mgr); err == nil || !strings.Contains(err.Error(), "Wrong") {
		t.Errorf("want a wrong policy to be refused, got %v", err)
	}
	if err := own.SetupWithManager(mgr); err != nil {
		t.Fatal(err)
	}
	if err := own.SetupWithManager(mgr); err == nil {
		t.Error("want a second setup to be refused")
	}
	other := NewReconciler[*OldWidget](r.name, &manifests.DummyGenerator{}, ReconcilerOptions{})
	if err := other.SetupWithManager(mgr); err == nil || !strings.Contains(err.Error(), "already has a reconciler with this name") {
		t.Errorf("want a second reconciler of the same name to be refused, got %v", err)
	}
	if err := other.SetupWithManager(r.manager(nil)); err != nil {
		t.Errorf("want another manager to accept it, got %v", err)
	}
}

// ownPlacement is a component that has a capability itself, in addition to its spec.
type ownPlacement struct {
	Widget
}

func (p *ownPlacement) GetDeploymentNamespace() string { return "of the component" }
func (p *ownPlacement) GetDeploymentName() string      { return "" }

func TestSettings(t *testing.T) {
	t.Parallel()
	widget := func(change func(*WidgetSpec)) Widget {
		w := Widget{ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: "web"}}
		change(&w.Spec)
		return w
	}
	interval := func(d time.Duration) *metav1.Duration { return &metav1.Duration{Duration: d} }
	defaults := timing{10 * time.Minute, 10 * time.Second, 10 * time.Minute}
	nothing := widget(func(*WidgetSpec) {})
	placed := widget(func(s *WidgetSpec) { s.Namespace, s.Name = "of the spec", "of the spec" })
	for _, test := range []struct {
		reason    string
		component Component
		want      settings
	}{
		{"defaults", &nothing, settings{namespace: "demo", name: "web", timing: defaults, presence: PresenceActive}},
		{"the spec has a capability", &placed, settings{namespace: "of the spec", name: "of the spec", timing: defaults, presence: PresenceActive}},
		{"the component wins, also if it has nothing to say", &ownPlacement{placed}, settings{namespace: "of the component", name: "web", timing: defaults, presence: PresenceActive}},
		{
			"no interval occupies the operator",
			func() Component {
				w := widget(func(s *WidgetSpec) {
					s.RequeueInterval, s.RetryInterval, s.Timeout = interval(1), interval(2), interval(3)
				})
				return &w
			}(),
			settings{namespace: "demo", name: "web", timing: timing{time.Second, time.Second, 3}, presence: PresenceActive},
		},
		{
			"all that is said counts",
			func() Component {
				w := widget(func(s *WidgetSpec) {
					s.RequeueInterval, s.RetryInterval, s.Timeout, s.ReapplyInterval = interval(time.Minute), interval(2*time.Minute), interval(3), interval(4)
					s.AdoptionPolicy, s.UpdatePolicy, s.DeletePolicy = reconciler.AdoptionPolicyNever, reconciler.UpdatePolicySsaMerge, reconciler.DeletePolicyOrphan
					s.MissingNamespacesPolicy, s.DriftPolicy, s.Suspend = reconciler.MissingNamespacesPolicyDoNotCreate, reconciler.DriftPolicyReport, true
					s.ReconcilePolicy = reconciler.ReconcilePolicyOnObjectOrComponentChange
					s.AdditionalManagedTypes = []reconciler.TypeInfo{{Group: "a", Kind: "b"}}
					s.MaxDeletions = new(intstr.FromString("20%"))
				})
				return &w
			}(),
			settings{
				namespace: "demo", name: "web", timing: timing{time.Minute, 2 * time.Minute, 3}, presence: PresenceSuspended, maxDeletions: "20%", managedTypes: []reconciler.TypeInfo{{Group: "a", Kind: "b"}},
				policies: reconciler.Policies{
					Reconcile: reconciler.ReconcilePolicyOnObjectOrComponentChange,
					Adoption:  reconciler.AdoptionPolicyNever, Update: reconciler.UpdatePolicySsaMerge, Delete: reconciler.DeletePolicyOrphan,
					MissingNamespaces: reconciler.MissingNamespacesPolicyDoNotCreate, Drift: reconciler.DriftPolicyReport, ReapplyInterval: 4,
				},
			},
		},
	} {
		t.Run(test.reason, func(t *testing.T) {
			t.Parallel()
			got := settingsOf(test.component, ReconcilerOptions{MaxDeletions: "7"})
			if got.timing != test.want.timing {
				t.Errorf("timing: want %+v, got %+v", test.want.timing, got.timing)
			}
			diff(t, "policies", test.want.policies, got.policies)
			diff(t, "types", test.want.managedTypes, got.managedTypes)
			diff(t, "deletions", cmp.Or(test.want.maxDeletions, "7"), got.maxDeletions)
			diff(t, "placement", []any{test.want.namespace, test.want.name, test.want.presence}, []any{got.namespace, got.name, got.presence})
		})
	}
}
