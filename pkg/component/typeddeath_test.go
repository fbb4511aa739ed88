// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package component

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apitypes "k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/internal/testenv"
	"github.com/component-operator/runtime/pkg/resources"
	"github.com/component-operator/runtime/pkg/resources/concepts"
	"github.com/component-operator/runtime/pkg/resources/configmap"
	"github.com/component-operator/runtime/pkg/resources/editors"
	"github.com/component-operator/runtime/pkg/resources/feature"
)

// TestDeathWithTypedResources leads a component of typed resources through its life. The process dies after so many writes of each phase, for as many as there are, and the next one
// finishes the phase; or it dies in the phases from the announcement to the resumption without finishing any, and the next one finishes the last of them only. What is there then is
// what is there without any death.
func TestDeathWithTypedResources(t *testing.T) {
	t.Parallel()
	undisturbed := newTypedLife(t)
	states, writes, most := map[string]map[string]string{}, map[string]int{}, 0
	for _, phase := range undisturbed.phases() {
		count := undisturbed.begin(phase, math.MaxInt)
		states[phase.name], writes[phase.name], most = undisturbed.state(), count, max(most, count)
	}
	undisturbed.expectForms(states)
	var deaths atomic.Int64
	t.Cleanup(func() { t.Logf("%d deaths; without any, there are these writes: %v", deaths.Load(), writes) })
	for survived := range most + 1 {
		for _, finished := range []bool{true, false} {
			t.Run(fmt.Sprintf("%d, each phase is finished: %v", survived, finished), func(t *testing.T) {
				t.Parallel()
				life := newTypedLife(t)
				for _, phase := range life.phases() {
					life.begin(phase, survived)
					life.expectSameObjects(phase.name + ", when the process dies")
					if !phase.over() {
						deaths.Add(1)
					} else if survived < writes[phase.name]/2 {
						t.Errorf("%s was over after %d writes", phase.name, survived)
					}
					if finished || !phase.skippable {
						life.finish(phase, states[phase.name])
					}
				}
			})
		}
	}
}

// typedLife is the life of one component.
type typedLife struct {
	*rig
	widget *Widget
	// uids are those of the ConfigMaps when they were last looked at.
	uids map[string]apitypes.UID
}

type typedPhase struct {
	name string
	act  func()
	over func() bool
	// skippable phases need not be over before the next one begins.
	skippable bool
}

func newTypedLife(t *testing.T) *typedLife {
	t.Helper()
	r := newRig(t)
	return &typedLife{rig: r, widget: r.widget("")}
}

func (l *typedLife) phases() []typedPhase {
	settled := func(reached func() bool) func() bool {
		return func() bool {
			l.read(l.widget)
			return l.widget.Status.ObservedGeneration == l.widget.Generation && reached()
		}
	}
	ready := settled(func() bool { return l.widget.Status.IsReady() })
	edit := func(mutate func(*Widget)) func() { return func() { change(l.rig, l.widget, mutate) } }
	return []typedPhase{
		{name: "creation", act: func() { l.create(l.widget) }, over: settled(func() bool {
			_, _, message := l.widget.Status.GetState()
			return strings.Contains(message, `held back: waiting for data "what was told"`)
		})},
		{name: "announcement", act: func() { l.annotate(`{"told":"a"}`) }, over: ready, skippable: true},
		// The interval stands for a version.
		{name: "upgrade", act: edit(func(w *Widget) { w.Spec.RequeueInterval = &metav1.Duration{Duration: time.Hour} }), over: ready, skippable: true},
		{name: "suspension", act: edit(func(w *Widget) { w.Spec.Suspend = true }), over: settled(func() bool {
			_, reason, _ := l.widget.Status.GetState()
			return reason == ReadyConditionReasonSuspended
		}), skippable: true},
		{name: "resumption", act: edit(func(w *Widget) { w.Spec.Suspend = false }), over: ready},
		{name: "deletion", act: func() { l.delete(l.widget) }, over: func() bool { return l.isGone(l.widget) }},
	}
}

