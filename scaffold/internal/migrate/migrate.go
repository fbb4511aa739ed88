// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package migrate

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
)

const (
	oldModule = "github.com/sap/component-operator-runtime"
	newModule = "github.com/component-operator/runtime"
)

// Options say what to move.
type Options struct {
	// Dir is the folder with the go.mod of the project.
	Dir string
	// RuntimePath is a folder with a checkout of this runtime, absolute or relative to Dir, which the project uses instead of a version. Defaults to
	// none.
	RuntimePath string
	// RuntimeVersion is the version of this runtime to require, such as v1.2.3. Required unless there is a RuntimePath.
	RuntimeVersion string
	// Force permits a project that is not under the control of git, or has changes that are not committed.
	Force bool
	// DryRun leaves the project as it is.
	DryRun bool
	// Out gets a line for each step. Defaults to nothing.
	Out io.Writer
}

// Report says what was done, and what is left to do.
type Report struct {
	// Changed and Removed are paths of files, relative to the project, sorted. After a dry run, they are what would change.
	Changed, Removed []string
	// Findings need a human. They are sorted by file and line.
	Findings []Finding
}

// Run moves the project. If it returns an error, the project is as it was.
func Run(ctx context.Context, options Options) (report Report, err error) {
	if options.Out == nil {
		options.Out = io.Discard
	}
	if options.Dir, err = filepath.Abs(options.Dir); err != nil {
		return Report{}, fmt.Errorf("finding %s: %w", options.Dir, err)
	}
	if err := check(ctx, options); err != nil {
		return Report{}, err
	}
	project, err := copyProject(options.Dir)
	if err != nil {
		return Report{}, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(project.copy)) }()
	m := &mover{Options: options, project: project}
	if err := m.move(ctx); err != nil {
		return Report{}, err
	}
	if report, err = m.report(ctx); err != nil || options.DryRun {
		return report, err
	}
	if err := ctx.Err(); err != nil {
		return Report{}, err
	}
	if err := project.putBack(report.Changed, report.Removed); err != nil {
		return Report{}, err
	}
	return report, nil
}

// check refuses what cannot be moved, or could not be moved back.
func check(ctx context.Context, options Options) error {
	if options.RuntimePath == "" && options.RuntimeVersion == "" {
		return errors.New("a version of the runtime is required: --runtime-version, or --runtime-path for a checkout")
	}
	content, err := os.ReadFile(filepath.Join(options.Dir, "go.mod"))
	if err != nil {
		return fmt.Errorf("%s: must be a folder with a go.mod: %w", options.Dir, err)
	}
	if !bytes.Contains(content, []byte(oldModule)) {
		return fmt.Errorf("%s: go.mod does not mention %s; nothing is left to be moved", options.Dir, oldModule)
	}
	if options.Force {
		return nil
	}
	command := exec.CommandContext(ctx, "git", "status", "--porcelain", "--", ".")
	command.Dir = options.Dir
	output, err := command.Output()
	switch {
	case err != nil:
		return fmt.Errorf("%s: git cannot tell whether everything is committed, so that the move could be undone: %w; --force moves it nevertheless", options.Dir, err)
	case len(output) > 0:
		return fmt.Errorf("%s: there are changes that are not committed; commit them, or use --force:\n%s", options.Dir, bytes.TrimRight(output, "\n"))
	}
	return nil
}

// mover moves one project.
type mover struct {
	Options
	project  project
	findings []Finding
}

// move makes all changes in the copy.
func (m *mover) move(ctx context.Context) error {
	if err := m.rewriteImports(); err != nil {
		return err
	}
	if err := m.rewriteRequirements(); err != nil {
		return err
	}
	// Imports of packages that do not exist are findings of the type check, and must not keep it from being made.
	if err := m.run(ctx, "resolving the requirements", "go", "mod", "tidy", "-e"); err != nil {
		return err
	}
	if exists(filepath.Join(m.project.copy, "vendor", "modules.txt")) {
		if err := m.run(ctx, "vendoring", "go", "mod", "vendor", "-e"); err != nil {
			return err
		}
	}
	if err := m.generate(ctx); err != nil {
		return err
	}
	if err := m.checkTypes(ctx); err != nil {
		return err
	}
	return m.findLeftovers()
}

func (m *mover) report(ctx context.Context) (Report, error) {
	changed, removed, err := m.project.compare()
	if err != nil {
		return Report{}, err
	}
	ignored := m.project.ignored(ctx, changed)
	changed = slices.DeleteFunc(changed, func(path string) bool { return ignored[path] })
	slices.SortFunc(m.findings, Finding.compare)
	return Report{Changed: changed, Removed: removed, Findings: slices.Compact(m.findings)}, nil
}

func (m *mover) note(finding Finding) { m.findings = append(m.findings, finding) }

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}
