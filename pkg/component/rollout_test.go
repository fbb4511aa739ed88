// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package component

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	apitypes "k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/internal/testenv"
	"github.com/component-operator/runtime/pkg/manifests"
	"github.com/component-operator/runtime/pkg/types"
)

// versioned is a version of a generator: of a Deployment, and of an immutable ConfigMap, which version 2 changes for
// the components whose names contain "bad".
type versioned int

func (v versioned) Fingerprint() string { return fmt.Sprint("version ", int(v)) }

func (v versioned) Generate(_ context.Context, _ string, name string, _ types.Unstructurable) ([]client.Object, error) {
	content := "1"
	if v == 2 && strings.Contains(name, "bad") {
		content = "2"
	}
	labels := map[string]string{"app": name}
	return []client.Object{
		&corev1.ConfigMap{
			TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"}, ObjectMeta: metav1.ObjectMeta{Name: name},
			Immutable: new(true), Data: map[string]string{"content": content},
		},
		&appsv1.Deployment{
			TypeMeta: metav1.TypeMeta{APIVersion: "apps/v1", Kind: "Deployment"}, ObjectMeta: metav1.ObjectMeta{Name: name},
			Spec: appsv1.DeploymentSpec{Selector: &metav1.LabelSelector{MatchLabels: labels}, Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels, Annotations: map[string]string{"version": fmt.Sprint(int(v))}},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "web", Image: "example.org/web:1"}}},
			}},
		},
	}, nil
}

// versionsOf returns the versions of the Deployments, by the names of the components, and their resource versions.
func (r *rig) versionsOf() (versions, written map[string]string) {
	r.tb.Helper()
	list := &appsv1.DeploymentList{}
	if err := r.client.List(r.tb.Context(), list, client.InNamespace(r.namespace)); err != nil {
		r.tb.Fatal(err)
	}
	versions, written = map[string]string{}, map[string]string{}
	for _, deployment := range list.Items {
		// The status changes as well.
		versions[deployment.Name], written[deployment.Name] = deployment.Spec.Template.Annotations["version"], fmt.Sprint(deployment.Generation)
	}
	return versions, written
}

func (r *rig) widgets() []Widget {
	r.tb.Helper()
	list := &WidgetList{}
	if err := r.client.List(r.tb.Context(), list, client.InNamespace(r.namespace)); err != nil {
		r.tb.Fatal(err)
	}
	return list.Items
}

// awaitRollout waits until the condition RolledOut of all widgets has the reason, and returns the largest number of
// widgets that were on their way to the version at the same time.
func (r *rig) awaitRollout(version versioned, reasons ...string) (most int) {
	r.tb.Helper()
	testenv.Eventually(r.tb, func() (bool, string) {
		updating, waitedFor := 0, ""
		for _, widget := range r.widgets() {
			if taken := widget.Status.Rollout; taken != nil && taken.Version == version.Fingerprint() && taken.ArrivedAt == nil {
				updating++
			}
			condition, _ := widget.Status.GetCondition(ConditionTypeRolledOut)
			isCurrent := condition.Status == ConditionFalse || widget.Status.Rollout != nil && widget.Status.Rollout.Version == version.Fingerprint()
			if !isCurrent || !slices.Contains(reasons, condition.Reason) {
				waitedFor = fmt.Sprintf("%s: %s %s (%v)", widget.Name, condition.Reason, condition.Message, widget.Status.State)
			}
		}
		most = max(most, updating)
		return waitedFor == "", waitedFor
	})
	return most
}

// fleet creates widgets.
func (r *rig) fleet(count int) {
	r.tb.Helper()
	for i := range count {
		widget := r.widget("")
		widget.Name = fmt.Sprintf("widget-%02d", i)
		r.create(widget)
	}
}

