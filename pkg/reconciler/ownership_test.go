// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package reconciler_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apitypes "k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/internal/testenv"
	"github.com/component-operator/runtime/pkg/reconciler"
)

// TestAdoptionsAreRecorded is about owners that want to know which dependents existed before.
func TestAdoptionsAreRecorded(t *testing.T) {
	t.Parallel()
	for _, policy := range []string{"replace", "recreate"} {
		t.Run(policy, func(t *testing.T) {
			t.Parallel()
			manifests := ""
			for _, name := range []string{"theirs1", "theirs2", "ours1", "ours2"} {
				manifests += fmt.Sprintf("---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: %s, annotations: {PREFIX/update-policy: %s}}\ndata: {value: ours}\n", name, policy)
			}
			w := newWorld(t)
			for i := range 2 {
				w.create(strings.ReplaceAll(strings.ReplaceAll(claimed, "METADATA", "labels: {a: b}"), "name: a", fmt.Sprintf("name: theirs%d", i+1)))
			}
			before := w.configMap("theirs1")

			// The plan is recorded (and counted twice), and after that the adoptions.
			w.owner.Store = &failing{world: w, at: w.saves + 3}
			request := w.request(manifests)
			request.RecordAdoptions = true
			if _, err := w.engine.Apply(t.Context(), request); err == nil || !strings.Contains(err.Error(), "saving the inventory") {
				t.Errorf("expected the failure of the store, got %v", err)
			}
			if diff := cmp.Diff(before, w.configMap("theirs1")); diff != "" {
				t.Errorf("it was adopted although that is not recorded (-before +after):\n%s", diff)
			}

			w.owner.Store = w
			saves := w.saves
			request.Owner = w.owner
			result, err := w.engine.Apply(t.Context(), request)
			w.owner.Inventory = result.Inventory
			if err != nil || !result.Done {
				t.Fatalf("done: %v, %v", result.Done, err)
			}
			if w.saves != saves+1 {
				t.Errorf("want one save for all adoptions of a tier, got %d", w.saves-saves)
			}
			w.expectActions(result, "Adopted ConfigMap theirs1", "Adopted ConfigMap theirs2", "Updated ConfigMap ours1", "Updated ConfigMap ours2")
			w.expectAdopted("theirs1 theirs2")
			// It stays what it was, whatever is applied later, and while it is not wanted any more.
			w.mustApply(strings.ReplaceAll(manifests, "value: ours", "value: new"))
			w.expectAdopted("theirs1 theirs2")
			w.mustDelete()
		})
	}
}

// expectAdopted compares the names of the dependents of which is recorded that they were there before.
func (w *world) expectAdopted(want string) {
	w.Helper()
	var names []string
	for _, item := range w.owner.Inventory {
		if item.Adopted {
			names = append(names, item.Name)
		}
	}
	if got := strings.Join(names, " "); got != want {
		w.Errorf("recorded as adopted: %q, want %q", got, want)
	}
}

// Both are the same object: the API server serves Events by two groups.
const (
	coreEvent = `
apiVersion: v1
kind: Event
metadata: {name: a}
involvedObject: {apiVersion: v1, kind: Namespace, name: NS, namespace: NS}
reason: Reason
action: Action
type: Normal
message: text
eventTime: "2026-01-01T00:00:00.000000Z"
reportingComponent: example.com/controller
reportingInstance: one
`
	groupEvent = `
apiVersion: events.k8s.io/v1
kind: Event
metadata: {name: a}
regarding: {apiVersion: v1, kind: Namespace, name: NS, namespace: NS}
reason: Reason
action: Action
type: Normal
note: text
eventTime: "2026-01-01T00:00:00.000000Z"
reportingController: example.com/controller
reportingInstance: one
`
)

