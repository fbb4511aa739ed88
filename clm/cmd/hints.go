// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/component-operator/runtime/clm/internal/display"
	"github.com/component-operator/runtime/clm/internal/releases"
	"github.com/component-operator/runtime/clm/internal/runner"
	"github.com/component-operator/runtime/clm/internal/views"
	"github.com/component-operator/runtime/internal/texts"
)

// foreignFlags are flags that similar tools have, and what there is here instead.
var foreignFlags = map[string]string{
	"install":             "clm apply creates a release that does not exist",
	"wait":                "clm waits unless --no-wait is given",
	"wait-for-jobs":       "clm waits for Jobs, too, unless --no-wait is given",
	"atomic":              "clm apply has --revert-on-failure",
	"rollback-on-failure": "clm apply has --revert-on-failure",
	"cleanup-on-fail":     "clm apply has --revert-on-failure",
	"reuse-values":        "values are not reused from the last revision; to reuse them: clm get values NAME > FILE, then -f FILE",
	"reset-values":        "values are never reused from the last revision",
	"repo":                "a chart in a repository is the source https://HOST/PATH#CHART, or REPO/CHART after helm repo add",
	"devel":               "--version '>0.0.0-0' includes development versions",
	"force":               "clm apply has --update-policy recreate, and --adopt always for objects of other owners",
	"force-replace":       "clm apply has --update-policy recreate",
	"take-ownership":      "clm apply has --adopt always",
	"force-conflicts":     "clm apply --conflicts=force is the default: it overwrites declared fields that others have changed",
	"server-side":         "clm always uses server-side apply",
	"diff-changes":        "clm apply has --diff, and clm plan only shows the changes",
	"diff-run":            "clm plan only shows the changes",
	"wait-timeout":        "use --timeout",
	"detailed-exitcode":   "use --exit-code",
	"allow-unreleased":    "clm diff also compares with a release that does not exist",
	"three-way-merge":     "clm always compares with the objects in the cluster",
	"suppress-secrets":    "values of Secrets are shown only with --show-secrets",
	"debug":               "-v 6 logs the requests to the API server",
	"qps":                 "--max-concurrency limits the concurrent requests",
	"kube-api-qps":        "--max-concurrency limits the concurrent requests",
	"burst-limit":         "--max-concurrency limits the concurrent requests",
	"purge":               "clm delete removes the history, too",
	"cascade":             "clm orphan leaves the objects in the cluster",
	"keep-history":        "clm delete removes the history with the release; to keep what it was made of: clm get manifest NAME > FILE, and clm get values NAME",
	"no-hooks":            "hooks are objects of the release, in waves of their own; the values of the chart may turn them off, and --post-renderer may leave them out",
	"dependency-update":   "clm dependency update CHART fetches the dependencies",
}

// foreignSourceFlags are those of commands that have sources.
var foreignSourceFlags = map[string]string{
	"filename":  "manifests are sources: clm apply NAME FILE",
	"file":      "manifests are sources: clm apply NAME FILE",
	"recursive": "subdirectories are not read; give each of them as a source",
	"app":       "the release name is an argument: clm apply NAME SOURCE",
}

// credentialFlags are those of commands about the dependencies of a chart that would send the same credentials to all of
// its repositories.
var credentialFlags = []string{"username", "password", "pass-credentials", "cert-file", "key-file"}

// suggestFlag adds to the error about an unknown flag what may have been meant.
func suggestFlag(command *cobra.Command, err error) error {
	var unknown *pflag.NotExistError
	if !errors.As(err, &unknown) {
		return err
	}
	name := unknown.GetSpecifiedName()
	instead := foreignFlags[name]
	if strings.Contains(command.Use, "SOURCE") {
		instead = cmp.Or(instead, foreignSourceFlags[name])
	}
	if strings.HasSuffix(command.Use, " CHART") && slices.Contains(credentialFlags, name) {
		instead = "clm uses the credentials that helm repo add and helm registry login have stored"
	}
	if instead != "" {
		return fmt.Errorf("%w; %s", err, named(command, instead))
	}
	var known []string
	command.Flags().VisitAll(func(flag *pflag.Flag) {
		if !flag.Hidden {
			known = append(known, flag.Name)
		}
	})
	if nearest := texts.Nearest(name, known); nearest != "" {
		return fmt.Errorf("%w; did you mean --%s?", err, nearest)
	}
	return err
}

