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
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/component-operator/runtime/clm/internal/live"
	"github.com/component-operator/runtime/clm/internal/runner"
	"github.com/component-operator/runtime/clm/internal/views"
	"github.com/component-operator/runtime/internal/display"
	"github.com/component-operator/runtime/pkg/component"
	"github.com/component-operator/runtime/pkg/objectset/v1alpha1"
)

func newObjectsCommand(e *environment) *cobra.Command {
	command := &cobra.Command{
		Use:   "objects",
		Short: "Inspect ObjectSets and ObjectDeployments, and roll back ObjectDeployments",
		Long: `Inspect ObjectSets, ObjectDeployments, ClusterObjectSets and ClusterObjectDeployments, which an operator in the cluster reconciles.

They are named as TYPE/NAME, for example objectdeployment/web or, in short, odeploy/web.`,
	}
	command.AddCommand(newObjectsViewCommand(e, &cobra.Command{
		Use:   "status TARGET",
		Short: "Show the status of a set or a deployment, and why it is not available",
		Long: `Show the conditions of TARGET, which is TYPE/NAME, its sets if it is a deployment, the phases of the current set, and which objects are not available, with the reasons.
The newest set comes first. Its change cause is the annotation kubernetes.io/change-cause of the deployment at that time.

The exit code is 0 if the set is available, or the deployment is ready, and 3 if not.`,
		Example: "  clm objects status odeploy/web\n  clm objects status objectset/web-2",
	}, false), newObjectsViewCommand(e, &cobra.Command{
		Use:   "tree TARGET",
		Short: "Show the objects of a set or a deployment and the objects that they own, down to the pods",
		Long: `Show the objects of TARGET, which is TYPE/NAME, in the order of the phases, and the objects that they own, down to the pods, each with its status. The status of the
objects of a set is determined by its probes. For a deployment, all sets that are not archived are shown.`,
		Example: "  clm objects tree odeploy/web",
	}, true))
	command.AddCommand(newObjectsEventsCommand(e), newObjectsRollbackCommand(e))
	return command
}

// withObjects connects to the cluster and reads a set or a deployment.
func (e *environment) withObjects(ctx context.Context, text string, use func(s *runner.Connection, found *views.ObjectSets) error) error {
	return e.with(ctx, false, func(s *runner.Connection, namespace string) error {
		target, err := views.ParseObjectTarget(text, namespace)
		if err != nil {
			return err
		}
		found, err := views.LookAtObjects(ctx, s.Client(), target)
		if err != nil {
			return err
		}
		return use(s, found)
	})
}

// newObjectsViewCommand completes a command that shows the status of a set or a deployment, or its whole tree.
func newObjectsViewCommand(e *environment, command *cobra.Command, whole bool) *cobra.Command {
	printed := newOutput(command)
	command.RunE = func(command *cobra.Command, args []string) error {
		return e.withObjects(command.Context(), args[0], func(s *runner.Connection, found *views.ObjectSets) error {
			return viewObjects(command.Context(), e, s, found, printed, whole)
		})
	}
	return command
}

// viewObjects shows the status of a set or a deployment, or its whole tree.
func viewObjects(ctx context.Context, e *environment, s *runner.Connection, found *views.ObjectSets, printed output, whole bool) error {
	shown := objectsView{ObjectSets: found, whole: whole}
	sets := found.Active()
	if !whole && len(sets) > 1 {
		sets = sets[:1]
	}
	for _, set := range sets {
		report, err := found.Tree(ctx, s.Client(), set)
		if err != nil {
			return fmt.Errorf("set %s: %w", set.GetName(), err)
		}
		shown.trees = append(shown.trees, setTree{set: set, Report: report})
	}
	for _, note := range shown.notes() {
		fmt.Fprintln(e.err, display.Clean(note.String()))
	}
	var err error
	if printed.forPeople() {
		err = shown.write(e.out, e.style(e.out), display.Limit(e.out))
	} else {
		err = printed.print(e.out, shown.object())
	}
	if err == nil && !whole && !shown.isReady() {
		return &exitError{code: exitNotReady}
	}
	return err
}

