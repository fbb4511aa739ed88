// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/signal"
	"path"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"golang.org/x/mod/module"
	"golang.org/x/term"

	"github.com/component-operator/runtime/internal/helm/remote"
	"github.com/component-operator/runtime/scaffold/internal/project"
)

// Exit codes.
const (
	exitError       = 1
	exitInterrupted = 130
)

// run runs scaffold with the arguments, without the name of the program, and returns its exit code.
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

// interruption describes what an interrupted command has done.
func interruption(err error) string {
	if unfinished := (*unfinishedError)(nil); errors.As(err, &unfinished) {
		return fmt.Sprintf("interrupted; some files of %s are updated already; run the same command again to complete the update", unfinished.folder)
	}
	return "interrupted; nothing was written"
}

// settings are the values of the flags.
type settings struct {
	options            project.Options
	runtimePath        string
	skipPostProcessing bool
	dryRun             bool
	interactive        bool
	updating           bool
	conflictMarkers    bool
	helmOperator       string
	// notes say what has no counterpart.
	notes []string
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
	s.declare(command.Flags())
	return command
}

// create creates a new project.
func (s *settings) create(ctx context.Context, out, progress io.Writer, folder string) error {
	destination, err := project.NewDestination(folder)
	if err != nil {
		return err
	}
	if s.helmOperator != "" {
		if s.notes, err = s.options.FromHelmOperator(s.helmOperator); err != nil {
			return fmt.Errorf("--from-helm-operator: %w", err)
		}
	}
	if s.runtimePath != "" {
		if s.options.RuntimePath, err = relativeRuntime(destination, s.runtimePath); err != nil {
			return err
		}
	} else if s.options.RuntimeVersion == "" {
		s.options.RuntimeVersion = ownVersion()
	}
	if err := s.options.Complete(); err != nil {
		return err
	}
	contents, err := s.load(ctx, progress, destination)
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
	if err := project.Fill(ctx, destination, tree, func(ctx context.Context, temporary string) error {
		if s.skipPostProcessing {
			return nil
		}
		return project.Process(ctx, &s.options, temporary, true, progress)
	}); err != nil {
		return err
	}
	s.showNotes(progress, contents)
	showNextSteps(out, folder, s.skipPostProcessing)
	return nil
}

// load reads the contents of the operator.
func (s *settings) load(ctx context.Context, progress io.Writer, destination string) (*project.Contents, error) {
	if source := cmp.Or(s.options.Chart, s.options.Kustomization); source != "" {
		fmt.Fprintf(progress, "Reading %s\n", source)
	}
	contents, err := loadContents(ctx, &s.options, "", destination)
	if err != nil || s.helmOperator == "" {
		return contents, err
	}
	if err := contents.NoteFormerRights(&s.options, s.helmOperator); err != nil {
		return nil, fmt.Errorf("--from-helm-operator: %w", err)
	}
	return contents, nil
}

// showNotes shows what the author should know. Notes on values are in the project.
func (s *settings) showNotes(progress io.Writer, contents *project.Contents) {
	for _, note := range append(s.notes, contents.Notes...) {
		fmt.Fprintln(progress, "Note:", note)
	}
	if count := len(contents.ValueNotes()); count > 0 {
		fmt.Fprintf(progress, "Note: %d values of the chart have rules that their types do not express; %s lists them at its end.\n", count, s.options.ValuesFile())
	}
}

func showNextSteps(out io.Writer, folder string, skipped bool) {
	fmt.Fprintf(out, "The project is in %s. Next:\n\n  cd %s\n", folder, folder)
	if skipped {
		fmt.Fprintln(out, "  go mod tidy && make generate golden   # what --skip-post-processing has left out")
	}
	fmt.Fprintln(out, "  make test                             # all tests, in a Kubernetes of their own")
	fmt.Fprintln(out, "  make help                             # everything else")
}

// relativeRuntime returns the path of the runtime's checkout relative to the project.
func relativeRuntime(folder, runtimePath string) (string, error) {
	if err := project.CheckRuntime(runtimePath); err != nil {
		return "", fmt.Errorf("--runtime-path: %w", err)
	}
	return relativeTo(folder, runtimePath)
}

