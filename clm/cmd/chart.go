// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/component-operator/runtime/internal/display"
	"github.com/component-operator/runtime/internal/helm"
	"github.com/component-operator/runtime/internal/helm/remote"
)

func newShowCommand(e *environment) *cobra.Command {
	command := &cobra.Command{
		Use:     "show",
		Aliases: []string{"inspect"},
		Short:   "Show what is in a chart",
		Long:    "Show what is in a chart, as helm show does. For the objects that it renders: clm template; for the values of a release: clm get values.",
	}
	for part, what := range map[string]string{
		"all": "the metadata, values, README and CustomResourceDefinitions", "chart": "the metadata", "values": "the default values",
		"readme": "the README", "crds": "the CustomResourceDefinitions in folder crds",
	} {
		command.AddCommand(newShowPartCommand(e, part, "Show "+what+" of a chart"))
	}
	return command
}

func newShowPartCommand(e *environment, part, short string) *cobra.Command {
	options, signers := remote.Options{}, signerFlags{}
	command := &cobra.Command{
		Use:   part + " SOURCE",
		Short: short,
		Long: short + `. SOURCE is a chart in a directory, a packaged chart, oci://HOST/PATH, https://HOST/PATH#CHART, REPO/CHART, or the URL of a
packaged chart. It may be a library.`,
		Example: "  clm show " + part + " oci://registry.example.com/charts/web --version ^1.2",
		RunE: func(command *cobra.Command, args []string) error {
			defer e.announce("reading the chart")()
			options, err := signers.forChart(args[0], options)
			if err != nil {
				return err
			}
			chart, _, err := remote.ReadChart(command.Context(), args[0], options)
			if err != nil {
				return err
			}
			text, err := chart.Show(part)
			fmt.Fprint(e.out, text)
			return err
		},
	}
	addRemoteFlags(command.Flags(), &options, &signers)
	return command
}

// action does what a command is for. It reports what was achieved, also before an error.
type action func(ctx context.Context, args []string) (report string, err error)

// newActionCommand completes a command that prints a report.
func newActionCommand(e *environment, command *cobra.Command, act action) *cobra.Command {
	command.RunE = func(command *cobra.Command, args []string) error {
		report, err := act(command.Context(), args)
		if report != "" {
			fmt.Fprintln(e.out, display.CleanLines(report))
		}
		return err
	}
	return command
}

func newPullCommand(e *environment) *cobra.Command {
	var (
		options          remote.Options
		signers          signerFlags
		folder, untarDir string
		untar            bool
	)
	command := newActionCommand(e, &cobra.Command{
		Use:     "pull SOURCE",
		Aliases: []string{"fetch"},
		Short:   "Fetch a packaged chart from a registry or repository",
		Long: `Fetch a packaged chart, and save it as NAME-VERSION.tgz, or unpack it into the folder NAME; existing files and folders are not overwritten. SOURCE is oci://HOST/PATH,
https://HOST/PATH#CHART, REPO/CHART, or the URL of a packaged chart. For a chart from a registry, the digest is that of the manifest, as in oci://HOST/PATH@DIGEST;
otherwise it is that of the package.`,
		Example: "  clm pull oci://registry.example.com/charts/web --version ^1.2\n  clm pull bitnami/nginx --untar",
	}, func(ctx context.Context, args []string) (string, error) {
		defer e.announce("fetching the chart")()
		if untar && filepath.IsAbs(untarDir) {
			folder = untarDir
		} else if untar {
			folder = filepath.Join(folder, untarDir)
		}
		options, err := signers.forChart(args[0], options)
		if err != nil {
			return "", err
		}
		return remote.Pull(ctx, args[0], folder, untar, options)
	})
	flags := command.Flags()
	addRemoteFlags(flags, &options, &signers)
	flags.StringVarP(&folder, "destination", "d", ".", "`folder` for the package, or for --untardir")
	flags.BoolVar(&untar, "untar", false, "unpack the chart instead of saving the package")
	flags.StringVar(&untarDir, "untardir", ".", "`folder` to unpack to, relative to --destination")
	return command
}

