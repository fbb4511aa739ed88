// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package component

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/robfig/cron/v3"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	apitypes "k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/internal/observe"
	"github.com/component-operator/runtime/pkg/component/internal/generation"
	"github.com/component-operator/runtime/pkg/component/internal/outcomes"
	"github.com/component-operator/runtime/pkg/component/internal/queue"
	"github.com/component-operator/runtime/pkg/component/internal/rollout"
	"github.com/component-operator/runtime/pkg/types"
)

// Rollout limits how a new version of the operator reaches its components. A version is the fingerprint of the
// generator, see generator.Pure. It concerns components whose own declaration has not changed since they took their
// version: changes by users, new components and deletions do not wait.
//
// A component that waits is not written, and keeps its state; its condition RolledOut says what it waits for. What is
// decided follows from the status of all components, so it survives restarts, and holds for all replicas together.
type Rollout struct {
	// MaxUpdating is the maximum number (5) or share ("10%") of components that have taken the version and have not
	// become ready with it yet; a share is rounded up. A component that has failed counts. Defaults to all components.
	MaxUpdating *intstr.IntOrString
	// Canary selects components that go first, by their labels; MaxUpdating applies to them as well. The others wait
	// until all canaries have become ready. Defaults to none.
	Canary *metav1.LabelSelector
	// BakeTime is how long the others also wait after the last canary has become ready. Defaults to 0.
	BakeTime time.Duration
	// Windows are the times at which components may take the version. Those that have taken it go on outside of them.
	// Defaults to any time.
	Windows []RolloutWindow
	// StopOnFailure makes all components wait once one has failed with the version: it is stalled, or was not ready in
	// time. They continue with the next version, or when it has recovered. Defaults to true.
	StopOnFailure *bool
}

// RolloutWindow is a time that comes again.
type RolloutWindow struct {
	// Schedule says when the window opens: a cron expression with five fields, as that of a CronJob. Required.
	Schedule string
	// Duration is how long it is open. Required.
	Duration time.Duration
	// TimeZone is the name of the time zone of the schedule, such as Europe/Berlin. Defaults to UTC.
	TimeZone string
}

// cronFields is the number of fields of a cron expression.
const cronFields = 5

// parseWindow reads the value of a flag: the fields of a RolloutWindow.
func parseWindow(text string) (w RolloutWindow, err error) {
	fields := strings.Fields(text)
	if len(fields) != cronFields+1 && len(fields) != cronFields+2 {
		return w, errors.New("must have the five fields of a cron expression, a duration, and optionally a time zone, such as: 0 22 * * 1-5 4h Europe/Berlin")
	}
	w.Schedule = strings.Join(fields[:cronFields], " ")
	w.TimeZone = strings.Join(fields[cronFields+1:], "")
	w.Duration, err = time.ParseDuration(fields[cronFields])
	if err == nil {
		_, err = w.parse()
	}
	return w, err
}

func (w RolloutWindow) parse() (rollout.Window, error) {
	if w.Duration <= 0 {
		return rollout.Window{}, fmt.Errorf("duration %s: must be positive", w.Duration)
	}
	if _, err := time.LoadLocation(w.TimeZone); err != nil {
		return rollout.Window{}, fmt.Errorf("time zone %q: %w", w.TimeZone, err)
	}
	if len(strings.Fields(w.Schedule)) != cronFields {
		return rollout.Window{}, fmt.Errorf("schedule %q: must be a cron expression with five fields", w.Schedule)
	}
	opens, err := cron.ParseStandard("CRON_TZ=" + cmp.Or(w.TimeZone, "UTC") + " " + w.Schedule)
	if err != nil {
		return rollout.Window{}, fmt.Errorf("schedule %q: %w", w.Schedule, err)
	}
	return rollout.Window{Opens: opens, Duration: w.Duration}, nil
}

