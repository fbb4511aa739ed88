// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

// Mutants measures how many defects the tests detect. It takes a list of small changes that break the code, makes one
// at a time, and runs the tests that should fail.
//
//	make mutants
//	go run ./internal/mutants -list
//	go run ./internal/mutants -run 'adopt|hook' -v
//
// The list is mutants.yaml. The working tree is not modified: the compiler gets each change as an overlay (see "go help
// build"). So a run may be interrupted, and files may be edited meanwhile. Before the first change, the chosen tests
// run on the unchanged code: tests that fail anyway prove nothing.
//
// The exit code is 1 if less than 95 % of the mutants are detected. Mutants that do not match the code, do not compile,
// or have no test count as not detected.
package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"go/ast"
	"go/build"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"sigs.k8s.io/yaml"
)

// demanded is the percentage of mutants that must be detected.
const demanded = 95

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	code, err := run(ctx, os.Args[1:], os.Stdout)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "mutants:", err)
	}
	os.Exit(code)
}

// run returns the exit code: 1 if too few mutants are detected, 2 with an error.
func run(ctx context.Context, args []string, out io.Writer) (int, error) {
	flags := flag.NewFlagSet("mutants", flag.ContinueOnError)
	names := flags.String("run", "", "take only mutants whose name matches this regular expression")
	listing := flags.Bool("list", false, "only print the mutants, and which of them do not fit the code")
	verbose := flags.Bool("v", false, "print the output of the tests")
	if err := flags.Parse(args); errors.Is(err, flag.ErrHelp) {
		return 0, nil
	} else if err != nil {
		return 2, err
	}
	chosen, err := read(*names)
	if err != nil {
		return 2, err
	}
	if *listing {
		return list(out, chosen), nil
	}
	l := &lab{log: io.Discard}
	if *verbose {
		l.log = out
	}
	return measure(ctx, l, out, chosen)
}

// measure tries the mutants, and prints the results.
func measure(ctx context.Context, l *lab, out io.Writer, chosen []mutant) (int, error) {
	broken := l.baseline(ctx, chosen)
	count := 0
	var others []string
	for _, m := range chosen {
		start := time.Now()
		verdict, detail := failing, "these tests also fail without the change"
		if !broken[m.target()] {
			verdict, detail = l.try(ctx, m)
		}
		if ctx.Err() != nil {
			return 2, errors.New("interrupted")
		}
		fmt.Fprintf(out, "%-16s %5.1fs  %-45s %s\n", verdict, time.Since(start).Seconds(), m.Name, detail)
		if verdict == noticed {
			count++
		} else {
			others = append(others, m.Name)
		}
	}
	percent := 100 * float64(count) / float64(len(chosen))
	fmt.Fprintf(out, "\n%d of %d noticed (%.1f %%; demanded are %d %%)\n", count, len(chosen), percent, demanded)
	if len(others) > 0 {
		fmt.Fprintln(out, "Not noticed:", strings.Join(others, ", "))
	}
	if percent < demanded {
		return 1, nil
	}
	return 0, nil
}

// list prints the mutants. It returns the exit code 1 if one of them does not match the code, and 0 otherwise.
func list(out io.Writer, chosen []mutant) int {
	misfits := 0
	for _, m := range chosen {
		verdict, detail := "fits", m.Package+" "+m.Function
		if _, _, err := m.apply(); err != nil {
			misfits++
			verdict, detail = misfit, err.Error()
		}
		fmt.Fprintf(out, "%-16s %-45s %s\n", verdict, m.Name, detail)
	}
	fmt.Fprintf(out, "\n%d mutants, %d do not fit the code\n", len(chosen), misfits)
	return min(misfits, 1)
}

// mutant is a change of one function that breaks it. All fields are required unless they have a default.
type mutant struct {
	// Name is unique in the list.
	Name string `json:"name"`
	// Package is the directory of the function, below the root of the module.
	Package string `json:"package"`
	// Function is the name of the function or method, as in "go doc": New, Cache.Start.
	Function string `json:"function"`
	// Replace is a regular expression that matches exactly once in the body of the function.
	Replace string `json:"replace"`
	// By replaces what Replace matches; $1 is its first group. Defaults to nothing.
	By string `json:"by,omitempty"`
	// Tests selects the tests that should fail, as the flag -run of "go test" does.
	Tests string `json:"tests"`
	// TestPackage is the directory of the tests. Defaults to Package.
	TestPackage string `json:"testPackage,omitempty"`
}

