// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"fmt"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/component-operator/runtime/scaffold/internal/migrate"
)

// newMigrate returns the command that moves a project from the predecessor of the runtime.
func newMigrate() *cobra.Command {
	var options migrate.Options
	var runtimePath string
	command := &cobra.Command{
		Use:   "migrate [flags] DIR",
		Short: "Move an operator from SAP's component-operator-runtime",
		Long: `scaffold migrate replaces github.com/sap/component-operator-runtime by this runtime in the project in DIR: import paths, requirements, generated
code and CustomResourceDefinitions. Then it lists what is left to be done by hand, with file and line. Everything must be committed, so that git shows
what has changed, and can undo it. If the command fails or is interrupted, the project is as it was.`,
		Example: "  scaffold migrate --dry-run my-operator\n  scaffold migrate my-operator",
		Args:    cobra.ExactArgs(1),
		RunE: func(command *cobra.Command, arguments []string) error {
			options.Dir, options.Out = arguments[0], command.ErrOrStderr()
			if runtimePath != "" {
				folder, err := filepath.Abs(options.Dir)
				if err != nil {
					return fmt.Errorf("finding %s: %w", options.Dir, err)
				}
				if options.RuntimePath, err = relativeTo(folder, runtimePath); err != nil {
					return err
				}
			} else if options.RuntimeVersion == "" {
				options.RuntimeVersion = ownVersion()
			}
			report, err := migrate.Run(command.Context(), options)
			if err != nil {
				return err
			}
			fmt.Fprint(command.OutOrStdout(), report)
			return nil
		},
	}
	flags := command.Flags()
	flags.SortFlags = false
	flags.StringVar(&options.RuntimeVersion, "runtime-version", "", "version of component-operator-runtime (default: that of scaffold)")
	flags.StringVar(&runtimePath, "runtime-path", "", "folder with a checkout of component-operator-runtime to use instead of a version")
	flags.BoolVar(&options.DryRun, "dry-run", false, "show what would change and what is left to do, and change nothing")
	flags.BoolVar(&options.Force, "force", false, "move the project although git could not undo it")
	return command
}