// AddFlags adds flags that set the fields; their names begin with the prefix, followed by "rollout-".
func (r *Rollout) AddFlags(flagset *flag.FlagSet, prefix string) {
	prefix += "rollout-"
	const most = "maximum `number` or share, such as 10%, of components that take a new version of the operator at the same time (default all)"
	flagset.Func(prefix+"max-updating", most, func(text string) error {
		r.MaxUpdating = new(intstr.Parse(text))
		return nil
	})
	const canary = "label `selector` of the components that take a new version of the operator first"
	flagset.Func(prefix+"canary", canary, func(text string) (err error) {
		r.Canary, err = metav1.ParseToLabelSelector(text)
		return err
	})
	flagset.DurationVar(&r.BakeTime, prefix+"bake-time", 0, "time between the readiness of the last canary and the update of the others")
	const window = "`time` at which components may take a new version of the operator: a cron expression, a duration, and a time zone (default UTC), " +
		"such as: 0 22 * * 1-5 4h Europe/Berlin; may be repeated"
	flagset.Func(prefix+"window", window, func(text string) error {
		w, err := parseWindow(text)
		r.Windows = append(r.Windows, w)
		return err
	})
	r.StopOnFailure = flagset.Bool(prefix+"stop-on-failure", true, "let no component take a new version of the operator once one has failed with it")
}

// OrNone returns the rollout; nil if it has neither MaxUpdating nor Canary nor BakeTime nor Windows, and so limits
// nothing.
func (r *Rollout) OrNone() *Rollout {
	if r.MaxUpdating == nil && r.Canary == nil && r.BakeTime == 0 && len(r.Windows) == 0 {
		return nil
	}
	return r
}

// ConditionTypeRolledOut is True if the component has become ready with the present version of the operator, False if it
// waits for its turn (see Rollout), and Unknown while it is being updated.
const ConditionTypeRolledOut ConditionType = "RolledOut"

// Reasons of the condition RolledOut.
const (
	// RolledOutReasonWaiting means that other components come first.
	RolledOutReasonWaiting = "Waiting"
	// RolledOutReasonStopped means that another component has failed with the version.
	RolledOutReasonStopped = "Stopped"
	// RolledOutReasonPaused means that a user has paused the rollout.
	RolledOutReasonPaused = "Paused"
	// RolledOutReasonUpdating means that the component has taken the version, and is not ready yet.
	RolledOutReasonUpdating = "Updating"
	// RolledOutReasonArrived means that the component has become ready with the version.
	RolledOutReasonArrived = "Arrived"
)

// +kubebuilder:object:generate=true

// RolloutStatus says which version of the operator a component has.
type RolloutStatus struct {
	// Operator is the name of the operator's reconciler, the prefix of its annotations.
	Operator string `json:"operator,omitempty"`
	// Version is the fingerprint of the generator that was applied last.
	Version string `json:"version,omitempty"`
	// Declaration identifies what was applied with it: the spec, and the content of references.
	Declaration string `json:"declaration,omitempty"`
	// ArrivedAt is when the component first became ready with the version; unset before.
	ArrivedAt *metav1.Time `json:"arrivedAt,omitempty"`
}

// options returns the options of a fleet for a version.
func (r *Rollout) options(version string) (rollout.Options, error) {
	options := rollout.Options{Version: version, MaxUpdating: r.MaxUpdating, BakeTime: r.BakeTime, StopOnFailure: ptr.Deref(r.StopOnFailure, true)}
	var problems []error
	refuse := func(field string, value any, rule string) {
		problems = append(problems, fmt.Errorf("option Rollout.%s %v: %s", field, value, rule))
	}
	if r.MaxUpdating != nil {
		if most, err := intstr.GetScaledValueFromIntOrPercent(r.MaxUpdating, 100, true); err != nil || most < 1 || r.MaxUpdating.Type == intstr.String && most > 100 {
			refuse("MaxUpdating", r.MaxUpdating.String(), "must be a positive number, or a percentage from 1% to 100%")
		}
	}
	if r.Canary != nil {
		var err error
		if options.Canary, err = metav1.LabelSelectorAsSelector(r.Canary); err != nil {
			refuse("Canary", "", err.Error())
		}
	}
	if r.BakeTime < 0 || r.BakeTime > 0 && r.Canary == nil {
		refuse("BakeTime", r.BakeTime, "must not be negative, and needs a Canary")
	}
	for i, window := range r.Windows {
		parsed, err := window.parse()
		if err != nil {
			problems = append(problems, fmt.Errorf("option Rollout.Windows[%d]: %w", i, err))
		}
		options.Windows = append(options.Windows, parsed)
	}
	if version == "" {
		problems = append(problems, errors.New("option Rollout: the generator must implement generator.Pure, so that its versions can be told apart"))
	}
	return options, errors.Join(problems...)
}

