// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"cmp"
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
)

func newVersionCommand(e *environment) *cobra.Command {
	var printed output
	command := &cobra.Command{
		Use:   "version",
		Short: "Print the version of clm",
		Args:  cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			version, commit := buildInfo()
			if printed.forPeople() {
				fmt.Fprintln(e.out, version)
				return nil
			}
			return printed.print(e.out, "Version", "", "clm", map[string]any{
				"version": version, "commit": commit, "goVersion": runtime.Version(), "platform": runtime.GOOS + "/" + runtime.GOARCH,
			})
		},
	}
	printed = newOutput(command)
	return command
}

// buildInfo is what the Go toolchain has recorded in the program.
func buildInfo() (version, commit string) {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown", ""
	}
	for _, setting := range info.Settings {
		if setting.Key == "vcs.revision" {
			commit = setting.Value
		}
	}
	return cmp.Or(info.Main.Version, "unknown"), commit
}
