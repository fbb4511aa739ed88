// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package reconciler

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/component-operator/runtime/pkg/status"
)

// named sets kind, namespace and name of a target.
func named(apiVersion, kind, namespace, name string) func(*target) {
	return func(t *target) {
		object := &unstructured.Unstructured{}
		object.SetAPIVersion(apiVersion)
		object.SetKind(kind)
		object.SetNamespace(namespace)
		object.SetName(name)
		t.key, t.version = keyOf(object), object.GroupVersionKind().Version
	}
}

func item(gvk schema.GroupVersionKind, namespace, name string, changes ...func(*InventoryItem)) *InventoryItem {
	i := &InventoryItem{TypeVersionInfo: TypeVersionInfo(gvk), NameInfo: NameInfo{Namespace: namespace, Name: name}}
	for _, change := range changes {
		change(i)
	}
	return i
}

var configMapKind = schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}

func TestPlanWanted(t *testing.T) {
	t.Parallel()
	written := &metav1.Time{Time: time.Unix(1, 0)}
	for _, tc := range []struct {
		reason     string
		recorded   InventoryItem
		wantPhase  Phase
		wantStatus status.Status
	}{
		{"new", InventoryItem{}, PhaseScheduledForApplication, status.InProgressStatus},
		{"the manifest changed", InventoryItem{Digest: "2:old", Phase: PhaseReady, Status: status.CurrentStatus}, PhaseScheduledForApplication, status.InProgressStatus},
		{"the manifest changed while it was being written", InventoryItem{Digest: "2:old", Phase: PhaseUpdating, Status: status.InProgressStatus}, PhaseScheduledForApplication, status.InProgressStatus},
		{"the same", InventoryItem{Digest: "2:new", Phase: PhaseReady, Status: status.CurrentStatus}, PhaseReady, status.CurrentStatus},
		{"the same, not written yet", InventoryItem{Digest: "2:new", Phase: PhaseScheduledForApplication, Status: status.InProgressStatus}, PhaseScheduledForApplication, status.InProgressStatus},
		{"the same, failed", InventoryItem{Digest: "2:new", Phase: PhaseCreating, Status: status.FailedStatus}, PhaseCreating, status.FailedStatus},
		{"purged", InventoryItem{Digest: "2:new", Phase: PhaseCompleted}, PhaseCompleted, ""},
		{"being purged", InventoryItem{Digest: "2:new", Phase: PhaseCompleting, Status: status.TerminatingStatus}, PhaseCompleting, status.TerminatingStatus},
		{"purged, and changed: it runs again", InventoryItem{Digest: "2:old", Phase: PhaseCompleted, LastAppliedAt: written}, PhaseScheduledForApplication, status.InProgressStatus},
		{"purged by the ancestor: its digest says nothing", InventoryItem{Digest: "old", Phase: PhaseCompleted, LastAppliedAt: written}, PhaseCompleted, ""},
		{"purged after it was applied once, and now applied on change", InventoryItem{Digest: digestOnce, Phase: PhaseCompleted, LastAppliedAt: written}, PhaseScheduledForApplication, status.InProgressStatus},
		{"ready by the ancestor: one write in place", InventoryItem{Digest: "old", Phase: PhaseReady, Status: status.CurrentStatus, LastAppliedAt: written}, PhaseScheduledForApplication, status.InProgressStatus},
		{"wanted again before it was deleted", InventoryItem{Phase: PhaseScheduledForDeletion, UID: "u", Status: status.TerminatingStatus}, PhaseScheduledForApplication, status.InProgressStatus},
		{"wanted again while being deleted", InventoryItem{Phase: PhaseDeleting, UID: "u", Status: status.TerminatingStatus}, PhaseScheduledForApplication, status.InProgressStatus},
		{"changed while being purged", InventoryItem{Digest: "2:old", Phase: PhaseCompleting, UID: "u", Status: status.TerminatingStatus}, PhaseScheduledForApplication, status.InProgressStatus},
	} {
		t.Run(tc.reason, func(t *testing.T) {
			t.Parallel()
			target := wish(adoption(AdoptionPolicyAlways), update(UpdatePolicySsaMerge), reconcileBy(ReconcilePolicyOnObjectOrComponentChange), func(t *target) {
				t.digest, t.deleteOrder, t.delete = "2:new", 5, DeletePolicyOrphan
				t.managedTypes = []TypeVersionInfo{{Group: "g", Version: "*", Kind: "K"}}
			})
			got := tc.recorded.DeepCopy()
			planWanted(target, got)
			want := tc.recorded.DeepCopy()
			want.TypeVersionInfo, want.Digest, want.Phase, want.Status = TypeVersionInfo(configMapKind), "2:new", tc.wantPhase, tc.wantStatus
			want.AdoptionPolicy, want.ReconcilePolicy, want.UpdatePolicy = AdoptionPolicyAlways, ReconcilePolicyOnObjectOrComponentChange, UpdatePolicySsaMerge
			want.DeletePolicy, want.ApplyOrder, want.DeleteOrder = DeletePolicyOrphan, wave, 5
			want.ManagedTypes = []TypeVersionInfo{{Group: "g", Version: "*", Kind: "K"}}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("item (-want +got):\n%s", diff)
			}
		})
	}
}