// relativeTo returns a path relative to the project, so that both can move together.
func relativeTo(folder, other string) (string, error) {
	absolute, err := filepath.Abs(other)
	if err == nil {
		absolute, err = filepath.Rel(folder, absolute)
	}
	if err != nil {
		return "", fmt.Errorf("finding the way from %s to %s: %w", folder, other, err)
	}
	return filepath.ToSlash(absolute), nil
}

// loadContents reads the contents of the project in source. If that is empty, it reads those that the options name, whose
// paths become relative to the project in folder.
func loadContents(ctx context.Context, options *project.Options, source, folder string) (*project.Contents, error) {
	contents, err := project.LoadContents(ctx, options, source)
	for _, origin := range []*string{&options.Chart, &options.Kustomization} {
		if err == nil && source == "" && *origin != "" && !remote.Is(*origin) {
			*origin, err = relativeTo(folder, *origin)
		}
	}
	return contents, err
}

// version is the output of --version.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok || info.Main.Version == "" {
		return "unknown"
	}
	return info.Main.Version
}

// ownVersion is the version of the runtime that scaffold belongs to, if it was built from a released version.
func ownVersion() string {
	own := version()
	// A checkout with changes or unreleased commits has a version, too.
	if own == "unknown" || own == "(devel)" || strings.Contains(own, "+dirty") || module.IsPseudoVersion(own) {
		return ""
	}
	return own
}

// declare declares the flags. Their defaults are in the descriptions, because package project sets them.
func (s *settings) declare(flags *pflag.FlagSet) {
	flags.SortFlags = false
	declareOptions(flags, &s.options)
	flags.StringVar(&s.helmOperator, "from-helm-operator", "", "folder with a project of operator-sdk's helm operator, whose live objects the new operator takes over; "+
		"it needs --go-module, and --kind if watches.yaml has several")
	flags.StringVar(&s.runtimePath, "runtime-path", "", "folder with a checkout of component-operator-runtime to use instead of a version")
	flags.BoolVar(&s.interactive, "interactive", false, "ask for required flags that are not given; needs a terminal")
	flags.BoolVar(&s.updating, "update", false, "update the project in DIR, which scaffold made earlier; other flags change its options")
	flags.BoolVar(&s.conflictMarkers, "conflict-markers", false, "with --update, write conflict markers into files that you and scaffold changed in the same lines")
	flags.BoolVar(&s.skipPostProcessing, "skip-post-processing", false, "leave out everything that runs other programs (go, make)")
	flags.BoolVar(&s.dryRun, "dry-run", false, "show which files would be written, or how an update would change them, and write nothing")
}

// declareOptions declares the flags that become options of the project.
func declareOptions(flags *pflag.FlagSet, o *project.Options) {
	flags.StringVar(&o.GroupName, "group-name", "", "API group of the component, such as shop.example.org (required)")
	flags.StringVar(&o.GroupVersion, "group-version", "", "version of the API (default v1alpha1)")
	flags.StringSliceVar(&o.ServedVersions, "served-version", nil, "further version of the API that users may use; the operator converts it (may be repeated)")
	flags.StringVar(&o.Kind, "kind", "", "kind of the component, such as WebShop (required)")
	flags.StringVar(&o.Resource, "resource", "", "plural name of the kind in lower case (default: derived from the kind)")
	flags.StringVar(&o.OperatorName, "operator-name", "", "name that identifies the operator in clusters, such as webshop.shop.example.org (required)")
	flags.StringVar(&o.GoModule, "go-module", "", "path of the Go module, such as example.org/webshop-operator (required)")
	flags.StringVar((*string)(&o.Generator), "generator", "", "what renders the dependents: go, resources (Go with typed resources), helm or kustomize "+
		"(default: what --chart or --kustomization say, else go)")
	flags.StringVar(&o.Chart, "chart", "", "chart to build the operator around: a folder, a packaged chart, oci://HOST/PATH or https://HOST/PATH#CHART")
	flags.StringVar(&o.Kustomization, "kustomization", "", "folder of the kustomization to build the operator around")
	flags.StringVar(&o.Image, "image", "", "name of the operator's image (default: the last element of the module, with the tag latest)")
	flags.BoolVar(&o.ValidatingWebhook, "with-validating-webhook", false, "add a validating webhook")
	flags.BoolVar(&o.MutatingWebhook, "with-mutating-webhook", false, "add a mutating webhook")
	flags.StringVar((*string)(&o.License), "license", "", "license of the project: none or Apache-2.0 (default none)")
	flags.StringVar(&o.Owner, "owner", "", "holder of the copyright (default: the authors of the program)")
	flags.BoolVar(&o.SPDXHeaders, "spdx-license-headers", false, "begin each source file with owner and license")
	flags.StringVar(&o.GoVersion, "go-version", "", "version of Go (default: what the runtime needs)")
	flags.StringVar(&o.KubernetesVersion, "kubernetes-version", "", "version of the Kubernetes libraries (default: what the runtime needs)")
	flags.StringVar(&o.ControllerRuntimeVersion, "controller-runtime-version", "", "version of controller-runtime (default: what the runtime needs)")
	flags.StringVar(&o.ControllerToolsVersion, "controller-tools-version", "", "version of controller-gen (default: what the runtime uses)")
	flags.StringVar(&o.RuntimeVersion, "runtime-version", "", "version of component-operator-runtime (default: that of scaffold)")
}

