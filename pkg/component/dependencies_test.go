// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package component

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/internal/testenv"
	"github.com/component-operator/runtime/pkg/manifests"
	"github.com/component-operator/runtime/pkg/types"
)

// urlGenerator returns a ConfigMap with the name of the component, and the value of its endpoint.
func urlGenerator(_ context.Context, _ string, name string, parameters types.Unstructurable) ([]client.Object, error) {
	spec := parameters.(*WidgetSpec) //nolint:forcetypeassert // that of the test's components
	data := map[string]string{}
	if spec.Endpoint != nil {
		data["url"] = fmt.Sprint(spec.Endpoint.Loaded())
	}
	return []client.Object{&corev1.ConfigMap{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"}, ObjectMeta: metav1.ObjectMeta{Name: name}, Data: data,
	}}, nil
}

func needs(others ...*Widget) []Dependency {
	var all []Dependency
	for _, other := range others {
		all = append(all, Dependency{APIVersion: testGroup.String(), Kind: "Widget", Namespace: other.Namespace, Name: other.Name})
	}
	return all
}

func (r *rig) named(name string, needed ...Dependency) *Widget {
	widget := r.widget("")
	widget.Name, widget.Spec.DependsOn = name, needed
	return widget
}

// awaitMessage waits until the condition Ready of a component has a text in its message, which begins with a capital
// letter.
func awaitMessage(r *rig, widget *Widget, text string) {
	r.tb.Helper()
	await(r, widget, text, func() bool {
		_, _, message := widget.Status.GetState()
		return strings.Contains(strings.ToLower(message), strings.ToLower(text))
	})
}

// TestDependencies creates a chain of the components of three operators in the wrong order, and deletes it in the wrong
// order.
func TestDependencies(t *testing.T) {
	t.Parallel()
	var rigs []*rig
	for range 3 {
		r := newRig(t)
		r.start(NewReconciler[*Widget](r.name, manifests.GeneratorFunc(urlGenerator), ReconcilerOptions{CrossNamespaceDependencies: true}))
		rigs = append(rigs, r)
	}
	database, server, page := rigs[0].named("database"), rigs[1].named("server"), rigs[2].named("page")
	server.Spec.DependsOn, page.Spec.DependsOn = needs(database), needs(server)

	rigs[2].create(page)
	awaitMessage(rigs[2], page, "waiting for Widget "+server.Namespace+"/server: does not exist")
	rigs[1].create(server)
	awaitMessage(rigs[1], server, "waiting for Widget "+database.Namespace+"/database: does not exist")
	awaitMessage(rigs[2], page, "waiting for Widget "+server.Namespace+"/server: not ready: ")
	if page.Status.State != StatePending || rigs[2].configMap("page") != nil || rigs[1].configMap("server") != nil {
		t.Errorf("applied too early; the state is %s", page.Status.State)
	}
	rigs[0].create(database)
	for i, widget := range []*Widget{database, server, page} {
		awaitReady(rigs[i], widget)
	}

	// Once the components are ready, passes make no request because of dependencies, and an unready one stops nothing.
	change(rigs[0], database, func(w *Widget) { w.Spec.DependsOn = needs(rigs[0].named("nothing")) })
	awaitMessage(rigs[0], database, "nothing: does not exist")
	awaitReady(rigs[1], server)
	rigs[2].requests.Reset()
	change(rigs[2], page, func(w *Widget) { w.Annotations = map[string]string{"other.example.io/note": "1"} })
	time.Sleep(500 * time.Millisecond)
	if count := rigs[2].requests.Count(func(request testenv.Request) bool { return !isNoise(request) }); count > 0 {
		t.Errorf("a component at rest causes %d requests", count)
	}

	rigs[0].delete(database)
	awaitMessage(rigs[0], database, "deletion blocked: needed by Widget "+server.Namespace+"/server; delete these first")
	rigs[1].delete(server)
	awaitMessage(rigs[1], server, "needed by Widget "+page.Namespace+"/page")
	if rigs[0].configMap("database") == nil || rigs[1].configMap("server") == nil {
		t.Error("deleted before the components that depend on it")
	}
	rigs[2].delete(page)
	for i, widget := range []*Widget{database, server, page} {
		rigs[i].awaitGone(widget)
	}
}

