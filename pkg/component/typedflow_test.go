// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package component

import (
	"context"
	"errors"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/internal/testenv"
	"github.com/component-operator/runtime/pkg/resources"
	"github.com/component-operator/runtime/pkg/resources/concepts"
	"github.com/component-operator/runtime/pkg/resources/configmap"
	"github.com/component-operator/runtime/pkg/resources/editors"
	"github.com/component-operator/runtime/pkg/resources/feature"
	typedunstructured "github.com/component-operator/runtime/pkg/resources/unstructured"
)

// TestDataOfInstances: an instance of a type that the component defines is applied after all others of its wave, even if it was registered earlier. Who uses its data is refused,
// instead of waiting for ever, until it has a later apply order.
func TestDataOfInstances(t *testing.T) {
	t.Parallel()
	for reason, optional := range map[string]bool{"required data": false, "optional data": true} {
		t.Run(reason, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			group := testenv.UniqueName(t) + ".example.io"
			r.start(NewReconciler[*Widget](r.name, resources.NewGenerator(func(_ context.Context, input resources.Input) ([]resources.Resource, error) {
				uid := concepts.NewData[string]("uid of the gadget")
				definition, err := typedunstructured.NewBuilder(testenv.Object(t, strings.ReplaceAll(gadgets, "GROUP", group))).Build()
				instance := testenv.Object(t, "{apiVersion: "+group+"/v1, kind: Gadget, metadata: {name: it}}")
				instance.SetNamespace(input.Namespace)
				gadget, err2 := typedunstructured.NewBuilder(instance).
					WithData(concepts.Into(uid, func(u unstructured.Unstructured) (string, bool, error) { return string(u.GetUID()), true, nil })).Build()
				user := configmap.NewBuilder(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: input.Namespace, Name: "user"}}).WithMutation(configmap.Mutation{
					Name: "uid", Mutate: func(m *configmap.Mutator) error {
						m.EditData(func(e *editors.ConfigMapDataEditor) error {
							value, _ := uid.Get()
							e.Set("uid", value)
							return nil
						})
						return nil
					},
				})
				if optional {
					user.WithOptionalData(uid)
				} else {
					user.WithDataGuard(uid)
				}
				if component, err := resources.SpecOf[*WidgetSpec](input); err == nil && component.RequeueInterval != nil {
					user.WithApplyOrder(1)
				}
				built, err3 := user.Build()
				return []resources.Resource{definition, gadget, built}, errors.Join(err, err2, err3)
			}), ReconcilerOptions{}))
			widget := r.widget("")
			r.create(widget)
			await(r, widget, "refused", func() bool {
				state, _, message := widget.Status.GetState()
				return state == StateError && strings.Contains(message, "ConfigMap "+r.namespace+`/user: its data "uid of the gadget" are those of Gadget.`+group+" "+r.namespace+"/it, which is applied later")
			})
			change(r, widget, func(w *Widget) { w.Spec.RequeueInterval = &metav1.Duration{Duration: 3600e9} })
			awaitReady(r, widget)
			if r.configMap("user")["uid"] == "" {
				t.Error("there are no data")
			}
			r.delete(widget)
			r.awaitGone(widget)
		})
	}
}

// TestGatesThatFail: a gate that cannot tell refuses the component, wherever it is asked.
func TestGatesThatFail(t *testing.T) {
	t.Parallel()
	gate := feature.NewVersionGate("latest", []feature.VersionConstraint{atLeastTwo(t)})
	mutation := configmap.Mutation{Name: "new", Feature: gate, Mutate: func(*configmap.Mutator) error { return nil }}
	for reason, edit := range map[string]func(user *configmap.Builder, told *concepts.Data[string]){
		"of a resource": func(user *configmap.Builder, _ *concepts.Data[string]) { user.GatedBy(gate) },
		"of a mutation": func(user *configmap.Builder, _ *concepts.Data[string]) { user.WithMutation(mutation) },
		"of a later mutation": func(user *configmap.Builder, told *concepts.Data[string]) {
			user.WithMutation(mutation).WithOptionalData(told)
		},
	} {
		t.Run(reason, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			r.start(NewReconciler[*Widget](r.name, resources.NewGenerator(func(_ context.Context, input resources.Input) ([]resources.Resource, error) {
				told := concepts.NewData[string]("what was told")
				source, err := configmap.NewBuilder(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: input.Namespace, Name: "told"}}).
					WithData(concepts.Into(told, func(c corev1.ConfigMap) (string, bool, error) { return c.Name, true, nil })).Build()
				user := configmap.NewBuilder(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: input.Namespace, Name: "user"}})
				edit(user, told)
				built, err2 := user.Build()
				return []resources.Resource{source, built}, errors.Join(err, err2)
			}), ReconcilerOptions{}))
			widget := r.widget("")
			r.create(widget)
			await(r, widget, "refused", func() bool {
				state, _, message := widget.Status.GetState()
				return state == StateError && strings.Contains(message, "cannot tell whether its feature is on: version \"latest\"") &&
					strings.HasPrefix(conditionOf(widget, ConditionTypeStalled), "True")
			})
			r.delete(widget)
			r.awaitGone(widget)
		})
	}
}

