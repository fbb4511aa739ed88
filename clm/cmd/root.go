// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"

	"github.com/go-logr/logr"
	"github.com/spf13/cobra"
	"k8s.io/klog/v2"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/component-operator/runtime/clm/internal/releases"
	"github.com/component-operator/runtime/internal/display"
	"github.com/component-operator/runtime/pkg/reconciler"
)

// streams are the input and output of a command.
type streams struct {
	in       io.Reader
	out, err io.Writer
}

// exitError ends clm with the code and without a message: the output already shows the reason.
type exitError struct {
	code int
}

func (e *exitError) Error() string { return fmt.Sprintf("exit code %d", e.code) }

// Main runs clm and returns its exit code, or that of a command that clm ran. The first argument is the name of the
// program. The first SIGINT, SIGTERM or SIGHUP requests an orderly end; the second one ends clm at once.
func Main(args []string) int {
	silenceLibraries()
	ctx, stop := signal.NotifyContext(context.Background(), requestsToEnd()...)
	defer stop()
	context.AfterFunc(ctx, stop)

	root := newCommand()
	return execute(ctx, root, adaptToPluginName(root, args))
}

// requestsToEnd returns the signals that end clm: SIGTERM, and SIGINT and SIGHUP unless the parent process has set them
// to be ignored, as nohup does with SIGHUP.
func requestsToEnd() []os.Signal {
	return slices.DeleteFunc([]os.Signal{syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP}, func(request os.Signal) bool {
		return request != syscall.SIGTERM && signal.Ignored(request)
	})
}

// silenceLibraries turns off the logs of libraries, which would disturb the output: users get errors instead.
func silenceLibraries() {
	ctrllog.SetLogger(logr.Discard())
	klog.SetLogger(logr.Discard())
}

func execute(ctx context.Context, root *cobra.Command, args []string) int {
	root.SetArgs(args)
	err := root.ExecuteContext(ctx)
	switch {
	case err == nil, is[*exitError](err):
	case ctx.Err() != nil && errors.Is(err, context.Canceled):
		fmt.Fprintln(root.ErrOrStderr(), "interrupted")
		return exitInterrupted
	default:
		fmt.Fprintln(root.ErrOrStderr(), "Error:", display.CleanLines(inLines(err)))
	}
	return exitCode(err)
}

// inLines returns the text of an error. If it has several problems of the manifest, each gets a line.
func inLines(err error) string {
	refused, found := errors.AsType[*reconciler.RefusedError](err)
	if !found || len(refused.Problems) < 2 {
		return err.Error()
	}
	return strings.Replace(err.Error(), refused.Error(), fmt.Sprintf("%d problems:\n  %s", len(refused.Problems), strings.Join(releases.Grouped(refused.Problems), "\n  ")), 1)
}

func newCommand() *cobra.Command {
	e := &environment{streams: streams{in: os.Stdin, out: os.Stdout, err: os.Stderr}}
	e.dialog = func() (*display.Dialog, error) { return display.OpenDialog(e.in, e.err) }
	return newRootCommand(e)
}