// TestRollout rolls out version 2 of an operator, which breaks a component, and a repaired version 3. The canary and one
// further component come before the one that breaks.
func TestRollout(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	operator := func(version versioned) *Reconciler[*Widget] {
		return NewReconciler[*Widget](r.name, version, ReconcilerOptions{Rollout: &Rollout{
			MaxUpdating: new(intstr.FromInt32(2)), Canary: &metav1.LabelSelector{MatchLabels: map[string]string{"canary": "yes"}},
		}})
	}
	stop := r.start(operator(1))
	const count = 40
	for i := range count {
		widget := r.widget("")
		widget.Name = fmt.Sprintf("widget-%02d", i)
		switch i {
		case 3:
			widget.Labels = map[string]string{"canary": "yes"}
		case 7:
			widget.Name = "bad"
			widget.Labels = map[string]string{"canary": "yes"}
		}
		r.create(widget)
	}
	r.awaitRollout(1, RolledOutReasonArrived)
	stop()
	_, before := r.versionsOf()

	stop = r.start(operator(2))
	r.awaitRollout(2, RolledOutReasonStopped, RolledOutReasonUpdating, RolledOutReasonArrived)
	versions, after := r.versionsOf()
	for name := range before {
		if name != "widget-03" && name != "bad" && (versions[name] != "1" || before[name] != after[name]) {
			t.Errorf("%s has taken version %s", name, versions[name])
		}
	}
	waiting := &Widget{ObjectMeta: metav1.ObjectMeta{Namespace: r.namespace, Name: "widget-05"}}
	await(r, waiting, "the reason why it waits", func() bool {
		condition, _ := waiting.Status.GetCondition(ConditionTypeRolledOut)
		return condition.Status == ConditionFalse && strings.Contains(condition.Message, r.namespace+"/bad failed with this version: ") && waiting.Status.IsReady()
	})
	// What users change, create and delete does not wait.
	change(r, waiting, func(w *Widget) { w.Spec.Name = "widget-05" })
	await(r, waiting, "the version with the change", func() bool {
		return waiting.Status.Rollout.Version == versioned(2).Fingerprint() && waiting.Status.IsReady()
	})
	leaving := &Widget{ObjectMeta: metav1.ObjectMeta{Namespace: r.namespace, Name: "widget-06"}}
	r.delete(leaving)
	r.awaitGone(leaving)
	added := r.widget("")
	added.Name = "widget-99"
	r.create(added)
	awaitReady(r, added)
	stop()
	// Back to the former version.
	stop = r.start(operator(1))
	r.awaitRollout(1, RolledOutReasonArrived)
	stop()

	stop = r.start(operator(3))
	if most := r.awaitRollout(3, RolledOutReasonArrived); most > 2 {
		t.Errorf("%d components were updating at the same time", most)
	}
	versions, _ = r.versionsOf()
	for name, version := range versions {
		if version != "3" {
			t.Errorf("%s has version %s", name, version)
		}
	}
	stop()
	r.start(NewReconciler[*Widget](r.name, versioned(3), ReconcilerOptions{}))
	await(r, waiting, "no trace of the option", func() bool {
		_, found := waiting.Status.GetCondition(ConditionTypeRolledOut)
		return !found && waiting.Status.Rollout == nil
	})
}

// TestRolloutByShards rolls out a version by two replicas that share the components. One of them ends in between.
func TestRolloutByShards(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	operator := func(version versioned, identity string) *Reconciler[*Widget] {
		return NewReconciler[*Widget](r.name, version, ReconcilerOptions{
			Rollout:  &Rollout{MaxUpdating: new(intstr.FromString("10%"))},
			Sharding: &Sharding{Shards: 4, Namespace: r.namespace, Identity: identity, LeaseDuration: 2 * time.Second, RenewDeadline: time.Second, RetryPeriod: 200 * time.Millisecond},
		})
	}
	stop := r.start(operator(1, "a"))
	const count = 20
	r.fleet(count)
	r.awaitRollout(1, RolledOutReasonArrived)
	stop()
	stop = r.start(operator(2, "b"))
	r.start(operator(2, "c"))
	halfway := 0
	testenv.Eventually(t, func() (bool, string) {
		halfway = 0
		for _, widget := range r.widgets() {
			if taken := widget.Status.Rollout; taken.Version == versioned(2).Fingerprint() && taken.ArrivedAt != nil {
				halfway++
			}
		}
		return halfway >= 5, fmt.Sprint(halfway)
	})
	stop()
	if most := r.awaitRollout(2, RolledOutReasonArrived); most > 2 {
		t.Errorf("%d components were updating at the same time", most)
	}
}

