// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package decide

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/component-operator/runtime/pkg/inventory"
	"github.com/component-operator/runtime/pkg/reconciler/internal/prepare"
	"github.com/component-operator/runtime/pkg/status"
	"github.com/component-operator/runtime/pkg/types"
)

func item(gvk schema.GroupVersionKind, namespace, name string, changes ...func(*inventory.Item)) *inventory.Item {
	i := &inventory.Item{TypeVersionInfo: inventory.TypeVersionInfo(gvk), NameInfo: inventory.NameInfo{Namespace: namespace, Name: name}}
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
		recorded   inventory.Item
		wantPhase  inventory.Phase
		wantStatus status.Status
	}{
		{"new", inventory.Item{}, inventory.PhaseScheduledForApplication, status.InProgressStatus},
		{"the manifest changed", inventory.Item{Digest: "2:old", Phase: inventory.PhaseReady, Status: status.CurrentStatus}, inventory.PhaseScheduledForApplication, status.InProgressStatus},
		{"the manifest changed while it was being written", inventory.Item{Digest: "2:old", Phase: inventory.PhaseUpdating, Status: status.InProgressStatus}, inventory.PhaseScheduledForApplication, status.InProgressStatus},
		{"the same", inventory.Item{Digest: "2:new", Phase: inventory.PhaseReady, Status: status.CurrentStatus}, inventory.PhaseReady, status.CurrentStatus},
		{"the same, not written yet", inventory.Item{Digest: "2:new", Phase: inventory.PhaseScheduledForApplication, Status: status.InProgressStatus}, inventory.PhaseScheduledForApplication, status.InProgressStatus},
		{"the same, failed", inventory.Item{Digest: "2:new", Phase: inventory.PhaseCreating, Status: status.FailedStatus}, inventory.PhaseCreating, status.FailedStatus},
		{"purged", inventory.Item{Digest: "2:new", Phase: inventory.PhaseCompleted}, inventory.PhaseCompleted, ""},
		{"being purged", inventory.Item{Digest: "2:new", Phase: inventory.PhaseCompleting, Status: status.TerminatingStatus}, inventory.PhaseCompleting, status.TerminatingStatus},
		{"purged, and changed: it runs again", inventory.Item{Digest: "2:old", Phase: inventory.PhaseCompleted, LastAppliedAt: written}, inventory.PhaseScheduledForApplication, status.InProgressStatus},
		{"purged by the ancestor: its digest says nothing", inventory.Item{Digest: "old", Phase: inventory.PhaseCompleted, LastAppliedAt: written}, inventory.PhaseCompleted, ""},
		{"purged after it was applied once, and now applied on change", inventory.Item{Digest: prepare.DigestOnce, Phase: inventory.PhaseCompleted, LastAppliedAt: written}, inventory.PhaseScheduledForApplication, status.InProgressStatus},
		{"ready by the ancestor: one write in place", inventory.Item{Digest: "old", Phase: inventory.PhaseReady, Status: status.CurrentStatus, LastAppliedAt: written}, inventory.PhaseScheduledForApplication, status.InProgressStatus},
		{"wanted again before it was deleted", inventory.Item{Phase: inventory.PhaseScheduledForDeletion, UID: "u", Status: status.TerminatingStatus}, inventory.PhaseScheduledForApplication, status.InProgressStatus},
		{"wanted again while being deleted", inventory.Item{Phase: inventory.PhaseDeleting, UID: "u", Status: status.TerminatingStatus}, inventory.PhaseScheduledForApplication, status.InProgressStatus},
		{"changed while being purged", inventory.Item{Digest: "2:old", Phase: inventory.PhaseCompleting, UID: "u", Status: status.TerminatingStatus}, inventory.PhaseScheduledForApplication, status.InProgressStatus},
	} {
		t.Run(tc.reason, func(t *testing.T) {
			t.Parallel()
			wanted := desired(func(t *prepare.Object) {
				t.Adoption, t.Update, t.Reconcile = inventory.AdoptionPolicyAlways, inventory.UpdatePolicySsaMerge, inventory.ReconcilePolicyOnObjectOrComponentChange
				t.Digest, t.DeleteOrder, t.Delete = "2:new", 5, inventory.DeletePolicyOrphan
				t.ManagedTypes = []inventory.TypeVersionInfo{{Group: "g", Version: "*", Kind: "K"}}
			})
			got := tc.recorded.DeepCopy()
			got.DeletionApproved = true
			planWanted(wanted, got)
			want := tc.recorded.DeepCopy()
			want.TypeVersionInfo, want.Digest, want.Phase, want.Status = inventory.TypeVersionInfo(configMapKind), "2:new", tc.wantPhase, tc.wantStatus
			want.AdoptionPolicy, want.ReconcilePolicy, want.UpdatePolicy = inventory.AdoptionPolicyAlways, inventory.ReconcilePolicyOnObjectOrComponentChange, inventory.UpdatePolicySsaMerge
			want.DeletePolicy, want.ApplyOrder, want.DeleteOrder = inventory.DeletePolicyOrphan, 7, 5
			want.ManagedTypes = []inventory.TypeVersionInfo{{Group: "g", Version: "*", Kind: "K"}}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("item (-want +got):\n%s", diff)
			}
		})
	}
}

