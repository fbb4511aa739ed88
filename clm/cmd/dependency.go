// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/component-operator/runtime/internal/display"
	"github.com/component-operator/runtime/internal/helm"
	"github.com/component-operator/runtime/internal/helm/remote"
)

func newDependencyCommand(e *environment) *cobra.Command {
	command := &cobra.Command{
		Use:     "dependency",
		Aliases: []string{"dep", "dependencies"},
		Short:   "Fetch the dependencies of a chart",
		Long: `Fetch the charts that a chart depends on, and put them into its folder charts, where clm expects them. CHART is the folder of a chart.

clm uses what "clm repo add" and "clm registry login", or helm, have stored: the names of repositories, and credentials. It contacts only the repositories to which
the chart refers.`,
	}
	command.AddCommand(
		newFetchDependenciesCommand(e, &cobra.Command{
			Use:   "build CHART",
			Short: "Fetch the locked versions of the dependencies of a chart",
			Long: `Fetch the versions that are in Chart.lock. If they were chosen for other dependencies than those in Chart.yaml now, that is an error, and nothing is changed.
If there is no Chart.lock, this is the same as clm dependency update.`,
			Example: "  clm dependency build ./chart",
		}, remote.BuildDependencies),
		newFetchDependenciesCommand(e, &cobra.Command{
			Use:     "update CHART",
			Aliases: []string{"up"},
			Short:   "Fetch the newest allowed versions of the dependencies of a chart",
			Long:    "Fetch the newest versions that Chart.yaml allows, and write them into Chart.lock.",
			Example: "  clm dependency update ./chart",
		}, remote.UpdateDependencies),
		newListDependenciesCommand(e),
	)
	return command
}

// fetching fetches the dependencies of the chart in a folder, as build or update does.
type fetching func(ctx context.Context, folder string, options remote.DependencyOptions) error

func newFetchDependenciesCommand(e *environment, command *cobra.Command, fetch fetching) *cobra.Command {
	options, signers := remote.DependencyOptions{}, signerFlags{}
	command.RunE = func(command *cobra.Command, args []string) (err error) {
		if options.Signatures, err = signers.demands(); err != nil {
			return err
		}
		if err := fetch(command.Context(), args[0], options); err != nil {
			return fmt.Errorf("fetching the dependencies of %s: %w", args[0], err)
		}
		return showDependencies(e, args[0])
	}
	flags := command.Flags()
	flags.BoolVar(&signers.verify, "verify", false, "refuse charts without a valid signature")
	flags.Var(filePath(&signers.keyring), "keyring", "`file` with the public keys for --verify")
	flags.BoolVar(&options.PlainHTTP, "plain-http", false, "allow repositories without encryption, and use it for registries")
	flags.Var(filePath(&options.CAFile), "ca-file",
		"`file` with certificates of authorities to trust, in addition to those of the system; those of a repository in repositories.yaml win")
	command.MarkFlagsRequiredTogether("verify", "keyring")
	return command
}

// refuseInsecure refuses a flag that applies to the API server in all commands of clm, but to repositories in Helm.
func refuseInsecure(command *cobra.Command, _ []string) error {
	if command.Flags().Changed("insecure-skip-tls-verify") {
		return errors.New("flag --insecure-skip-tls-verify is about the API server, which is not asked here; " +
			"--ca-file names the authorities to trust for repositories and registries")
	}
	return nil
}

// showDependencies lists the dependencies with their versions in folder charts.
func showDependencies(e *environment, folder string) error {
	name, found, err := helm.Dependencies(nil, folder)
	if err != nil {
		return err
	}
	if len(found) == 0 {
		fmt.Fprintf(e.out, "chart %s has no dependencies\n", display.Clean(name))
		return nil
	}
	texts := display.Map(found, func(d helm.Dependency) string { return d.Name + " " + d.Versions() })
	writeWrapped(e.out, "", display.Clean(fmt.Sprintf("chart %s has its dependencies: %s", name, strings.Join(texts, ", "))))
	return nil
}

func newListDependenciesCommand(e *environment) *cobra.Command {
	var printed output
	command := &cobra.Command{
		Use:     "list CHART",
		Aliases: []string{"ls"},
		Short:   "List the dependencies of a chart",
		Long: `List the dependencies of a chart: the versions that Chart.yaml allows, the one in Chart.lock, those in folder charts, and what is wrong with that. CHART is the folder of a
chart, or a packaged chart. Charts that are only in folder charts are used as well.`,
		Example: "  clm dependency list ./chart",
		RunE:    func(_ *cobra.Command, args []string) error { return runListDependencies(e, args[0], printed) },
	}
	printed = newOutput(command)
	return command
}

func runListDependencies(e *environment, folder string, printed output) error {
	name, found, err := helm.Dependencies(nil, folder)
	if err != nil {
		return err
	}
	if !printed.forPeople() {
		return printList(printed, e.out, found, dependencyResource)
	}
	if len(found) == 0 {
		fmt.Fprintf(e.err, "chart %s has no dependencies\n", display.Clean(name))
		return nil
	}
	list := newTable(e.out, display.Column{Header: "NAME", Fit: display.Middle}, display.Column{Header: "VERSION", Fit: display.End},
		display.Column{Header: "LOCKED", Fit: display.End, Spare: true}, display.Column{Header: "FOUND", Fit: display.End, Spare: true},
		display.Column{Header: "REPOSITORY", Fit: display.Middle, Spare: true}, display.Column{Header: "STATUS", Fit: display.End})
	for _, d := range found {
		list.AddTexts(d.Name, cmp.Or(d.Version, "-"), cmp.Or(d.Locked, "-"), cmp.Or(d.Versions(), "-"), cmp.Or(d.Repository, "-"), cmp.Or(d.Problem, declaration(d)))
	}
	return list.Write(e.out)
}

// declaration returns the status of a dependency without a problem.
func declaration(d helm.Dependency) string {
	if d.Version == "" && d.Repository == "" && d.Locked == "" {
		return "not declared"
	}
	return "ok"
}

// dependencyResource returns the machine-readable form of a dependency.
func dependencyResource(_ int, d helm.Dependency) *unstructured.Unstructured {
	spec, status := map[string]any{}, map[string]any{"versions": append([]string{}, d.Found...)}
	addKnown(spec, map[string]any{"alias": d.Alias, "version": d.Version, "repository": d.Repository})
	addKnown(status, map[string]any{"locked": d.Locked, "problem": d.Problem})
	return resource("Dependency", "", d.Name, map[string]any{"spec": spec, "status": status})
}
