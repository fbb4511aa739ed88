// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"cmp"
	"fmt"
	"io"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/component-operator/runtime/clm/internal/display"
	"github.com/component-operator/runtime/clm/internal/live"
	"github.com/component-operator/runtime/clm/internal/views"
	"github.com/component-operator/runtime/pkg/component"
	"github.com/component-operator/runtime/pkg/objectset/v1alpha1"
)

// objectsView shows a set or a deployment: its conditions, its sets, its phases, and the objects that are not
// available; or the whole tree.
type objectsView struct {
	*views.ObjectSets
	trees []setTree
	whole bool
}

// setTree has the objects of a set.
type setTree struct {
	*live.Report
	set v1alpha1.Set
}

func (v objectsView) notes() []display.Note {
	var notes []display.Note
	for _, tree := range v.trees {
		notes = append(notes, tree.Notes...)
	}
	return notes
}

// isReady reports whether the deployment is ready, or the set is available.
func (v objectsView) isReady() bool {
	wanted := v1alpha1.DeploymentReady
	if v.Deployment == nil {
		wanted = string(v1alpha1.ConditionTypeAvailable)
	}
	return slices.ContainsFunc(v.conditions(), func(condition metav1.Condition) bool {
		return condition.Type == wanted && condition.Status == metav1.ConditionTrue
	})
}

// conditions are those of the deployment or the set, without those of earlier generations.
func (v objectsView) conditions() []metav1.Condition {
	var found []metav1.Condition
	generation := int64(0)
	if v.Deployment != nil {
		generation, found = v.Deployment.GetGeneration(), slices.Clone(v.Deployment.GetDeploymentStatus().Conditions)
	} else {
		generation = v.Sets[0].GetGeneration()
		for _, condition := range v.Sets[0].GetStatus().Conditions {
			found = append(found, metav1.Condition{
				Type: string(condition.Type), Status: metav1.ConditionStatus(condition.Status),
				Reason: condition.Reason, Message: condition.Message, ObservedGeneration: condition.ObservedGeneration,
			})
		}
	}
	return slices.DeleteFunc(found, func(condition metav1.Condition) bool { return condition.ObservedGeneration != generation })
}

func (v objectsView) write(out io.Writer, style display.Style, width int) error {
	if v.whole {
		return v.writeTrees(out, style, width)
	}
	const indent = 14
	fmt.Fprintln(out, style.Bold(v.Target.String()))
	if err := writeRows(out, v.head(style), indent, width); err != nil {
		return err
	}
	if v.Deployment != nil && len(v.Sets) > 0 {
		fmt.Fprintln(out)
		if err := writeSets(out, v.Sets, width); err != nil {
			return err
		}
	}
	for _, tree := range v.trees {
		if err := writePhases(out, tree.set, width); err != nil {
			return err
		}
		problems := slices.DeleteFunc(slices.Clone(tree.Nodes), func(node *display.Node) bool { return node.IsReady() })
		if len(problems) == 0 || tree.set.GetSetSpec().GetPresence() == component.PresenceArchived {
			continue
		}
		fmt.Fprintln(out)
		if err := display.Write(out, problems, display.WriteOptions{Color: bool(style), Width: width, Namespace: v.Target.Namespace, Why: true, Flat: true}); err != nil {
			return err
		}
	}
	return nil
}

// forTools are conditions that repeat what others say, for tools that know them from other objects.
var forTools = []string{string(component.ConditionTypeReconciling), v1alpha1.DeploymentStalled}

// head shows the conditions.
func (v objectsView) head(style display.Style) [][2]string {
	var rows [][2]string
	said := ""
	for _, condition := range v.conditions() {
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

// writePhases writes a table of the phases of a set after an empty line, if there are any.
func writePhases(out io.Writer, set v1alpha1.Set, width int) error {
	phases := set.GetSetStatus().Phases
	if len(phases) == 0 {
		return nil
	}
	fmt.Fprintln(out)
	table := display.NewTable(width, display.Column{Header: "PHASE", Fit: display.Middle}, display.Column{Header: "OBJECTS"}, display.Column{Header: "APPLIED"},
		display.Column{Header: "AVAILABLE"}, display.Column{Header: "HANDED OVER", Spare: true})
	for _, phase := range phases {
		table.AddTexts(phase.Name, fmt.Sprint(phase.Objects), fmt.Sprint(phase.Applied), fmt.Sprint(phase.Available), fmt.Sprint(phase.Progressed))
	}
	return table.Write(out)
}

func (v objectsView) writeTrees(out io.Writer, style display.Style, width int) error {
	for i, tree := range v.trees {
		if i > 0 {
			fmt.Fprintln(out)
		}
		fmt.Fprintf(out, "%s, revision %d, %s\n", style.Bold("set "+tree.set.GetName()), tree.set.GetSetSpec().Revision, tree.set.GetSetSpec().GetPresence())
		if err := display.Write(out, tree.Nodes, display.WriteOptions{Color: bool(style), Width: width, Namespace: v.Target.Namespace}); err != nil {
			return err
		}
	}
	return nil
}

func (v objectsView) facts() []fact {
	var facts []fact
	for _, condition := range v.conditions() {
		facts = append(facts, fact{condition.Type, fmt.Sprintf("%s: %s: %s", condition.Status, condition.Reason, condition.Message)})
	}
	return facts
}

func (v objectsView) object() (*unstructured.Unstructured, error) {
	conditions, err := plainContents(v.conditions())
	if err != nil {
		return nil, err
	}
	var sets []any
	for _, tree := range v.trees {
		content := setContent(tree.set)
		if content["dependents"], err = plainContents(tree.Nodes); err != nil {
			return nil, err
		}
		sets = append(sets, content)
	}
	for _, set := range v.Sets {
		if !slices.ContainsFunc(v.trees, func(tree setTree) bool { return tree.set.GetName() == set.GetName() }) {
			sets = append(sets, setContent(set))
		}
	}
	status := map[string]any{"conditions": conditions, "sets": sets}
	return resource("ObjectSetStatus", v.Target.Namespace, v.Target.Name, map[string]any{"status": status}), withNotes(status, v.notes())
}

// setContent returns the JSON form of a set.
func setContent(set v1alpha1.Set) map[string]any {
	content := map[string]any{
		"name": set.GetName(), "revision": set.GetSetSpec().Revision, "state": string(set.GetSetSpec().GetPresence()), "objects": objectsOf(set),
		"created":   timestamp(set.GetCreationTimestamp().Time),
		"available": conditionText(set, v1alpha1.ConditionTypeAvailable), "succeeded": conditionText(set, v1alpha1.ConditionTypeSucceeded),
	}
	addTexts(content, map[string]string{"changeCause": set.GetAnnotations()[v1alpha1.AnnotationChangeCause]})
	return content
}

// conditionText returns the status of a condition.
func conditionText(set v1alpha1.Set, name component.ConditionType) string {
	condition, _ := set.GetStatus().GetCondition(name)
	return cmp.Or(string(condition.Status), "-")
}

// objectsOf counts the objects of a set.
func objectsOf(set v1alpha1.Set) int64 {
	count := int64(0)
	for _, phase := range set.GetSetSpec().Phases {
		count += int64(len(phase.Objects))
	}
	return count
}