// versionRollout is the rollout of an operator; nil if there is none.
type versionRollout struct {
	*rollout.Fleet
	version string
	// definition is that of the type of the components, whose annotation pauses the rollout.
	definition observe.Name
	// wake schedules a pass.
	wake func(apitypes.NamespacedName)

	mu sync.Mutex
	// counted is set once the fleet has all components of the cache.
	counted bool
}

// member returns what matters of a component.
func (w *worker) member(component Component) rollout.Member {
	status, settings := component.GetStatus(), settingsOf(component, w.options)
	m := rollout.Member{
		Key: client.ObjectKeyFromObject(component), Labels: labels.Set(component.GetLabels()),
		Idle: component.GetDeletionTimestamp() != nil || settings.presence != PresenceActive,
	}
	if taken := status.Rollout; taken != nil {
		m.Version, m.Arrived = taken.Version, ptr.Deref(taken.ArrivedAt, metav1.Time{}).Time
	}
	if stalled := status.condition(ConditionTypeStalled); stalled != nil && stalled.Status == ConditionTrue {
		_, _, m.Failure = status.GetState()
	}
	return m
}

// follow takes over an event of a component. Components whose turn it is now are woken.
func (w *worker) follow(object client.Object, gone bool) {
	component, ok := object.(Component)
	if !ok || w.rollout == nil {
		return
	}
	var next []apitypes.NamespacedName
	if gone {
		next = w.rollout.Remove(client.ObjectKeyFromObject(component))
	} else {
		next = w.rollout.Set(w.member(component))
	}
	for _, key := range next {
		w.rollout.wake(key)
	}
}

// census takes over all components before the first decision: the cache has them, but their events may be late.
func (w *worker) census(ctx context.Context) error {
	w.rollout.mu.Lock()
	defer w.rollout.mu.Unlock()
	if w.rollout.counted {
		return nil
	}
	list, err := w.newList()
	if err != nil {
		return err
	}
	if err := w.cache.List(ctx, list, client.UnsafeDisableDeepCopy); err != nil {
		return fmt.Errorf("listing components: %w", err)
	}
	err = meta.EachListItem(list, func(item runtime.Object) error {
		if component, ok := item.(Component); ok {
			w.rollout.Set(w.member(component))
		}
		return nil
	})
	w.rollout.counted = err == nil
	return err
}

// awaitTurn ends the pass if the component has to wait for its turn to take the present version of the generator.
func (p *pass) awaitTurn(ctx context.Context) outcomes.Outcome {
	w := p.worker
	if w.rollout == nil || p.deleting || p.settings.presence != PresenceActive {
		return outcomes.Proceed
	}
	if err := w.census(ctx); err != nil {
		return outcomes.Of(err)
	}
	if p.isConcerned() {
		if p.turn = w.rollout.Decide(w.member(p.component), w.options.Clock.Now()); p.isRolloutPaused(ctx) {
			annotation := p.handle.AnnotationKey(types.AnnotationKeySuffixRolloutPaused)
			const paused = "the rollout is paused by the annotation %s of CustomResourceDefinition %s; to continue, remove it"
			p.turn = rollout.Wait{Message: fmt.Sprintf(paused, annotation, w.rollout.definition.Name), Paused: true}
		}
		if p.turn.Message != "" {
			return outcomes.Outcome{Kind: outcomes.Waiting, Message: p.turn.Message, Wake: p.turn.Wake}
		}
	}
	taken := &RolloutStatus{Operator: w.name, Version: w.rollout.version, Declaration: p.declared.Own}
	if former := p.status.Rollout; former != nil && former.Version == taken.Version {
		taken.ArrivedAt = former.ArrivedAt
	}
	p.status.Rollout = taken
	return outcomes.Proceed
}

