// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/component-operator/runtime/clm/internal/live"
	"github.com/component-operator/runtime/clm/internal/views"
	"github.com/component-operator/runtime/internal/display"
	"github.com/component-operator/runtime/pkg/status"
)

type treeOptions struct {
	lookOptions

	why bool
}

func newTreeCommand(e *environment) *cobra.Command {
	o := treeOptions{}
	command := &cobra.Command{
		Use:   "tree " + targetArgument,
		Short: "Show the dependents of a release or a component and the objects that they own, down to the pods",
		Long: `Show the dependents of the release NAME, or of the component TYPE/NAME, in the order of their waves, and the objects that they own, down to the pods,
each with its status. A component is a custom resource of an operator that is made with component-operator-runtime, or an ObjectSet, whose objects are judged
by its probes. For an ObjectDeployment, clm shows all sets that are not archived.

With -o name, print the objects that exist and belong to the release or component, one per line, as KIND.GROUP/NAME. As in kubectl, the namespaces are not part of the names.

With --watch, clm shows the tree again whenever something changes, until interrupted. The exit code is 3 if the release or component is deleted while clm is watching.`,
		Example: "  clm tree web --why\n  clm tree web -o name\n  clm tree webshops.example.org/demo",
		RunE:    func(command *cobra.Command, args []string) error { return runTree(command.Context(), e, o, args[0]) },
	}
	o.output = newOutput(command)
	command.Flags().BoolVarP(&o.watch, "watch", "w", false, "watch until interrupted")
	command.Flags().BoolVar(&o.why, "why", false, "also show why objects are not ready")
	return command
}

func runTree(ctx context.Context, e *environment, o treeOptions, name string) error {
	reasons := live.NoReasons
	if o.why {
		reasons = live.AllReasons
	}
	names := *o.output.flags.OutputFormat == outputName
	_, err := o.look(ctx, e, name, views.Following{
		AllSets: true,
		Reasons: reasons,
		Show:    func(*views.Snapshot) bool { return false },
	}, func(snapshot *views.Snapshot) view {
		if snapshot.Sets != nil && !names {
			return objectsView{Snapshot: snapshot, whole: true, why: o.why}
		}
		return treeView{snapshot, o.why, names}
	})
	return err
}

// outputName is the format of names, as kubectl get has it.
const outputName = "name"

// appendNames appends the identities of objects and of the objects that they own. Objects that do not exist, or do not
// belong to the release, are left out.
func appendNames(items []any, nodes []*display.Node) []any {
	for _, node := range nodes {
		if node.Status == status.NotFoundStatus || node.Status == display.StatusCompleted || node.Status == display.StatusStolen {
			continue
		}
		items = append(items, map[string]any{
			"apiVersion": node.APIVersion, "kind": node.Kind, "metadata": map[string]any{"name": node.Name, "namespace": node.Namespace},
		})
		items = appendNames(items, node.Children)
	}
	return items
}

// treeView shows all objects of a release or a component.
type treeView struct {
	*views.Snapshot
	why bool
	// names makes the object for programs a list of the objects, so that each has a name of its own.
	names bool
}

func (v treeView) write(out io.Writer, style display.Style, width int) error {
	if v.Component != nil && v.Component.Cluster != "" {
		fmt.Fprintln(out, display.Clean("as the operator has recorded it for the cluster "+v.Component.Cluster))
	}
	return display.Write(out, v.Dependents, display.WriteOptions{Color: bool(style), Width: width, Namespace: v.Target.Namespace, Why: v.why})
}

func (v treeView) facts() []fact {
	return objectFacts(v.Dependents)
}

// objectFacts returns the statuses of dependents, and of the objects that they own.
func objectFacts(dependents []*display.Node) []fact {
	var facts []fact
	for _, dependent := range dependents {
		dependent.Walk(func(node *display.Node) {
			text := node.StatusText()
			for _, reason := range node.Why {
				text += "; " + reason.Text
			}
			facts = append(facts, fact{node.String(), text})
		})
	}
	return facts
}

func (v treeView) object() *unstructured.Unstructured {
	if v.names {
		return listOf(appendNames([]any{}, v.Dependents))
	}
	status := map[string]any{"dependents": append([]*display.Node{}, v.Dependents...)}
	addKnown(status, map[string]any{"notes": v.Notes})
	return resource("Tree", v.Target.Namespace, v.Target.Name, map[string]any{"status": status})
}