func TestPlanUnwanted(t *testing.T) {
	t.Parallel()
	for phase, want := range map[inventory.Phase]inventory.Phase{
		inventory.PhaseScheduledForApplication: inventory.PhaseScheduledForDeletion, // it may have been created by a process that died
		inventory.PhaseCreating:                inventory.PhaseScheduledForDeletion,
		inventory.PhaseUpdating:                inventory.PhaseScheduledForDeletion,
		inventory.PhaseReady:                   inventory.PhaseScheduledForDeletion,
		inventory.PhaseScheduledForCompletion:  inventory.PhaseScheduledForDeletion,
		inventory.PhaseCompleting:              inventory.PhaseScheduledForDeletion,
		inventory.PhaseScheduledForDeletion:    inventory.PhaseScheduledForDeletion,
		inventory.PhaseDeleting:                inventory.PhaseDeleting,
		inventory.PhaseCompleted:               "", // it is gone already
		"":                                     inventory.PhaseScheduledForDeletion,
	} {
		recorded := item(configMapKind, "ns", "a", func(i *inventory.Item) {
			i.Phase, i.Digest, i.UID, i.Fingerprint, i.Status, i.DeletePolicy, i.DeleteOrder = phase, "2:d", "u", "f", status.CurrentStatus, inventory.DeletePolicyOrphan, 3
		})
		before := recorded.DeepCopy()
		got := Unwanted(recorded, prepare.IsOrphanedOnApply)
		var expected *inventory.Item
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
	ready := func(i *inventory.Item) {
		i.Phase, i.Digest, i.Status, i.UID = inventory.PhaseReady, "2:new", status.CurrentStatus, "u"
	}
	current := func(t *prepare.Object) { t.Digest = "2:new" }
	cm := func(name string) *prepare.Object { return desired(named("v1", "ConfigMap", "ns", name), current) }
	for _, tc := range []struct {
		reason    string
		wanted    []*prepare.Object
		inventory []*inventory.Item
		want      []string
		saveFirst bool
	}{
		{"nothing is wanted, nothing recorded", nil, nil, nil, false},
		{"first", []*prepare.Object{cm("a")}, nil, []string{"a ScheduledForApplication"}, true},
		{"nothing new", []*prepare.Object{cm("a")}, []*inventory.Item{item(configMapKind, "ns", "a", ready)}, []string{"a Ready"}, false},
		{"a change need not be saved before it is written", []*prepare.Object{desired(named("v1", "ConfigMap", "ns", "a"))}, []*inventory.Item{item(configMapKind, "ns", "a", ready)}, []string{"a ScheduledForApplication"}, false},
		{"an object that is created again after it was purged counts as new", []*prepare.Object{cm("a")}, []*inventory.Item{item(configMapKind, "ns", "a", func(i *inventory.Item) { i.Phase, i.Digest, i.UID = inventory.PhaseCompleted, "2:old", "u" })}, []string{"a ScheduledForApplication"}, true},
		{"so is what was being deleted", []*prepare.Object{cm("a")}, []*inventory.Item{item(configMapKind, "ns", "a", func(i *inventory.Item) { i.Phase, i.Digest, i.UID = inventory.PhaseDeleting, "", "u" })}, []string{"a ScheduledForApplication"}, true},
		{"one more, one less", []*prepare.Object{cm("b")}, []*inventory.Item{item(configMapKind, "ns", "a", ready)}, []string{"a ScheduledForDeletion", "b ScheduledForApplication"}, true},
		{"the version does not matter", []*prepare.Object{desired(named("example.com/v2", "Widget", "ns", "a"), current)}, []*inventory.Item{item(schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Widget"}, "ns", "a", ready)}, []string{"a Ready"}, false},
		{"the namespace does", []*prepare.Object{desired(named("v1", "ConfigMap", "other", "a"), current)}, []*inventory.Item{item(configMapKind, "ns", "a", ready)}, []string{"a ScheduledForDeletion", "a ScheduledForApplication"}, true},
		{"the group does", []*prepare.Object{desired(named("g/v1", "ConfigMap", "ns", "a"), current)}, []*inventory.Item{item(configMapKind, "ns", "a", ready)}, []string{"a ScheduledForDeletion", "a ScheduledForApplication"}, true},
		{"what was purged and is no longer in the manifests is forgotten", nil, []*inventory.Item{item(configMapKind, "ns", "a", func(i *inventory.Item) { i.Phase = inventory.PhaseCompleted })}, nil, false},
		{"an item whose namespace was not known yet is the same", []*prepare.Object{desired(named("g/v1", "K", "ns", "a"))}, []*inventory.Item{item(schema.GroupVersionKind{Group: "g", Version: "v1", Kind: "K"}, "", "a", func(i *inventory.Item) { i.Phase = inventory.PhaseScheduledForApplication })}, []string{"a ScheduledForApplication"}, true},
		{"of two such objects only one can be the item", []*prepare.Object{desired(named("g/v1", "K", "ns", "a")), desired(named("g/v1", "K", "other", "a"))}, []*inventory.Item{item(schema.GroupVersionKind{Group: "g", Version: "v1", Kind: "K"}, "", "a", func(i *inventory.Item) { i.Phase = inventory.PhaseScheduledForApplication })}, []string{"a ScheduledForApplication", "a ScheduledForApplication"}, true},
		{"what is recorded twice is not unwanted by that", []*prepare.Object{cm("a")}, []*inventory.Item{item(configMapKind, "ns", "a", ready), item(configMapKind, "ns", "a", ready)}, []string{"a Ready"}, false},
		{"nor deleted twice", nil, []*inventory.Item{item(configMapKind, "ns", "a", ready), item(configMapKind, "ns", "a", ready)}, []string{"a ScheduledForDeletion"}, false},
		{"a cluster-scoped object that may exist is not the same", []*prepare.Object{desired(named("g/v1", "K", "ns", "a"))}, []*inventory.Item{item(schema.GroupVersionKind{Group: "g", Version: "v1", Kind: "K"}, "", "a", ready)}, []string{"a ScheduledForDeletion", "a ScheduledForApplication"}, true},
	} {
		t.Run(tc.reason, func(t *testing.T) {
			t.Parallel()
			var before []*inventory.Item
			for _, i := range tc.inventory {
				before = append(before, i.DeepCopy())
			}
			got := Next(tc.wanted, nil, tc.inventory, inventory.PrunePolicyDelete)
			var lines []string
			for _, i := range got.Items {
				lines = append(lines, i.Name+" "+string(i.Phase))
			}
			slices.Sort(lines)
			slices.Sort(tc.want)
			if diff := cmp.Diff(tc.want, lines, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("items (-want +got):\n%s", diff)
			}
			if got.SaveFirst != tc.saveFirst {
				t.Errorf("saveFirst: got %v, want %v", got.SaveFirst, tc.saveFirst)
			}
			if diff := cmp.Diff(before, tc.inventory, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("the recorded inventory was changed:\n%s", diff)
			}
		})
	}
}

// TestWhatIsKept becomes redundant, or has been so.
func TestWhatIsKept(t *testing.T) {
	t.Parallel()
	const keep, confirm = inventory.PrunePolicyKeep, inventory.PrunePolicyConfirm
	for _, tc := range []struct {
		reason string
		item   inventory.Item
		owner  inventory.PrunePolicy
		want   inventory.Phase // empty if the item is dropped
	}{
		{"its own policy", inventory.Item{Phase: inventory.PhaseReady, PrunePolicy: keep}, inventory.PrunePolicyDelete, inventory.PhaseKept},
		{"the owner's policy", inventory.Item{Phase: inventory.PhaseUpdating}, keep, inventory.PhaseKept},
		{"its own policy counts", inventory.Item{Phase: inventory.PhaseReady, PrunePolicy: confirm}, keep, inventory.PhaseScheduledForDeletion},
		{"it is kept already", inventory.Item{Phase: inventory.PhaseKept, PrunePolicy: keep}, inventory.PrunePolicyDelete, inventory.PhaseKept},
		{"whether it still stays is decided later", inventory.Item{Phase: inventory.PhaseKept}, inventory.PrunePolicyDelete, inventory.PhaseKept},
		{"its deletion has not begun", inventory.Item{Phase: inventory.PhaseScheduledForDeletion}, keep, inventory.PhaseKept},
		{"its deletion has begun", inventory.Item{Phase: inventory.PhaseDeleting}, keep, inventory.PhaseDeleting},
		{"it is being purged", inventory.Item{Phase: inventory.PhaseCompleting, UID: "u"}, keep, inventory.PhaseScheduledForDeletion},
		{"it has failed, and is being deleted", inventory.Item{Phase: inventory.PhaseFailed, UID: "u"}, keep, inventory.PhaseScheduledForDeletion},
		{"it was purged", inventory.Item{Phase: inventory.PhaseCompleted}, keep, ""},
		{"it is orphaned", inventory.Item{Phase: inventory.PhaseReady, DeletePolicy: inventory.DeletePolicyOrphanOnApply}, keep, inventory.PhaseScheduledForDeletion},
	} {
		t.Run(tc.reason, func(t *testing.T) {
			t.Parallel()
			tc.item.Name = "a"
			var got inventory.Phase
			if next := Next(nil, nil, []*inventory.Item{&tc.item}, tc.owner).Items; len(next) > 0 {
				got = next[0].Phase
			}
			if got != tc.want {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}

// TestProtectUnwritten changes the policies of an object that is not written yet: what one of them protects stays.
func TestProtectUnwritten(t *testing.T) {
	t.Parallel()
	const keep, confirm, prune = inventory.PrunePolicyKeep, inventory.PrunePolicyConfirm, inventory.PrunePolicyDelete
	const remove, orphan, ask = inventory.DeletePolicyDelete, inventory.DeletePolicyOrphan, inventory.DeletePolicyConfirmOnDelete
	for _, tc := range []struct {
		reason                            string
		phase                             inventory.Phase
		applied, declared, want           inventory.DeletePolicy
		prune, declaredPrune, wantedPrune inventory.PrunePolicy
	}{
		{"nothing changes", inventory.PhaseReady, remove, remove, remove, "", "", ""},
		{"it was protected", inventory.PhaseReady, orphan, remove, orphan, "", "", ""},
		{"it is protected from now on", inventory.PhaseReady, remove, orphan, orphan, "", "", ""},
		{"each policy protects it in one case", inventory.PhaseReady, inventory.DeletePolicyOrphanOnApply, inventory.DeletePolicyOrphanOnDelete, orphan, "", "", ""},
		{"its deletion needed approval", inventory.PhaseReady, ask, remove, ask, "", "", ""},
		{"its deletion needs approval from now on", inventory.PhaseReady, remove, ask, ask, "", "", ""},
		{"it was kept", inventory.PhaseReady, remove, remove, remove, keep, prune, keep},
		{"it was to be confirmed", inventory.PhaseReady, remove, remove, remove, confirm, prune, confirm},
		{"it is held", inventory.PhaseScheduledForDeletion, remove, remove, remove, confirm, prune, confirm},
		{"its deletion has begun", inventory.PhaseDeleting, orphan, remove, remove, keep, prune, prune},
	} {
		recorded := item(configMapKind, "ns", "a", func(i *inventory.Item) {
			i.Phase, i.Digest, i.DeletePolicy, i.PrunePolicy = tc.phase, "2:old", tc.applied, tc.prune
		})
		wanted := []*prepare.Object{desired(named("v1", "ConfigMap", "ns", "a"), func(t *prepare.Object) {
			t.Digest, t.Delete, t.Prune = "2:new", tc.declared, tc.declaredPrune
		})}
		plan := Next(wanted, nil, []*inventory.Item{recorded}, prune)
		plan.ProtectUnwritten(wanted)
		if got := plan.Items[0]; got.DeletePolicy != tc.want || got.PrunePolicy != tc.wantedPrune {
			t.Errorf("%s: got %s, %q, want %s, %q", tc.reason, got.DeletePolicy, got.PrunePolicy, tc.want, tc.wantedPrune)
		}
	}
}

// TestDigestsOfEarlierRules has digests be recorded that were computed in another way.
func TestDigestsOfEarlierRules(t *testing.T) {
	t.Parallel()
	recorded := &inventory.Item{Digest: "2:former", Phase: inventory.PhaseReady, Status: status.CurrentStatus}
	planWanted(&prepare.Object{Digest: "2:now", Former: []string{"2:former"}}, recorded)
	if recorded.Digest != "2:now" || recorded.Phase != inventory.PhaseReady {
		t.Errorf("want what was applied not to be applied again, got %+v", recorded)
	}
	if HasOtherFormat(&inventory.Item{Digest: "2:now"}) || HasOtherFormat(&inventory.Item{Digest: prepare.DigestOnce}) || !HasOtherFormat(&inventory.Item{Digest: "now"}) {
		t.Error("digests of the ancestor must be told from ours")
	}
}

func TestRerunFailed(t *testing.T) {
	t.Parallel()
	key := func(kind string) types.ObjectID {
		return types.ObjectID{GroupKind: schema.GroupKind{Group: "batch", Kind: kind}, Name: "a"}
	}
	for _, tc := range []struct {
		reason, kind string
		update       inventory.UpdatePolicy
		phase        inventory.Phase
		status       status.Status
		want         bool
	}{
		{"it has failed, and may be replaced", "Job", inventory.UpdatePolicyRecreate, inventory.PhaseUpdating, status.FailedStatus, true},
		{"it must not be replaced", "Job", inventory.UpdatePolicySsaOverride, inventory.PhaseUpdating, status.FailedStatus, false},
		{"it has failed, and is gone", "Job", inventory.UpdatePolicySsaOverride, inventory.PhaseFailed, status.FailedStatus, true},
		{"it has not failed", "Job", inventory.UpdatePolicyRecreate, inventory.PhaseReady, status.CurrentStatus, false},
		{"it is no work that ends", "CronJob", inventory.UpdatePolicyRecreate, inventory.PhaseUpdating, status.FailedStatus, false},
		{"it is to be applied anyway", "Job", inventory.UpdatePolicyRecreate, inventory.PhaseScheduledForApplication, status.InProgressStatus, false},
	} {
		item := &inventory.Item{
			TypeVersionInfo: inventory.TypeVersionInfo{Group: "batch", Version: "v1", Kind: tc.kind}, NameInfo: inventory.NameInfo{Name: "a"},
			UpdatePolicy: tc.update, Phase: tc.phase, Status: tc.status, Digest: "2:a",
		}
		wanted := []*prepare.Object{{Key: key(tc.kind), Version: "v1", Effective: prepare.Effective{Update: tc.update}, Digest: "2:a"}}
		plan := Next(wanted, nil, []*inventory.Item{item}, "")
		plan.RerunFailed(wanted)
		again := plan.Wanted[0].Phase == inventory.PhaseScheduledForApplication && plan.Wanted[0].Status == status.FailedStatus
		if again != tc.want || plan.SaveFirst != tc.want {
			t.Errorf("%s: want it to run again: %t, got %+v", tc.reason, tc.want, plan.Wanted[0])
		}
	}
}
