// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	kubectlresource "k8s.io/cli-runtime/pkg/resource"

	"github.com/component-operator/runtime/clm/internal/live"
	"github.com/component-operator/runtime/clm/internal/releases"
	"github.com/component-operator/runtime/clm/internal/runner"
	"github.com/component-operator/runtime/clm/internal/views"
	"github.com/component-operator/runtime/internal/display"
)

// lookOptions are the options of commands that show the state of a release.
type lookOptions struct {
	watch  bool
	output output
}

func newStatusCommand(e *environment) *cobra.Command {
	o := lookOptions{}
	command := &cobra.Command{
		Use:        "status " + targetArgument,
		SuggestFor: []string{"inspect", "describe"},
		Short:      "Show the status of a release or a component, and why it is not ready",
		Long: `Show the record of the release NAME, how many of its dependents are ready, and which are not, with the reasons: states of containers,
conditions, events, the last line in the log of a crashed container. The oldest problem comes first.

With TYPE/NAME, show the same about a component: a custom resource of an operator that is made with component-operator-runtime, or an ObjectSet. For an
ObjectDeployment, clm also lists its sets, the newest first. Its change cause is the annotation kubernetes.io/change-cause of the deployment at that time.

The exit code is 0 if the release was applied successfully and all dependents are ready, or the operator has reported the component as ready, and 3 if not.

With --watch, clm shows the status again whenever something changes, until the release or component is ready or has failed.`,
		Example: "  clm status web\n  clm status web --watch\n  clm status webshops.example.org/demo\n  clm status odeploy/web",
		RunE:    func(command *cobra.Command, args []string) error { return runStatus(command.Context(), e, o, args[0]) },
	}
	o.output = newOutput(command)
	command.Flags().BoolVarP(&o.watch, "watch", "w", false, "watch until the release or component is ready or has failed")
	return command
}

// targetArgument names a release, or another target as in kubectl.
const targetArgument = "NAME|TYPE/NAME"

// target returns what an argument names: a release by its name, anything else by TYPE/NAME.
func (e *environment) target(text, namespace string) (views.Target, error) {
	if !strings.Contains(text, "/") {
		return views.Target{Namespace: namespace, Name: text}, nil
	}
	found, err := kubectlresource.NewBuilder(e.kube).Unstructured().NamespaceParam(namespace).DefaultNamespace().ResourceTypeOrNameArgs(false, text).Flatten().Do().Infos()
	if err == nil && len(found) != 1 {
		err = releases.Refused("%q denotes %d objects; must be one", text, len(found))
	}
	if err != nil {
		return views.Target{}, err
	}
	return views.Target{Mapping: found[0].Mapping, Namespace: found[0].Namespace, Name: found[0].Name}, nil
}

// withTarget is like with, for output for people, and also says how to read the dependents of a target.
func (e *environment) withTarget(
	ctx context.Context, text string, use func(s *runner.Connection, target views.Target, options live.Options) error,
) error {
	return e.with(ctx, false, func(s *runner.Connection, namespace string) error {
		target, err := e.target(text, namespace)
		if err != nil {
			return err
		}
		options, err := views.Inspect(ctx, s, target)
		if err != nil {
			return err
		}
		return use(s, target, options)
	})
}

func runStatus(ctx context.Context, e *environment, o lookOptions, name string) error {
	last, err := o.look(ctx, e, name, views.Following{
		Show: func(snapshot *views.Snapshot) bool { return snapshot.Ready() || snapshot.Failed() },
	}, func(snapshot *views.Snapshot) view {
		switch {
		case snapshot.Sets != nil:
			return objectsView{Snapshot: snapshot}
		case snapshot.Component != nil:
			return componentView{snapshot}
		default:
			return statusView{snapshot}
		}
	})
	if err == nil && !last.Ready() {
		return &exitError{code: exitNotReady}
	}
	return err
}