// TestDependencyCycle closes a cycle, and opens it.
func TestDependencyCycle(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.start(NewReconciler[*Widget](r.name, manifests.GeneratorFunc(urlGenerator), ReconcilerOptions{}))
	a, b, c := r.named("a"), r.named("b"), r.named("c")
	a.Spec.DependsOn, b.Spec.DependsOn, c.Spec.DependsOn = needs(b), needs(c), needs(a)
	for _, widget := range []*Widget{a, b, c} {
		r.create(widget)
	}
	at := func(names string) string {
		var full []string
		for name := range strings.SplitSeq(names, "") {
			full = append(full, "Widget "+r.namespace+"/"+name)
		}
		return "spec.dependsOn: the dependencies form a cycle: " + strings.Join(full, " needs ")
	}
	awaitMessage(r, a, at("abca"))
	awaitMessage(r, b, at("bcab"))
	awaitMessage(r, c, at("cabc"))
	change(r, b, func(w *Widget) { w.Spec.DependsOn = nil })
	for _, widget := range []*Widget{a, b, c} {
		awaitReady(r, widget)
	}
	// A cycle of components that are ready would keep all of them from being deleted.
	change(r, b, func(w *Widget) { w.Spec.DependsOn = needs(c) })
	awaitMessage(r, b, at("bcab"))
	change(r, b, func(w *Widget) { w.Spec.DependsOn = nil })
	awaitReady(r, b)
	own := r.named("own")
	own.Spec.DependsOn = needs(own)
	own.Spec.DependsOn[0].ReadyWhen = "true"
	r.create(own)
	awaitMessage(r, own, "cycle: Widget "+r.namespace+"/own needs Widget "+r.namespace+"/own")
}

// TestDroppedDependency deletes a component that is needed no more, and one that is to be deleted in any case.
func TestDroppedDependency(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.start(NewReconciler[*Widget](r.name, manifests.GeneratorFunc(urlGenerator), ReconcilerOptions{}))
	first, second := r.named("first"), r.named("second")
	widget := r.named(strings.Repeat("long-", 10)+"name", needs(first, second)...)
	for _, each := range []*Widget{first, second, widget} {
		r.create(each)
	}
	awaitReady(r, widget)
	change(r, widget, func(w *Widget) { w.Spec.DependsOn = needs(second) })
	await(r, widget, "one dependency", func() bool { return len(widget.Status.Dependencies.Objects) == 1 })
	r.delete(first)
	r.awaitGone(first)
	r.delete(second)
	awaitMessage(r, second, "deletion blocked: needed by the component with the finalizer "+r.name+"/needed-by_")
	change(r, second, func(w *Widget) {
		w.Annotations = map[string]string{r.name + "/" + types.AnnotationKeySuffixIgnoreNeededBy: "true"}
	})
	r.awaitGone(second)
	r.delete(widget)
	r.awaitGone(widget)

	// An archived component needs nothing.
	third := r.named("third")
	archived := r.named("archived", needs(third)...)
	r.create(third)
	r.create(archived)
	awaitReady(r, archived)
	change(r, archived, func(w *Widget) { w.Spec.Presence = PresenceArchived })
	await(r, archived, "no dependencies", func() bool { return archived.Status.Dependencies == nil })
	r.delete(third)
	r.awaitGone(third)
}

