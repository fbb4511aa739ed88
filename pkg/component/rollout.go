// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package component

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	apitypes "k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/pkg/component/internal/generation"
	"github.com/component-operator/runtime/pkg/component/internal/outcomes"
	"github.com/component-operator/runtime/pkg/component/internal/rollout"
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
	// StopOnFailure makes all components wait once one has failed with the version: it is stalled, or was not ready in
	// time. They continue with the next version, or when it has recovered. Defaults to true.
	StopOnFailure *bool
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
	r.StopOnFailure = flagset.Bool(prefix+"stop-on-failure", true, "let no component take a new version of the operator once one has failed with it")
}

// OrNone returns the rollout; nil if it has neither MaxUpdating nor Canary nor BakeTime, and so limits nothing.
func (r *Rollout) OrNone() *Rollout {
	if r.MaxUpdating == nil && r.Canary == nil && r.BakeTime == 0 {
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
	// RolledOutReasonUpdating means that the component has taken the version, and is not ready yet.
	RolledOutReasonUpdating = "Updating"
	// RolledOutReasonArrived means that the component has become ready with the version.
	RolledOutReasonArrived = "Arrived"
)

// +kubebuilder:object:generate=true

// RolloutStatus says which version of the operator a component has.
type RolloutStatus struct {
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
	if version == "" {
		problems = append(problems, errors.New("option Rollout: the generator must implement generator.Pure, so that its versions can be told apart"))
	}
	return options, errors.Join(problems...)
}

// versionRollout is the rollout of an operator; nil if there is none.
type versionRollout struct {
	*rollout.Fleet
	version string
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
		Idle: component.GetDeletionTimestamp() != nil || settings.suspended || settings.presence != PresenceActive,
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
		if p.turn = w.rollout.Decide(w.member(p.component), w.options.Clock.Now()); p.turn.Message != "" {
			return outcomes.Outcome{Kind: outcomes.Waiting, Message: p.turn.Message, Wake: p.turn.Wake}
		}
	}
	taken := &RolloutStatus{Version: w.rollout.version, Declaration: p.declared.Own}
	if former := p.status.Rollout; former != nil && former.Version == taken.Version {
		taken.ArrivedAt = former.ArrivedAt
	}
	p.status.Rollout = taken
	return outcomes.Proceed
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
		if p.turn.Stopped {
			reason = RolledOutReasonStopped
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
func (a *author) newRollout(wake func(apitypes.NamespacedName)) (*versionRollout, error) {
	if a.options.Rollout == nil {
		return nil, nil
	}
	version := generation.Fingerprint(a.generator)
	options, err := a.options.Rollout.options(version)
	return &versionRollout{Fleet: rollout.New(options), version: version, wake: wake}, err
}
