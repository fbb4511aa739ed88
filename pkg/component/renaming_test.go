// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package component

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apitypes "k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/internal/testenv"
	"github.com/component-operator/runtime/pkg/manifests"
	"github.com/component-operator/runtime/pkg/reconciler"
	"github.com/component-operator/runtime/pkg/types"
)

// renamed returns the reconciler under another name, which knows the former one.
func (r *rig) renamed(options ReconcilerOptions) *Reconciler[*Widget] {
	options.FormerNames = []string{r.name}
	return NewReconciler[*Widget]("renamed."+r.name, manifests.GeneratorFunc(specObjects), options)
}

// former returns a widget that the reconciler has made ready under its former name, and an annotation of it has this name, too. The operator does not run any more.
func (r *rig) former(options ReconcilerOptions, objects string) *Widget {
	r.tb.Helper()
	widget := r.widget(objects)
	widget.Annotations = map[string]string{r.name + "/disable-events": "true"}
	stop := r.start(r.reconciler(options))
	r.create(widget)
	awaitReady(r, widget)
	r.settle(widget)
	stop()
	return widget
}

// expectRenamed expects that nothing in the namespace has the former name, apart from what users declare.
func (r *rig) expectRenamed(objects ...client.Object) {
	r.tb.Helper()
	r.expect(objects...)
	for _, object := range objects {
		var marks []string
		for key := range object.GetLabels() {
			marks = append(marks, key)
		}
		for key := range object.GetAnnotations() {
			marks = append(marks, key)
		}
		marks = append(marks, object.GetFinalizers()...)
		for _, mark := range marks {
			if mark == r.name || strings.HasPrefix(mark, r.name+"/") {
				r.tb.Errorf("%T %s has %s", object, object.GetName(), mark)
			}
		}
		for _, entry := range object.GetManagedFields() {
			if _, isWidget := object.(*Widget); entry.Manager == r.name && !isWidget {
				r.tb.Errorf("%T %s has fields of %s", object, object.GetName(), entry.Manager)
			}
		}
	}
}

// TestRenaming gives an operator another name: what it has made stays as it is, with the marks of the new name, and is deleted with the component.
func TestRenaming(t *testing.T) {
	t.Parallel()
	for name, options := range map[string]ReconcilerOptions{"status": {}, "chunks": {inlineLimit: 1}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			hook := `{apiVersion: v1, kind: ConfigMap, metadata: {name: hook, annotations: {` + r.name + `/deletion-hook: pre-delete}}}`
			kept := `{apiVersion: v1, kind: ConfigMap, metadata: {name: kept, annotations: {` + r.name + `/delete-policy: orphan}}}`
			widget := r.former(options, oneConfigMap+"\n---\n"+kept+"\n---\n"+hook)
			before, revision := r.configMapObject("settings"), widget.Status.Revision
			r.expect(before)

			r.start(r.renamed(options))
			await(r, widget, "the new name", func() bool { return widget.Annotations["renamed."+r.name+"/former-names"] == r.name })
			awaitReady(r, widget)
			r.settle(widget)
			after := r.configMapObject("settings")
			r.expectRenamed(widget, after, r.configMapObject("kept"))
			if after.UID != before.UID || after.Data["color"] != "red" || widget.Status.Revision != revision {
				t.Errorf("want the same object and revision, got %+v, revision %d after %d", after, widget.Status.Revision, revision)
			}
			secrets := &corev1.SecretList{}
			if err := r.client.List(t.Context(), secrets, client.InNamespace(r.namespace)); err != nil {
				t.Fatal(err)
			}
			for i := range secrets.Items {
				r.expectRenamed(&secrets.Items[i])
			}
			for _, chunk := range r.chunks() {
				r.expectRenamed(&chunk)
			}
			r.requests.Reset()
			r.settle(widget)
			if count := r.requests.Count(testenv.Request.IsWrite); count > 0 {
				t.Errorf("want rest after the renaming, got %d writes", count)
			}

			r.delete(widget)
			r.awaitGone(widget)
			if r.configMap("settings") != nil || r.configMap("kept") == nil || r.configMap("hook") != nil {
				t.Error("want the deletion to follow the policies")
			}
		})
	}
}

