// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package component

import (
	"fmt"
	"math"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/internal/testenv"
	"github.com/component-operator/runtime/pkg/manifests"
	"github.com/component-operator/runtime/pkg/reconciler"
	"github.com/component-operator/runtime/pkg/sandbox"
)

// job is a manifest of a Job with annotations, whose keys lack the prefix of the reconciler if they have no slash.
func (r *rig) job(name string, annotations ...string) string {
	var list []string
	for i := 0; i < len(annotations); i += 2 {
		key := annotations[i]
		if !strings.Contains(key, "/") {
			key = r.name + "/" + key
		}
		list = append(list, fmt.Sprintf("%s: %q", key, annotations[i+1]))
	}
	return fmt.Sprintf("\n"+`---
apiVersion: batch/v1
kind: Job
metadata: {name: %s, annotations: {%s}}
spec: {backoffLimit: 0, template: {spec: {restartPolicy: Never, containers: [{name: a, image: a}]}}}
`, name, strings.Join(list, ", "))
}

// hookSecrets returns the Secrets with deletion hooks.
func (r *rig) hookSecrets() []corev1.Secret {
	r.tb.Helper()
	list := &corev1.SecretList{}
	if err := r.client.List(r.tb.Context(), list, client.InNamespace(r.namespace), client.HasLabels{r.name + "/inventory-owner-id"}); err != nil {
		r.tb.Fatal(err)
	}
	return list.Items
}

// story returns what was done to objects, in the order of the responses: "+" for created, "-" for deleted.
func (r *rig) story() []string {
	var lines []string
	for _, request := range r.requests.All() {
		name := request.Resource + "/" + request.Name
		switch {
		case request.Resource != "jobs" && request.Resource != "configmaps" || request.Status >= http.StatusBadRequest:
		case request.Method == http.MethodPatch && request.Status == http.StatusCreated:
			lines = append(lines, "+"+name)
		case request.Method == http.MethodDelete:
			lines = append(lines, "-"+name)
		}
	}
	return slices.Compact(lines)
}

func TestDeletionHooks(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.start(r.reconciler(ReconcilerOptions{}))
	widget := r.widget(oneConfigMap +
		r.job("both", "apply-order", "1", "update-policy", "recreate") + r.job("both", "deletion-hook", "pre-delete", "apply-order", "5", "update-policy", "recreate") +
		"\n---\n{apiVersion: v1, kind: ConfigMap, metadata: {name: aid, annotations: {" + r.name + "/deletion-hook: preDelete, " + r.name + "/apply-order: \"-1\"}}}\n" +
		r.job("before", "deletion-hook", "pre-delete") + r.job("after", "deletion-hook", "post-delete"))
	r.create(widget)
	awaitReady(r, widget)
	diff(t, "creation", []string{"+configmaps/settings", "+jobs/both"}, r.story())
	secrets := r.hookSecrets()
	if len(secrets) != 1 || !slices.Equal(secrets[0].Finalizers, []string{r.name + "/inventory"}) || widget.Status.DeletionHooks.Objects != 4 {
		t.Fatalf("want a Secret with 4 hooks and our finalizer, got %d and %+v", len(secrets), widget.Status.DeletionHooks)
	}
	diff(t, "items", 2, len(widget.Status.Inventory))
	first := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: r.namespace, Name: "both"}}
	r.read(first)
	r.settle(widget)

	r.requests.Reset()
	r.delete(widget)
	r.awaitGone(widget)
	want := []string{
		"-jobs/both", "+configmaps/aid", "+jobs/before", "+jobs/both", // what exists goes; then waves -1, 0, 5
		"-configmaps/aid", "-jobs/before", "-jobs/both",
		"-configmaps/settings",
		"+jobs/after", "-jobs/after",
	}
	story := r.story()
	slices.Sort(story[4:min(7, len(story))]) // these are deleted side by side
	diff(t, "deletion", want, story)
	diff(t, "secrets that are left", 0, len(r.hookSecrets()))
}

