// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"

	"github.com/component-operator/runtime/clm/cmd"
)

const cookPage = `---
title: kitchen cook
---

<!-- Written by "make generate" from what the commands say of themselves. -->

Cook a DISH; what &lt;else> could one do? To eat: kitchen eat.

A DISH is

` + "```" + `
soup    hot
        or cold
` + "```" + `

Taste it, \*always\*.

` + "```" + `
kitchen cook DISH [flags]
` + "```" + `

Aliases: ` + "`fry`, `boil`" + `

## Examples

` + "```sh" + `
kitchen cook soup
` + "```" + `

## Flags

| Flag | Description |
|---|---|
| ` + "`--salt`" + ` | add salt |
| ` + "`-t`, `--time minutes`" + ` | minutes on the stove (default ` + "`10`" + `) |

Flags that all commands have: [clm options](options.md).

## Exit codes

| Code | Means |
|---|---|
| 0 | success |
| 1 | an error |

## See also

- [All commands](_index.md)
- [kitchen eat](eat.md): Eat
`

func TestPage(t *testing.T) {
	t.Parallel()
	root := &cobra.Command{Use: "kitchen"}
	run := func(*cobra.Command, []string) {}
	cook := &cobra.Command{
		Use: "cook DISH", Aliases: []string{"fry", "boil"}, Short: "Cook", Run: run,
		Long:    "Cook a DISH; what <else> could one do? To eat: kitchen eat.\n\nA DISH is\n\n  soup    hot\n          or cold\n\nTaste it, *always*.",
		Example: "  kitchen cook soup",
	}
	cook.Flags().IntP("time", "t", 10, "`minutes` on the stove")
	cook.Flags().Bool("salt", false, "add salt")
	cook.Flags().Bool("secret", false, "nobody knows")
	if err := cook.Flags().MarkHidden("secret"); err != nil {
		t.Fatal(err)
	}
	menu := &cobra.Command{Use: "menu", Short: "Show what there is", Run: run}
	menu.AddCommand(&cobra.Command{Use: "today", Short: "Show what there is today", Run: run})
	root.AddCommand(cook, menu, &cobra.Command{Use: "eat", Short: "Eat", Run: run}, &cobra.Command{Use: "spy", Hidden: true, Run: run})
	got := pages(root)
	if diff := cmp.Diff(cookPage, got["cook.md"]); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if len(got) != 5 {
		t.Errorf("expected an index and pages for the 4 commands that users see, got %d", len(got))
	}
}

// TestPagesAreTheSameForEverybody finds defaults that depend on who runs the program.
func TestPagesAreTheSameForEverybody(t *testing.T) {
	before := pages(cmd.Command())
	for _, variable := range []string{"HOME", "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "KUBECONFIG"} {
		t.Setenv(variable, t.TempDir())
	}
	if diff := cmp.Diff(before, pages(cmd.Command())); diff != "" {
		t.Error(diff)
	}
}

func TestPagesOfFormerCommandsGo(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	former := filepath.Join(folder, "former.md")
	if err := os.WriteFile(former, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := run([]string{folder}); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(former); !os.IsNotExist(err) {
		t.Errorf("expected that the page is removed, got %v", err)
	}
	if _, err := os.Stat(filepath.Join(folder, "apply.md")); err != nil {
		t.Error(err)
	}
}