func newRootCommand(e *environment) *cobra.Command {
	// Commands that run other commands give them the unguarded streams.
	unguarded := e.streams
	e.out, e.err = display.Guard(e.out), display.Guard(e.err)
	command := &cobra.Command{
		Use:   "clm",
		Short: "Manage releases of charts, kustomizations and manifests",
		Long: `clm manages releases: sets of objects that are rendered from Helm charts, kustomizations or manifests, and that are changed and deleted together.
clm applies them in waves, waits until they are ready and says what it waits for, keeps their history, and detects drift. It needs nothing
installed in the cluster.`,
		SilenceErrors: true,
		SilenceUsage:  true,
	}
	command.SetIn(e.in)
	command.SetOut(e.out)
	command.SetErr(e.err)
	command.SetUsageTemplate(usageTemplate)
	command.SetFlagErrorFunc(suggestFlag)
	// Without this flag, cobra would add -v as well.
	command.Flags().Bool("version", false, "print the version of clm")
	command.Version = buildInfo().String()
	command.SetVersionTemplate("{{.Version}}")
	e.addFlags(command.PersistentFlags())
	command.AddGroup(&cobra.Group{ID: groupChange, Title: "Change releases:"}, &cobra.Group{ID: groupLook, Title: "Inspect releases:"},
		&cobra.Group{ID: groupCharts, Title: "Charts, repositories and registries:"})
	add := func(group string, commands ...*cobra.Command) {
		for _, added := range commands {
			added.GroupID = group
			command.AddCommand(added)
		}
	}
	add(groupChange, newApplyCommand(e), newRollbackCommand(e), newTestCommand(e), newDeleteCommand(e), newAdoptCommand(e), newOrphanCommand(e), newMoveCommand(e),
		newReconcileCommand(e), newUpCommand(e),
		newRolloutCommand(e))
	add(groupLook, newPlanCommand(e), newDiffCommand(e), newTemplateCommand(e), newLintCommand(e), newImagesCommand(e), newRbacCommand(e),
		newLsCommand(e), newHistoryCommand(e), newGetCommand(e),
		newDriftCommand(e), newDoctorCommand(e), newStatusCommand(e), newTreeCommand(e), newEventsCommand(e), newLogsCommand(e), newWaitCommand(e), newUICommand(e))
	charts := []*cobra.Command{
		newShowCommand(e), newPullCommand(e), newDependencyCommand(e), newPackageCommand(e), newPushCommand(e), newRepoCommand(e), newRegistryCommand(e),
	}
	add(groupCharts, charts...)
	for _, added := range charts {
		added.PersistentPreRunE = refuseInsecure
	}
	command.AddCommand(newSandboxCommand(unguarded), newOptionsCommand(), newVersionCommand(e))
	requireArguments(command)
	addCompletions(e, command)
	return command
}

// Groups of commands in the help.
const (
	groupChange = "change"
	groupLook   = "look"
	groupCharts = "charts"
)

// usageTemplate is cobra's without the flags that all commands have: these would hide the few that matter.
const usageTemplate = `Usage:{{if .Runnable}}
  {{.UseLine}}{{end}}{{if .HasAvailableSubCommands}}
  {{.CommandPath}} [command]{{end}}{{if gt (len .Aliases) 0}}

Aliases:
  {{.NameAndAliases}}{{end}}{{if .HasExample}}

Examples:
{{.Example}}{{end}}{{if .HasAvailableSubCommands}}{{$cmds := .Commands}}{{range $group := .Groups}}

{{.Title}}{{range $cmds}}{{if (and (eq .GroupID $group.ID) .IsAvailableCommand)}}
  {{rpad .Name .NamePadding}} {{.Short}}{{end}}{{end}}{{end}}

{{if .Groups}}Other commands:{{else}}Commands:{{end}}{{range $cmds}}{{if (and (eq .GroupID "") (or .IsAvailableCommand (eq .Name "help")))}}
  {{rpad .Name .NamePadding}} {{.Short}}{{end}}{{end}}{{end}}{{if (and .HasAvailableLocalFlags .HasParent)}}

Flags:
{{.LocalFlags.FlagUsages | trimTrailingWhitespaces}}{{end}}

Use "{{.Root.DisplayName}} options" for a list of global flags (apply to all commands).{{if .HasAvailableSubCommands}}
Use "{{.CommandPath}} [command] --help" for more information about a command.{{end}}
`

// newOptionsCommand lists the flags that the help of other commands omits.
func newOptionsCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "options",
		Short: "List the flags that all commands have",
		RunE: func(command *cobra.Command, _ []string) error {
			_, err := fmt.Fprint(command.OutOrStdout(), command.Root().PersistentFlags().FlagUsages())
			return err
		},
	}
}
