// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"os/user"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/cli-runtime/pkg/genericclioptions"

	"github.com/component-operator/runtime/clm/internal/releases"
	"github.com/component-operator/runtime/clm/internal/runner"
	"github.com/component-operator/runtime/internal/display"
	"github.com/component-operator/runtime/pkg/reconciler"
)

// environment is the common environment of commands for releases.
type environment struct {
	streams

	color choice
	// dialog opens the terminal for questions; nil if there is none.
	dialog func() (*display.Dialog, error)
	// kube are the flags for the connection to the cluster.
	kube *genericclioptions.ConfigFlags
	// maxConcurrency bounds the concurrent requests about dependents; 0 means the default of the engine.
	maxConcurrency int
	// verbosity is that of kubectl.
	verbosity int
	// started is when the command began.
	started time.Time
}

// addFlags adds the flags that all commands have.
func (e *environment) addFlags(flags *pflag.FlagSet) {
	e.started = time.Now()
	e.kube = genericclioptions.NewConfigFlags(true).WithDiscoveryQPS(-1)
	// Types are discovered on demand; nothing is cached in files.
	e.kube.CacheDir = nil
	e.kube.AddFlags(flags)
	flags.StringVar(e.kube.Context, "kube-context", "", "the same as --context, as in helm")
	_ = flags.MarkHidden("kube-context")
	flags.Var(number(&e.maxConcurrency, 0), "max-concurrency",
		"maximum `number` of concurrent requests about dependents; 0 means 16")
	flags.VarP(number(&e.verbosity, 0), "v", "v", "`level` of verbosity, as in kubectl: 6 logs the requests to standard error, 7 also their headers, 9 also curl commands")
	e.color = choice{value: string(display.ColorAuto), allowed: []string{string(display.ColorAuto), string(display.ColorAlways), string(display.ColorNever)}}
	flags.Var(&e.color, "color", "when to color output")
}

// patience is how long a command may be silent on a terminal while it makes a plan; 0 means no limit. Only tests change
// it.
var patience = time.Second

// style returns the style of output to a writer.
func (e *environment) style(out io.Writer) display.Style {
	return display.Color(e.color.value).Style(out)
}

// announce prints on a terminal what a command is doing, if that takes longer than patience. After done has returned,
// it prints nothing.
func (e *environment) announce(what string) (done func()) {
	if patience == 0 || !display.IsTerminal(e.err) {
		return func() {}
	}
	said := make(chan struct{})
	timer := time.AfterFunc(patience, func() {
		defer close(said)
		writeWrapped(e.err, "", what+" …")
	})
	return sync.OnceFunc(func() {
		if !timer.Stop() {
			<-said
		}
	})
}

// exitCode returns the exit code for an error of a command.
func exitCode(err error) int {
	exit, isExit := errors.AsType[*exitError](err)
	rejected, isRejected := errors.AsType[*reconciler.RefusedError](err)
	switch {
	case err == nil:
		return 0
	case isExit:
		return exit.code
	case is[*releases.InterruptedError](err), errors.Is(err, context.Canceled):
		return exitInterrupted
	case is[*releases.NotReadyError](err):
		return exitNotReady
	case is[*releases.RefusedError](err), is[*releases.LockedError](err), is[*reconciler.StaleError](err), releases.IsChanged(err), isRejected && rejected.Foreign:
		return exitRefused
	default:
		return 1
	}
}

// is reports whether an error is, or wraps, one of a type.
func is[E error](err error) bool {
	_, found := errors.AsType[E](err)
	return found
}

// printer shows an operation: on standard error for people, and as events on standard output for programs if events is
// set.
func (e *environment) printer(events bool) display.Printer {
	options := display.PrinterOptions{Out: e.err, Color: display.Color(e.color.value)}
	if events {
		options.Out, options.Mode = e.out, display.ModeJSON
	} else if e.verbosity > 0 {
		// Logged requests would disturb a view that is redrawn.
		options.Mode = display.ModePlain
	}
	return &unattended{Printer: display.NewPrinter(options)}
}

// unattended keeps an operation running when the reader of its output is gone, as after "| head".
type unattended struct {
	display.Printer

	begin sync.Once
}

func (u *unattended) Update(state display.Progress) {
	// Otherwise the next write would end clm. Writes fail instead, which a Printer ignores.
	u.begin.Do(func() { signal.Ignore(syscall.SIGPIPE) })
	u.Printer.Update(state)
}

// shown converts an error that was shown as the outcome of an operation to an exit code.
func shown(err error) error {
	if err == nil || releases.IsChanged(err) {
		return err
	}
	return &exitError{code: exitCode(err)}
}

// attempts limits how often a plan is repeated because other clients change the release at the same time.
const attempts = 5

// again makes up to limit attempts, as long as another client has changed the release after the plan was made.
func (e *environment) again(s *runner.Connection, limit int, attempt func() error) error {
	for n := 1; ; n++ {
		err := attempt()
		if !releases.IsChanged(err) {
			return err
		}
		if n == limit {
			s.Printer().Finish(display.Outcome{Summary: err.Error()})
			return &exitError{code: exitCode(err)}
		}
	}
}