// TestDeathWhileRenaming has the process die after each of its writes.
func TestDeathWhileRenaming(t *testing.T) {
	t.Parallel()
	for survived := range 7 {
		t.Run(strconv.Itoa(survived), func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			hook := `{apiVersion: v1, kind: ConfigMap, metadata: {name: hook, annotations: {` + r.name + `/deletion-hook: pre-delete}}}`
			widget := r.former(ReconcilerOptions{}, oneConfigMap+"\n---\n"+strings.Replace(oneConfigMap, "settings", "other", 1)+"\n---\n"+hook)
			first, second := r.configMapObject("settings"), r.configMapObject("other")
			r.expect(first, second)
			healthy := r.config
			writes := r.failAfter(survived)
			stop := r.start(r.renamed(ReconcilerOptions{}))
			testenv.Eventually(t, func() (bool, string) {
				err := r.client.Get(t.Context(), client.ObjectKeyFromObject(widget), widget)
				isOver := widget.Annotations["renamed."+r.name+"/former-names"] != ""
				return err == nil && (writes.Load() >= int64(survived) || isOver), "the operator does not come to its end"
			})
			stop()
			r.config = healthy
			book := &logbook{}
			mgr := book.manager(r)
			if err := r.renamed(ReconcilerOptions{}).SetupWithManager(mgr); err != nil {
				t.Fatal(err)
			}
			r.run(mgr)
			await(r, widget, "the new name", func() bool { return widget.Annotations["renamed."+r.name+"/former-names"] == r.name })
			awaitReady(r, widget)
			r.settle(widget)
			uids := []apitypes.UID{first.UID, second.UID}
			r.expectRenamed(widget, first, second)
			if got := []apitypes.UID{first.UID, second.UID}; !slices.Equal(uids, got) {
				t.Errorf("want the same objects %v, got %v", uids, got)
			}
			for _, line := range book.take() {
				if strings.Contains(line, "corrected a dependent") {
					t.Errorf("want no change by others to be seen, got %s", line)
				}
			}
			r.delete(widget)
			r.awaitGone(widget)
			if r.configMap("settings") != nil || r.configMap("other") != nil || r.configMap("hook") != nil {
				t.Error("something is left behind")
			}
		})
	}
}

// expect reads objects that must exist.
func (r *rig) expect(objects ...client.Object) {
	r.tb.Helper()
	for _, object := range objects {
		if err := r.client.Get(r.tb.Context(), client.ObjectKeyFromObject(object), object); err != nil {
			r.tb.Fatal(err)
		}
	}
}

// TestRenamedWhileBeingDeleted has the operator get its new name after the deletion has begun.
func TestRenamedWhileBeingDeleted(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	widget := r.former(ReconcilerOptions{}, oneConfigMap)
	r.delete(widget)
	r.start(r.renamed(ReconcilerOptions{}))
	r.awaitGone(widget)
	if r.configMap("settings") != nil {
		t.Error("want the dependent to be deleted")
	}
}

// TestRenamedWithStoredHooks deletes a component that no pass has looked at under the new name: its hook has a rule for its readiness, under the former one.
func TestRenamedWithStoredHooks(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	hook := `{apiVersion: v1, kind: ConfigMap, metadata: {name: hook, annotations: {FORMER/deletion-hook: pre-delete, FORMER/ready-when: "self.data.done == 'yes'"}}, data: {done: "no"}}`
	widget := r.former(ReconcilerOptions{}, oneConfigMap+"\n---\n"+strings.ReplaceAll(hook, "FORMER", r.name))
	r.delete(widget)
	r.start(r.renamed(ReconcilerOptions{}))
	r.awaitText(widget, StateDeleting, "ConfigMap "+r.namespace+"/hook: ready-when does not hold")
	if r.configMap("settings") == nil {
		t.Error("want the dependents to stay until the hook is done")
	}
	change(r, widget, func(w *Widget) { w.Annotations["renamed."+r.name+"/skip-deletion-hooks"] = "true" })
	r.awaitGone(widget)
}

