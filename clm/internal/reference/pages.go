// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/component-operator/runtime/clm/cmd"
)

// Pages that are not found by the name of a command alone.
const (
	indexPage = "_index.md"
	flagsPage = "options.md"
)

// pages returns the content of all pages by their file names.
func pages(root *cobra.Command) map[string]string {
	commands := available(root)
	result := map[string]string{indexPage: overview(root, commands)}
	for _, command := range commands {
		result[pageOf(command)] = page(command, commands)
	}
	return result
}

// available returns all commands that are shown to users, in the order of the help: by group, each followed by the commands below it.
func available(root *cobra.Command) []*cobra.Command {
	var found []*cobra.Command
	for _, group := range groupsOf(root) {
		for _, command := range root.Commands() {
			if command.GroupID == group.ID && command.IsAvailableCommand() {
				found = append(found, command)
				found = append(found, below(command)...)
			}
		}
	}
	return found
}

func below(command *cobra.Command) []*cobra.Command {
	var found []*cobra.Command
	for _, child := range command.Commands() {
		if child.IsAvailableCommand() {
			found = append(found, child)
			found = append(found, below(child)...)
		}
	}
	return found
}

// groupsOf returns the groups of commands; the last one is of those that belong to none.
func groupsOf(root *cobra.Command) []*cobra.Group {
	return append(slices.Clone(root.Groups()), &cobra.Group{Title: "Other commands:"})
}

func pageOf(command *cobra.Command) string {
	_, path, _ := strings.Cut(command.CommandPath(), " ")
	return strings.ReplaceAll(path, " ", "-") + ".md"
}

// head is how a page begins.
func head(title string) string {
	return fmt.Sprintf("---\ntitle: %s\n---\n\n<!-- Written by \"make generate\" from what the commands say of themselves. -->\n\n", title)
}

func overview(root *cobra.Command, commands []*cobra.Command) string {
	var b strings.Builder
	b.WriteString(head("Commands of clm"))
	b.WriteString(prose(root.Long))
	for _, group := range groupsOf(root) {
		fmt.Fprintf(&b, "\n## %s\n\n| Command | Description |\n|---|---|\n", strings.TrimSuffix(group.Title, ":"))
		for _, command := range commands {
			if command.GroupID == group.ID && command.Parent() == root {
				fmt.Fprintf(&b, "| %s | %s |\n", linkTo(command), cell(command.Short))
			}
		}
	}
	b.WriteString("\nAll commands have the flags of [clm options](" + flagsPage + ").\n")
	b.WriteString(exitCodes(cmd.AllExitCodes()))
	return b.String()
}

func page(command *cobra.Command, commands []*cobra.Command) string {
	// Others show their help, and nothing else.
	isLeaf := !command.HasAvailableSubCommands()
	var b strings.Builder
	b.WriteString(head(command.CommandPath()))
	text := command.Long
	if text == "" {
		text = command.Short + "."
	}
	b.WriteString(prose(text))
	if isLeaf {
		fmt.Fprintf(&b, "\n```\n%s\n```\n", command.UseLine())
	}
	if len(command.Aliases) > 0 {
		fmt.Fprintf(&b, "\nAliases: `%s`\n", strings.Join(command.Aliases, "`, `"))
	}
	if command.Example != "" {
		fmt.Fprintf(&b, "\n## Examples\n\n```sh\n%s\n```\n", dedent(command.Example))
	}
	if pageOf(command) == flagsPage {
		b.WriteString("\n## Flags of all commands\n\n" + flags(command.Root().PersistentFlags()))
	} else if isLeaf {
		if own := flags(command.LocalFlags()); own != "" {
			b.WriteString("\n## Flags\n\n" + own)
		}
		b.WriteString("\nFlags that all commands have: [clm options](" + flagsPage + ").\n")
	}
	if isLeaf {
		b.WriteString(exitCodes(cmd.ExitCodes(command)))
	}
	b.WriteString("\n## See also\n\n- [All commands](" + indexPage + ")\n")
	for _, other := range related(command, commands) {
		fmt.Fprintf(&b, "- %s: %s\n", linkTo(other), escape(other.Short))
	}
	return b.String()
}

func linkTo(command *cobra.Command) string {
	return fmt.Sprintf("[%s](%s)", command.CommandPath(), pageOf(command))
}

// related returns the commands above and below a command, and those that its texts mention.
func related(command *cobra.Command, commands []*cobra.Command) []*cobra.Command {
	text := command.Long + command.Example
	command.LocalFlags().VisitAll(func(flag *pflag.Flag) { text += " " + flag.Usage })
	return slices.DeleteFunc(slices.Clone(commands), func(other *cobra.Command) bool {
		mentioned := regexp.MustCompile(`\b` + other.CommandPath() + `\b`).MatchString(text)
		return other == command || other.Parent() != command && command.Parent() != other && !mentioned
	})
}

func exitCodes(codes []cmd.ExitCode) string {
	var b strings.Builder
	b.WriteString("\n## Exit codes\n\n| Code | Means |\n|---|---|\n")
	for _, code := range codes {
		fmt.Fprintf(&b, "| %d | %s |\n", code.Code, cell(code.Meaning))
	}
	return b.String()
}
