// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package migrate

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
)

// run runs a command in the copy. Its output is part of the error.
func (m *mover) run(ctx context.Context, purpose string, arguments ...string) error {
	fmt.Fprintf(m.Out, "%s (%s) … ", purpose, strings.Join(arguments, " "))
	started := time.Now()
	command := exec.CommandContext(ctx, arguments[0], arguments[1:]...)
	command.Dir = m.project.copy
	command.Env = environment()
	command.Cancel = func() error { return command.Process.Signal(os.Interrupt) }
	command.WaitDelay = 10 * time.Second
	output, err := command.CombinedOutput()
	switch {
	case ctx.Err() != nil:
		fmt.Fprintln(m.Out, "interrupted")
		return ctx.Err()
	case err != nil:
		fmt.Fprintln(m.Out, "failed")
		return fmt.Errorf("%s: running %s: %w\n%s", purpose, strings.Join(arguments, " "), err, bytes.TrimSpace(output))
	}
	fmt.Fprintln(m.Out, time.Since(started).Round(100*time.Millisecond))
	return nil
}

// environment is that of the process, without what would lead out of the copy.
func environment() []string {
	return append(os.Environ(), "GOWORK=off", "MAKEFLAGS=", "MAKELEVEL=")
}

// target finds the targets of a Makefile that generate code and definitions.
var target = regexp.MustCompile(`(?m)^(generate|manifests)\s*:([^=]|$)`)

// generate generates code and definitions again, by the means of the project.
func (m *mover) generate(ctx context.Context) error {
	const todo = "generate the code that copies API types, and the CustomResourceDefinitions, with controller-gen"
	content, err := os.ReadFile(filepath.Join(m.project.copy, "Makefile"))
	if err != nil && !os.IsNotExist(err) {
		return fmt.Errorf("reading the Makefile: %w", err)
	}
	var targets []string
	for _, found := range target.FindAllSubmatch(content, -1) {
		targets = append(targets, string(found[1]))
	}
	if len(targets) == 0 {
		m.note(Finding{What: "there is no Makefile with a target generate or manifests", Do: todo})
		return nil
	}
	// Code comes first: definitions are made of types that compile.
	slices.Sort(targets)
	for _, target := range slices.Compact(targets) {
		err := m.run(ctx, "generating code and definitions", "make", target)
		switch {
		case ctx.Err() != nil:
			return err
		case err != nil:
			m.note(Finding{File: "Makefile", What: err.Error(), Do: "repair that, and run make " + target + " again"})
		}
	}
	return nil
}