// updating returns how many widgets are on their way to a version, and how many have arrived.
func (r *rig) updating(version versioned) (updating, arrived int) {
	r.tb.Helper()
	for _, widget := range r.widgets() {
		taken := widget.Status.Rollout
		switch {
		case taken == nil || taken.Version != version.Fingerprint():
		case taken.ArrivedAt == nil:
			updating++
		default:
			arrived++
		}
	}
	return updating, arrived
}

// TestRolloutByMortals ends the operator at random moments, each time with another leader.
func TestRolloutByMortals(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	operator := func(version versioned) *Reconciler[*Widget] {
		return NewReconciler[*Widget](r.name, version, ReconcilerOptions{Rollout: &Rollout{MaxUpdating: new(intstr.FromInt32(2))}})
	}
	stop := r.start(operator(1))
	const count = 12
	r.fleet(count)
	r.awaitRollout(1, RolledOutReasonArrived)
	stop()
	lives := 0
	for arrived := 0; arrived < count; lives++ {
		stop := r.start(operator(2))
		for end := time.Now().Add(time.Duration(100+rand.IntN(300)) * time.Millisecond); time.Now().Before(end); {
			var updating int
			if updating, arrived = r.updating(2); updating > 2 {
				t.Errorf("%d components are updating at the same time", updating)
			}
		}
		stop()
	}
	t.Logf("%d lives", lives)
}

// TestRequestsOfRollout compares the requests of a staged rollout with those of an unstaged one: only the definition of
// the type is watched in addition; and statuses are written more often, which also causes events, and reads of components
// that the cache shows too late.
func TestRequestsOfRollout(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	const count = 20
	operator := func(version versioned, options *Rollout) *Reconciler[*Widget] {
		return NewReconciler[*Widget](r.name, version, ReconcilerOptions{Rollout: options})
	}
	stop := r.start(operator(1, nil))
	r.fleet(count)
	requests := map[bool]int{}
	for _, step := range []struct {
		version versioned
		staged  bool
	}{{1, false}, {3, false}, {4, true}} {
		stop()
		var options *Rollout
		if step.staged {
			options = &Rollout{MaxUpdating: new(intstr.FromInt32(3))}
		}
		r.requests.Reset()
		stop = r.start(operator(step.version, options))
		testenv.Eventually(t, func() (bool, string) {
			versions, _ := r.versionsOf()
			ready := 0
			for _, widget := range r.widgets() {
				if widget.Status.IsReady() && versions[widget.Name] == fmt.Sprint(int(step.version)) {
					ready++
				}
			}
			return ready == count, fmt.Sprint(ready, " are ready")
		})
		requests[step.staged] = r.requests.Count(func(request testenv.Request) bool {
			return !isNoise(request) && !slices.ContainsFunc([]string{"/widgets", "/customresourcedefinitions", "/events"}, func(part string) bool {
				return strings.Contains(request.Path, part)
			})
		})
	}
	t.Logf("%d requests for %d components", requests[false], count)
	if requests[true] > requests[false] {
		t.Errorf("a staged rollout makes %d requests, an unstaged one %d", requests[true], requests[false])
	}
}

