// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package views

import (
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/component-operator/runtime/clm/internal/releases"
	"github.com/component-operator/runtime/internal/display"
	"github.com/component-operator/runtime/pkg/component"
	"github.com/component-operator/runtime/pkg/objectset/v1alpha1"
)

// Describe returns labels and texts about the target, without its name: its state and since when, the process that works on it, the message, the
// revision with its sources, and the conditions. A row without a label belongs to the one before. The texts are colored
// according to the style.
func (s *Snapshot) Describe(style display.Style) [][2]string {
	switch {
	case s.Sets != nil:
		return s.describeSets(style)
	case s.Component != nil:
		return s.describeComponent(style)
	default:
		return s.describeRelease(style)
	}
}

// describeRelease returns the rows of a release.
func (s *Snapshot) describeRelease(style display.Style) [][2]string {
	release, now := s.Release, time.Now()
	rows := [][2]string{
		{"State", s.paintState(style) + s.releaseSince(now)},
	}
	if work := s.work(now); work != "" {
		rows = append(rows, [2]string{"", work})
	}
	if release.Awaited() {
		rows = append(rows, [2]string{"", style.Yellow(release.AwaitedText())})
	}
	if !s.Ready() {
		for line := range display.MessageLines(release.Message) {
			rows = append(rows, [2]string{"Message", line})
		}
	}
	if current := release.Current(); current != nil {
		rows = append(rows, [2]string{"Revision", fmt.Sprintf("%d, %s %s ago", current.Number, display.Clean(current.Description), display.KnownAge(current.Created, now))})
		for _, source := range current.Sources {
			rows = append(rows, [2]string{"Sources", display.Clean(source.Describe())})
		}
		if len(current.Labels) > 0 {
			rows = append(rows, [2]string{"Labels", display.Clean(labels.Set(current.Labels).String())})
		}
		if len(current.DependsOn) > 0 {
			rows = append(rows, [2]string{"Depends on", display.Clean(strings.Join(current.DependsOn, ", "))})
		}
	}
	if kept := display.Kept(release.Inventory); kept != "" {
		rows = append(rows, [2]string{"Kept", display.Clean(kept) + ", although no longer in the manifests"})
	}
	return rows
}

func (s *Snapshot) paintState(style display.Style) string {
	text := s.ReleaseState()
	switch {
	case s.Ready():
		return style.Green(text)
	case s.Release.State == releases.StateFailed:
		return style.Red(text)
	}
	return style.Yellow(text)
}

// ReleaseState returns the state of the release, and the reason if it is degraded.
func (s *Snapshot) ReleaseState() string {
	state := string(s.State())
	if s.State() == StateDegraded {
		state += ": not all dependents are ready"
	}
	return state
}

// releaseSince returns how long the release has been in its state, as far as that is known.
func (s *Snapshot) releaseSince(now time.Time) string {
	since := display.KnownAge(s.Release.Since, now)
	switch {
	case s.State() == StateDegraded:
		return ", although the release became ready " + since + " ago"
	case s.State() != s.Release.State:
		return ", although no process has waited for that"
	}
	return " (for " + since + ")"
}

// work describes which process works on the release, or what to do if none does; empty if there is no work.
func (s *Snapshot) work(now time.Time) string {
	command := releases.Continuation(s.Release)
	switch {
	case s.Acknowledgment() != "":
		return "all objects have become ready since; " + s.Acknowledgment()
	case command == "", s.Ready():
		return ""
	case s.Complete():
		return fmt.Sprintf("no process is working on it, and all objects are applied; to wait until they are ready: clm wait %s -n %s", s.Release.Name, s.Release.Namespace)
	case s.Holder == nil:
		return "no process is working on it; to continue: " + command
	case s.Silent:
		return fmt.Sprintf("%s was working on it, and last renewed its lock %s ago; to continue: %s", display.Clean(s.Holder.Name), display.KnownAge(s.Holder.Renewed, now), command)
	default:
		return fmt.Sprintf("%s has been working on it for %s; its lock lasts another %s",
			display.Clean(s.Holder.Name), display.KnownAge(s.Holder.Since, now), duration.HumanDuration(max(0, s.Holder.Validity-now.Sub(s.Holder.Renewed))))
	}
}