// generate makes a ConfigMap with data for others, one that uses these, one of each version, and one that is deleted on suspension.
// The second one has a suspended form, as has another one without data.
func (l *typedLife) generate(_ context.Context, input resources.Input) ([]resources.Resource, error) {
	version := "1.0.0"
	if spec, err := resources.SpecOf[*WidgetSpec](input); err != nil {
		return nil, err
	} else if spec.RequeueInterval != nil {
		version = "2.0.0"
	}
	constraint, err := feature.Semver(">= 2")
	if err != nil {
		return nil, err
	}
	newer := feature.NewVersionGate(version, []feature.VersionConstraint{constraint})
	told := concepts.NewData[string]("what was told")
	builder := func(name string) *configmap.Builder {
		return configmap.NewBuilder(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: input.Namespace, Name: name}})
	}
	set := func(m *configmap.Mutator, key string, value func() (string, error)) error {
		m.EditData(func(e *editors.ConfigMapDataEditor) error {
			text, err := value()
			e.Set(key, text)
			return err
		})
		return nil
	}
	constant := func(value string) func() (string, error) { return func() (string, error) { return value, nil } }
	asleep := func(m *configmap.Mutator) error { return set(m, "form", constant("asleep")) }
	var all []resources.Resource
	var problems []error
	for _, b := range []*configmap.Builder{
		builder("told").WithData(concepts.Into(told, func(c corev1.ConfigMap) (string, bool, error) {
			return c.Annotations["told"], c.Annotations["told"] != "", nil
		})),
		builder("older").GatedBy(feature.NewBooleanGate(version == "1.0.0")),
		builder("newer").GatedBy(newer),
		builder("sleeper").
			WithMutation(configmap.Mutation{Name: "base", Mutate: func(m *configmap.Mutator) error { return set(m, "form", constant("awake")) }}).
			WithMutation(configmap.Mutation{Name: "version", Feature: newer, Mutate: func(m *configmap.Mutator) error { return set(m, "version", constant(version)) }}).
			WithCustomSuspendMutation(asleep),
		builder("user").WithDataGuard(told).
			WithMutation(configmap.Mutation{Name: "told", Mutate: func(m *configmap.Mutator) error { return set(m, "told", told.Require) }}).
			WithCustomSuspendMutation(asleep),
		builder("cache").WithCustomSuspendDeletionDecision(func(*corev1.ConfigMap) bool { return true }),
	} {
		resource, err := b.Build()
		all, problems = append(all, resource), append(problems, err)
	}
	return all, errors.Join(problems...)
}

func (l *typedLife) operate() (stop func()) {
	l.tb.Helper()
	return l.start(NewReconciler[*Widget](l.name, resources.NewGenerator(l.generate, resources.WithCondition("Available")), ReconcilerOptions{}))
}

// begin has an operator do the phase that can write so often only, and returns how often it has done so.
func (l *typedLife) begin(phase typedPhase, survived int) (writes int) {
	l.tb.Helper()
	healthy := l.config
	defer func() { l.config = healthy }()
	written := l.failAfter(survived)
	stop := l.operate()
	phase.act()
	testenv.Eventually(l.tb, func() (bool, string) {
		return written.Load() >= int64(survived) || phase.over(), phase.name + ": the operator does not come to its end"
	})
	if survived == math.MaxInt {
		l.settleCounting()
	}
	stop()
	return int(written.Load())
}

// finish ends the phase with an operator that does not die.
func (l *typedLife) finish(phase typedPhase, want map[string]string) {
	l.tb.Helper()
	if !phase.over() || !maps.Equal(l.state(), want) {
		stop := l.operate()
		for deadline := time.Now().Add(testenv.Patience()); !maps.Equal(l.state(), want) && time.Now().Before(deadline); {
			time.Sleep(20 * time.Millisecond)
		}
		stop()
	}
	diff(l.tb, phase.name+", finished by the next process", want, l.state())
	l.expectSameObjects(phase.name + ", finished by the next process")
}

