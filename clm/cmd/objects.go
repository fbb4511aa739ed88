// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/component-operator/runtime/clm/internal/releases"
	"github.com/component-operator/runtime/clm/internal/runner"
	"github.com/component-operator/runtime/clm/internal/views"
	"github.com/component-operator/runtime/internal/display"
	"github.com/component-operator/runtime/pkg/component"
	"github.com/component-operator/runtime/pkg/objectset/v1alpha1"
)

// rollBackObjects has the operator roll back a deployment, and waits for that.
func rollBackObjects(command *cobra.Command, e *environment, text string, revision int64, timeout time.Duration, noWait bool) error {
	var refused error
	command.LocalFlags().VisitAll(func(flag *pflag.Flag) {
		if flag.Changed && flag.Name != "timeout" && flag.Name != "no-wait" && refused == nil {
			refused = releases.Refused("flag --%s: only for releases; %s is rolled back by its operator", flag.Name, text)
		}
	})
	if refused != nil {
		return refused
	}
	return e.with(command.Context(), false, func(s *runner.Connection, namespace string) error {
		target, err := e.target(text, namespace)
		if err != nil {
			return err
		}
		found, err := views.LookAtObjects(command.Context(), s.Client(), target)
		if err != nil {
			return err
		}
		if found == nil {
			return releases.Refused("%s: only releases and ObjectDeployments can be rolled back", target)
		}
		return awaitRollBack(command.Context(), e, s, found, revision, timeout, noWait)
	})
}

func awaitRollBack(ctx context.Context, e *environment, s *runner.Connection, found *views.ObjectSets, revision int64, timeout time.Duration, noWait bool) error {
	name, asked, err := found.RollBack(ctx, s.Client(), revision)
	if err != nil {
		return err
	}
	if asked {
		fmt.Fprintf(e.out, "%s: rolling back to set %s\n", found.Target, name)
	} else {
		fmt.Fprintf(e.out, "%s: nothing to roll back: the template is already that of set %s\n", found.Target, name)
	}
	if noWait {
		return nil
	}
	ctx, cancel := runner.Limited(ctx, timeout)
	defer cancel()
	last := ""
	err = found.AwaitRollBack(ctx, s.Client(), func(said string) {
		last = said
		fmt.Fprintln(e.out, display.Clean(last))
	})
	switch {
	case errors.Is(err, runner.ErrTimeout):
		fmt.Fprintf(e.err, "timed out after %s; last status: %s\n", timeout, display.Clean(last))
		return &exitError{code: exitNotReady}
	case err != nil && ctx.Err() != nil:
		return &exitError{code: exitInterrupted}
	case err != nil:
		fmt.Fprintln(e.err, "Error:", display.CleanLines(err.Error()))
		return &exitError{code: exitNotReady}
	}
	return nil
}

// writeSets prints a table of sets.
func writeSets(out io.Writer, sets []v1alpha1.Set, width int) error {
	table := display.NewTable(width, display.Column{Header: "REVISION"}, display.Column{Header: "SET", Fit: display.Middle}, display.Column{Header: "STATE"},
		display.Column{Header: "AVAILABLE"}, display.Column{Header: "SUCCEEDED", Spare: true}, display.Column{Header: "OBJECTS", Spare: true}, display.Column{Header: "AGE"},
		display.Column{Header: "CHANGE CAUSE", Fit: display.End, Spare: true})
	for _, set := range sets {
		table.AddTexts(fmt.Sprint(set.GetSetSpec().Revision), set.GetName(), string(set.GetSetSpec().GetPresence()), conditionText(set, v1alpha1.ConditionTypeAvailable),
			conditionText(set, v1alpha1.ConditionTypeSucceeded), fmt.Sprint(objectsOf(set)), display.KnownAge(set.GetCreationTimestamp().Time, time.Now()),
			set.GetAnnotations()[v1alpha1.AnnotationChangeCause])
	}
	return table.Write(out)
}

// objectsView shows a set or a deployment: its conditions, its sets, its phases, and the objects that are not
// available; or the whole tree.
type objectsView struct {
	*views.Snapshot

	whole, why bool
}

func (v objectsView) write(out io.Writer, style display.Style, width int) error {
	if v.whole {
		return v.writeTrees(out, style, width)
	}
	const indent = 14
	fmt.Fprintln(out, style.Bold(v.Target.String()))
	if err := writeRows(out, v.Describe(style), indent, width); err != nil {
		return err
	}
	if v.Sets.Deployment != nil && len(v.Sets.Sets) > 0 {
		fmt.Fprintln(out)
		if err := writeSets(out, v.Sets.Sets, width); err != nil {
			return err
		}
	}
	for _, tree := range v.Trees {
		if err := writePhases(out, tree.Set, width); err != nil {
			return err
		}
		problems := slices.DeleteFunc(slices.Clone(tree.Nodes), func(node *display.Node) bool { return node.IsReady() })
		if len(problems) == 0 || tree.Set.GetSetSpec().GetPresence() == component.PresenceArchived {
			continue
		}
		fmt.Fprintln(out)
		if err := display.Write(out, problems, display.WriteOptions{Color: bool(style), Width: width, Namespace: v.Target.Namespace, Why: true, Flat: true}); err != nil {
			return err
		}
	}
	return nil
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
	for i, tree := range v.Trees {
		if i > 0 {
			fmt.Fprintln(out)
		}
		fmt.Fprintf(out, "%s, revision %d, %s\n", style.Bold("set "+tree.Set.GetName()), tree.Set.GetSetSpec().Revision, tree.Set.GetSetSpec().GetPresence())
		if err := display.Write(out, tree.Nodes, display.WriteOptions{Color: bool(style), Width: width, Namespace: v.Target.Namespace, Why: v.why}); err != nil {
			return err
		}
	}
	return nil
}

func (v objectsView) object() *unstructured.Unstructured {
	var sets []any
	for _, set := range v.Sets.Sets {
		content := setContent(set)
		if at := slices.IndexFunc(v.Trees, func(tree views.SetTree) bool { return tree.Set.GetName() == set.GetName() }); at >= 0 {
			content["dependents"] = v.Trees[at].Nodes
		}
		sets = append(sets, content)
	}
	status := map[string]any{"conditions": v.Sets.Conditions(), "sets": sets}
	addKnown(status, map[string]any{"notes": v.Notes})
	return resource("ObjectSetStatus", v.Target.Namespace, v.Target.Name, map[string]any{"status": status})
}

func (v objectsView) facts() []fact {
	var facts []fact
	for _, condition := range v.Sets.Conditions() {
		facts = append(facts, fact{condition.Type, fmt.Sprintf("%s, %s: %s", condition.Status, condition.Reason, display.OneText(condition.Message))})
	}
	for _, tree := range v.Trees {
		for _, fact := range objectFacts(tree.Nodes) {
			fact.subject += " of set " + tree.Set.GetName()
			facts = append(facts, fact)
		}
	}
	return facts
}

// setContent returns the JSON form of a set.
func setContent(set v1alpha1.Set) map[string]any {
	content := map[string]any{
		"name": set.GetName(), "revision": set.GetSetSpec().Revision, "state": set.GetSetSpec().GetPresence(), "objects": objectsOf(set),
		"created":   timestamp(set.GetCreationTimestamp().Time),
		"available": conditionText(set, v1alpha1.ConditionTypeAvailable), "succeeded": conditionText(set, v1alpha1.ConditionTypeSucceeded),
	}
	addKnown(content, map[string]any{"changeCause": set.GetAnnotations()[v1alpha1.AnnotationChangeCause]})
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