// summaries are the conditions that the state summarizes.
var summaries = []component.ConditionType{component.ConditionTypeReady, component.ConditionTypeReconciling, component.ConditionTypeStalled}

func (s *Snapshot) describeComponent(style display.Style) [][2]string {
	status := s.Component.Status
	paint := style.Yellow
	switch {
	case s.Ready():
		paint = style.Green
	case s.Failed():
		paint = style.Red
	}
	_, reason, message := status.GetState()
	state := paint(display.Clean(string(status.State)+", "+reason)) + s.componentSince(time.Now())
	rows := [][2]string{{"State", state}}
	if s.Component.IsNew() {
		return [][2]string{{"State", style.Yellow("the operator has not reconciled it yet")}}
	}
	if s.Component.Problem != "" {
		rows = append(rows, [2]string{"", style.Yellow(display.Clean(s.Component.Problem))})
	}
	if generation := s.Component.Object.GetGeneration(); status.ObservedGeneration != generation {
		rows = append(rows, [2]string{"", style.Yellow(fmt.Sprintf("the operator has not seen generation %d yet; this is about generation %d", generation, status.ObservedGeneration))})
	}
	if !s.Ready() {
		for line := range display.MessageLines(message) {
			rows = append(rows, [2]string{"Message", line})
		}
	}
	if status.Revision > 0 {
		rows = append(rows, [2]string{"Revision", fmt.Sprint(status.Revision)})
	}
	if s.Component.Cluster != "" {
		rows = append(rows, [2]string{"Cluster", display.Clean(s.Component.Cluster + "; clm shows the dependents as the operator has recorded them")})
	}
	for _, condition := range s.Component.Conditions() {
		if slices.Contains(summaries, condition.Type) {
			continue
		}
		text := fmt.Sprintf("%s %s, %s", condition.Type, condition.Status, condition.Reason)
		if condition.Message != "" {
			text += ": " + display.OneText(condition.Message)
		}
		rows = append(rows, [2]string{"Conditions", display.Clean(text)})
	}
	if kept := display.Kept(s.Component.Inventory); kept != "" {
		rows = append(rows, [2]string{"Kept", display.Clean(kept) + ", although no longer generated"})
	}
	return rows
}

// componentSince returns how long the component has been ready, or not ready, as far as that is known.
func (s *Snapshot) componentSince(now time.Time) string {
	condition, _ := s.Component.Status.GetCondition(component.ConditionTypeReady)
	since := s.Component.Status.ProcessingSince
	switch {
	case s.Ready() && condition.LastTransitionTime != nil:
		return " (for " + display.KnownAge(condition.LastTransitionTime.Time, now) + ")"
	case since != nil:
		return " (not ready for " + display.KnownAge(since.Time, now) + ")"
	default:
		return ""
	}
}

// forTools are conditions that only repeat others, for generic tools.
var forTools = []string{string(component.ConditionTypeReconciling), v1alpha1.DeploymentStalled}

// describeSets returns the rows of the conditions.
func (s *Snapshot) describeSets(style display.Style) [][2]string {
	var rows [][2]string
	said := ""
	for _, condition := range s.Sets.Conditions() {
		if slices.Contains(forTools, condition.Type) {
			continue
		}
		text := display.Clean(fmt.Sprintf("%s, %s", condition.Status, condition.Reason))
		if condition.Type == v1alpha1.DeploymentAvailable {
			paint := style.Yellow
			if condition.Status == metav1.ConditionTrue {
				paint = style.Green
			}
			text = paint(text)
		}
		rows = append(rows, [2]string{condition.Type, text})
		if condition.Message != said && condition.Message != "" {
			rows = append(rows, [2]string{"", display.Clean(condition.Message)})
		}
		said = condition.Message
	}
	if len(rows) == 0 {
		rows = append(rows, [2]string{"", style.Yellow("the operator has not reconciled it yet")})
	}
	return rows
}
