// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/component-operator/runtime/clm/internal/display"
	"github.com/component-operator/runtime/clm/internal/objectsets"
	"github.com/component-operator/runtime/pkg/component"
	"github.com/component-operator/runtime/pkg/objectset/v1alpha1"
	"github.com/component-operator/runtime/pkg/reconciler"
)

type objectsDriftOptions struct {
	output   output
	diff     diffFlags
	exitCode bool
}

func newObjectsDriftCommand(e *environment) *cobra.Command {
	o := objectsDriftOptions{}
	command := &cobra.Command{
		Use:   "drift TARGET",
		Short: "Show how the objects of a set or a deployment have drifted",
		Long: `Show how the objects of TARGET, which is TYPE/NAME, differ from what the set declares, and which field manager changed which fields, and when. For a deployment,
these are the objects of all sets that are not archived. The operator corrects drift at once, unless the set is paused.

In the differences, lines with - are from the set, and lines with + are from the cluster.`,
		Example: "  clm objects drift odeploy/web\n  clm objects drift oset/web-2 -o json --exit-code",
		Args:    cobra.ExactArgs(1),
		RunE: func(command *cobra.Command, args []string) error {
			return runObjectsDrift(command.Context(), e, args[0], o)
		},
	}
	o.output = newOutput(command)
	addDiffFlags(command.Flags(), &o.diff)
	command.Flags().BoolVar(&o.exitCode, "exit-code", false, "exit with code 2 if an object has drifted")
	return command
}

func runObjectsDrift(ctx context.Context, e *environment, text string, o objectsDriftOptions) error {
	s, found, err := e.openObjects(ctx, text)
	if err != nil {
		return err
	}
	defer s.Close()
	var objects []*unstructured.Unstructured
	drifted := false
	for _, set := range found.Active() {
		if set.GetSetSpec().GetPresence() == component.PresenceArchived {
			continue
		}
		drift, err := found.Drift(ctx, s.Client(), set)
		if err != nil {
			return fmt.Errorf("set %s: %w", set.GetName(), err)
		}
		drifted = drifted || len(drift) > 0
		if !o.output.forPeople() {
			for i, d := range drift {
				objects = append(objects, resource("Drift", set.GetNamespace(), fmt.Sprintf("%s.%d", set.GetName(), i+1), objectDriftContent(d)))
			}
			continue
		}
		if err := o.write(e, set, drift); err != nil {
			return err
		}
	}
	if !o.output.forPeople() {
		if err := o.output.printList(e.out, objects); err != nil {
			return err
		}
	}
	if drifted && o.exitCode {
		return &exitError{code: exitChanges}
	}
	return nil
}

// write prints the drift of the objects of a set.
func (o objectsDriftOptions) write(e *environment, set v1alpha1.Set, drift []objectsets.Drift) error {
	if len(drift) == 0 {
		fmt.Fprintf(e.out, "set %s has not drifted\n", set.GetName())
		return nil
	}
	writeWrapped(e.out, "", fmt.Sprintf("set %s, %s (-) and the cluster (+)", set.GetName(), set.GetSetSpec().GetPresence()))
	changes := make([]display.Change, len(drift))
	names := display.NewNames(display.Limit(e.out)/2, set.GetNamespace())
	for _, d := range drift {
		names.Include(d.Object)
	}
	for i, d := range drift {
		changes[i] = display.Change{
			Object: names.Of(d.Object), Action: display.ActionCorrect, Notes: changeTexts(d.Changed, time.Now()), Refusal: d.Refusal,
			// The diff shows the changes of other clients, not their correction.
			Before: content(d.After), After: content(d.Before),
		}
		if d.Missing {
			changes[i].Action, changes[i].Reason = display.ActionCreate, reconciler.ReasonMissing
		}
	}
	return display.WriteDiff(e.out, changes, o.diff.options(e, e.out))
}

// objectDriftContent returns the JSON form of an object that has drifted.
func objectDriftContent(d objectsets.Drift) map[string]any {
	status := map[string]any{"object": objectContent(d.Object), "missing": d.Missing}
	addTexts(status, map[string]string{"refusal": d.Refusal})
	if fields := fieldContents(d.Changed); fields != nil {
		status["changed"] = fields
	}
	return map[string]any{"status": status}
}