// target returns the package argument for "go test".
func (m mutant) target() string { return "./" + cmp.Or(m.TestPackage, m.Package) }

// read returns the mutants of the list whose names match a regular expression.
func read(names string) ([]mutant, error) {
	pattern, err := regexp.Compile(names)
	if err != nil {
		return nil, fmt.Errorf("flag -run: %w", err)
	}
	raw, err := os.ReadFile(filepath.FromSlash("internal/mutants/mutants.yaml"))
	if err != nil {
		return nil, fmt.Errorf("reading the list: %w", err)
	}
	var all, chosen []mutant
	if err := yaml.UnmarshalStrict(raw, &all); err != nil {
		return nil, fmt.Errorf("reading the list: %w", err)
	}
	seen := map[string]bool{}
	for i, m := range all {
		if m.Name == "" || m.Package == "" || m.Function == "" || m.Replace == "" || m.Tests == "" || seen[m.Name] {
			return nil, fmt.Errorf("entry %d (%q): name, package, function, replace and tests are required, and names are unique", i+1, m.Name)
		}
		seen[m.Name] = true
		if pattern.MatchString(m.Name) {
			chosen = append(chosen, m)
		}
	}
	if len(chosen) == 0 {
		return nil, errors.New("no mutant is chosen")
	}
	return chosen, nil
}

// apply returns the path of the changed file and its content.
func (m mutant) apply() (string, []byte, error) {
	pattern, err := regexp.Compile(m.Replace)
	if err != nil {
		return "", nil, fmt.Errorf("replace: %w", err)
	}
	code, err := build.ImportDir(m.Package, 0)
	if err != nil {
		return "", nil, fmt.Errorf("package: %w", err)
	}
	for _, name := range code.GoFiles {
		file := filepath.Join(m.Package, name)
		content, err := os.ReadFile(file)
		if err != nil {
			return "", nil, fmt.Errorf("reading the code: %w", err)
		}
		start, end := find(content, m.Function)
		if end == 0 {
			continue
		}
		body := content[start:end]
		if n := len(pattern.FindAllIndex(body, -1)); n != 1 {
			return "", nil, fmt.Errorf("replace matches %d times in %s of %s; must match once", n, m.Function, file)
		}
		return file, slices.Concat(content[:start], pattern.ReplaceAll(body, []byte(m.By)), content[end:]), nil
	}
	return "", nil, fmt.Errorf("%s has no function %s", m.Package, m.Function)
}

// find returns the offsets of the body of a function, and zeros if the file does not contain the function.
func find(content []byte, function string) (start, end int) {
	files := token.NewFileSet()
	parsed, err := parser.ParseFile(files, "", content, parser.SkipObjectResolution)
	if err != nil {
		return 0, 0 // the compiler will tell
	}
	for _, declaration := range parsed.Decls {
		if f, ok := declaration.(*ast.FuncDecl); ok && f.Body != nil && nameOf(f) == function {
			return files.Position(f.Body.Pos()).Offset, files.Position(f.Body.End()).Offset
		}
	}
	return 0, 0
}

// nameOf returns the name of a function, prefixed by its type if it is a method.
func nameOf(f *ast.FuncDecl) string {
	if f.Recv == nil {
		return f.Name.Name
	}
	receiver, _, _ := strings.Cut(strings.TrimPrefix(types.ExprString(f.Recv.List[0].Type), "*"), "[")
	return receiver + "." + f.Name.Name
}

// Verdicts about a mutant.
const (
	noticed     = "noticed"          // a test fails
	survived    = "SURVIVED"         // all tests pass
	uncompiled  = "DOES NOT COMPILE" // the entry must be corrected
	misfit      = "DOES NOT FIT"     // likewise: the code has changed
	untested    = "NO SUCH TEST"     // likewise
	failing     = "FAILS ANYWAY"     // the tests also fail without the change
	unavailable = "NOT RUN"          // the go command could not be run
)