func (l *typedLife) configMaps() []corev1.ConfigMap {
	l.tb.Helper()
	list := &corev1.ConfigMapList{}
	if err := l.client.List(l.tb.Context(), list, client.InNamespace(l.namespace)); err != nil {
		l.tb.Fatal(err)
	}
	return slices.DeleteFunc(list.Items, func(c corev1.ConfigMap) bool { return c.Name == "kube-root-ca.crt" })
}

// expectSameObjects compares the ConfigMaps with those that were there when it was called last: what is there before and after is the same object.
func (l *typedLife) expectSameObjects(when string) {
	l.tb.Helper()
	now := map[string]apitypes.UID{}
	for _, c := range l.configMaps() {
		now[c.Name] = c.UID
		if before, found := l.uids[c.Name]; found && before != c.UID {
			l.tb.Errorf("%s: %s was deleted and created again", when, c.Name)
		}
	}
	l.uids = now
}

// state describes the ConfigMaps, the inventory, and what the component says, without anything that belongs to this life only.
func (l *typedLife) state() map[string]string {
	l.tb.Helper()
	state, uids := map[string]string{}, map[string]apitypes.UID{}
	neutral := strings.NewReplacer(l.namespace, "NAMESPACE", l.name, "NAME")
	for _, c := range l.configMaps() {
		uids[c.Name] = c.UID
		state[c.Name] = neutral.Replace(fmt.Sprintf("%v, told %q, %v, %v, deleted: %v", c.Data, c.Annotations["told"],
			slices.Sorted(maps.Keys(c.Labels)), slices.Sorted(maps.Keys(c.Annotations)), c.DeletionTimestamp != nil))
	}
	if l.isGone(l.widget) {
		return state
	}
	for _, item := range l.widget.Status.Inventory {
		known := *item
		known.Digest, known.LastAppliedAt, known.UID, known.Fingerprint, known.Baseline = "", nil, "", "", ""
		raw, err := json.Marshal(known)
		if err != nil {
			l.tb.Fatal(err)
		}
		uid, exists := uids[item.Name]
		state["item "+item.Name] = neutral.Replace(fmt.Sprintf("%s, stale: %v", raw, exists && item.UID != uid))
	}
	status, reason, message := l.widget.Status.GetState()
	state["component"] = neutral.Replace(fmt.Sprintf("%s, %s: %s; %s", status, reason, message, conditionOf(l.widget, "Available")))
	return state
}

// expectForms looks whether the undisturbed life is what it should be.
func (l *typedLife) expectForms(states map[string]map[string]string) {
	l.tb.Helper()
	for phase, want := range map[string]string{
		"creation": "older sleeper told", "announcement": "cache older sleeper told user", "upgrade": "cache newer sleeper told user",
		"suspension": "newer sleeper told user", "resumption": "cache newer sleeper told user", "deletion": "",
	} {
		names := slices.DeleteFunc(slices.Sorted(maps.Keys(states[phase])), func(name string) bool { return name == "component" || strings.HasPrefix(name, "item ") })
		diff(l.tb, phase, want, strings.Join(names, " "))
	}
	for _, want := range []struct{ phase, name, data string }{
		{"announcement", "user", "map[told:a]"},
		{"announcement", "sleeper", "map[form:awake]"},
		{"upgrade", "user", "map[told:a]"},
		{"upgrade", "sleeper", "map[form:awake version:2.0.0]"},
		{"suspension", "user", "map[form:asleep told:a]"},
		{"suspension", "sleeper", "map[form:asleep version:2.0.0]"},
		{"resumption", "user", "map[told:a]"},
		{"resumption", "sleeper", "map[form:awake version:2.0.0]"},
	} {
		if got := states[want.phase][want.name]; !strings.HasPrefix(got, want.data+",") {
			l.tb.Errorf("%s: want %s to have %s, got %s", want.phase, want.name, want.data, got)
		}
	}
}