// TestRenamedWithDependentsThatEnd has a dependent that was deleted meanwhile, and waits for the finalizer of the former name.
func TestRenamedWithDependentsThatEnd(t *testing.T) {
	t.Parallel()
	for name, options := range map[string]ReconcilerOptions{"the name": {}, "a finalizer that stays": {Finalizer: new("stays.example.io/finalizer")}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			definition := strings.NewReplacer("GROUP", r.namespace+".example.io", "FORMER", r.name).Replace(`{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition,
  metadata: {name: things.GROUP, labels: {FORMER/tier: web}, annotations: {FORMER/note: mine}},
  spec: {group: GROUP, scope: Namespaced, names: {plural: things, kind: Thing},
    versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}]}}`)
			widget := r.former(options, oneConfigMap+"\n---\n"+definition)
			found := &apiextensionsv1.CustomResourceDefinition{ObjectMeta: metav1.ObjectMeta{Name: "things." + r.namespace + ".example.io"}}
			change(r, found, func(d *apiextensionsv1.CustomResourceDefinition) {
				d.Finalizers = append(d.Finalizers, "others.example.io/x", r.name+"/cleanup")
			})
			before := found.Finalizers
			r.delete(found)
			r.start(r.renamed(options))
			await(r, widget, "the new name", func() bool { return widget.Annotations["renamed."+r.name+"/former-names"] == r.name })
			r.expect(found)
			if found.Labels[r.name+"/tier"] != "web" || found.Annotations[r.name+"/note"] != "mine" || !slices.Contains(found.Finalizers, r.name+"/cleanup") {
				t.Errorf("want what reconcilers do not know to stay, got %+v", found.ObjectMeta)
			}
			// Others remove theirs; the definition is created again, with a new life.
			change(r, found, func(d *apiextensionsv1.CustomResourceDefinition) {
				d.Finalizers = slices.DeleteFunc(d.Finalizers, func(f string) bool { return f == "others.example.io/x" || f == r.name+"/cleanup" })
			})
			uid := found.UID
			testenv.Eventually(t, func() (bool, string) {
				err := r.client.Get(t.Context(), client.ObjectKeyFromObject(found), found)
				return err == nil && found.UID != uid, fmt.Sprintf("the definition, with finalizers %v once, is there with %v: %v", before, found.Finalizers, err)
			})
			r.delete(widget)
			r.awaitGone(widget)
		})
	}
}

// TestRenamedAfterALoss has the status of a component be lost, and the operator get its new name.
func TestRenamedAfterALoss(t *testing.T) {
	t.Parallel()
	for name, act := range map[string]func(r *rig, widget *Widget){
		"deleted": func(r *rig, widget *Widget) {
			r.delete(widget)
			r.start(r.renamed(ReconcilerOptions{}))
			r.awaitGone(widget)
			if r.configMap("settings") != nil {
				r.tb.Error("want the dependent to be deleted")
			}
		},
		"kept": func(r *rig, widget *Widget) {
			r.start(r.renamed(ReconcilerOptions{}))
			awaitReady(r, widget)
			r.settle(widget)
			r.expectRenamed(widget, r.configMapObject("settings"))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			widget := r.former(ReconcilerOptions{}, oneConfigMap)
			r.expect(widget)
			widget.Status = WidgetStatus{}
			r.writeStatus(widget)
			act(r, widget)
		})
	}
}

// TestRenamingWithoutDependents takes over components that have no dependents at present, or must not touch them.
func TestRenamingWithoutDependents(t *testing.T) {
	t.Parallel()
	for presence, want := range map[Presence]string{
		PresenceArchived: "Archived: there are no dependents",
		PresencePaused:   "Paused: held back: replacing labels and annotations of former operator names: ",
	} {
		t.Run(string(presence), func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			widget := r.former(ReconcilerOptions{}, oneConfigMap)
			change(r, widget, func(w *Widget) { w.Spec.Presence = presence })
			if presence == PresenceArchived {
				stop := r.start(r.reconciler(ReconcilerOptions{}))
				await(r, widget, want, func() bool { _, _, message := widget.Status.GetState(); return message == want })
				stop()
			}
			r.start(r.renamed(ReconcilerOptions{}))
			await(r, widget, "the finalizer of the new name", func() bool { return slices.Equal(widget.Finalizers, []string{"renamed." + r.name}) })
			await(r, widget, want+", and the end of the renaming to be noted for archived components only", func() bool {
				_, _, message := widget.Status.GetState()
				_, done := widget.Annotations["renamed."+r.name+"/former-names"]
				return strings.HasPrefix(message, want) && done == (presence == PresenceArchived)
			})
			if presence == PresencePaused {
				settings := r.configMapObject("settings")
				if r.expect(settings); settings.Labels[r.name+"/owner-id"] == "" {
					t.Error("want the dependent of a paused component to stay as it is")
				}
			}
			r.delete(widget)
			r.awaitGone(widget)
			if r.configMap("settings") != nil {
				t.Error("want no dependent to be left behind")
			}
		})
	}
}