func atLeastTwo(t *testing.T) feature.VersionConstraint {
	t.Helper()
	constraint, err := feature.Semver(">= 2")
	if err != nil {
		t.Fatal(err)
	}
	return constraint
}

// TestObjectsOfOthersAtTheEnd: an object of others that no dependent needs is awaited, and its data are extracted; if it cannot be read, the dependents are applied all the same.
func TestObjectsOfOthersAtTheEnd(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	extracted := make(chan string, 100)
	r.start(NewReconciler[*Widget](r.name, resources.NewGenerator(func(_ context.Context, input resources.Input) ([]resources.Resource, error) {
		own, err := configmap.NewBuilder(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: input.Namespace, Name: "own"}}).Build()
		other, err2 := configmap.NewBuilder(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: input.Namespace, Name: "other"}}).
			ReadOnly(concepts.AbsenceBlocks).WithDataExtractor(func(c corev1.ConfigMap) error {
			extracted <- c.Data["a"]
			if c.Data["a"] == "" {
				return errors.New("there is no a")
			}
			return nil
		}).Build()
		return []resources.Resource{own, other}, errors.Join(err, err2)
	}), ReconcilerOptions{}))
	widget := r.widget("")
	r.create(widget)
	says := func(want string) {
		t.Helper()
		await(r, widget, want, func() bool {
			_, _, message := widget.Status.GetState()
			return strings.Contains(message, want) && r.configMap("own") != nil
		})
	}
	says("ConfigMap " + r.namespace + "/other: does not exist")
	other := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: r.namespace, Name: "other"}}
	r.create(other)
	says("ConfigMap " + r.namespace + "/other: its data cannot be used: extracting data of ConfigMap " + r.namespace + "/other: there is no a")
	if err := r.client.Patch(t.Context(), other, client.RawPatch("application/merge-patch+json", []byte(`{"data":{"a":"b"}}`))); err != nil {
		t.Fatal(err)
	}
	awaitReady(r, widget)
	for got := range extracted {
		if got == "b" {
			break
		}
	}
	r.delete(widget)
	r.awaitGone(widget)
}

// TestObjectsOfOthersBesideInstances: an instance of a type that the component defines is applied last in its wave. What its operator makes can be read at the end, where it holds nothing
// back; and data of other objects are there for all that come after these, whichever stage they are in.
func TestObjectsOfOthersBesideInstances(t *testing.T) {
	t.Parallel()
	for reason, absence := range map[string]concepts.Absence{"at the end": concepts.AbsenceBlocks, "before the instance": concepts.AbsenceIsFine} {
		t.Run(reason, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			group := testenv.UniqueName(t) + ".example.io"
			gadget := func(namespace string) *unstructured.Unstructured {
				instance := testenv.Object(t, "{apiVersion: "+group+"/v1, kind: Gadget, metadata: {name: it}}")
				instance.SetNamespace(namespace)
				return instance
			}
			r.start(NewReconciler[*Widget](r.name, resources.NewGenerator(func(_ context.Context, input resources.Input) ([]resources.Resource, error) {
				named := func(name string) *configmap.Builder {
					return configmap.NewBuilder(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: input.Namespace, Name: name}})
				}
				told := concepts.NewData[string]("what was told")
				definition, err := typedunstructured.NewBuilder(testenv.Object(t, strings.ReplaceAll(gadgets, "GROUP", group))).Build()
				instance, err2 := typedunstructured.NewBuilder(gadget(input.Namespace)).Build()
				made := named("made").ReadOnly(absence)
				own := named("own")
				if absence == concepts.AbsenceIsFine {
					made.WithData(concepts.Into(told, func(c corev1.ConfigMap) (string, bool, error) { return c.Name, true, nil }))
					own.WithOptionalData(told)
				}
				read, err3 := made.Build()
				user, err4 := own.Build()
				err = errors.Join(err, err2, err3, err4)
				if absence == concepts.AbsenceIsFine {
					return []resources.Resource{definition, read, instance, user}, err
				}
				return []resources.Resource{definition, instance, user, read}, err
			}), ReconcilerOptions{}))
			widget := r.widget("")
			r.create(widget)
			testenv.Eventually(t, func() (bool, string) {
				instance := gadget(r.namespace)
				err := r.client.Get(t.Context(), client.ObjectKeyFromObject(instance), instance)
				return err == nil, "the instance is not there"
			})
			if absence == concepts.AbsenceBlocks {
				await(r, widget, "waiting", func() bool {
					_, _, message := widget.Status.GetState()
					return strings.Contains(message, "ConfigMap "+r.namespace+"/made: does not exist")
				})
				r.create(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: r.namespace, Name: "made"}})
			}
			awaitReady(r, widget)
			r.delete(widget)
			r.awaitGone(widget)
		})
	}
}