// packageOptions are the options of clm package.
type packageOptions struct {
	destination, version, appVersion string
	update, sign                     bool
	dependencies                     remote.DependencyOptions
	key, keyring, passphraseFile     string
}

func newPackageCommand(e *environment) *cobra.Command {
	o := packageOptions{}
	command := newActionCommand(e, &cobra.Command{
		Use:   "package CHART...",
		Short: "Package charts",
		Long: `Package charts as NAME-VERSION.tgz, as helm package does; existing packages are replaced. CHART is the folder of a chart, with its dependencies in folder charts.
--sign also writes the signature, NAME-VERSION.tgz.prov; if the key has a passphrase that is not in --passphrase-file, clm asks for it on the terminal.`,
		Example: "  clm package ./chart --version 1.2.3 -d dist\n  clm package ./chart --sign --key release@example.com --keyring secring.gpg",
	}, func(ctx context.Context, args []string) (string, error) {
		var saved []string
		for _, folder := range args {
			file, err := o.run(ctx, e, folder)
			if err != nil {
				return strings.Join(saved, "\n"), fmt.Errorf("packaging %s: %w", folder, err)
			}
			saved = append(saved, "Saved: "+file)
		}
		return strings.Join(saved, "\n"), nil
	})
	flags := command.Flags()
	flags.StringVarP(&o.destination, "destination", "d", ".", "`folder` for the packages")
	flags.StringVar(&o.version, "version", "", "`version` of the packaged charts (default that in Chart.yaml)")
	flags.StringVar(&o.appVersion, "app-version", "", "`version` of the application of the packaged charts (default that in Chart.yaml)")
	flags.BoolVarP(&o.update, "dependency-update", "u", false, "first fetch the dependencies, as clm dependency update does")
	addTransportFlags(flags, &o.dependencies.CAFile, &o.dependencies.PlainHTTP)
	flags.BoolVar(&o.sign, "sign", false, "sign the packages")
	flags.StringVar(&o.key, "key", "", "`name` of the private key for --sign, or part of it")
	flags.Var(filePath(&o.keyring), "keyring", "`file` with the private key for --sign")
	flags.Var(filePath(&o.passphraseFile), "passphrase-file", "`file` whose first line is the passphrase of the key")
	command.MarkFlagsRequiredTogether("sign", "key", "keyring")
	return command
}

// run packages a chart, and returns the path of the package.
func (o *packageOptions) run(ctx context.Context, e *environment, folder string) (string, error) {
	if o.update {
		if err := remote.UpdateDependencies(ctx, folder, o.dependencies); err != nil {
			return "", err
		}
	}
	chart, err := helm.ReadLocal(folder)
	if err != nil {
		return "", err
	}
	file, err := chart.Save(o.destination, o.version, o.appVersion)
	if err != nil || !o.sign {
		return file, err
	}
	return file, remote.Sign(file, o.keyring, o.key, func(name string) ([]byte, error) {
		if o.passphraseFile == "" {
			return e.ask(ctx, "Passphrase of key "+display.Clean(name)+":", true)
		}
		text, err := os.ReadFile(o.passphraseFile)
		line, _, _ := bytes.Cut(text, []byte("\n"))
		return bytes.TrimSuffix(line, []byte("\r")), err
	})
}

func newPushCommand(e *environment) *cobra.Command {
	options := remote.Options{}
	command := newActionCommand(e, &cobra.Command{
		Use:     "push PACKAGE oci://HOST/PATH",
		Short:   "Push a packaged chart to a registry",
		Long:    "Push a packaged chart to oci://HOST/PATH/NAME:VERSION, with its signature if there is a file PACKAGE.prov. The digest is that of the manifest.",
		Example: "  clm push web-1.2.3.tgz oci://registry.example.com/charts",
	}, func(ctx context.Context, args []string) (string, error) {
		defer e.announce("pushing the chart")()
		return remote.Push(ctx, args[0], args[1], options)
	})
	addAccessFlags(command.Flags(), &options)
	return command
}
