// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/pflag"
)

// indentation is what marks lines of help texts that are to be shown as they are.
const indentation = "  "

// prose turns a help text into Markdown: paragraphs, and blocks of lines that are indented.
func prose(text string) string {
	var blocks []string
	for block := range strings.SplitSeq(strings.TrimSpace(text), "\n\n") {
		if strings.HasPrefix(block, indentation) {
			block = "```\n" + dedent(block) + "\n```"
		} else {
			block = escape(strings.TrimSpace(block))
		}
		blocks = append(blocks, block)
	}
	return strings.Join(blocks, "\n\n") + "\n"
}

func dedent(text string) string {
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
	for i, line := range lines {
		lines[i] = strings.TrimPrefix(line, indentation)
	}
	return strings.Join(lines, "\n")
}

var escaper = strings.NewReplacer("<", "&lt;", "*", `\*`, "_", `\_`, "`", "\\`")

// escape keeps characters from getting the meaning that they have in Markdown.
func escape(text string) string { return escaper.Replace(text) }

// cell is a text in a table.
func cell(text string) string {
	return strings.ReplaceAll(escape(strings.ReplaceAll(text, "\n", " ")), "|", `\|`)
}

// nothing are the defaults that need not be mentioned.
var nothing = []string{"", "0", "0s", "false", "[]"}

// flags lists flags in a table.
func flags(set *pflag.FlagSet) string {
	var b strings.Builder
	set.VisitAll(func(flag *pflag.Flag) {
		if flag.Hidden || flag.Deprecated != "" || flag.Name == "help" {
			return
		}
		value, usage := pflag.UnquoteUsage(flag)
		name := "--" + flag.Name
		if flag.Shorthand != "" {
			name = "-" + flag.Shorthand + "`, `" + name
		}
		if value != "" {
			name += " " + strings.ReplaceAll(value, "|", `\|`)
		}
		usage = cell(usage)
		if !slices.Contains(nothing, flag.DefValue) {
			usage += fmt.Sprintf(" (default `%s`)", flag.DefValue)
		}
		fmt.Fprintf(&b, "| `%s` | %s |\n", name, usage)
	})
	if b.Len() == 0 {
		return ""
	}
	return "| Flag | Description |\n|---|---|\n" + b.String()
}