// named puts the release that a command was given into a hint, in place of NAME.
func named(command *cobra.Command, hint string) string {
	name := command.Flags().Arg(0)
	if wanted, _ := placeholders(command.Use); name == "" || len(wanted) == 0 || wanted[0] != "NAME" {
		return hint
	}
	if flag := command.Flag("namespace"); flag != nil && flag.Changed {
		name += " -n " + flag.Value.String()
	}
	return strings.ReplaceAll(hint, "NAME", name)
}

// refuseUnknown is the check of the arguments of commands that just have others below them.
func refuseUnknown(command *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	err := fmt.Errorf("unknown command %q for %q", args[0], command.CommandPath())
	const distance = 2 // as cobra does it for the root
	command.SuggestionsMinimumDistance = distance
	if meant := command.SuggestionsFor(args[0]); len(meant) > 0 {
		return fmt.Errorf("%w; did you mean %s?", err, strings.Join(meant, " or "))
	}
	return err
}

// checked makes errors of a check of the arguments of a command say its usage, unless they do.
func checked(check cobra.PositionalArgs) cobra.PositionalArgs {
	return func(command *cobra.Command, args []string) error {
		if err := checkDryRun(command, args); err != nil {
			return err
		}
		err := check(command, args)
		if err == nil || strings.Contains(err.Error(), command.CommandPath()) {
			return err
		}
		return fmt.Errorf("%w; usage: %s", err, command.UseLine())
	}
}

// asInUsage is the check of arguments whose number the usage of a command says.
func asInUsage(command *cobra.Command, args []string) error {
	wanted, atMost := placeholders(command.Use)
	switch {
	case len(wanted) == len(args)+1:
		return fmt.Errorf("%s is missing", wanted[len(args)])
	case len(wanted) > len(args):
		return fmt.Errorf("%s are missing", strings.Join(wanted[len(args):], " and "))
	case atMost >= 0 && len(args) > atMost:
		return fmt.Errorf("unexpected argument %q", args[atMost])
	default:
		return nil
	}
}

// placeholders returns the required arguments in the usage of a command, and the maximum number of all arguments; -1
// means no limit.
func placeholders(use string) (required []string, atMost int) {
	words := strings.Fields(use)[1:]
	for _, word := range words {
		if strings.HasPrefix(word, "-") {
			// The arguments of a flag, and what follows, are in no fixed place.
			return required, -1
		}
		if !strings.HasPrefix(word, "[") {
			required = append(required, strings.TrimSuffix(word, "..."))
		}
	}
	if slices.ContainsFunc(words, func(word string) bool { return strings.Contains(word, "...") }) {
		return required, -1
	}
	return required, len(words)
}

// requireArguments makes errors about the arguments of a command, and of those below it, say what the command expects.
func requireArguments(command *cobra.Command) {
	switch check := command.Args; {
	case !command.HasParent():
		// The root has cobra's check, which comes before flags.
	case command.HasSubCommands():
		command.Args = refuseUnknown
	case check == nil:
		command.Args = checked(asInUsage)
	default:
		command.Args = checked(check)
	}
	if !command.Runnable() {
		// Otherwise any argument would be fine with a command that just has others below it.
		command.RunE = func(command *cobra.Command, _ []string) error { return command.Help() }
	}
	for _, child := range command.Commands() {
		requireArguments(child)
	}
}

// explain shows people why dependents are not ready that an operation has waited for in vain.
func (e *environment) explain(ctx context.Context, s *runner.Connection, release *releases.Release, failure error) {
	report, err := views.Unready(ctx, s, release, failure)
	if err != nil {
		fmt.Fprintln(e.err, "the reasons cannot be determined:", display.CleanLines(err.Error()))
		return
	}
	if report == nil {
		return
	}
	options := display.WriteOptions{Color: bool(e.style(e.err)), Width: display.Limit(e.err), Namespace: release.Namespace, Why: true, Flat: true}
	_ = display.Write(e.err, report.Nodes, options)
	for _, note := range report.Notes {
		fmt.Fprintln(e.err, display.Clean(fmt.Sprint(note)))
	}
}

// Exit codes beside 0 and 1; the page "clm in a pipeline" says what they mean.
const (
	exitChanges  = 2
	exitNotReady = 3
	exitRefused  = 4
	// exitInterrupted is what shells say of a command that SIGINT has ended.
	exitInterrupted = 130
)
