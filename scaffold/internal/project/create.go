// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package project

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/mod/modfile"
	"golang.org/x/tools/txtar"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/component-operator/runtime/pkg/generator"
	"github.com/component-operator/runtime/pkg/types"
)

// NewDestination returns the absolute path for a new project. The folder must be empty or not exist. It changes
// nothing.
func NewDestination(path string) (string, error) {
	absolute, err := filepath.Abs(path)
	if err != nil {
		return "", fmt.Errorf("finding %s: %w", path, err)
	}
	entries, err := os.ReadDir(absolute)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return "", fmt.Errorf("%s: must be a folder that is empty or does not exist: %w", path, err)
	case len(entries) > 0:
		return "", fmt.Errorf("%s: must be empty, but has %s; use --update for a project that was scaffolded before", path, entries[0].Name())
	}
	return absolute, nil
}

// Fill writes the files into a temporary folder beside the destination, calls process on it, and then moves the result
// into place.
func Fill(ctx context.Context, destination string, tree Tree, process func(ctx context.Context, folder string) error) (err error) {
	parent := filepath.Dir(destination)
	if err := os.MkdirAll(parent, 0o755); err != nil {
		return fmt.Errorf("creating %s: %w", parent, err)
	}
	temporary, err := os.MkdirTemp(parent, "."+filepath.Base(destination)+".scaffold-")
	if err != nil {
		return fmt.Errorf("creating a temporary folder: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(temporary)) }()
	if err := os.Chmod(temporary, 0o755); err != nil {
		return fmt.Errorf("preparing the temporary folder: %w", err)
	}
	if err := tree.WriteTo(temporary); err != nil {
		return err
	}
	if err := process(ctx, temporary); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	return receive(destination, temporary)
}

// receive moves the content of a folder into the destination. It does not replace an existing folder, which may be the
// working directory of a shell.
func receive(destination, temporary string) error {
	err := os.Mkdir(destination, 0o755)
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("creating %s: %w", destination, err)
	}
	existed := err != nil
	entries, err := os.ReadDir(temporary)
	if err != nil {
		return fmt.Errorf("reading the temporary folder: %w", err)
	}
	var moved []string
	for _, entry := range entries {
		target := filepath.Join(destination, entry.Name())
		if _, err = os.Lstat(target); err == nil {
			err = fmt.Errorf("%s appeared in the meantime", target)
		} else {
			err = os.Rename(filepath.Join(temporary, entry.Name()), target)
		}
		if err != nil {
			err = fmt.Errorf("putting files into place: %w", err)
			break
		}
		moved = append(moved, target)
	}
	if err == nil {
		return nil
	}
	for _, target := range moved {
		err = errors.Join(err, os.RemoveAll(target))
	}
	if !existed {
		err = errors.Join(err, os.Remove(destination))
	}
	return err
}

// A Tree contains the files of a project by their slash-separated paths.
type Tree map[string][]byte

// modeOf returns the mode of a file with this content: scripts are executable.
func modeOf(content []byte) os.FileMode {
	if bytes.HasPrefix(content, []byte("#!")) {
		return 0o755
	}
	return 0o644
}

// Paths returns the paths of all files, sorted.
func (t Tree) Paths() []string {
	return slices.Sorted(maps.Keys(t))
}

// WriteTo writes all files below the folder. It creates the folder if needed.
func (t Tree) WriteTo(folder string) error {
	for _, path := range t.Paths() {
		target := filepath.Join(folder, filepath.FromSlash(path))
		if err := os.MkdirAll(filepath.Dir(target), 0o755); err != nil {
			return fmt.Errorf("writing %s: %w", path, err)
		}
		if err := os.WriteFile(target, t[path], modeOf(t[path])); err != nil {
			return fmt.Errorf("writing %s: %w", path, err)
		}
	}
	return nil
}

// The next update of a project needs the record of its options and original files.
const (
	optionsRecord = ".scaffold/options.yaml"
	filesRecord   = ".scaffold/files.txtar"
)

const optionsComment = `# What this project was made with. "scaffold --update" reads it; flags of that command change it.
`

// addRecord adds the record of the options and of all files.
func addRecord(options *Options, tree Tree) error {
	content, err := yaml.Marshal(options)
	if err != nil {
		return fmt.Errorf("recording the options: %w", err)
	}
	files := recordOf(tree)
	tree[optionsRecord] = append([]byte(optionsComment), content...)
	tree[filesRecord] = files
	return nil
}

// recordOf returns the record of all files.
func recordOf(tree Tree) []byte {
	archive := &txtar.Archive{Comment: []byte("The files of this project as scaffold wrote them last. \"scaffold --update\" compares with them.\n")}
	for _, path := range tree.Paths() {
		file := txtar.File{Name: path, Data: tree[path]}
		if !isRecordable(file.Data) {
			file = txtar.File{Name: encodedPrefix + path, Data: append([]byte(base64.StdEncoding.EncodeToString(file.Data)), '\n')}
		}
		archive.Files = append(archive.Files, file)
	}
	return txtar.Format(archive)
}

// encodedPrefix marks a file in the record whose content is encoded, because a txtar archive cannot contain it: it does
// not end with a newline, or has a line that looks like the header of a file.
const encodedPrefix = "base64 "

// isRecordable reports whether a txtar archive can contain the content unencoded.
func isRecordable(content []byte) bool {
	archive := txtar.Parse(txtar.Format(&txtar.Archive{Files: []txtar.File{{Name: "file", Data: content}}}))
	return len(archive.Files) == 1 && bytes.Equal(archive.Files[0].Data, content)
}

// ReadRecord returns the options of a project, and its files as they were last written by scaffold.
func ReadRecord(folder string) (*Options, Tree, error) {
	content, err := os.ReadFile(filepath.Join(folder, optionsRecord))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil, fmt.Errorf("%s has no %s: it is not a project that scaffold made", folder, optionsRecord)
	}
	if err != nil {
		return nil, nil, fmt.Errorf("reading the options of the project: %w", err)
	}
	options := &Options{}
	if err := yaml.UnmarshalStrict(content, options); err != nil {
		return nil, nil, fmt.Errorf("reading %s: %w", optionsRecord, err)
	}
	archive, err := txtar.ParseFile(filepath.Join(folder, filesRecord))
	if err != nil {
		return nil, nil, fmt.Errorf("reading the files of the project as they were written: %w", err)
	}
	tree := Tree{}
	for _, file := range archive.Files {
		path, encoded := strings.CutPrefix(file.Name, encodedPrefix)
		if encoded {
			if file.Data, err = base64.StdEncoding.DecodeString(string(bytes.TrimSpace(file.Data))); err != nil {
				return nil, nil, fmt.Errorf("reading %s: %s: %w", filesRecord, path, err)
			}
		}
		tree[path] = file.Data
	}
	return options, tree, nil
}

