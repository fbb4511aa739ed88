// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// TestNoFlagHidesAGlobalOne makes sure that flags of kubectl mean the same with all commands.
func TestNoFlagHidesAGlobalOne(t *testing.T) {
	t.Parallel()
	root := Command()
	harmless := map[string]bool{
		// No cluster is asked unless this is given; which one it is can be said by --context and --kubeconfig.
		"clm template --server": true,
		// These do not connect to a cluster, but make one.
		"clm sandbox up --kubeconfig": true, "clm sandbox down --kubeconfig": true, "clm sandbox supervise --kubeconfig": true,
	}
	var visit func(command *cobra.Command)
	visit = func(command *cobra.Command) {
		command.Flags().VisitAll(func(flag *pflag.Flag) {
			name := command.CommandPath() + " --" + flag.Name
			if command != root && root.PersistentFlags().Lookup(flag.Name) != nil && !harmless[name] {
				t.Errorf("%s hides the flag that all commands have", name)
			}
		})
		for _, child := range command.Commands() {
			visit(child)
		}
	}
	visit(root)
}