func TestDeletionHookThatFails(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.start(r.reconciler(ReconcilerOptions{}))
	widget := r.widget(oneConfigMap + r.job("before", "deletion-hook", "pre-delete", sandbox.AnnotationFail, "true"))
	r.create(widget)
	awaitReady(r, widget)
	r.delete(widget)
	awaitState(r, widget, StateError, ReadyConditionReasonError)
	_, _, message := widget.Status.GetState()
	for _, part := range []string{
		"Pre-delete hooks: 1 dependent failed: Job " + r.namespace + "/before: failed", "to run a failed hook again, delete its object",
		"to skip deletion hooks, set the annotation " + r.name + "/skip-deletion-hooks to \"true\"",
	} {
		if !strings.Contains(message, part) {
			t.Errorf("want a message with %q, got %q", part, message)
		}
	}
	if r.configMap("settings") == nil {
		t.Error("want the dependents to stay")
	}
	failed := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: r.namespace, Name: "before"}}
	r.read(failed)
	if err := r.client.Delete(t.Context(), failed, client.PropagationPolicy(metav1.DeletePropagationBackground)); err != nil {
		t.Fatal(err)
	}
	testenv.Eventually(t, func() (bool, string) {
		again := &batchv1.Job{}
		err := r.client.Get(t.Context(), client.ObjectKeyFromObject(failed), again)
		return err == nil && again.UID != failed.UID, "the hook does not run again"
	})
	change(r, widget, func(w *Widget) { w.Annotations = map[string]string{r.name + "/skip-deletion-hooks": "true"} })
	r.awaitGone(widget)
	r.awaitEvent("HooksSkipped", "Pre-delete hooks are skipped")
	if err := r.client.Get(t.Context(), client.ObjectKeyFromObject(failed), failed); err == nil {
		t.Error("want the hook to be removed that was applied")
	}
	diff(t, "secrets that are left", 0, len(r.hookSecrets()))
}

// TestDeletionHooksThatAreOverDoNotRunAgain has a user delete a hook that is complete while another one is not.
func TestDeletionHooksThatAreOverDoNotRunAgain(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.start(r.reconciler(ReconcilerOptions{}))
	const unbound = "{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: unbound, annotations: {NAME/deletion-hook: pre-delete}}, " +
		"spec: {storageClassName: none, accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}}"
	widget := r.widget(oneConfigMap + r.job("backup", "deletion-hook", "pre-delete") + "---\n" + strings.ReplaceAll(unbound, "NAME", r.name))
	r.create(widget)
	awaitReady(r, widget)
	r.delete(widget)
	phase := func() reconciler.Phase {
		for _, item := range widget.Status.DeletionHooks.Inventory {
			if item.Name == "backup" {
				return item.Phase
			}
		}
		return ""
	}
	await(r, widget, "that the hook is over", func() bool { return phase() == reconciler.PhaseReady })
	job := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: r.namespace, Name: "backup"}}
	if err := r.client.Delete(t.Context(), job, client.PropagationPolicy(metav1.DeletePropagationBackground)); err != nil {
		t.Fatal(err)
	}
	await(r, widget, "that the hook is complete", func() bool { return phase() == reconciler.PhaseCompleted })
	if err := r.client.Get(t.Context(), client.ObjectKeyFromObject(job), job); err == nil {
		t.Error("the hook runs again")
	}
	change(r, widget, func(w *Widget) { w.Annotations = map[string]string{r.name + "/skip-deletion-hooks": "true"} })
	r.awaitGone(widget)
}

// TestDeletionHooksTakeNothing has a foreign object with the name of a hook, which would be deleted with the hook.
func TestDeletionHooksTakeNothing(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.start(r.reconciler(ReconcilerOptions{}))
	hook := "\n---\n{apiVersion: v1, kind: ConfigMap, metadata: {name: aid, annotations: {" + r.name + "/deletion-hook: pre-delete}}, data: {of: ours}}\n"
	widget := r.widget(oneConfigMap + hook)
	r.create(widget)
	awaitReady(r, widget)
	foreign := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: r.namespace, Name: "aid"}, Data: map[string]string{"of": "others"}}
	r.create(foreign)
	r.delete(widget)
	await(r, widget, "the object that is in the way", func() bool {
		_, _, message := widget.Status.GetState()
		return strings.Contains(message, "ConfigMap "+r.namespace+"/aid: already exists")
	})
	if found := r.configMap("aid"); found == nil || found["of"] != "others" || r.configMap("settings") == nil {
		t.Errorf("want nothing to be changed or deleted, got %v", found)
	}
	if err := r.client.Delete(t.Context(), foreign); err != nil {
		t.Fatal(err)
	}
	r.awaitGone(widget)
}

// TestDeletionHooksInADyingNamespace must not keep the namespace from going: nothing can be created there.
func TestDeletionHooksInADyingNamespace(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.start(r.reconciler(ReconcilerOptions{}))
	widget := r.widget(oneConfigMap + r.job("before", "deletion-hook", "pre-delete") + r.job("after", "deletion-hook", "post-delete"))
	r.create(widget)
	awaitReady(r, widget)
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: r.namespace}}
	r.delete(namespace)
	r.awaitGone(widget)
	r.awaitGone(namespace)
}