func TestPlanUnwanted(t *testing.T) {
	t.Parallel()
	for phase, want := range map[Phase]Phase{
		PhaseScheduledForApplication: PhaseScheduledForDeletion, // it may have been created by a process that died
		PhaseCreating:                PhaseScheduledForDeletion,
		PhaseUpdating:                PhaseScheduledForDeletion,
		PhaseReady:                   PhaseScheduledForDeletion,
		PhaseScheduledForCompletion:  PhaseScheduledForDeletion,
		PhaseCompleting:              PhaseScheduledForDeletion,
		PhaseScheduledForDeletion:    PhaseScheduledForDeletion,
		PhaseDeleting:                PhaseDeleting,
		PhaseCompleted:               "", // it is gone already
		"":                           PhaseScheduledForDeletion,
	} {
		recorded := item(configMapKind, "ns", "a", func(i *InventoryItem) {
			i.Phase, i.Digest, i.UID, i.Fingerprint, i.Status, i.DeletePolicy, i.DeleteOrder = phase, "2:d", "u", "f", status.CurrentStatus, DeletePolicyOrphan, 3
		})
		before := recorded.DeepCopy()
		got := planUnwanted(recorded, DeletePolicy.orphanedOnApply)
		var expected *InventoryItem
		if want != "" {
			expected = recorded.DeepCopy()
			expected.Phase, expected.Digest, expected.Status = want, "", status.TerminatingStatus
		}
		if diff := cmp.Diff(expected, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", phase, diff)
		}
		if diff := cmp.Diff(before, recorded); diff != "" {
			t.Errorf("%s: the recorded item was changed:\n%s", phase, diff)
		}
	}
}