// TestPausedRollout pauses a rollout by the annotation of the type, and lets it go on.
func TestPausedRollout(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	operator := func(version versioned) *Reconciler[*Widget] {
		return NewReconciler[*Widget](r.name, version, ReconcilerOptions{Rollout: &Rollout{MaxUpdating: new(intstr.FromInt32(1))}})
	}
	pause := func(value string) {
		definition := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Name: "widgets.component-test.example.io"}}
		definition.SetGroupVersionKind(schema.GroupVersionKind{Group: "apiextensions.k8s.io", Version: "v1", Kind: "CustomResourceDefinition"})
		patch := fmt.Appendf(nil, `{"metadata":{"annotations":{"%s/rollout-paused":%s}}}`, r.name, value)
		if err := r.client.Patch(context.WithoutCancel(t.Context()), definition, client.RawPatch(apitypes.MergePatchType, patch)); err != nil {
			t.Fatal(err)
		}
	}
	stop := r.start(operator(1))
	r.fleet(3)
	r.awaitRollout(1, RolledOutReasonArrived)
	stop()
	pause(`"true"`)
	t.Cleanup(func() { pause("null") })
	r.start(operator(2))
	r.awaitRollout(2, RolledOutReasonPaused)
	condition, _ := r.widgets()[0].Status.GetCondition(ConditionTypeRolledOut)
	if want := "The rollout is paused by the annotation " + r.name + "/rollout-paused of CustomResourceDefinition widgets.component-test.example.io; to continue, remove it"; condition.Message != want {
		t.Errorf("want %q, got %q", want, condition.Message)
	}
	pause("null")
	r.awaitRollout(2, RolledOutReasonArrived)
}

// TestRolloutFlags reads the flags of an operator.
func TestRolloutFlags(t *testing.T) {
	t.Parallel()
	var r Rollout
	flags := flag.NewFlagSet("", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	r.AddFlags(flags, "")
	if err := flags.Parse([]string{"-rollout-window", "0 22 * * 1-5 4h Europe/Berlin", "-rollout-window", "30 6 * * * 90m", "-rollout-max-updating", "10%"}); err != nil {
		t.Fatal(err)
	}
	want := []RolloutWindow{{Schedule: "0 22 * * 1-5", Duration: 4 * time.Hour, TimeZone: "Europe/Berlin"}, {Schedule: "30 6 * * *", Duration: 90 * time.Minute}}
	diff(t, "windows", want, r.Windows)
	for value, problem := range map[string]string{
		"0 22 * * *":              "must have the five fields of a cron expression, a duration",
		"0 25 * * * 4h":           "end of range (25) above maximum (23)",
		"0 22 * * * late":         "invalid duration",
		"0 22 * * * -1h":          "must be positive",
		"0 22 * * * 4h Nowhere/X": "unknown time zone Nowhere/X",
	} {
		if err := flags.Parse([]string{"-rollout-window", value}); err == nil || !strings.Contains(err.Error(), problem) {
			t.Errorf("%q: want %q, got %v", value, problem, err)
		}
	}
}

// TestRolloutOptions refuses invalid ones.
func TestRolloutOptions(t *testing.T) {
	t.Parallel()
	for want, tc := range map[string]struct {
		options   Rollout
		generator manifests.Generator
	}{
		`option Rollout.MaxUpdating 0: must be a positive number, or a percentage from 1% to 100%`:    {Rollout{MaxUpdating: new(intstr.FromInt32(0))}, versioned(1)},
		`option Rollout.MaxUpdating 110%: must be a positive number, or a percentage from 1% to 100%`: {Rollout{MaxUpdating: new(intstr.FromString("110%"))}, versioned(1)},
		`option Rollout.MaxUpdating few: must be a positive number, or a percentage from 1% to 100%`:  {Rollout{MaxUpdating: new(intstr.FromString("few"))}, versioned(1)},
		`option Rollout.BakeTime 1m0s: must not be negative, and needs a Canary`:                      {Rollout{BakeTime: time.Minute}, versioned(1)},
		`option Rollout.Windows[0]: schedule "@daily": must be a cron expression with five fields`:    {Rollout{Windows: []RolloutWindow{{Schedule: "@daily", Duration: time.Hour}}}, versioned(1)},
		`"nowhere" is not a valid label selector operator`:                                            {Rollout{Canary: &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "a", Operator: "nowhere"}}}}, versioned(1)},
		`option Rollout: the generator must implement generator.Pure`:                                 {Rollout{}, manifests.GeneratorFunc(specObjects)},
	} {
		made := author{generator: tc.generator, options: ReconcilerOptions{Rollout: &tc.options}}
		if _, err := made.newRollout(nil, nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("want %q, got %v", want, errors.Join(err))
		}
	}
}