func TestDeletionHooksThatAreLost(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	stop := r.start(r.reconciler(ReconcilerOptions{}))
	widget := r.widget(oneConfigMap + r.job("before", "deletion-hook", "pre-delete"))
	r.create(widget)
	awaitReady(r, widget)
	stop()
	secret := r.hookSecrets()[0]
	change(r, &secret, func(s *corev1.Secret) { s.Finalizers = nil })
	r.delete(&secret)
	r.start(r.reconciler(ReconcilerOptions{}))
	r.delete(widget)
	awaitState(r, widget, StateDeletionPending, ReadyConditionReasonDeletionRetrying)
	_, _, message := widget.Status.GetState()
	if want := "Deletion hooks cannot be run: Secret " + r.namespace + "/" + secret.Name + ": it does not exist; to skip deletion hooks"; !strings.HasPrefix(message, want) {
		t.Errorf("want a message that begins with %q, got %q", want, message)
	}
	change(r, widget, func(w *Widget) { w.Annotations = map[string]string{r.name + "/skip-deletion-hooks": "true"} })
	r.awaitGone(widget)
	if r.configMap("settings") != nil {
		t.Error("a dependent is left behind")
	}
}

func TestADefinitionThatDropsDeletionHooks(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	mgr := r.manager(nil)
	if err := NewReconciler[*OldWidget](r.name, manifests.GeneratorFunc(specObjects), ReconcilerOptions{}).SetupWithManager(mgr); err != nil {
		t.Fatal(err)
	}
	r.run(mgr)
	widget := (*OldWidget)(r.widget(oneConfigMap + r.job("before", "deletion-hook", "pre-delete")))
	r.create(widget)
	await(r, widget, "a refusal", func() bool {
		state, _, message := widget.Status.GetState()
		return state == StateError && strings.Contains(message, "status.deletionHooks: deletion hooks (1) cannot be recorded, because the component's CustomResourceDefinition lacks this field; update it")
	})
	if r.configMap("settings") != nil {
		t.Error("want nothing to be applied")
	}
}

// TestDeathDuringDeletionHooks has another operator go on after each write of the deletion. No hook runs twice, none is
// left out.
func TestDeathDuringDeletionHooks(t *testing.T) {
	t.Parallel()
	writes := deleteAndDie(t, math.MaxInt)
	forEachWrite(t, writes, func(t *testing.T, survived int) { deleteAndDie(t, survived) })
}

// deleteAndDie has an operator die after so many writes of a deletion, and another one finish it. It returns how many
// writes the first operator made.
func deleteAndDie(t *testing.T, survived int) (writes int) {
	t.Helper()
	r := newRig(t)
	runs := r.jobsThatAppear()
	widget := r.widget(oneConfigMap + r.job("before", "deletion-hook", "pre-delete") + r.job("after", "deletion-hook", "post-delete"))
	r.create(widget)
	stop := r.start(r.reconciler(ReconcilerOptions{}))
	awaitReady(r, widget)
	stop()
	mortal := *r
	config, left := testenv.Dying(r.config, survived)
	mortal.config = config
	stop = mortal.start(r.reconciler(ReconcilerOptions{}))
	r.delete(widget)
	testenv.Eventually(t, func() (bool, string) {
		return r.isGone(widget) || left.Load() <= 0, "neither death nor the end"
	})
	stop()
	writes = survived - int(left.Load())
	r.start(r.reconciler(ReconcilerOptions{}))
	r.awaitGone(widget)
	testenv.Eventually(t, func() (bool, string) {
		got := runs()
		return slices.Equal(got, []string{"before", "after"}), fmt.Sprintf("hooks ran: %v", got)
	})
	diff(t, "what is left", []int{0, 0}, []int{len(r.hookSecrets()), len(r.members(r.namespace))})
	return writes
}

// jobsThatAppear watches the namespace. The function that it returns tells the names of all Jobs that were created
// since then, in their order: who has created them may have died before the response was there.
func (r *rig) jobsThatAppear() (names func() []string) {
	r.tb.Helper()
	clnt, err := client.NewWithWatch(testenv.Config(r.tb), client.Options{Scheme: testScheme(r.tb)})
	if err != nil {
		r.tb.Fatal(err)
	}
	stream, err := clnt.Watch(r.tb.Context(), &batchv1.JobList{}, client.InNamespace(r.namespace))
	if err != nil {
		r.tb.Fatal(err)
	}
	r.tb.Cleanup(stream.Stop)
	var mu sync.Mutex
	var seen []string
	go func() {
		for event := range stream.ResultChan() {
			if job, ok := event.Object.(*batchv1.Job); ok && event.Type == watch.Added {
				mu.Lock()
				seen = append(seen, job.Name)
				mu.Unlock()
			}
		}
	}()
	return func() []string {
		mu.Lock()
		defer mu.Unlock()
		return slices.Clone(seen)
	}
}
