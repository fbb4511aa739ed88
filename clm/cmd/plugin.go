// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
)

// Names of the program under which kubectl runs it: as a plugin, and to complete what was entered for the plugin.
const (
	pluginName           = "kubectl-clm"
	pluginCompletionName = "kubectl_complete-clm"
	pluginDisplayName    = "kubectl clm"
)

// adaptToPluginName finds out by the name of the program, which is the first argument, whether kubectl runs it. Then texts
// say "kubectl clm" where people have to enter that. It returns the other arguments as the root command wants them.
func adaptToPluginName(root *cobra.Command, args []string) []string {
	name, args := strings.TrimSuffix(filepath.Base(args[0]), ".exe"), args[1:]
	if name != pluginName && name != pluginCompletionName {
		return args
	}
	if root.Annotations == nil {
		root.Annotations = map[string]string{}
	}
	root.Annotations[cobra.CommandDisplayNameAnnotation] = pluginDisplayName
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
