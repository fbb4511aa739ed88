// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"errors"
	"os"
	"slices"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// dryRun is the value of the flag --dry-run, which means the same for all commands: show what the command would do, and
// do nothing. The values are those of kubectl and Helm.
type dryRun struct{ choice }

const (
	dryRunNone   = "none"
	dryRunClient = "client"
	dryRunServer = "server"
	dryRunFlag   = "dry-run"
)

// addDryRunFlag adds the flag. Without a value, it asks the server, as clm plan does.
func addDryRunFlag(flags *pflag.FlagSet, d *dryRun) {
	d.allowed = []string{dryRunNone, dryRunClient, dryRunServer}
	flags.VarPF(d, dryRunFlag, "", "show what would be done, and do nothing; --dry-run=client does so without asking the API server about each object").NoOptDefVal = dryRunServer
}

// Type makes help texts show the flag without a value, like any flag that needs none.
func (d *dryRun) Type() string { return "bool" }

// isSet reports whether nothing must be done.
func (d *dryRun) isSet() bool { return d.value != "" && d.value != dryRunNone }

// asksServer reports whether nothing must be done, and the API server is asked about each object.
func (d *dryRun) asksServer() bool { return d.value == dryRunServer }

// checkDryRun refuses a value of --dry-run without an equals sign: it would be an argument.
func checkDryRun(command *cobra.Command, args []string) error {
	flag := command.Flags().Lookup(dryRunFlag)
	if flag == nil || !flag.Changed {
		return nil
	}
	for i, arg := range args {
		// The first one may be the name of a release.
		if _, err := os.Stat(arg); err != nil && i > 0 && slices.Contains([]string{dryRunClient, dryRunServer}, arg) {
			return errors.New("the value of --dry-run needs an equals sign: --dry-run=" + arg)
		}
	}
	return nil
}
