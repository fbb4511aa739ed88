// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"runtime/debug"
	"slices"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/component-operator/runtime/scaffold/internal/project"
)

// Exit codes.
const (
	exitError       = 1
	exitInterrupted = 130
)

// run runs scaffold with the arguments, which do not include the name of the program, and returns its exit code.
func run(arguments []string) int {
	// Signals that the parent process ignores stay ignored, as with nohup and SIGHUP.
	requests := slices.DeleteFunc([]os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGHUP}, signal.Ignored)
	ctx, stop := signal.NotifyContext(context.Background(), requests...)
	defer stop()
	root := newCommand()
	root.SetArgs(arguments)
	err := root.ExecuteContext(ctx)
	switch {
	case err == nil:
		return 0
	case ctx.Err() != nil && errors.Is(err, context.Canceled):
		fmt.Fprintln(root.ErrOrStderr(), interruption(err))
		return exitInterrupted
	}
	fmt.Fprintln(root.ErrOrStderr(), "Error:", err)
	return exitError
}

// interruption says what an interrupted command has done.
func interruption(err error) string {
	if unfinished := (*unfinishedError)(nil); errors.As(err, &unfinished) {
		return fmt.Sprintf("interrupted; some files of %s are updated already; run the same command again to complete the update", unfinished.folder)
	}
	return "interrupted; nothing was written"
}

// settings are what the flags say.
type settings struct {
	options            project.Options
	runtimePath        string
	skipPostProcessing bool
	dryRun             bool
	interactive        bool
	updating           bool
	conflictMarkers    bool
}

// newCommand returns scaffold with all its commands.
func newCommand() *cobra.Command {
	s := &settings{}
	command := &cobra.Command{
		Use:   "scaffold [flags] DIR",
		Short: "Write the project of a new operator",
		Long: `scaffold writes the project of an operator that is built on component-operator-runtime: the API of a component, a generator, the program,
a chart for the operator, and tests. DIR must be empty or not exist. The project builds, lints and passes its tests as it comes out.`,
		Example: `  scaffold --group-name shop.example.org --kind WebShop --operator-name webshop.shop.example.org \
    --go-module example.org/webshop-operator --image webshop-operator:latest webshop-operator`,
		Args:          cobra.ExactArgs(1),
		SilenceErrors: true,
		SilenceUsage:  true,
		Version:       version(),
		RunE: func(command *cobra.Command, arguments []string) error {
			out, progress := command.OutOrStdout(), command.ErrOrStderr()
			if s.updating {
				return s.update(command.Context(), command.Flags(), out, progress, arguments[0])
			}
			if s.interactive {
				if err := s.ask(command.Context(), command.InOrStdin(), progress); err != nil {
					return err
				}
			}
			return s.create(command.Context(), out, progress, arguments[0])
		},
	}
	command.SetVersionTemplate("{{.Version}}\n")
	s.declare(command)
	return command
}

// create makes a new project.
func (s *settings) create(ctx context.Context, out, progress io.Writer, folder string) error {
	destination, err := project.NewDestination(folder)
	if err != nil {
		return err
	}
	if s.runtimePath != "" {
		if s.options.RuntimePath, err = relativeTo(destination.Path(), s.runtimePath); err != nil {
			return err
		}
	} else if s.options.RuntimeVersion == "" {
		s.options.RuntimeVersion = ownVersion()
	}
	if err := s.options.Complete(); err != nil {
		return err
	}
	contents, err := project.LoadContents(ctx, &s.options, "")
	if err != nil {
		return err
	}
	tree, err := project.Render(&s.options, contents)
	if err != nil {
		return err
	}
	if s.dryRun {
		showTree(out, folder, tree)
		return nil
	}
	fmt.Fprintf(progress, "Writing %s\n", folder)
	if err := destination.Fill(ctx, tree, func(ctx context.Context, temporary string) error {
		if s.skipPostProcessing {
			return nil
		}
		return project.Process(ctx, &s.options, temporary, progress)
	}); err != nil {
		return err
	}
	for _, note := range contents.Notes {
		fmt.Fprintln(progress, "Note:", note)
	}
	showNextSteps(out, folder, s.skipPostProcessing)
	return nil
}

func showNextSteps(out io.Writer, folder string, skipped bool) {
	fmt.Fprintf(out, "The project is in %s. Next:\n\n  cd %s\n", folder, folder)
	if skipped {
		fmt.Fprintln(out, "  go mod tidy && make generate golden   # what --skip-post-processing has left out")
	}
	fmt.Fprintln(out, "  make test                             # all tests, in a Kubernetes of their own")
	fmt.Fprintln(out, "  make help                             # everything else")
}

// relativeTo returns the path of the runtime's checkout as seen from the project, so that both can move together.
func relativeTo(folder, runtimePath string) (string, error) {
	if err := project.CheckRuntime(runtimePath); err != nil {
		return "", fmt.Errorf("--runtime-path: %w", err)
	}
	absolute, err := filepath.Abs(runtimePath)
	if err != nil {
		return "", fmt.Errorf("--runtime-path: finding %s: %w", runtimePath, err)
	}
	relative, err := filepath.Rel(folder, absolute)
	if err != nil {
		return "", fmt.Errorf("--runtime-path: finding the way from %s to %s: %w", folder, runtimePath, err)
	}
	return filepath.ToSlash(relative), nil
}

// version is what --version prints.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok || info.Main.Version == "" {
		return "unknown"
	}
	return info.Main.Version
}

// ownVersion is the version of the runtime that scaffold belongs to, if it was built from a released version.
func ownVersion() string {
	if own := version(); own != "unknown" && own != "(devel)" && !isLocal(own) {
		return own
	}
	return ""
}
