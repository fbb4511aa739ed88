// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/client-go/discovery"

	"github.com/component-operator/runtime/clm/internal/operation"
	"github.com/component-operator/runtime/clm/internal/releases"
	"github.com/component-operator/runtime/clm/internal/runner"
	"github.com/component-operator/runtime/internal/display"
	"github.com/component-operator/runtime/internal/helm/linter"
)

// lintOptions are the options of clm lint.
type lintOptions struct {
	name    string
	sources sourceFlags
	// offline means that flags, instead of a cluster, define the capabilities that templates see.
	offline bool
	dryRun  dryRun
	strict  bool
	output  choice
}

// lintName is the name of the release that templates see, as with helm lint.
const lintName = "test-release"

func newLintCommand(e *environment) *cobra.Command {
	o := lintOptions{dryRun: dryRun{choice{allowed: []string{dryRunClient, dryRunServer}}}, output: choice{allowed: []string{outputJSON, outputYAML}}}
	command := &cobra.Command{
		Use:   "lint SOURCE...",
		Short: "Look for mistakes in charts and other sources",
		Long: `Look for mistakes in sources, and change nothing. Charts are examined by the linter of Helm. If a cluster is reachable, its API server is asked about each object that
the sources render, by a dry run: it finds unknown fields, invalid values, types that it does not serve, deprecated versions, and what its policies refuse. The release need not
exist. Hooks that run when a release is tested, rolled back or deleted are rendered, but the server is not asked about them.

With --dry-run=client, no cluster is asked; with --dry-run=server, it is an error if none is reachable. If --kube-version or --api-versions is given, no cluster is asked either.

clm lint ends with exit code 1 if there are errors, or, with --strict, warnings. If the examination cannot be completed, it shows what it has found before the error.

` + sourcesHelp,
		Example: "  clm lint ./chart -f values.yaml\n  clm lint ./chart --dry-run=client --strict",
		RunE: func(command *cobra.Command, args []string) error {
			o.sources.references = args
			o.offline = command.Flags().Changed("kube-version") || command.Flags().Changed("api-versions")
			return runLint(command.Context(), e, o)
		},
	}
	flags := command.Flags()
	addSourceFlags(flags, &o.sources)
	addOfflineFlags(flags, &o.sources)
	flags.StringVar(&o.name, "name", lintName, "`name` of the release that is rendered; objects of a release with this name are compared with its sources")
	flags.VarPF(&o.dryRun, dryRunFlag, "",
		"ask the API server about each object, and fail if none is reachable; --dry-run=client does not ask (default if a cluster is reachable)").NoOptDefVal = dryRunServer
	flags.BoolVar(&o.strict, "strict", false, "fail if there are warnings")
	// The flags of other commands for output would include --template.
	flags.VarP(&o.output, "output", "o", "write the findings for programs")
	return command
}

func runLint(ctx context.Context, e *environment, o lintOptions) error {
	if err := releases.ValidateName(o.name); err != nil {
		return err
	}
	if o.offline && o.dryRun.value == dryRunServer {
		return errors.New("flags --kube-version and --api-versions are not for --dry-run=server: the API server says what it serves")
	}
	namespace, err := e.namespace()
	if err != nil {
		return err
	}
	o.sources.options.KeepCharts = true
	set, err := o.sources.load(ctx, e)
	if err != nil {
		return err
	}
	request := operation.LintRequest{Request: operation.Request{Namespace: namespace, Name: o.name, Sources: set}}
	unasked := ""
	var unreached error
	if !o.offline && o.dryRun.value != dryRunClient {
		s, version, err := e.reach(ctx)
		switch {
		case err == nil:
			defer s.Close()
			request.Connection, o.sources.kubeVersion = s, version
		case ctx.Err() != nil:
			return ctx.Err()
		case o.dryRun.value == dryRunServer:
			unreached = err
		default:
			unasked = fmt.Sprintf("no API server was asked: %v", err)
		}
	}
	if request.Offline, err = o.sources.offline(); err != nil {
		return err
	}
	findings, err := operation.Lint(ctx, request)
	for _, text := range o.sources.unknown {
		findings = append(findings, operation.Finding{Severity: linter.Warning, Message: text})
	}
	if unasked != "" {
		findings = append(findings, operation.Finding{Severity: linter.Info, Message: unasked})
	}
	return o.report(e, findings, cmp.Or(err, unreached))
}

// reachTimeout is how long a cluster may take to answer, before it counts as not reachable.
const reachTimeout = 10 * time.Second

// reach connects to the cluster, and returns the version of its API server. The error explains why that is not
// possible.
func (e *environment) reach(ctx context.Context) (*runner.Connection, string, error) {
	s, err := e.begin(false)
	if err != nil {
		return nil, "", err
	}
	limited, cancel := context.WithTimeout(ctx, reachTimeout)
	defer cancel()
	found, err := discovery.ToServerVersionInterfaceWithContext(s.Client().DiscoveryClient()).ServerVersionWithContext(limited)
	if err == nil {
		err = s.Ready(ctx)
	}
	if err != nil {
		s.Close()
		return nil, "", fmt.Errorf("asking the API server for its version: %w", err)
	}
	return s, found.GitVersion, nil
}

// report shows findings, and returns an error if they are severe. A failure means that there may be more findings.
func (o *lintOptions) report(e *environment, findings []operation.Finding, failure error) error {
	count := map[linter.Severity]int{}
	for _, finding := range findings {
		count[finding.Severity]++
	}
	if err := cmp.Or(o.print(e, findings), failure); err != nil {
		return err
	}
	if o.output.value == "" {
		fmt.Fprintf(e.out, "%s, %s\n", display.Count(count[linter.Error], "error"), display.Count(count[linter.Warning], "warning"))
	}
	if count[linter.Error] > 0 || o.strict && count[linter.Warning] > 0 {
		return &exitError{code: 1}
	}
	return nil
}

func (o *lintOptions) print(e *environment, findings []operation.Finding) error {
	if o.output.value == "" {
		style := e.style(e.out)
		for _, finding := range findings {
			label := string(finding.Severity)
			switch finding.Severity {
			case linter.Error:
				label = style.Red(label)
			case linter.Warning:
				label = style.Yellow(label)
			case linter.Info:
			}
			text := finding.Message
			for _, where := range slices.Backward([]string{finding.File, finding.Object}) {
				if where != "" {
					text = where + ": " + text
				}
			}
			fmt.Fprintf(e.out, "%s: %s\n", label, display.Clean(text))
		}
		return nil
	}
	items := make([]any, len(findings))
	for i, finding := range findings {
		items[i] = resource("LintFinding", "", fmt.Sprintf("%s.%d", o.name, i+1), map[string]any{"status": finding}).Object
	}
	return printDocuments(e, listOf(items).Object, o.output.value)
}