func TestMoveToAnotherGroupKeepsTheObject(t *testing.T) {
	t.Parallel()
	for name, options := range map[string][]option{"Observed": nil, "Asked": {withoutObserver}, "Waves": nil} {
		for policy, manifest := range map[string]string{
			"Delete": coreEvent,
			"Orphan": strings.Replace(coreEvent, "{name: a}", "{name: a, annotations: {PREFIX/delete-policy: orphan}}", 1),
		} {
			t.Run(name+policy, func(t *testing.T) {
				t.Parallel()
				w := newWorld(t, options...)
				if name == "Waves" {
					w.policies.PruneAt = reconciler.PruneAtWaves
				}
				w.mustApply(manifest)
				uid := w.get("v1", "Event", "a").GetUID()
				result := w.mustApply(groupEvent)
				w.expectActions(result, "Updated Event a")
				live := w.get("events.k8s.io/v1", "Event", "a")
				if live == nil || live.GetUID() != uid {
					t.Fatalf("expected the object to stay, got %v", live)
				}
				if live.GetLabels()[prefix+"/owner-id"] == "" {
					t.Error("expected the object to stay marked")
				}
				w.expectInventory("Event a Ready Current")
				if group := w.owner.Inventory[0].Group; group != "events.k8s.io" {
					t.Errorf("expected the record to be in the new group, got %q", group)
				}
				// And back.
				w.mustApply(manifest)
				if live := w.get("v1", "Event", "a"); live == nil || live.GetUID() != uid {
					t.Fatalf("expected the object to stay, got %v", live)
				}
				w.mustApply("")
			})
		}
	}
}

// claimed is a ConfigMap of others; METADATA says whose.
const claimed = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, METADATA}\ndata: {value: theirs}\n"

// claims are ways in which an object may say that it belongs to others, and the messages about them.
var claims = map[string]struct{ metadata, text string }{
	"Controller": {
		"ownerReferences: [{apiVersion: example.com/v1, kind: Thing, name: theirs, uid: UID, controller: true}]",
		"is controlled by Thing.example.com theirs",
	},
	"Operator": {
		"labels: {other.example.com/owner-id: abc}, annotations: {other.example.com/owner-id: uid/shop/web}",
		"belongs to shop/web of operator other.example.com",
	},
	"OperatorLabel": {"labels: {other.example.com/owner-id: abc}", "belongs to operator other.example.com"},
	"Helm": {
		"labels: {app.kubernetes.io/managed-by: Helm}, annotations: {meta.helm.sh/release-name: web, meta.helm.sh/release-namespace: shop}",
		"belongs to Helm release shop/web",
	},
}

// TestAdoptionSparesWhatBelongsToOthers has objects without our label that belong to others all the same.
func TestAdoptionSparesWhatBelongsToOthers(t *testing.T) {
	t.Parallel()
	const manifest = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, annotations: {PREFIX/adoption-policy: POLICY}}\ndata: {value: ours}\n"
	for name, claim := range claims {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.createClaimed(claim.metadata)
			before := w.configMap("a")
			ifUnowned := strings.ReplaceAll(manifest, "POLICY", "if-unowned")
			for _, policy := range []string{"if-unowned", "never"} {
				_, err := w.apply(strings.ReplaceAll(manifest, "POLICY", policy))
				w.expectRefusal(err, "ConfigMap NS/a: already exists and "+claim.text+", but its adoption policy is "+policy)
			}
			w.expectPlan(w.plan(ifUnowned, compare), "0 - ConfigMap NS/a! already exists and "+claim.text+", but its adoption policy is if-unowned")
			w.mustDelete()
			if diff := cmp.Diff(before, w.configMap("a")); diff != "" {
				t.Fatalf("an object of others must stay as it is (-before +after):\n%s", diff)
			}
			w.owner.Inventory = nil
			w.expectActions(w.mustApply(strings.ReplaceAll(manifest, "POLICY", "always")), "Adopted ConfigMap a")
		})
	}
}

// TestOursStaysOursIfOthersClaimIt has others add their marks to a dependent.
func TestOursStaysOursIfOthersClaimIt(t *testing.T) {
	t.Parallel()
	const manifest = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, annotations: {PREFIX/adoption-policy: never, PREFIX/update-policy: ssa-merge}}\ndata: {value: VALUE}\n"
	for name, tc := range map[string]struct{ reason, patch string }{
		"Controller": {"a controller that refers to it does not make it another object", `{"metadata":{"ownerReferences":[{"apiVersion":"v1","kind":"Namespace","name":"NS","uid":"UID","controller":true}]}}`},
		"Helm":       {"nor does an annotation", `{"metadata":{"annotations":{"meta.helm.sh/release-name":"web"}}}`},
		"Unlabelled": {
			"nor if our label is removed",
			`{"metadata":{"labels":{"PREFIX/owner-id":null},"ownerReferences":[{"apiVersion":"v1","kind":"Namespace","name":"NS","uid":"UID","controller":true}]}}`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.mustApply(strings.ReplaceAll(manifest, "VALUE", "a"))
			w.patch(w.configMap("a"), w.withUID(tc.patch))
			w.mustApply(strings.ReplaceAll(manifest, "VALUE", "b"))
			if diff := diffData(map[string]any{"value": "b"}, w.configMap("a")); diff != "" {
				t.Errorf("%s: %s", tc.reason, diff)
			}
			w.mustDelete()
			if w.configMap("a") != nil {
				t.Errorf("%s: it was left behind", tc.reason)
			}
		})
	}
}