// TestRenamingAfterARollback has the former version of the operator, which does not know the new name, run again for a while. The component may be deleted before the new version is
// back.
func TestRenamingAfterARollback(t *testing.T) {
	t.Parallel()
	for _, deleted := range []bool{false, true} {
		t.Run(strconv.FormatBool(deleted), func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			widget := r.former(ReconcilerOptions{}, oneConfigMap)
			isDone := func() bool {
				return widget.Annotations["renamed."+r.name+"/former-names"] == r.name && len(widget.Finalizers) == 1
			}
			stop := r.start(r.renamed(ReconcilerOptions{}))
			await(r, widget, "the new name", isDone)
			awaitReady(r, widget)
			stop()

			change(r, widget, func(w *Widget) {
				w.Spec.Objects = r.widget(oneConfigMap + "\n---\n" + strings.Replace(oneConfigMap, "settings", "added", 1)).Spec.Objects
			})
			stop = r.start(r.reconciler(ReconcilerOptions{AdoptionPolicy: new(reconciler.AdoptionPolicyAlways)}))
			awaitReady(r, widget)
			r.settle(widget)
			stop()
			if deleted {
				r.delete(widget)
			}

			r.start(r.renamed(ReconcilerOptions{}))
			if !deleted {
				await(r, widget, "the new name again", isDone)
				awaitReady(r, widget)
				r.expectRenamed(widget, r.configMapObject("added"))
				r.delete(widget)
			}
			r.awaitGone(widget)
			if r.configMap("settings") != nil || r.configMap("added") != nil {
				t.Error("want all dependents to be deleted")
			}
		})
	}
}

// TestRenamingThatFails has a dependent that cannot be changed at first.
func TestRenamingThatFails(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.worker.options.FormerNames = []string{"old.example.io"}
	s.script.result = reconciler.Result{Done: true, Inventory: deployed("one", "two")}
	s.widget.Status.Inventory = deployed("one", "two")
	s.writeStatus(s.widget)
	failing := types.IDOf(s.widget.Status.Inventory[1])
	s.script.renameFailures = map[types.ObjectID]error{failing: errors.New("replacing the labels and annotations of ConfigMap x/two: denied by a webhook")}
	if v, _, err := s.pass(); err != nil || v.state != StateReady || !strings.Contains(v.message, "could not be replaced: replacing the labels and annotations of ConfigMap x/two: denied by a webhook") {
		t.Errorf("want the pass to go on, and to say what has failed, got %+v, %v", v, err)
	}
	s.script.renameFailures = nil
	if v, _, err := s.pass(); err != nil || strings.Contains(v.message, "could not be replaced") {
		t.Errorf("want the next pass to succeed, got %+v, %v", v, err)
	}
	if got := s.script.renamed; !slices.Equal(got, []int{2, 1}) {
		t.Errorf("want the second pass to try only what has failed, got calls for %v dependents", got)
	}
	if got := s.widget.Annotations[s.worker.name+"/former-names"]; got != "old.example.io" {
		t.Errorf("want the end of the renaming to be noted, got %q", got)
	}
}

// TestAnotherNameAlone does not adopt what the operator had before, and names that.
func TestAnotherNameAlone(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	widget := r.former(ReconcilerOptions{}, oneConfigMap)
	r.start(NewReconciler[*Widget]("renamed."+r.name, manifests.GeneratorFunc(specObjects), ReconcilerOptions{}))
	await(r, widget, "a refusal that names the former operator", func() bool {
		_, _, message := widget.Status.GetState()
		return strings.Contains(message, "already exists and belongs to ") && strings.Contains(message, " of operator "+r.name)
	})
}

// TestDeletedByAnotherName deletes a component whose operator got another name, with the finalizer that it had, and does not know its former one. What it made then must not
// be left behind without a word.
func TestDeletedByAnotherName(t *testing.T) {
	t.Parallel()
	for name, options := range map[string]ReconcilerOptions{"status": {}, "chunks": {inlineLimit: 1}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			finalizer := r.name + "/finalizer"
			options.Finalizer = &finalizer
			widget := r.former(options, oneConfigMap)
			r.delete(widget)
			stop := r.start(NewReconciler[*Widget]("renamed."+r.name, manifests.GeneratorFunc(specObjects), options))
			await(r, widget, "a refusal that names the former operator", func() bool {
				_, _, message := widget.Status.GetState()
				return strings.Contains(message, "settings: is recorded as a dependent, but has the owner label or annotation of operator "+r.name+"; ")
			})
			stop()
			if r.configMap("settings") == nil {
				t.Fatal("want the dependent to stay")
			}
			r.start(r.renamed(options))
			r.awaitGone(widget)
			if r.configMap("settings") != nil {
				t.Error("want the dependent to be deleted")
			}
		})
	}
}

func TestFormerNamesAreChecked(t *testing.T) {
	t.Parallel()
	_, err := ReconcilerOptions{FormerNames: []string{"demo.example.io", "Old", "a", "a"}}.complete("demo.example.io")
	for _, want := range []string{`option FormerNames: "demo.example.io": is the current name`, `option FormerNames: "Old": `, `option FormerNames: "a": occurs twice`} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("want %q, got %v", want, err)
		}
	}
}
