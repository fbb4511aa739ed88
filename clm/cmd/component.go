// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"fmt"
	"io"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/component-operator/runtime/clm/internal/views"
	"github.com/component-operator/runtime/internal/display"
	"github.com/component-operator/runtime/pkg/component"
)

// componentView shows a component: its state, its conditions, counts, and the dependents that are not ready.
type componentView struct {
	*views.Snapshot
}

func (v componentView) write(out io.Writer, style display.Style, width int) error {
	return writeStatus(out, style, width, v.Snapshot, v.head(style))
}

// summaries are the conditions that the state summarizes.
var summaries = []component.ConditionType{component.ConditionTypeReady, component.ConditionTypeReconciling, component.ConditionTypeStalled}

func (v componentView) head(style display.Style) [][2]string {
	status := v.Component.Status
	paint := style.Yellow
	switch {
	case v.Ready():
		paint = style.Green
	case v.Failed():
		paint = style.Red
	}
	_, reason, message := status.GetState()
	state := paint(display.Clean(string(status.State)+", "+reason)) + v.sinceText(time.Now())
	rows := [][2]string{{"Component", style.Bold(v.Target.String())}, {"State", state}}
	if v.Component.IsNew() {
		return [][2]string{{"Component", style.Bold(v.Target.String())}, {"State", style.Yellow("the operator has not reconciled it yet")}}
	}
	if v.Component.Problem != "" {
		rows = append(rows, [2]string{"", style.Yellow(display.Clean(v.Component.Problem))})
	}
	if generation := v.Component.Object.GetGeneration(); status.ObservedGeneration != generation {
		rows = append(rows, [2]string{"", style.Yellow(fmt.Sprintf("the operator has not seen generation %d yet; this is about generation %d", generation, status.ObservedGeneration))})
	}
	if !v.Ready() {
		for line := range messageLines(message) {
			rows = append(rows, [2]string{"Message", line})
		}
	}
	if status.Revision > 0 {
		rows = append(rows, [2]string{"Revision", fmt.Sprint(status.Revision)})
	}
	if v.Component.Cluster != "" {
		rows = append(rows, [2]string{"Cluster", display.Clean(v.Component.Cluster + "; clm shows the dependents as the operator has recorded them")})
	}
	for _, condition := range v.Component.Conditions() {
		if slices.Contains(summaries, condition.Type) {
			continue
		}
		text := fmt.Sprintf("%s %s, %s", condition.Type, condition.Status, condition.Reason)
		if condition.Message != "" {
			text += ": " + oneText(condition.Message)
		}
		rows = append(rows, [2]string{"Conditions", display.Clean(text)})
	}
	if kept := display.Kept(v.Component.Inventory); kept != "" {
		rows = append(rows, [2]string{"Kept", display.Clean(kept) + ", although no longer generated"})
	}
	return rows
}

// sinceText returns how long the component has been ready, or not ready, as far as that is known.
func (v componentView) sinceText(now time.Time) string {
	condition, _ := v.Component.Status.GetCondition(component.ConditionTypeReady)
	since := v.Component.Status.ProcessingSince
	switch {
	case v.Ready() && condition.LastTransitionTime != nil:
		return " (for " + age(condition.LastTransitionTime.Time, now) + ")"
	case since != nil:
		return " (not ready for " + age(since.Time, now) + ")"
	default:
		return ""
	}
}

func (v componentView) facts() []fact {
	if v.Component.IsNew() {
		return []fact{{v.Target.String(), "the operator has not reconciled it yet"}}
	}
	_, reason, message := v.Component.Status.GetState()
	facts := []fact{{v.Target.String(), fmt.Sprintf("%s, %s: %s", v.Component.Status.State, reason, oneText(message))}}
	return append(facts, dependentFacts(v.Dependents)...)
}

func (v componentView) object() *unstructured.Unstructured {
	_, reason, message := v.Component.Status.GetState()
	status := map[string]any{"state": v.Component.Status.State, "reason": reason, "conditions": v.Component.Conditions(), "dependents": len(v.Component.Inventory)}
	addKnown(status, map[string]any{"message": message, "revision": v.Component.Status.Revision, "cluster": v.Component.Cluster, "problem": v.Component.Problem})
	addSituation(status, v.Snapshot)
	content := map[string]any{"component": display.ObjectOf(v.Component.Object), "status": status}
	return resource("Component", v.Target.Namespace, v.Target.Name, content)
}
