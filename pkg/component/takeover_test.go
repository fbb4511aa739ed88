// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package component

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	apitypes "k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/internal/manifest"
	"github.com/component-operator/runtime/internal/testenv"
	"github.com/component-operator/runtime/pkg/cluster"
	"github.com/component-operator/runtime/pkg/reconciler"
	"github.com/component-operator/runtime/pkg/status"
)

const (
	inheritedWeb = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, labels: {app: web}}
spec: {replicas: 1, selector: {matchLabels: {app: web}}, template: {metadata: {labels: {app: web}}, spec: {containers: [{name: a, image: a}]}}}
---
apiVersion: v1
kind: Secret
metadata: {name: credentials}
stringData: {password: secret}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: settings}
data: {revision: "REVISION", timeout: "TIMEOUT"}
`
	inheritedDigest = "0b0c7d1f6c8d1f6e1f0a4c34be2a1f3f4c3b1a0d9e8f7a6b5c4d3e2f1a0b9c8d"
)

// legacy is a component in the cluster as the predecessor of this SDK leaves it.
type legacy struct {
	*rig
	widget  *OldWidget
	ownerID string
	uids    map[string]apitypes.UID
	specs   map[string]any
}

// newLegacy creates the component, its dependents, and a status with this revision.
func newLegacy(r *rig, revision int64) *legacy {
	r.tb.Helper()
	uid, err := cluster.UIDOf(r.tb.Context(), r.client)
	if err != nil {
		r.tb.Fatal(err)
	}
	l := &legacy{
		rig: r, widget: (*OldWidget)(r.widget("")), ownerID: string(uid) + "/" + r.namespace + "/demo",
		uids: map[string]apitypes.UID{}, specs: map[string]any{},
	}
	l.widget.Finalizers = []string{r.name}
	l.widget.Spec.Timeout = &metav1.Duration{Duration: time.Hour}
	r.create(l.widget)
	now := metav1.Now()
	l.widget.Status.Status = Status{
		ObservedGeneration: l.widget.Generation, AppliedGeneration: l.widget.Generation, LastObservedAt: &now, LastAppliedAt: &now,
		ProcessingDigest: inheritedDigest, LastProcessingDigest: inheritedDigest, Revision: revision, State: StateReady,
		Conditions: []Condition{{Type: ConditionTypeReady, Status: ConditionTrue, Reason: ReadyConditionReasonReady, LastTransitionTime: &now}},
	}
	for _, object := range testenv.Objects(r.tb, strings.NewReplacer("REVISION", fmt.Sprint(revision), "TIMEOUT", "1h0m0s").Replace(inheritedWeb)) {
		l.dependent(object, inheritedDigest)
	}
	l.dependent(l.hook("migrate", "-101"), inheritedDigest+"@"+inheritedDigest)
	l.completed("first", "__once__", reconciler.ReconcilePolicyOnce, -101)
	l.completed("done", inheritedDigest+"@"+inheritedDigest, reconciler.ReconcilePolicyOnObjectOrComponentChange, 101)
	if err := r.client.Status().Update(r.tb.Context(), l.widget); err != nil {
		r.tb.Fatal(err)
	}
	return l
}

// hook returns the Job that the predecessor makes of an upgrade hook without delete policies.
func (l *legacy) hook(name, order string) *unstructured.Unstructured {
	l.tb.Helper()
	object := testenv.Object(l.tb, chartHook("Job", name, "pre-install,pre-upgrade"))
	annotations := object.GetAnnotations()
	for suffix, value := range map[string]string{"apply-order": order, "reconcile-policy": "on-object-or-component-change", "update-policy": "recreate"} {
		annotations[l.name+"/"+suffix] = value
	}
	object.SetAnnotations(annotations)
	return object
}

// dependent creates an object as the predecessor does, by a plain request, and records it.
func (l *legacy) dependent(object *unstructured.Unstructured, sum string) {
	l.tb.Helper()
	if values, ok := object.Object["stringData"]; ok {
		delete(object.Object, "stringData")
		fields, _ := values.(map[string]any)
		data := map[string]any{}
		for key := range fields {
			data[key] = "c2VjcmV0"
		}
		object.Object["data"] = data
	}
	labels, annotations := object.GetLabels(), object.GetAnnotations()
	if labels == nil {
		labels = map[string]string{}
	}
	if annotations == nil {
		annotations = map[string]string{}
	}
	labels[l.name+"/owner-id"] = manifest.OwnerLabel(l.ownerID)
	annotations[l.name+"/owner-id"], annotations[l.name+"/digest"] = l.ownerID, sum
	object.SetLabels(labels)
	object.SetAnnotations(annotations)
	object.SetNamespace(l.namespace)
	if err := l.client.Create(l.tb.Context(), object, client.FieldOwner(l.name)); err != nil {
		l.tb.Fatal(err)
	}
	l.uids[object.GetKind()+"/"+object.GetName()], l.specs[object.GetName()] = object.GetUID(), object.Object["spec"]
	item := l.item(object, sum)
	item.Phase, item.Status = reconciler.PhaseReady, status.CurrentStatus
	if object.GetKind() == "Job" {
		item.ReconcilePolicy, item.UpdatePolicy, item.ApplyOrder = reconciler.ReconcilePolicyOnObjectOrComponentChange, reconciler.UpdatePolicyRecreate, -101
	}
	analyzer := status.NewStatusAnalyzer(l.name)
	testenv.Eventually(l.tb, func() (bool, string) {
		if err := l.client.Get(l.tb.Context(), client.ObjectKeyFromObject(object), object); err != nil {
			return false, err.Error()
		}
		got, err := analyzer.ComputeStatus(object)
		return err == nil && got == status.CurrentStatus, fmt.Sprintf("%s %s is %s: %v", object.GetKind(), object.GetName(), got, err)
	})
}

// completed records a hook that has been removed after it succeeded.
func (l *legacy) completed(name, sum string, policy reconciler.ReconcilePolicy, order int) {
	l.tb.Helper()
	object := l.hook(name, fmt.Sprint(order))
	object.SetNamespace(l.namespace)
	item := l.item(object, sum)
	item.ReconcilePolicy, item.ApplyOrder, item.Phase = policy, order, reconciler.PhaseCompleted
}

func (l *legacy) item(object *unstructured.Unstructured, sum string) *reconciler.InventoryItem {
	item := &reconciler.InventoryItem{
		TypeVersionInfo: reconciler.TypeVersionInfo(object.GroupVersionKind()),
		NameInfo:        reconciler.NameInfo{Namespace: object.GetNamespace(), Name: object.GetName()},
		AdoptionPolicy:  reconciler.AdoptionPolicyIfUnowned, ReconcilePolicy: reconciler.ReconcilePolicyOnObjectChange,
		UpdatePolicy: reconciler.UpdatePolicyReplace, DeletePolicy: reconciler.DeletePolicyDelete,
		Digest: sum, LastAppliedAt: l.widget.Status.LastAppliedAt,
	}
	l.widget.Status.Inventory = append(l.widget.Status.Inventory, item)
	return item
}

// start runs an operator whose chart makes the same objects.
func (l *legacy) start() (stop func()) {
	l.tb.Helper()
	mgr := l.manager(nil)
	chart := strings.NewReplacer("REVISION", "{{ .Release.Revision }}", "TIMEOUT", "{{ .Values.timeout }}").Replace(inheritedWeb) +
		chartHook("Job", "first", "pre-install", "helm.sh/hook-delete-policy", "hook-succeeded") +
		chartHook("Job", "migrate", "pre-install,pre-upgrade") +
		chartHook("Job", "done", "post-upgrade", "helm.sh/hook-delete-policy", "hook-succeeded")
	own := NewReconciler[*OldWidget](l.name, chartGenerator(l.tb, map[string]string{"templates/all.yaml": chart}), ReconcilerOptions{})
	if err := own.SetupWithManager(mgr); err != nil {
		l.tb.Fatal(err)
	}
	return l.run(mgr)
}

// writes counts the requests of each method that write a dependent, and returns what was created or deleted. A
// conflict, which makes the operator repeat both requests, does not count.
func (l *legacy) writes() (counts map[string]int, created, deleted []string) {
	counts = map[string]int{}
	for _, request := range l.requests.All() {
		name := request.Resource + "/" + request.Name
		switch {
		case !request.IsWrite() || !slices.Contains([]string{"jobs", "configmaps", "secrets", "deployments"}, request.Resource):
			continue
		case request.Status == http.StatusConflict:
			counts[http.MethodPatch+" "+name]--
			continue
		case request.Method == http.MethodDelete:
			deleted = append(deleted, name)
		case request.Status == http.StatusCreated:
			created = append(created, name)
		}
		counts[request.Method+" "+name]++
	}
	return counts, created, deleted
}

// expectSameObjects compares the UIDs of all dependents with those that the predecessor has left.
func (l *legacy) expectSameObjects() {
	l.tb.Helper()
	uids := map[string]apitypes.UID{}
	for _, item := range l.widget.Status.Inventory {
		object := &unstructured.Unstructured{}
		object.SetGroupVersionKind(item.GroupVersionKind())
		if err := l.client.Get(l.tb.Context(), client.ObjectKey{Namespace: item.Namespace, Name: item.Name}, object); err == nil {
			uids[object.GetKind()+"/"+object.GetName()] = object.GetUID()
			diff(l.tb, "owner of "+object.GetName(), l.ownerID, object.GetAnnotations()[l.name+"/owner-id"])
			diff(l.tb, "spec of "+object.GetName(), l.specs[object.GetName()], object.Object["spec"])
		}
	}
	diff(l.tb, "dependents", l.uids, uids)
}

// TestTakeover switches an operator from the predecessor of this SDK to this one: the component becomes ready, no
// dependent is created again or orphaned, no revision begins, and no hook of its chart runs.
func TestTakeover(t *testing.T) {
	t.Parallel()
	for _, revision := range []int64{1, 3} {
		t.Run(fmt.Sprintf("revision %d", revision), func(t *testing.T) {
			t.Parallel()
			l := newLegacy(newRig(t), revision)
			items := len(l.widget.Status.Inventory)
			l.requests.Reset()
			stop := l.start()
			l.awaitTaken()
			counts, created, deleted := l.writes()
			diff(t, "created", []string(nil), created)
			diff(t, "deleted", []string(nil), deleted)
			for write, count := range counts {
				if count > 1 {
					t.Errorf("%s: want at most one request to apply, and one to remove fields of others, got %d:\n%s", write, count, l.requests)
				}
			}
			l.expectSameObjects()
			diff(t, "revision", revision, l.widget.Status.Revision)
			diff(t, "finalizers", []string{l.name}, l.widget.Finalizers)
			if revision > 1 {
				diff(t, "items", items, len(l.widget.Status.Inventory))
			}
			stop()
			l.requests.Reset()
			stop = l.start()
			l.settle(l.widget)
			awaitReady(l.rig, l.widget)
			diff(t, "revision after a restart", revision, l.widget.Status.Revision)
			l.expectSameObjects()
			change(l.rig, l.widget, func(w *OldWidget) { w.Spec.Timeout.Duration = 2 * time.Hour })
			awaitReady(l.rig, l.widget)
			diff(t, "revision after a change", revision+1, l.widget.Status.Revision)
			l.delete(l.widget)
			l.awaitGone(l.widget)
			stop()
		})
	}
}

// awaitTaken waits until our record is complete, and nothing happens any more.
func (l *legacy) awaitTaken() {
	l.tb.Helper()
	await(l.rig, l.widget, "our record", func() bool {
		return l.widget.Status.IsReady() && strings.Contains(l.widget.Status.ProcessingDigest, ";inventory=")
	})
	l.settleCounting()
}

// TestTakeoverAfterAChange has the predecessor stop before it has processed a change: that is a new revision.
func TestTakeoverAfterAChange(t *testing.T) {
	t.Parallel()
	l := newLegacy(newRig(t), 3)
	change(l.rig, l.widget, func(w *OldWidget) { w.Spec.Timeout.Duration = 2 * time.Hour })
	l.start()
	awaitReady(l.rig, l.widget)
	diff(t, "revision", int64(4), l.widget.Status.Revision)
}

// TestTakeoverOutlastsPassesThatEndEarly cannot load a reference at first: that must not make the record look like
// ours.
func TestTakeoverOutlastsPassesThatEndEarly(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	l := newLegacy(r, 3)
	change(r, l.widget, func(w *OldWidget) { w.Spec.Banner = &ConfigMapReference{Name: "banner"} })
	l.widget.Status.ObservedGeneration = l.widget.Generation
	if err := r.client.Status().Update(t.Context(), l.widget); err != nil {
		t.Fatal(err)
	}
	stop := l.start()
	awaitState(r, l.widget, StatePending, ReadyConditionReasonRetrying)
	stop()
	if got := l.widget.Status.ProcessingDigest; got != inheritedDigest {
		t.Errorf("want the digest of the predecessor, got %s", got)
	}
	r.create(testenv.Object(t, "{apiVersion: v1, kind: ConfigMap, metadata: {name: banner, namespace: "+r.namespace+"}, data: {a: b}}"))
	l.start()
	awaitReady(r, l.widget)
	diff(t, "revision", int64(3), l.widget.Status.Revision)
	l.expectSameObjects()
}