func TestPlanInventory(t *testing.T) {
	t.Parallel()
	ready := func(i *InventoryItem) {
		i.Phase, i.Digest, i.Status, i.UID = PhaseReady, "2:new", status.CurrentStatus, "u"
	}
	current := func(t *target) { t.digest = "2:new" }
	cm := func(name string) *target { return wish(named("v1", "ConfigMap", "ns", name), current) }
	for _, tc := range []struct {
		reason    string
		targets   []*target
		inventory []*InventoryItem
		want      []string
		grown     bool
	}{
		{"nothing is wanted, nothing recorded", nil, nil, nil, false},
		{"first", []*target{cm("a")}, nil, []string{"a ScheduledForApplication"}, true},
		{"nothing new", []*target{cm("a")}, []*InventoryItem{item(configMapKind, "ns", "a", ready)}, []string{"a Ready"}, false},
		{"a change need not be saved before it is written", []*target{wish(named("v1", "ConfigMap", "ns", "a"))}, []*InventoryItem{item(configMapKind, "ns", "a", ready)}, []string{"a ScheduledForApplication"}, false},
		{"what is created anew after it was purged is as good as new", []*target{cm("a")}, []*InventoryItem{item(configMapKind, "ns", "a", func(i *InventoryItem) { i.Phase, i.Digest, i.UID = PhaseCompleted, "2:old", "u" })}, []string{"a ScheduledForApplication"}, true},
		{"so is what was being deleted", []*target{cm("a")}, []*InventoryItem{item(configMapKind, "ns", "a", func(i *InventoryItem) { i.Phase, i.Digest, i.UID = PhaseDeleting, "", "u" })}, []string{"a ScheduledForApplication"}, true},
		{"one more, one less", []*target{cm("b")}, []*InventoryItem{item(configMapKind, "ns", "a", ready)}, []string{"a ScheduledForDeletion", "b ScheduledForApplication"}, true},
		{"the version does not matter", []*target{wish(named("example.com/v2", "Widget", "ns", "a"), current)}, []*InventoryItem{item(schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Widget"}, "ns", "a", ready)}, []string{"a Ready"}, false},
		{"the namespace does", []*target{wish(named("v1", "ConfigMap", "other", "a"), current)}, []*InventoryItem{item(configMapKind, "ns", "a", ready)}, []string{"a ScheduledForDeletion", "a ScheduledForApplication"}, true},
		{"the group does", []*target{wish(named("g/v1", "ConfigMap", "ns", "a"), current)}, []*InventoryItem{item(configMapKind, "ns", "a", ready)}, []string{"a ScheduledForDeletion", "a ScheduledForApplication"}, true},
		{"what was purged and is no longer wanted is forgotten", nil, []*InventoryItem{item(configMapKind, "ns", "a", func(i *InventoryItem) { i.Phase = PhaseCompleted })}, nil, false},
		{"an item whose namespace was not known yet is the same", []*target{wish(named("g/v1", "K", "ns", "a"))}, []*InventoryItem{item(schema.GroupVersionKind{Group: "g", Version: "v1", Kind: "K"}, "", "a", func(i *InventoryItem) { i.Phase = PhaseScheduledForApplication })}, []string{"a ScheduledForApplication"}, true},
		{"of two such objects only one can be the item", []*target{wish(named("g/v1", "K", "ns", "a")), wish(named("g/v1", "K", "other", "a"))}, []*InventoryItem{item(schema.GroupVersionKind{Group: "g", Version: "v1", Kind: "K"}, "", "a", func(i *InventoryItem) { i.Phase = PhaseScheduledForApplication })}, []string{"a ScheduledForApplication", "a ScheduledForApplication"}, true},
		{"what is recorded twice is not unwanted by that", []*target{cm("a")}, []*InventoryItem{item(configMapKind, "ns", "a", ready), item(configMapKind, "ns", "a", ready)}, []string{"a Ready"}, false},
		{"nor deleted twice", nil, []*InventoryItem{item(configMapKind, "ns", "a", ready), item(configMapKind, "ns", "a", ready)}, []string{"a ScheduledForDeletion"}, false},
		{"a cluster-scoped object that may exist is not the same", []*target{wish(named("g/v1", "K", "ns", "a"))}, []*InventoryItem{item(schema.GroupVersionKind{Group: "g", Version: "v1", Kind: "K"}, "", "a", ready)}, []string{"a ScheduledForDeletion", "a ScheduledForApplication"}, true},
	} {
		t.Run(tc.reason, func(t *testing.T) {
			t.Parallel()
			var before []*InventoryItem
			for _, i := range tc.inventory {
				before = append(before, i.DeepCopy())
			}
			got := planInventory(tc.targets, tc.inventory)
			var lines []string
			for _, i := range got.items {
				lines = append(lines, i.Name+" "+string(i.Phase))
			}
			slices.Sort(lines)
			slices.Sort(tc.want)
			if diff := cmp.Diff(tc.want, lines, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("items (-want +got):\n%s", diff)
			}
			if got.grown != tc.grown {
				t.Errorf("grown: got %v, want %v", got.grown, tc.grown)
			}
			if diff := cmp.Diff(before, tc.inventory, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("the recorded inventory was changed:\n%s", diff)
			}
		})
	}
}

// TestPhaseGroups: each phase must be in the groups that decisions rest on, and in no others.
func TestPhaseGroups(t *testing.T) {
	t.Parallel()
	for phase, want := range map[Phase][3]bool{ // written, completing, unwanted
		PhaseScheduledForApplication: {false, false, false},
		PhaseScheduledForDeletion:    {false, false, true},
		PhaseScheduledForCompletion:  {false, true, false},
		PhaseCreating:                {true, false, false},
		PhaseUpdating:                {true, false, false},
		PhaseDeleting:                {false, false, true},
		PhaseCompleting:              {false, true, false},
		PhaseReady:                   {true, false, false},
		PhaseCompleted:               {false, true, false},
		"":                           {false, false, false},
	} {
		i := &InventoryItem{Phase: phase}
		if got := [3]bool{i.written(), i.completing(), i.unwanted()}; got != want {
			t.Errorf("%q: got %v, want %v", phase, got, want)
		}
	}
}

func TestKeyedDigests(t *testing.T) {
	t.Parallel()
	object := func(kind string) *unstructured.Unstructured {
		return &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": kind, "metadata": map[string]any{"name": "a"}}}
	}
	for _, tc := range []struct {
		reason                string
		kind                  string
		policy                ReconcilePolicy
		key                   string
		former                string
		wantKeyed, wantFormer bool
	}{
		{"who has no key needs none", "Secret", ReconcilePolicyOnObjectChange, "", "", false, false},
		{"a Secret is keyed, and was not before", "Secret", ReconcilePolicyOnObjectChange, "k", "c0", true, true},
		{"other objects do not hide anything", "ConfigMap", ReconcilePolicyOnObjectChange, "k", "c0", false, false},
		{"but may have the digest of the component", "ConfigMap", ReconcilePolicyOnObjectOrComponentChange, "k", "c0", false, true},
		{"whose former one may be unknown", "ConfigMap", ReconcilePolicyOnObjectOrComponentChange, "k", "", false, false},
		{"so may a Secret", "Secret", ReconcilePolicyOnObjectOrComponentChange, "k", "c0", true, true},
		{"what is applied once has no digest", "Secret", ReconcilePolicyOnce, "k", "c0", false, false},
	} {
		plain, err := objectDigest(object(tc.kind), tc.policy, "c1")
		if err != nil {
			t.Fatal(err)
		}
		now, former, err := digestsOf(object(tc.kind), tc.policy, ApplyRequest{Digest: "c1", FormerDigest: tc.former, DigestKey: []byte(tc.key)})
		if err != nil || (now != plain) != tc.wantKeyed || (former != "") != tc.wantFormer || len(now) != len(plain) {
			t.Errorf("%s: got %q, before %q, without a key %q, %v", tc.reason, now, former, plain, err)
		}
		if former == "" {
			continue
		}
		recorded := &InventoryItem{Digest: former, Phase: PhaseReady, Status: status.CurrentStatus}
		planWanted(&target{digest: now, former: former}, recorded)
		if recorded.Digest != now || recorded.Phase != PhaseReady {
			t.Errorf("%s: want what was applied not to be applied again, got %+v", tc.reason, recorded)
		}
	}
}

func TestObjectDigest(t *testing.T) {
	t.Parallel()
	object := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": "a"}}}
	sum := func(policy ReconcilePolicy, component string) string {
		digest, err := objectDigest(object, policy, component)
		if err != nil {
			t.Fatal(err)
		}
		return digest
	}
	plain := sum(ReconcilePolicyOnObjectChange, "c1")
	if plain != sum(ReconcilePolicyOnObjectChange, "c2") {
		t.Error("the component must not matter")
	}
	if sum(ReconcilePolicyOnObjectOrComponentChange, "c1") == sum(ReconcilePolicyOnObjectOrComponentChange, "c2") {
		t.Error("the component must matter")
	}
	if got := sum(ReconcilePolicyOnce, "c1"); got != "__once__" {
		t.Errorf("the digest that the ancestor recorded must be kept, got %q", got)
	}
	if (&InventoryItem{Digest: plain}).byAncestor() || (&InventoryItem{Digest: "__once__"}).byAncestor() || !(&InventoryItem{Digest: plain[2:]}).byAncestor() {
		t.Error("digests of the ancestor must be told from ours")
	}
}