// createClaimed creates an object that belongs to others.
func (w *world) createClaimed(metadata string) {
	w.Helper()
	w.create(strings.ReplaceAll(claimed, "METADATA", w.withUID(metadata)))
}

// withUID puts the UID of the namespace, which exists, into a text.
func (w *world) withUID(text string) string {
	w.Helper()
	return strings.ReplaceAll(text, "UID", string(w.get("v1", "Namespace", "NS").GetUID()))
}

// heirOf returns a world in the same namespace whose owner is another one.
func heirOf(w *world) *world {
	successor := newWorld(w.TB)
	successor.namespace, successor.owner.Namespace = w.namespace, w.namespace
	return successor
}

// applyAmong makes one pass of an owner with siblings, and plans it before.
func (w *world) applyAmong(siblings map[string]reconciler.Relation, manifests string) (reconciler.Plan, reconciler.Result, error) {
	w.Helper()
	request := w.request(manifests)
	request.Siblings = siblings
	plan, err := w.engine.Plan(w.Context(), request, reconciler.PlanOptions{})
	if err != nil {
		w.Fatal(err)
	}
	result, err := w.engine.Apply(w.Context(), request)
	w.owner.Inventory = result.Inventory
	return plan, result, err
}

// pair has two owners of the same objects in one namespace.
type pair struct{ older, newer *world }

func newPair(t *testing.T) pair {
	t.Helper()
	older := newWorld(t)
	return pair{older: older, newer: heirOf(older)}
}

// applyOlder makes one pass of the older owner.
func (p pair) applyOlder(manifests string) (reconciler.Plan, reconciler.Result, error) {
	p.older.Helper()
	return p.older.applyAmong(map[string]reconciler.Relation{p.newer.owner.ID: reconciler.RelationNewer}, manifests)
}

// applyNewer makes one pass of the newer owner.
func (p pair) applyNewer(manifests string) (reconciler.Plan, reconciler.Result, error) {
	p.newer.Helper()
	return p.newer.applyAmong(map[string]reconciler.Relation{p.older.owner.ID: reconciler.RelationOlder}, manifests)
}

// awaitHandover makes passes of the older owner until it has seen that the newer one has its first object. What it has
// written last may be seen late.
func (p pair) awaitHandover(manifests string) (reconciler.Plan, reconciler.Result) {
	p.older.Helper()
	var plan reconciler.Plan
	var result reconciler.Result
	testenv.Eventually(p.older, func() (bool, string) {
		var err error
		if plan, result, err = p.applyOlder(manifests); err != nil {
			p.older.Fatal(err)
		}
		return p.holders()["a"] == p.newer.owner.ID, "the handover is not seen"
	})
	return plan, result
}

// holders returns the recorded holders of the objects of the older owner, by name.
func (p pair) holders() map[string]string {
	found := map[string]string{}
	for _, item := range p.older.owner.Inventory {
		found[item.Name] = item.Holder
	}
	return found
}

const shared = `
apiVersion: v1
kind: ConfigMap
metadata: {name: a, annotations: {PREFIX/adoption-policy: never, PREFIX/update-policy: recreate}}
data: {a: "VALUE"}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: b}
data: {b: "1"}
`