// look shows views of a target, one after the other. It shows one, or with watch all until following.Show returns
// true. It returns the last snapshot.
func (o lookOptions) look(
	ctx context.Context, e *environment, name string, following views.Following, view func(*views.Snapshot) view,
) (last *views.Snapshot, err error) {
	err = e.with(ctx, false, func(s *runner.Connection, namespace string) error {
		target, err := e.target(name, namespace)
		if err != nil {
			return err
		}
		v := newViewer(e, o.output, o.watch)
		enough, gone := following.Show, false
		following.Target, following.Trouble = target, v.trouble
		following.Show = func(snapshot *views.Snapshot) bool {
			if gone = !snapshot.Exists(); gone {
				return true
			}
			last = snapshot
			v.show(view(snapshot), snapshot.Notes)
			return enough(snapshot)
		}
		if o.watch {
			err = views.Follow(ctx, s, following)
		} else {
			var snapshot *views.Snapshot
			if snapshot, err = views.LookAt(ctx, s, following); err == nil {
				following.Show(snapshot)
			} else if ctx.Err() != nil {
				err = context.Cause(ctx)
			}
		}
		if shown := v.close(); err == nil {
			err = shown
		}
		switch {
		case last == nil && gone:
			// By now there may be one, but it was not seen.
			return target.Absent(ctx, s)
		case last != nil && ctx.Err() != nil:
			return &exitError{code: exitInterrupted}
		case err == nil && gone:
			fmt.Fprintf(e.err, "%s no longer exists\n", target)
			return &exitError{code: exitNotReady}
		}
		return err
	})
	return last, err
}

// statusView shows a release: its record, counts, and the dependents that are not ready.
type statusView struct {
	*views.Snapshot
}

func (v statusView) write(out io.Writer, style display.Style, width int) error {
	return writeStatus(out, style, width, v.Snapshot)
}

// writeStatus writes the name of a target, what describes it, the waves, and the dependents that are not ready.
func writeStatus(out io.Writer, style display.Style, width int, v *views.Snapshot) error {
	title := [2]string{"Component", style.Bold(v.Target.String())}
	if v.Release != nil {
		title = [2]string{"Release", style.Bold(v.Release.String())}
	}
	rows := append([][2]string{title}, v.Describe(style)...)
	waves := display.Waves(v.Dependents)
	numbers := 0
	for _, wave := range waves {
		numbers = max(numbers, len(wave.Number()))
	}
	for _, wave := range waves {
		rows = append(rows, [2]string{"Waves", fmt.Sprintf("%*s  %s", numbers, wave.Number(), wave.Describe(style))})
	}
	const indent = 12
	if err := writeRows(out, rows, indent, width); err != nil {
		return err
	}
	problems := v.Problems()
	if len(problems) == 0 {
		return nil
	}
	if _, err := fmt.Fprintln(out); err != nil {
		return err
	}
	return display.Write(out, problems, display.WriteOptions{Color: bool(style), Width: width, Namespace: v.Target.Namespace, Why: true, Flat: true})
}

// writeRows writes labels and texts. Texts begin in the column of the indent, and are wrapped if the width is positive.
// Of consecutive rows with the same label, only the first shows it.
func writeRows(out io.Writer, rows [][2]string, indent, width int) error {
	last := ""
	for _, row := range rows {
		lines := []string{row[1]}
		if width > 0 && display.Width(row[1]) > width-indent {
			lines = display.Wrap(row[1], max(width-indent, indent))
		}
		for i, line := range lines {
			label := ""
			if i == 0 && row[0] != "" && row[0] != last {
				label = display.Clean(row[0]) + ":"
			}
			if _, err := fmt.Fprintf(out, "%s\n", strings.TrimRight(display.Pad(label, indent)+line, " ")); err != nil {
				return err
			}
		}
		last = row[0]
	}
	return nil
}

func (v statusView) facts() []fact {
	state := v.ReleaseState()
	if v.Release.Message != "" && !v.Ready() {
		state += ": " + display.OneText(v.Release.Message)
	}
	return append([]fact{{v.Target.String(), state}}, dependentFacts(v.Dependents)...)
}

// dependentFacts returns the states of dependents.
func dependentFacts(dependents []*display.Node) []fact {
	var facts []fact
	for _, d := range dependents {
		text := string(d.State)
		if d.State.IsProblem() {
			text = d.Explain()
		}
		facts = append(facts, fact{d.String(), text})
	}
	return facts
}

func (v statusView) object() *unstructured.Unstructured {
	content := releaseContent(v.Release)
	status, _ := content["status"].(map[string]any)
	status["state"] = v.State()
	addSituation(status, v.Snapshot)
	if v.Holder != nil {
		status["lockedBy"] = v.Holder.Name
	}
	return resource("Release", v.Release.Namespace, v.Release.Name, content)
}

// addSituation adds what is true now about the dependents.
func addSituation(status map[string]any, v *views.Snapshot) {
	var waves []map[string]any
	for _, wave := range display.Waves(v.Dependents) {
		entry := map[string]any{"wave": wave.First}
		for state, count := range wave.Counts {
			entry[string(state)] = count
		}
		waves = append(waves, entry)
	}
	status["ready"] = v.Ready()
	addKnown(status, map[string]any{"waves": waves, "unready": v.Problems(), "notes": v.Notes})
}