// A step is a command that generates a part of the project from other parts.
type step struct{ command, purpose string }

// Process completes a project with generated parts: requirements, code, definitions and, for a new project, golden
// files. In an existing project, the author updates and reviews the golden files. Process writes a line for each step.
func Process(ctx context.Context, options *Options, folder string, isNew bool, out io.Writer) error {
	steps := []step{{"go mod tidy", "resolve the requirements"}, {"make generate", "generate code and definitions"}}
	if wanted := options.ControllerToolsVersion; wanted != versions.controllerTools {
		choice := step{"go get -modfile=tools/go.mod sigs.k8s.io/controller-tools/cmd/controller-gen@" + wanted, "choose controller-gen"}
		steps = slices.Insert(steps, 0, choice)
	}
	if isNew {
		if err := seedChecksums(options, folder); err != nil {
			return err
		}
		steps = append(steps, step{"make golden", "write the golden files"})
	}
	for _, program := range []string{"go", "make"} {
		if _, err := exec.LookPath(program); err != nil {
			return fmt.Errorf("finding %s, which the project is completed with: %w; --skip-post-processing leaves that to you", program, err)
		}
	}
	for _, step := range append(steps, step{"go vet ./...", "check that it builds"}) {
		if err := step.run(ctx, folder, out); err != nil {
			return err
		}
	}
	return nil
}

// run shows the output of the command only if it fails.
func (s step) run(ctx context.Context, folder string, out io.Writer) error {
	fmt.Fprintf(out, "  %-24s %s … ", s.command, s.purpose)
	started := time.Now()
	words := strings.Fields(s.command)
	command := exec.CommandContext(ctx, words[0], words[1:]...)
	command.Dir = folder
	command.Env = append(os.Environ(), "GOWORK=off", "MAKEFLAGS=", "MAKELEVEL=")
	command.Cancel = func() error { return command.Process.Signal(os.Interrupt) }
	command.WaitDelay = 10 * time.Second
	var output bytes.Buffer
	command.Stdout, command.Stderr = &output, &output
	err := command.Run()
	if ctx.Err() != nil {
		fmt.Fprintln(out, "interrupted")
		return ctx.Err()
	}
	if err != nil {
		fmt.Fprintln(out, "failed")
		return fmt.Errorf("running %s: %w\n%s", s.command, err, bytes.TrimSpace(output.Bytes()))
	}
	fmt.Fprintln(out, time.Since(started).Round(100*time.Millisecond))
	return nil
}

// seedChecksums copies the checksums of a local runtime, whose requirements the project shares. They are verified
// already, and need no network.
func seedChecksums(options *Options, folder string) error {
	if options.RuntimePath == "" {
		return nil
	}
	path := options.RuntimePath
	if !filepath.IsAbs(path) {
		path = filepath.Join(folder, path)
	}
	content, err := os.ReadFile(filepath.Join(path, "go.sum"))
	if err != nil {
		return fmt.Errorf("reading the checksums of the runtime (--runtime-path): %w", err)
	}
	if err := os.WriteFile(filepath.Join(folder, "go.sum"), content, 0o644); err != nil {
		return fmt.Errorf("writing go.sum: %w", err)
	}
	return nil
}

// CheckRuntime returns an error unless the folder has a checkout of the runtime.
func CheckRuntime(folder string) error {
	content, err := os.ReadFile(filepath.Join(folder, "go.mod"))
	if err != nil {
		return fmt.Errorf("%s: must be a checkout of %s: %w", folder, runtimeModule, err)
	}
	if found := modfile.ModulePath(content); found != runtimeModule {
		return fmt.Errorf("%s: must be a checkout of %s, but is one of %s", folder, runtimeModule, found)
	}
	return nil
}

// Code returns the contents for a generator written in Go: no files, and the rights for the kinds that the scaffolded
// code renders.
func Code(ctx context.Context, request Request) (*Contents, error) {
	contents := &Contents{}
	rendered := generator.Func(func(_ context.Context, namespace, name string, _ types.Unstructurable) ([]client.Object, error) {
		meta := metav1.ObjectMeta{Namespace: namespace, Name: name}
		return []client.Object{
			&appsv1.Deployment{TypeMeta: metav1.TypeMeta{APIVersion: "apps/v1", Kind: "Deployment"}, ObjectMeta: meta},
			&corev1.Service{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Service"}, ObjectMeta: meta},
		}, nil
	})
	return contents, contents.AddRights(ctx, Rendered{Generator: rendered, OperatorName: request.OperatorName})
}