// repeat connects and makes an attempt. It tries again if another client has changed the release after the plan was
// made.
func (e *environment) repeat(ctx context.Context, events bool, attempt func(s *runner.Connection, namespace string) error) error {
	return e.with(ctx, events, func(s *runner.Connection, namespace string) error {
		return e.again(s, attempts, func() error { return attempt(s, namespace) })
	})
}

// with connects as open does, and calls a function with the namespace of the command line.
func (e *environment) with(ctx context.Context, events bool, use func(s *runner.Connection, namespace string) error) error {
	namespace, err := e.namespace()
	if err != nil {
		return err
	}
	s, err := e.open(ctx, events)
	if err != nil {
		return err
	}
	defer s.Close()
	return use(s, namespace)
}

// withScope is like with, for output for people. If all is set, it ignores the namespace of the command line and passes
// an empty one, which means all namespaces.
func (e *environment) withScope(ctx context.Context, all bool, use func(s *runner.Connection, namespace string) error) error {
	if !all {
		return e.with(ctx, false, use)
	}
	s, err := e.open(ctx, false)
	if err != nil {
		return err
	}
	defer s.Close()
	return use(s, "")
}

// withRelease is like with, for output for people, and also reads the named release.
func (e *environment) withRelease(ctx context.Context, name string, use func(s *runner.Connection, release *releases.Release) error) error {
	return e.with(ctx, false, func(s *runner.Connection, namespace string) error {
		release, err := s.Release(ctx, namespace, name)
		if err != nil {
			return err
		}
		return use(s, release)
	})
}

// open connects to the cluster. If events is set, operations are shown as events for programs, otherwise for people.
func (e *environment) open(ctx context.Context, events bool) (*runner.Connection, error) {
	s, err := e.begin(events)
	if err != nil {
		return nil, err
	}
	if err := s.Ready(ctx); err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

// begin is like open, but does not wait until the cluster answers.
func (e *environment) begin(events bool) (*runner.Connection, error) {
	config, err := e.kube.ToRESTConfig()
	if err != nil {
		return nil, fmt.Errorf("reading the kubeconfig: %w", err)
	}
	// No rate limit in the client: the server throttles requests.
	config.QPS = -1
	config.UserAgent = "clm"
	return runner.Open(runner.Options{
		Config: config, Holder: holder(), Started: e.started, Printer: e.printer(events), MaxConcurrency: e.maxConcurrency, Log: e.err, Verbosity: e.verbosity,
	})
}

// namespace returns the namespace of the flag or of the context; defaults to "default".
func (e *environment) namespace() (string, error) {
	namespace, _, err := e.kube.ToRawKubeConfigLoader().Namespace()
	if err != nil {
		return "", fmt.Errorf("reading the kubeconfig: %w", err)
	}
	if problems := validation.IsDNS1123Label(namespace); len(problems) > 0 {
		return "", fmt.Errorf("flag --namespace: %q is not a valid namespace name: %s", namespace, strings.Join(problems, ", "))
	}
	return namespace, nil
}

// context returns the name of the kubeconfig context in use; empty if there is none, as within a cluster, or if the
// kubeconfig cannot be read.
func (e *environment) context() string {
	config, _ := e.kube.ToRawKubeConfigLoader().RawConfig()
	return cmp.Or(*e.kube.Context, config.CurrentContext)
}

// holder names this process to other processes that change the same release.
func holder() string {
	name, host := "unknown", "unknown"
	if current, err := user.Current(); err == nil {
		name = current.Username
	}
	if found, err := os.Hostname(); err == nil {
		host = found
	}
	return fmt.Sprintf("%s@%s/%d", name, host, os.Getpid())
}

// Names under which kubectl runs the program: as a plugin, and to complete the command line of the plugin.
const (
	pluginName           = "kubectl-clm"
	pluginCompletionName = "kubectl_complete-clm"
	pluginDisplayName    = "kubectl clm"
)

// adaptToPluginName checks whether kubectl runs the program, whose name is the first argument. If so, help texts and
// hints use "kubectl clm". It returns the arguments for the root command.
func adaptToPluginName(root *cobra.Command, args []string) []string {
	name, args := strings.TrimSuffix(filepath.Base(args[0]), ".exe"), args[1:]
	if name != pluginName && name != pluginCompletionName {
		return args
	}
	root.Annotations = map[string]string{cobra.CommandDisplayNameAnnotation: pluginDisplayName}
	renameExamples(root)
	if name == pluginCompletionName {
		return append([]string{cobra.ShellCompRequestCmd}, args...)
	}
	return args
}

func renameExamples(command *cobra.Command) {
	lines := strings.Split(command.Example, "\n")
	for i, line := range lines {
		line = strings.ReplaceAll(line, "| clm ", "| "+pluginDisplayName+" ")
		if rest, ok := strings.CutPrefix(strings.TrimLeft(line, " "), "clm "); ok {
			line = "  " + pluginDisplayName + " " + rest
		}
		lines[i] = line
	}
	command.Example = strings.Join(lines, "\n")
	for _, child := range command.Commands() {
		renameExamples(child)
	}
}