// TestHandover lets a newer owner take over one of two objects.
func TestHandover(t *testing.T) {
	t.Parallel()
	p := newPair(t)
	older, newer := p.older, p.newer
	older.mustApply(shared)
	uid := older.configMap("a").GetUID()
	onlyA, _, _ := strings.Cut(strings.ReplaceAll(shared, "VALUE", "new"), "---")

	plan, result, err := p.applyNewer(onlyA)
	if err != nil {
		t.Fatal(err)
	}
	newer.expectPlan(plan, "0 Adopted ConfigMap NS/a: is handed over by uid/NS/component")
	newer.expectActions(result, "Adopted ConfigMap a")
	live := older.configMap("a")
	if live.GetUID() != uid || live.GetAnnotations()[prefix+"/owner-id"] != newer.owner.ID {
		t.Errorf("expected the same object with another owner, got %v", live.Object)
	}

	// The older owner leaves it alone, also if its manifest changes, corrects what it still has, and waits for nothing.
	p.awaitHandover(shared)
	older.patch(older.configMap("b"), `{"data":{"b":"changed by others"}}`)
	testenv.Eventually(t, func() (bool, string) {
		if _, _, err := p.applyOlder(shared); err != nil {
			t.Fatal(err)
		}
		diff := diffData(map[string]any{"b": "1"}, older.configMap("b"))
		return diff == "", diff
	})
	for _, manifests := range []string{shared, strings.ReplaceAll(shared, "VALUE", "old")} {
		plan, result, err = p.applyOlder(manifests)
		if err != nil || !result.Done {
			t.Fatalf("got %v, %v", result.Waits, err)
		}
		if reason := plan.Changes[0].Reason; plan.Changes[0].Verb != "" || reason != "was handed over to "+newer.owner.ID {
			t.Errorf("unexpected plan %+v", plan.Changes[0])
		}
		if holders := p.holders(); holders["a"] != newer.owner.ID || holders["b"] != "" {
			t.Errorf("unexpected holders %v", holders)
		}
	}
	if diff := diffData(map[string]any{"a": "new"}, older.configMap("a")); diff != "" {
		t.Error(diff)
	}

	// It deletes only what it still has.
	older.mustDelete()
	if older.configMap("a") == nil || older.configMap("b") != nil {
		t.Error("expected the object of the newer owner to be left")
	}
	newer.mustDelete()
}

// TestOnceLeavesWhatExists is about objects that are generated once, such as a Secret with a random password: the
// existing content counts.
func TestOnceLeavesWhatExists(t *testing.T) {
	t.Parallel()
	const manifest = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, annotations: {PREFIX/reconcile-policy: once, PREFIX/update-policy: UPDATE}}\ndata: {value: VALUE}\n"
	for _, update := range []string{"replace", "ssa-override", "recreate"} {
		t.Run(update, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			of := func(value string) string {
				return strings.NewReplacer("UPDATE", update, "VALUE", value).Replace(manifest)
			}
			expect := func(reason, uid string) {
				t.Helper()
				object := w.configMap("a")
				if object == nil {
					t.Fatalf("%s: it has gone", reason)
				}
				if diff := diffData(map[string]any{"value": "theirs"}, object); diff != "" || string(object.GetUID()) != uid {
					t.Errorf("%s: recreated: %t, %s", reason, string(object.GetUID()) != uid, diff)
				}
			}
			w.createClaimed("labels: {a: b}")
			uid := string(w.configMap("a").GetUID())
			w.expectPlan(w.plan(of("first"), compare), "0 Adopted ConfigMap NS/a: already exists and has no owner")
			w.expectActions(w.mustApply(of("first")), "Adopted ConfigMap a")
			expect("it existed before", uid)
			w.mustApply(of("second"))
			expect("its manifest changed", uid)
			w.owner.Inventory = nil
			w.mustApply(of("third"))
			expect("its record was lost", uid)
			w.mustDelete()
			if w.configMap("a") != nil {
				t.Error("it is a dependent like any other, and was left behind")
			}
		})
	}
}

// recordLabels are labels of objects in which dependents are recorded, by this operator or by another one.
var recordLabels = map[string]string{
	"Own": "PREFIX/inventory-owner-id: abc", "OfAnOperator": "other.example.com/inventory-owner-id: abc", "OfARelease": "clm.cs.sap.com/record: release",
}