// errNoTerminal is the error of --interactive without a terminal.
var errNoTerminal = errors.New("--interactive needs a terminal to ask on; give the flags instead")

// ask asks for each missing required option until the answer is valid. The enter key accepts the suggestion.
func (s *settings) ask(ctx context.Context, in io.Reader, out io.Writer) error {
	if file, ok := in.(*os.File); !ok || !term.IsTerminal(int(file.Fd())) {
		return errNoTerminal
	}
	return s.askOn(ctx, bufio.NewReader(in), out)
}

func (s *settings) askOn(ctx context.Context, in *bufio.Reader, out io.Writer) error {
	for _, question := range s.options.Required() {
		for *question.Value == "" {
			prompt, suggestion := question.Text, ""
			if question.Suggest != nil {
				suggestion = question.Suggest()
				prompt += " [" + suggestion + "]"
			}
			fmt.Fprint(out, prompt+": ")
			line, err := readLine(ctx, in)
			if err != nil {
				fmt.Fprintln(out)
				return fmt.Errorf("reading the answer for --%s: %w", question.Flag, err)
			}
			answer := cmp.Or(strings.TrimSpace(line), suggestion)
			if problems := question.Problems(answer); len(problems) > 0 {
				fmt.Fprintf(out, "  %q: %s\n", answer, strings.Join(problems, "; "))
				continue
			}
			*question.Value = answer
		}
	}
	return nil
}

// readLine reads a line. When the context ends, it returns its error at once, while the read continues in the
// background, because input cannot be interrupted.
func readLine(ctx context.Context, in *bufio.Reader) (string, error) {
	type result struct {
		line string
		err  error
	}
	read := make(chan result, 1)
	go func() {
		line, err := in.ReadString('\n')
		read <- result{line, err}
	}()
	select {
	case <-ctx.Done():
		return "", ctx.Err()
	case got := <-read:
		return got.line, got.err
	}
}

// showTree prints the files of a project as a tree.
func showTree(out io.Writer, folder string, tree project.Tree) {
	fmt.Fprintln(out, folder)
	children := map[string][]string{}
	for _, file := range tree.Paths() {
		for child := file; child != "."; child = path.Dir(child) {
			if parent := path.Dir(child); !slices.Contains(children[parent], child) {
				children[parent] = append(children[parent], child)
			}
		}
	}
	draw(out, children, ".", "")
	folders := slices.Collect(maps.Keys(children))
	fmt.Fprintf(out, "\n%d folders, %d files\n", len(folders)-1, len(tree))
}

func draw(out io.Writer, children map[string][]string, folder, indent string) {
	for i, child := range children[folder] {
		branch, next := "├── ", "│   "
		if i == len(children[folder])-1 {
			branch, next = "└── ", "    "
		}
		fmt.Fprintln(out, indent+branch+strings.TrimPrefix(child, folder+"/"))
		draw(out, children, child, indent+next)
	}
}
