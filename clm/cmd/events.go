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
	"strings"
	"time"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/component-operator/runtime/clm/internal/live"
	"github.com/component-operator/runtime/clm/internal/runner"
	"github.com/component-operator/runtime/clm/internal/views"
	"github.com/component-operator/runtime/internal/display"
)

type eventOptions struct {
	// namespace of the target.
	namespace string
	watch     bool
	types     choices
	output    output
}

func newEventsCommand(e *environment) *cobra.Command {
	o := eventOptions{}
	command := &cobra.Command{
		Use:   "events " + targetArgument,
		Short: "List the events about the objects of a release or a component",
		Long: `List the events about the dependents of the release NAME, or of the component TYPE/NAME, and about the objects that they own, down to the pods; the latest
comes last. A component is a custom resource of an operator that is made with component-operator-runtime, or an ObjectSet; for an ObjectDeployment, clm lists the
events about the objects of the current set. The cluster keeps events for a limited time, usually an hour.`,
		Example: "  clm events web --types Warning\n  clm events web --watch\n  clm events webshops.example.org/demo",
		RunE: func(command *cobra.Command, args []string) error {
			return e.withTarget(command.Context(), args[0], func(_ *runner.Connection, target views.Target, options live.Options) error {
				o.namespace = target.Namespace
				return o.list(command.Context(), e, options)
			})
		},
	}
	o.addFlags(command)
	return command
}

func (o *eventOptions) addFlags(command *cobra.Command) {
	o.output = newOutput(command)
	command.Flags().BoolVarP(&o.watch, "watch", "w", false, "watch for new events until interrupted")
	o.types.allowed = []string{corev1.EventTypeNormal, corev1.EventTypeWarning}
	command.Flags().Var(&o.types, "types", "list only events of this type: "+strings.Join(o.types.allowed, ", ")+" (may be repeated)")
}

// list prints the events about objects, and follows new ones if watch is set.
func (o *eventOptions) list(ctx context.Context, e *environment, options live.Options) error {
	if o.watch {
		return o.follow(ctx, e, options)
	}
	report, err := live.Events(ctx, options)
	if err != nil {
		return err
	}
	for _, note := range report.Notes {
		fmt.Fprintln(e.err, display.Clean(fmt.Sprint(note)))
	}
	found := slices.DeleteFunc(report.Events, func(event live.Event) bool { return !o.types.wants(event.Type) })
	if !o.output.forPeople() {
		return printList(o.output, e.out, found, func(_ int, event live.Event) *unstructured.Unstructured { return eventObject(event) })
	}
	if len(found) == 0 {
		fmt.Fprintln(e.err, "no events found")
		return nil
	}
	return o.write(e.out, found)
}

// write prints a table of events.
func (o *eventOptions) write(out io.Writer, found []live.Event) error {
	names := display.NewNames(display.Limit(out)/2, o.namespace)
	for _, event := range found {
		names.Include(event.Object)
	}
	table := newTable(out, display.Column{Header: "LAST SEEN"}, display.Column{Header: "TYPE"}, display.Column{Header: "REASON", Fit: display.Middle},
		display.Column{Header: "OBJECT", Fit: display.Middle}, display.Column{Header: "COUNT", Spare: true}, display.Column{Header: "MESSAGE", Fit: display.Below})
	for _, event := range found {
		table.AddTexts(display.KnownAge(event.Time, time.Now()), event.Type, event.Reason, names.Of(event.Object), fmt.Sprint(event.Count), event.Message)
	}
	return table.Write(out)
}

// follow prints events as they come.
func (o *eventOptions) follow(ctx context.Context, e *environment, options live.Options) error {
	style := e.style(e.out)
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	tell := func(event live.Event) {
		if !o.types.wants(event.Type) {
			return
		}
		if err := o.printEvent(e, event, style); err != nil {
			stop(err)
		}
	}
	note := func(note display.Note) { fmt.Fprintln(e.err, display.Clean(fmt.Sprint(note))) }
	return interrupted(ctx, live.WatchEvents(ctx, options, tell, note))
}

func (o *eventOptions) printEvent(e *environment, event live.Event, style display.Style) error {
	if !o.output.forPeople() {
		return o.output.print(e.out, eventObject(event))
	}
	kind := display.Clean(event.Type)
	if kind == corev1.EventTypeWarning {
		kind = style.Yellow(kind)
	}
	often := ""
	if event.Count > 1 {
		often = fmt.Sprintf(" (%d times)", event.Count)
	}
	const kindWidth = len(corev1.EventTypeWarning)
	_, err := fmt.Fprintf(e.out, "%s  %s  %s: %s: %s%s\n", event.Time.Local().Format(time.DateTime), display.Pad(kind, kindWidth),
		display.Clean(event.Object.String()), display.Clean(event.Reason), display.Clean(event.Message), often)
	return err
}

func eventObject(event live.Event) *unstructured.Unstructured {
	return resource("Event", cmp.Or(event.Object.Namespace, metav1.NamespaceDefault), event.Name, map[string]any{"status": event})
}

// interrupted returns the error of a command that runs until it is interrupted or its context is canceled with a cause.
func interrupted(ctx context.Context, err error) error {
	cause := context.Cause(ctx)
	switch {
	case err != nil:
		return err
	case errors.Is(cause, context.Canceled):
		return &exitError{code: exitInterrupted}
	default:
		return cause
	}
}