// TestRecordsAreNotAdopted has objects in which other owners record their dependents, and which they would lose track
// of without them.
func TestRecordsAreNotAdopted(t *testing.T) {
	t.Parallel()
	const manifest = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, annotations: {PREFIX/adoption-policy: POLICY}}\ndata: {value: ours}\n"
	const refusal = "ConfigMap NS/a: already exists, is part of a record of dependents (label "
	for name, label := range recordLabels {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.createClaimed("labels: {" + label + "}")
			before := w.configMap("a")
			key, _, _ := strings.Cut(label, ":")
			for _, policy := range []string{"always", "if-unowned", "never"} {
				_, err := w.apply(strings.ReplaceAll(manifest, "POLICY", policy))
				w.expectRefusal(err, refusal+w.expand(key)+"), and cannot be a dependent")
			}
			request := w.request(strings.ReplaceAll(manifest, "POLICY", "if-unowned"))
			request.TakeOver = append(request.TakeOver, before)
			_, err := w.engine.Apply(t.Context(), request)
			w.expectRefusal(err, refusal)
			w.expectPlan(w.plan(strings.ReplaceAll(manifest, "POLICY", "always"), compare),
				"0 - ConfigMap NS/a! already exists, is part of a record of dependents (label "+w.expand(key)+"), and cannot be a dependent")
			w.mustDelete()
			if diff := cmp.Diff(before, w.configMap("a")); diff != "" {
				t.Errorf("a record must stay as it is (-before +after):\n%s", diff)
			}
		})
	}
}

// TestRecordsAreNotCreated has manifests that were exported along with such records.
func TestRecordsAreNotCreated(t *testing.T) {
	t.Parallel()
	for name, label := range recordLabels {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			key, _, _ := strings.Cut(label, ":")
			_, err := w.apply("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, labels: {" + label + "}}\n")
			w.expectRefusal(err, "ConfigMap a: metadata.labels: "+w.expand(key)+" marks parts of records of dependents, which cannot be dependents; leave the object out")
			if len(w.writes()) > 0 {
				t.Errorf("expected no writes, got %v", w.writes())
			}
		})
	}
}

// TestRecordsStay has a record among the dependents, as earlier versions allowed.
func TestRecordsStay(t *testing.T) {
	t.Parallel()
	const left = "is part of a record of dependents, and is left alone"
	for name, label := range recordLabels {
		for _, policy := range []reconciler.DeletePolicy{reconciler.DeletePolicyDelete, reconciler.DeletePolicyOrphan} {
			t.Run(name+string(policy), func(t *testing.T) {
				t.Parallel()
				const own, adopted = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: own}\n", "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n"
				w := newWorld(t)
				w.mustApply(own + adopted)
				w.patch(w.configMap("a"), `{"metadata":{"labels":{"`+strings.ReplaceAll(label, ": ", `":"`)+`"}}}`)
				for _, item := range w.owner.Inventory {
					item.DeletePolicy = policy
				}
				before := w.configMap("a")
				w.expectPlan(w.plan(own, compare), "0 - ConfigMap NS/own", "0 - ConfigMap NS/a: is no longer in the manifests; it "+left)
				result := w.mustApply(own)
				if diff := cmp.Diff("ConfigMap a: "+left, notices(result.Notes)); diff != "" {
					t.Errorf("notes (-want +got):\n%s", diff)
				}
				w.expectInventory("ConfigMap own Ready Current")
				rebuilt, err := w.engine.Rebuild(t.Context(), reconciler.RebuildRequest{ID: w.owner.ID, Objects: w.request(own).Objects})
				if err != nil || rebuilt.Found != 1 {
					t.Errorf("a record is none of what is found by labels: %d found, %v", rebuilt.Found, err)
				}
				w.mustDelete()
				if diff := cmp.Diff(before, w.configMap("a")); diff != "" {
					t.Errorf("a record must stay as it is (-before +after):\n%s", diff)
				}
			})
		}
	}
}