// TestUnmetDependencies names what is waited for, and refuses what is not allowed.
func TestUnmetDependencies(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.start(NewReconciler[*Widget](r.name, manifests.GeneratorFunc(urlGenerator), ReconcilerOptions{}))
	r.create(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: r.namespace, Name: "settings"}, Data: map[string]string{"state": "off"}})
	for want, need := range map[string]Dependency{
		"waiting for Thing " + r.namespace + "/x: its type is not served":                                       {APIVersion: "nowhere.example.io/v1", Kind: "Thing", Name: "x"},
		"readyWhen \"self.data.state == 'on'\" is false":                                                        {APIVersion: "v1", Kind: "ConfigMap", Name: "settings", ReadyWhen: "self.data.state == 'on'"},
		"readyWhen \"self.data.none == 'on'\" has no result: no such key: none":                                 {APIVersion: "v1", Kind: "ConfigMap", Name: "settings", ReadyWhen: "self.data.none == 'on'"},
		"spec.dependsOn[0].readyWhen: invalid value \"1\": it is of type int; must be a CEL expression":         {APIVersion: "v1", Kind: "ConfigMap", Name: "settings", ReadyWhen: "1"},
		"spec.dependsOn[0].namespace: invalid value \"other\": must be that of the component, \"" + r.namespace: {APIVersion: "v1", Kind: "ConfigMap", Namespace: "other", Name: "settings"},
		"spec.dependsOn[0].kind: Namespace is cluster-scoped; only objects in the namespace":                    {APIVersion: "v1", Kind: "Namespace", Name: "default"},
		"spec.dependsOn[0].kind: Secret is not allowed":                                                         {APIVersion: "v1", Kind: "Secret", Name: "keys"},
		"spec.dependsOn[0].apiVersion: invalid value \"a/b/c\": must be VERSION or GROUP/VERSION":               {APIVersion: "a/b/c", Kind: "Thing", Name: "x"},
	} {
		widget := r.named(fmt.Sprintf("widget-%x", len(want)), need)
		r.create(widget)
		awaitMessage(r, widget, want)
		r.delete(widget)
		r.awaitGone(widget)
	}
}

// TestValueReference uses a value of the status of another component.
func TestValueReference(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.start(NewReconciler[*Widget](r.name, manifests.GeneratorFunc(urlGenerator), ReconcilerOptions{}))
	source := r.named("source")
	r.create(source)
	awaitReady(r, source)
	widget := r.named("widget")
	widget.Spec.Endpoint = &ValueReference{
		APIVersion: testGroup.String(), Kind: "Widget", Name: "source", Value: `{"at": self.metadata.name + "." + self.metadata.namespace, "extra": self.status.extra}`,
	}
	r.create(widget)
	awaitMessage(r, widget, "spec.endpoint: value ")
	awaitMessage(r, widget, "no such key: extra")
	set := func(extra string) {
		patch := client.RawPatch("application/merge-patch+json", fmt.Appendf(nil, `{"status":{"extra":%q}}`, extra))
		if err := r.client.Status().Patch(t.Context(), source, patch); err != nil {
			t.Fatal(err)
		}
		await(r, widget, extra, func() bool {
			return r.configMap("widget")["url"] == "map[at:source."+r.namespace+" extra:"+extra+"]"
		})
	}
	set("one")
	awaitReady(r, widget)
	revision := widget.Status.Revision
	set("two")
	await(r, widget, "the next revision", func() bool { return widget.Status.IsReady() && widget.Status.Revision == revision+1 })
	// What is gone changes nothing.
	r.delete(source)
	r.awaitGone(source)
	awaitMessage(r, widget, "Widget "+r.namespace+"/source does not exist")
	if r.configMap("widget") == nil {
		t.Error("the dependent is gone")
	}
	r.delete(widget)
	r.awaitGone(widget)
	for want, change := range map[string]func(*ValueReference){
		"spec.endpoint.value: invalid value \"self.\"":     func(v *ValueReference) { v.Value = "self." },
		"spec.endpoint.namespace: invalid value \"other\"": func(v *ValueReference) { v.Namespace = "other" },
		"spec.endpoint.kind: Secret is not allowed":        func(v *ValueReference) { v.APIVersion, v.Kind = "v1", "Secret" },
	} {
		widget := r.named("refused")
		widget.Spec.Endpoint = &ValueReference{APIVersion: testGroup.String(), Kind: "Widget", Name: "source", Value: "self.status.extra"}
		change(widget.Spec.Endpoint)
		r.create(widget)
		awaitMessage(r, widget, want)
		r.delete(widget)
		r.awaitGone(widget)
	}
}