func newObjectsEventsCommand(e *environment) *cobra.Command {
	o := eventOptions{}
	command := &cobra.Command{
		Use:   "events TARGET",
		Short: "List the events about the objects of a set or a deployment",
		Long: `List the events about the objects of TARGET, which is TYPE/NAME, and about the objects that they own, down to the pods; the latest comes last. For a
deployment, these are the objects of the current set.`,
		Example: "  clm objects events odeploy/web --types Warning",
		RunE: func(command *cobra.Command, args []string) error {
			return e.withObjects(command.Context(), args[0], func(s *runner.Connection, found *views.ObjectSets) error {
				if len(found.Sets) == 0 {
					return fmt.Errorf("%s has no sets yet", found.Target)
				}
				options, err := found.Inspection(s.Client(), found.Sets[0])
				if err != nil {
					return err
				}
				o.namespace = found.Target.Namespace
				return o.list(command.Context(), e, options)
			})
		},
	}
	o.addFlags(command)
	return command
}

func newObjectsRollbackCommand(e *environment) *cobra.Command {
	timeout := defaultTimeout
	var noWait bool
	command := &cobra.Command{
		Use:   "rollback TARGET [REVISION]",
		Short: "Return to an earlier revision of a deployment",
		Long: `Have the operator return the deployment TARGET, which is TYPE/NAME, to an earlier revision, and wait until that is complete. REVISION defaults to the latest one
before the current one that has succeeded; clm objects status lists them. The operator copies the spec of that set to the template of the deployment, which creates a new set.
If the template is already that of the set, the command only waits.

If a tool such as Argo CD or Flux applies the deployment, it will undo the rollback: change the template in its source instead.`,
		Example: "  clm objects rollback odeploy/web\n  clm objects rollback odeploy/web 3",
		RunE: func(command *cobra.Command, args []string) error {
			revision, err := revisionIn(args)
			if err != nil {
				return err
			}
			return e.withObjects(command.Context(), args[0], func(s *runner.Connection, found *views.ObjectSets) error {
				return rollBackObjects(command.Context(), e, s, found, revision, timeout, noWait)
			})
		},
	}
	command.Flags().Var(period(&timeout), "timeout", "how long to wait; 0 means no limit")
	command.Flags().BoolVar(&noWait, "no-wait", false, "do not wait until the rollback is complete")
	return command
}

func rollBackObjects(ctx context.Context, e *environment, s *runner.Connection, found *views.ObjectSets, revision int64, timeout time.Duration, noWait bool) error {
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
			conditionText(set, v1alpha1.ConditionTypeSucceeded), fmt.Sprint(objectsOf(set)), age(set.GetCreationTimestamp().Time, time.Now()),
			set.GetAnnotations()[v1alpha1.AnnotationChangeCause])
	}
	return table.Write(out)
}

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

// notes returns the notes of all sets, each once.
func (v objectsView) notes() []display.Note {
	var notes []display.Note
	for _, tree := range v.trees {
		for _, note := range tree.Notes {
			if !slices.Contains(notes, note) {
				notes = append(notes, note)
			}
		}
	}
	return notes
}

// isReady reports whether the deployment is ready, or the set is available.
func (v objectsView) isReady() bool {
	wanted := v1alpha1.DeploymentReady
	if v.Deployment == nil {
		wanted = string(v1alpha1.ConditionTypeAvailable)
	}
	return meta.IsStatusConditionTrue(v.conditions(), wanted)
}

// conditions returns the conditions of the deployment or the set, without those of earlier generations.
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

// forTools are conditions that only repeat others, for generic tools.
var forTools = []string{string(component.ConditionTypeReconciling), v1alpha1.DeploymentStalled}

// head returns labels and texts of the conditions.
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

func (v objectsView) object() *unstructured.Unstructured {
	var sets []any
	for _, set := range v.Sets {
		content := setContent(set)
		if at := slices.IndexFunc(v.trees, func(tree setTree) bool { return tree.set.GetName() == set.GetName() }); at >= 0 {
			content["dependents"] = v.trees[at].Nodes
		}
		sets = append(sets, content)
	}
	status := map[string]any{"conditions": v.conditions(), "sets": sets}
	addKnown(status, map[string]any{"notes": v.notes()})
	return resource("ObjectSetStatus", v.Target.Namespace, v.Target.Name, map[string]any{"status": status})
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