// TestHomeOutlivesItsOwner has the owner's own namespace among its dependents.
func TestHomeOutlivesItsOwner(t *testing.T) {
	t.Parallel()
	const stays = "is orphaned instead of deleted, because its owner needs its contents"
	for name, tc := range map[string]struct {
		reason string
		end    func(w *world) (reconciler.Result, error)
	}{
		"Redundant": {"it is not wanted any more", func(w *world) (reconciler.Result, error) {
			w.expectPlan(w.plan(besides, compare), "0 - ConfigMap NS/besides", "0 Deleted ConfigMap NS-own/in: is no longer in the manifests", "0 Orphaned Namespace NS-own: is no longer in the manifests; it "+stays)
			return w.engine.Apply(t.Context(), w.request(besides))
		}},
		"Deleted": {"the owner goes", func(w *world) (reconciler.Result, error) {
			return w.engine.Delete(t.Context(), reconciler.DeleteRequest{Owner: w.owner})
		}},
		"Terminating": {"others delete it, and both must not wait for each other", func(w *world) (reconciler.Result, error) {
			w.create("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: held, namespace: NS-own, finalizers: [example.com/hold]}\n")
			w.remove(w.get("v1", "Namespace", "NS-own"))
			return w.engine.Delete(t.Context(), reconciler.DeleteRequest{Owner: w.owner})
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.owner.Home = []string{"elsewhere", w.namespace + "-own"}
			w.mustApply(ownNamespace + inside + besides)
			var result reconciler.Result
			testenv.Eventually(t, func() (bool, string) {
				var err error
				result, err = tc.end(w)
				w.owner.Inventory = result.Inventory
				return err == nil && result.Done, notices(result.Waits)
			})
			if diff := cmp.Diff("Namespace "+w.namespace+"-own: "+stays, notices(result.Notes)); diff != "" {
				t.Errorf("%s: notes (-want +got):\n%s", tc.reason, diff)
			}
			namespace := w.get("v1", "Namespace", "NS-own")
			if namespace == nil || namespace.GetDeletionTimestamp() != nil && name != "Terminating" || namespace.GetLabels()[prefix+"/owner-id"] != "" {
				t.Fatalf("%s: expected the namespace without our mark, got %v", tc.reason, namespace)
			}
			if name == "Terminating" {
				w.patch(testenv.Object(t, w.expand("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: held, namespace: NS-own}\n")), `{"metadata":{"finalizers":null}}`)
			}
			w.remove(namespace)
		})
	}
}

// TestDefinitionOfItsOwnerOutlivesIt has the definition of the owner's own type among its dependents.
func TestDefinitionOfItsOwnerOutlivesIt(t *testing.T) {
	t.Parallel()
	const stays = "is orphaned instead of deleted, because it defines the type of its owner"
	const besides = "{apiVersion: v1, kind: ConfigMap, metadata: {name: besides}}\n"
	for name, end := range map[string]func(ty *typed) (reconciler.Result, error){
		"Redundant": func(ty *typed) (reconciler.Result, error) {
			return ty.engine.Apply(ty.Context(), ty.request(besides))
		},
		"Deleted": func(ty *typed) (reconciler.Result, error) {
			return ty.engine.Delete(ty.Context(), reconciler.DeleteRequest{Owner: ty.owner})
		},
		"Terminating": func(ty *typed) (reconciler.Result, error) {
			ty.remove(ty.definition())
			return ty.engine.Delete(ty.Context(), reconciler.DeleteRequest{Owner: ty.owner})
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ty := newTyped(t)
			ty.settle(ty.expand(customType+"---\n"+besides), done)
			ty.create(ty.expand(strings.Replace(widget, "{name: NAME}", "{name: self, finalizers: [example.com/hold]}", 1)))
			self := ty.widget("self")
			t.Cleanup(func() {
				_ = ty.client.Patch(context(t), self, client.RawPatch(apitypes.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`)))
			})
			ty.owner.Self = self
			if blockers := ty.check(); len(blockers) > 0 {
				t.Fatalf("the owner must not wait for itself, got %v", blockers)
			}
			ty.create(ty.expand(strings.ReplaceAll(widget, "NAME", "other")))
			if blockers := ty.check(); len(blockers) != 1 || blockers[0].Name != "other" {
				t.Fatalf("expected the other instance to block, got %v", blockers)
			}
			ty.remove(ty.widget("other"))
			var result reconciler.Result
			testenv.Eventually(t, func() (bool, string) {
				var err error
				result, err = end(ty)
				ty.owner.Inventory = result.Inventory
				return err == nil && result.Done, fmt.Sprint(notices(result.Waits), err)
			})
			if diff := cmp.Diff("CustomResourceDefinition widgets."+ty.group+": "+stays, notices(result.Notes)); diff != "" {
				t.Errorf("notes (-want +got):\n%s", diff)
			}
			crd := ty.definition()
			if crd == nil || crd.GetDeletionTimestamp() != nil && name != "Terminating" || crd.GetLabels()[prefix+"/owner-id"] != "" || slices.Contains(crd.GetFinalizers(), prefix) {
				t.Errorf("expected the definition without our marks, got %v", crd)
			}
			if ty.widget("self") == nil {
				t.Error("the owner is gone")
			}
		})
	}
}
