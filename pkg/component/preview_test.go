// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package component

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/internal/testenv"
	"github.com/component-operator/runtime/pkg/manifests"
	"github.com/component-operator/runtime/pkg/types"
)

const previewed = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: %[1]s-web}
spec:
  selector: {matchLabels: {app: %[1]s}}
  template:
    metadata: {labels: {app: %[1]s}}
    spec: {containers: [{name: web, image: example.org/web:1}]}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: %[1]s-old}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: %[1]s-same}
`

// nextVersion is the generator of an operator's next version: it drops an object, adds one, changes the image of all
// Deployments, and the immutable selector of one.
func nextVersion(ctx context.Context, namespace, name string, parameters types.Unstructurable) ([]client.Object, error) {
	if name == "broken" {
		return nil, errors.New("size must be positive")
	}
	found, err := specObjects(ctx, namespace, name, parameters)
	if err != nil {
		return nil, err
	}
	labels := map[string]string{"app": name}
	if name == "b" {
		labels["tier"] = "web"
	}
	next := []client.Object{&corev1.ConfigMap{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"}, ObjectMeta: metav1.ObjectMeta{Name: name + "-new"}}}
	for _, object := range found {
		switch object.GetName() {
		case name + "-web":
			next = append(next, &appsv1.Deployment{
				TypeMeta: metav1.TypeMeta{APIVersion: "apps/v1", Kind: "Deployment"}, ObjectMeta: metav1.ObjectMeta{Name: object.GetName()},
				Spec: appsv1.DeploymentSpec{Selector: &metav1.LabelSelector{MatchLabels: labels}, Template: corev1.PodTemplateSpec{
					ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "web", Image: "example.org/web:2"}}},
				}},
			})
		case name + "-old":
		default:
			next = append(next, object)
		}
	}
	return next, nil
}

// preview returns what the next version would do with the widgets of the namespace, a line for each.
func (r *rig) preview(config *rest.Config, options PreviewOptions) ([]string, error) {
	r.tb.Helper()
	preview, err := NewPreview(config, testScheme(r.tb))
	if err != nil {
		r.tb.Fatal(err)
	}
	if err := NewReconciler[*Widget](r.name, manifests.GeneratorFunc(nextVersion), ReconcilerOptions{}).SetupWithManager(preview); err != nil {
		r.tb.Fatal(err)
	}
	options.Namespace = r.namespace
	var lines []string
	for found, err := range preview.Components(r.tb.Context(), options) {
		if err != nil {
			return lines, err
		}
		line := found.Name + ":"
		if held, _, _ := strings.Cut(found.Held, ";"); held != "" {
			line += " (" + held + ")"
		}
		if found.Problem != "" {
			line += " " + found.Problem
		}
		if found.Plan != nil {
			for _, change := range found.Plan.Changes {
				if change.Verb != "" || change.Refusal != "" {
					line += fmt.Sprintf(" %s %s", change.Verb, strings.TrimPrefix(change.Object.Name, found.Name+"-"))
				}
				if change.Refusal != "" {
					line += "!"
				}
				if change.Local {
					line += "?"
				}
			}
		}
		lines = append(lines, line)
	}
	return lines, nil
}

// TestPreview asks a new version of an operator what it would do with live components, beside the running one.
func TestPreview(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.start(r.reconciler(ReconcilerOptions{}))
	for _, name := range []string{"a", "b", "broken", "held", "paused", "suspended", "waiting"} {
		widget := r.widget(fmt.Sprintf(previewed, name))
		widget.Name = name
		r.create(widget)
		await(r, widget, "dependents", func() bool { return len(widget.Status.Inventory) == 3 })
		switch name {
		case "held":
			change(r, widget, func(w *Widget) { w.Spec.MaxDeletions = new(intstr.FromInt32(0)) })
		case "waiting":
			change(r, widget, func(w *Widget) {
				w.Spec.DependsOn = []Dependency{{APIVersion: "nowhere.example.io/v1", Kind: "Thing", Name: "x"}}
			})
		case "paused":
			change(r, widget, func(w *Widget) { w.Spec.Presence = PresencePaused })
		case "suspended":
			change(r, widget, func(w *Widget) { w.Spec.Suspend = true })
		}
		testenv.Eventually(t, func() (bool, string) {
			err := r.client.Get(t.Context(), client.ObjectKeyFromObject(widget), widget)
			return err == nil && widget.Status.ObservedGeneration == widget.Generation, fmt.Sprint(widget.Status.ObservedGeneration, err)
		})
	}
	config, requests := testenv.CountingConfig(t)
	got, err := r.preview(config, PreviewOptions{})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"a: Created new Updated web Deleted old",
		"b: Created new Updated web! Deleted old",
		"broken: generating dependents: size must be positive",
		"held: (1 of 4 dependents would be deleted, but at most 0 may be without approval) Created new Updated web",
		"paused: (it is paused) Created new Updated web Deleted old",
		"suspended: (it is suspended)",
		"waiting: (waiting for Thing " + r.namespace + "/x: its type is not served) Created new Updated web Deleted old",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if changes := requests.Count(func(request testenv.Request) bool { return request.IsWrite() && request.Query.Get("dryRun") != "All" }); changes > 0 {
		t.Errorf("a preview has written:\n%s", requests)
	}

	// A user who may only read sees the same, without the server's opinion.
	reader := "reader-" + r.namespace
	role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: reader}, Rules: []rbacv1.PolicyRule{{APIGroups: []string{"*"}, Resources: []string{"*"}, Verbs: []string{"get", "list", "watch"}}}}
	binding := &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: reader}, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: reader},
		Subjects: []rbacv1.Subject{{Kind: rbacv1.UserKind, APIGroup: rbacv1.GroupName, Name: reader}},
	}
	for _, object := range []client.Object{role, binding} {
		r.create(object)
		t.Cleanup(func() { _ = r.client.Delete(context.WithoutCancel(t.Context()), object) })
	}
	config = rest.CopyConfig(config)
	config.Impersonate = rest.ImpersonationConfig{UserName: reader}
	got, err = r.preview(config, PreviewOptions{Names: []string{"a", "b"}})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"a: Created new? Updated web? Deleted old", "b: Created new? Updated web? Deleted old"}, got); diff != "" {
		t.Error(diff)
	}

	if _, err := r.preview(config, PreviewOptions{Names: []string{"a", "nobody"}}); err == nil || !strings.Contains(err.Error(), "nobody") {
		t.Errorf("a component that does not exist: %v", err)
	}
}

// TestPreviewChangesNothing sends requests through the client of a preview.
func TestPreviewChangesNothing(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	preview, err := NewPreview(r.config, testScheme(t))
	if err != nil {
		t.Fatal(err)
	}
	widget := r.widget(presentA)
	if err := preview.GetClient().Create(t.Context(), r.widget(presentA)); err == nil || !strings.Contains(err.Error(), "a preview changes nothing") {
		t.Errorf("creating an object: %v", err)
	}
	if err := preview.GetClient().Create(t.Context(), widget, client.DryRunAll); err != nil {
		t.Errorf("a dry run: %v", err)
	}
	if err := preview.Start(t.Context()); err == nil {
		t.Error("a preview was started")
	}
}
