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

	"github.com/component-operator/runtime/clm/internal/releases"
	"github.com/component-operator/runtime/clm/internal/runner"
	"github.com/component-operator/runtime/clm/internal/views"
	"github.com/component-operator/runtime/internal/display"
	"github.com/component-operator/runtime/internal/texts"
)

// foreignFlags maps flags of similar tools to hints about their equivalents in clm.
var foreignFlags = map[string]string{
	"i":                   "clm apply creates a release that does not exist",
	"a":                   "clm ls lists the releases in all states",
	"install":             "clm apply creates a release that does not exist",
	"wait":                "clm waits unless --no-wait is given",
	"wait-for-jobs":       "clm waits for Jobs, too, unless --no-wait is given",
	"atomic":              "clm apply has --revert-on-failure",
	"rollback-on-failure": "clm apply has --revert-on-failure",
	"cleanup-on-fail":     "clm apply has --revert-on-failure",
	"reuse-values":        "--reset-then-reuse-values uses the values of the last revision, and the defaults of the new chart",
	"reset-values":        "values are not reused from the last revision unless --reset-then-reuse-values is given",
	"repo":                "a chart in a repository is the source https://HOST/PATH#CHART, or REPO/CHART after clm repo add",
	"pass-credentials":    "clm repo add has --pass-credentials-all",
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
	"generate-name":       "each release has a name of its own, which is its first argument",
	"replace":             "clm apply also creates a release again that was deleted, and clm delete removes its history",
	"validate":            "clm plan asks the API server about each object",
	"include-crds":        "the CustomResourceDefinitions of charts are always included; --skip-crds leaves them out",
	"failed":              "clm ls has --state Failed",
	"all":                 "clm ls lists the releases in all states",
}

// foreignSourceFlags are the foreign flags of commands with sources.
var foreignSourceFlags = map[string]string{
	"filename":  "manifests are sources: clm apply NAME FILE",
	"file":      "manifests are sources: clm apply NAME FILE",
	"recursive": "subdirectories are not read; give each of them as a source",
	"app":       "the release name is an argument: clm apply NAME SOURCE",
}

// credentialFlags are foreign flags of the dependency commands that would send the same credentials to all repositories
// of a chart.
var credentialFlags = []string{"username", "password", "pass-credentials", "cert-file", "key-file"}

// suggestFlag adds a suggestion to the error about an unknown flag.
func suggestFlag(command *cobra.Command, err error) error {
	unknown, isUnknown := errors.AsType[*pflag.NotExistError](err)
	if !isUnknown {
		return err
	}
	name := unknown.GetSpecifiedName()
	instead := foreignFlags[name]
	if strings.Contains(command.Use, "SOURCE") {
		instead = cmp.Or(instead, foreignSourceFlags[name])
	}
	if strings.HasSuffix(command.Use, " CHART") && slices.Contains(credentialFlags, name) {
		instead = "clm uses the credentials that clm repo add and clm registry login have stored"
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

// named replaces NAME in a hint with the release in the arguments of the command.
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

// refuseUnknown checks the arguments of commands that only have subcommands.
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

// checked adds the usage of a command to the errors of its argument check, unless they contain it already.
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

// asInUsage checks the number of arguments against the usage of the command.
func asInUsage(command *cobra.Command, args []string) error {
	wanted, atMost := placeholders(command.Use)
	switch {
	case len(wanted) == len(args)+1:
		return fmt.Errorf("%s is missing", wanted[len(args)])
	case len(wanted) > len(args):
		return fmt.Errorf("%s are missing", strings.Join(wanted[len(args):], " and "))
	case atMost >= 0 && len(args) > atMost:
		return fmt.Errorf("unexpected argument %q", args[atMost])
	case len(wanted) > 0 && wanted[0] == "NAME" && strings.Contains(args[0], "/"):
		return ofComponent(command, args[0])
	default:
		return nil
	}
}

// ofComponent returns the error of a command that only has releases.
func ofComponent(command *cobra.Command, text string) error {
	if slices.Contains([]string{"plan", "diff", "drift"}, command.Name()) {
		_, name, _ := strings.Cut(text, "/")
		return fmt.Errorf("%q is not the name of a release; of a component, only its operator knows the manifests: run the operator's program with the arguments "+
			"plan %s --diff", text, name)
	}
	return fmt.Errorf("%q is not the name of a release; the commands for components are: clm status, tree, events, logs, reconcile", text)
}

// placeholders returns the required arguments in the usage of a command, and the maximum number of all arguments; -1
// means no limit.
func placeholders(use string) (required []string, atMost int) {
	words := strings.Fields(use)[1:]
	for _, word := range words {
		if strings.HasPrefix(word, "-") {
			// The arguments of a flag, and all that follow, have no fixed position.
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

// requireArguments makes a command and its subcommands report the arguments that they expect.
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
		// Otherwise, cobra would not check the arguments of a command that only has subcommands.
		command.RunE = func(command *cobra.Command, _ []string) error { return command.Help() }
	}
	for _, child := range command.Commands() {
		requireArguments(child)
	}
}

// explain shows people why the dependents that an operation waited for are not ready.
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

// Exit codes besides 0 and 1. The page "Exit codes" of the reference documents them.
const (
	exitChanges  = 2
	exitNotReady = 3
	exitRefused  = 4
	// exitInterrupted is the exit code that shells report for a command ended by SIGINT.
	exitInterrupted = 130
)