// lab runs tests.
type lab struct{ log io.Writer }

// try applies a mutant, runs its tests, and returns a verdict with details.
func (l *lab) try(ctx context.Context, m mutant) (verdict, detail string) {
	file, content, err := m.apply()
	if err != nil {
		return misfit, err.Error()
	}
	folder, err := os.MkdirTemp("", "mutant-")
	if err != nil {
		return unavailable, err.Error()
	}
	defer func() { _ = os.RemoveAll(folder) }() // remains are in the folder for temporary files
	overlay, err := writeOverlay(folder, file, content)
	if err != nil {
		return unavailable, err.Error()
	}
	output, err := l.test(ctx, m.target(), m.Tests, impatience, "-overlay", overlay, "-failfast")
	return judge(strings.ReplaceAll(output, folder+string(filepath.Separator), ""), err)
}

// writeOverlay writes the changed file, and the overlay that makes the go command read it instead of the original.
func writeOverlay(folder, file string, content []byte) (string, error) {
	original, err := filepath.Abs(file)
	if err != nil {
		return "", fmt.Errorf("finding %s: %w", file, err)
	}
	changed := filepath.Join(folder, filepath.Base(file))
	encoded, err := json.Marshal(map[string]map[string]string{"Replace": {original: changed}})
	if err != nil {
		return "", fmt.Errorf("encoding the overlay: %w", err)
	}
	overlay := filepath.Join(folder, "overlay.json")
	for name, data := range map[string][]byte{changed: content, overlay: encoded} {
		if err := os.WriteFile(name, data, 0o600); err != nil {
			return "", fmt.Errorf("writing the change: %w", err)
		}
	}
	return overlay, nil
}

// baseline runs the tests of all mutants on the unchanged code, and returns the packages whose tests fail.
func (l *lab) baseline(ctx context.Context, chosen []mutant) map[string]bool {
	filters := map[string][]string{}
	for _, m := range chosen {
		filters[m.target()] = append(filters[m.target()], m.Tests)
	}
	broken := map[string]bool{}
	for target, tests := range filters {
		_, err := l.test(ctx, target, strings.Join(tests, "|"), "")
		broken[target] = err != nil
	}
	return broken
}

// impatience shortens how long tests wait (see internal/testenv), because the tests of a mutant usually wait in vain.
const impatience = "TEST_PATIENCE=20s"

// test runs tests of a package, with a further environment variable unless it is empty, and returns their output.
func (l *lab) test(ctx context.Context, target, filter, variable string, flags ...string) (string, error) {
	args := append([]string{"test", "-count=1", "-vet=off", "-ldflags=-s", "-timeout", "5m", "-run", filter}, flags...)
	command := exec.CommandContext(ctx, "go", append(args, target)...)
	// Interrupting the go command also ends the test binary; killing it does not.
	command.Cancel = func() error { return command.Process.Signal(os.Interrupt) }
	command.WaitDelay = 30 * time.Second
	if variable != "" {
		command.Env = append(os.Environ(), variable)
	}
	var output bytes.Buffer
	command.Stdout = io.MultiWriter(&output, l.log)
	command.Stderr = command.Stdout
	err := command.Run()
	return output.String(), err
}

var (
	failedTest = regexp.MustCompile(`(?m)^\s*--- FAIL: (\S+)`)
	message    = regexp.MustCompile(`(?m)^[^#\s].*`)
)

// judge derives the verdict from the output of "go test".
func judge(output string, err error) (verdict, detail string) {
	switch {
	case strings.Contains(output, "[build failed]"), strings.Contains(output, "[setup failed]"):
		return uncompiled, message.FindString(output)
	case err == nil && strings.Contains(output, "[no tests to run]"):
		return untested, ""
	case err == nil:
		return survived, ""
	case strings.Contains(output, "panic: test timed out"):
		return noticed, "timeout"
	}
	if failed := failedTest.FindStringSubmatch(output); failed != nil {
		return noticed, failed[1]
	}
	if strings.Contains(output, "FAIL") {
		return noticed, "panic"
	}
	return unavailable, err.Error()
}