// isRolloutPaused reports whether a user has paused the rollout. An operator that may not read the definition of its type
// does not know.
func (p *pass) isRolloutPaused(ctx context.Context) bool {
	definition, _, err := p.worker.objects.Read(ctx, p.worker.rollout.definition)
	if err != nil {
		p.log.V(1).Info("it is not known whether the rollout is paused", "reason", err.Error())
	}
	return definition != nil && definition.GetAnnotations()[p.handle.AnnotationKey(types.AnnotationKeySuffixRolloutPaused)] == "true"
}

// isConcerned reports whether the version of the generator is all that has changed. Components of operators without a
// rollout have no version recorded.
func (p *pass) isConcerned() bool {
	if taken := p.status.Rollout; taken != nil {
		return taken.Version != p.worker.rollout.version && taken.Declaration == p.declared.Own
	}
	recorded, digest := p.status.LastProcessingDigest, p.declared.Digest
	digest.recognize(&p.memory.declared, &recorded)
	return recorded != "" && recorded != digest.Value && p.observed == p.component.GetGeneration()
}

// noteRollout writes the condition RolledOut into the status in memory.
func (p *pass) noteRollout(o outcomes.Outcome, now metav1.Time) {
	taken := p.status.Rollout
	switch {
	case p.deleting:
	case p.worker.rollout == nil:
		// The operator had the option before.
		if taken != nil {
			p.status.Rollout = nil
			p.status.RemoveCondition(ConditionTypeRolledOut)
		}
	case o.Kind == outcomes.Waiting:
		reason := RolledOutReasonWaiting
		switch {
		case p.turn.Stopped:
			reason = RolledOutReasonStopped
		case p.turn.Paused:
			reason = RolledOutReasonPaused
		}
		p.status.SetCondition(ConditionTypeRolledOut, ConditionFalse, reason, p.turn.Message, now)
	case taken == nil || taken.Version != p.worker.rollout.version:
	case taken.ArrivedAt == nil:
		p.status.SetCondition(ConditionTypeRolledOut, ConditionUnknown, RolledOutReasonUpdating, "taking the present version", now)
	default:
		p.status.SetCondition(ConditionTypeRolledOut, ConditionTrue, RolledOutReasonArrived, "has the present version", now)
	}
}

// newRollout returns the rollout of an author's options; nil if there is none.
func (a *author) newRollout(wake func(apitypes.NamespacedName), count func(state string, components int)) (*versionRollout, error) {
	if a.options.Rollout == nil {
		return nil, nil
	}
	version := generation.Fingerprint(a.generator)
	options, err := a.options.Rollout.options(version)
	options.Count = count
	return &versionRollout{Fleet: rollout.New(options), version: version, wake: wake}, err
}

// prepareRollout prepares the rollout.
func (w *worker) prepareRollout(_ ctrl.Manager, queue *queue.Wakeups) (err error) {
	w.rollout, err = w.newRollout(queue.Wake, w.metrics.RolloutComponents)
	return err
}

// findDefinition finds the CustomResourceDefinition whose annotation pauses the rollout.
func (w *worker) findDefinition(mgr ctrl.Manager) error {
	if w.rollout == nil {
		return nil
	}
	mapping, err := mgr.GetRESTMapper().RESTMapping(w.resource.Kind.GroupKind(), w.resource.Kind.Version)
	if err != nil {
		return fmt.Errorf("finding the resource of %s: %w", w.resource.Kind.Kind, err)
	}
	kind := schema.GroupVersionKind{Group: "apiextensions.k8s.io", Version: "v1", Kind: "CustomResourceDefinition"}
	w.rollout.definition = observe.Name{GroupVersionKind: kind, Name: mapping.Resource.GroupResource().String()}
	return nil
}
