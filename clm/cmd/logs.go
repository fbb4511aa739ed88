// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/component-operator/runtime/clm/internal/live"
	"github.com/component-operator/runtime/clm/internal/runner"
	"github.com/component-operator/runtime/clm/internal/views"
	"github.com/component-operator/runtime/internal/display"
)

type logOptions struct {
	live.LogOptions

	tail int64
}

// allLines is the number of lines that means no limit.
const allLines = -1

func newLogsCommand(e *environment) *cobra.Command {
	o := logOptions{}
	command := &cobra.Command{
		Use:   "logs " + targetArgument + " [OBJECT...]",
		Short: "Print the logs of the containers of a release or a component",
		Long: `Print the logs of the containers in all pods of the release NAME, or of the component TYPE/NAME. The names of pod and container precede each line.

OBJECT restricts this to the pods that belong to a dependent, or to one pod: KIND/NAME or KIND/NAMESPACE/NAME, where KIND may be followed by
its group (deployment.apps/web). If several dependents have this kind and name, the namespace or the group is needed.

With --follow, clm continues until interrupted, and includes pods that are created later.`,
		Example: "  clm logs web -f --tail 10\n  clm logs web deployment/frontend -c main",
		PreRunE: o.check,
		RunE: func(command *cobra.Command, args []string) error {
			return e.withTarget(command.Context(), args[0], func(s *runner.Connection, target views.Target, options live.Options) error {
				return o.print(command.Context(), e, s, target, options, args[1:])
			})
		},
	}
	flags := command.Flags()
	flags.BoolVarP(&o.Follow, "follow", "f", false, "stream new lines until interrupted")
	o.tail = allLines
	flags.Var(period(&o.Since), "since", "show only lines newer than this; 0 shows all")
	flags.Var(number(&o.tail, allLines), "tail", "number of recent lines to show of each container; -1 shows all")
	flags.StringVarP(&o.Container, "container", "c", "", "`name` of the containers to read (default all)")
	flags.BoolVarP(&o.Previous, "previous", "p", false, "print the logs of the previous instances of the containers")
	return command
}

func (o *logOptions) check(*cobra.Command, []string) error {
	if o.Follow && o.Previous {
		return errors.New("flags --follow and --previous are mutually exclusive: the log of a container that has exited cannot be followed")
	}
	return nil
}

func (o *logOptions) print(ctx context.Context, e *environment, s *runner.Connection, target views.Target, options live.Options, objects []string) error {
	if o.tail >= 0 {
		o.Tail = &o.tail
	}
	o.Options = options
	chosen, err := runner.Choose(s.Client(), objects, options.Items, runner.Scope{Name: target.String(), Show: target.Command("tree")})
	if err != nil {
		return err
	}
	o.Select = chosen.Has
	o.Color = bool(e.style(e.out))
	o.Problem = func(text string) { fmt.Fprintln(e.err, display.Clean(text)) }
	err = live.Logs(ctx, o.LogOptions, e.out)
	if o.Follow {
		return interrupted(ctx, err)
	}
	return errors.Join(err, chosen.ConfirmFound())
}
