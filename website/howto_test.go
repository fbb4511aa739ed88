// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package website

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
)

// programs builds the programs that the pages use, and returns their folder.
var programs = sync.OnceValues(func() (string, error) {
	folder, err := filepath.Abs("../bin/pages")
	if err != nil {
		return "", err
	}
	for _, build := range []struct{ module, program, name string }{
		{"..", "./clm", "clm"},
		{"..", "./examples/parcel-operator/cmd", "parcel-operator"},
		{"..", "./examples/objectset-operator", "objectset-operator"},
		{"..", "./scaffold", "scaffold"},
		{"../internal/helm/parity", "helm.sh/helm/v4/cmd/helm", "helm"},
		{".", "./internal/kubectl", "kubectl"},
	} {
		command := exec.Command("go", "build", "-ldflags=-s", "-o", filepath.Join(folder, build.name), build.program)
		command.Dir = build.module
		if output, err := command.CombinedOutput(); err != nil {
			return "", fmt.Errorf("building %s: %w\n%s", build.name, err, output)
		}
	}
	return folder, nil
})

// elsewhere are how-to pages whose commands other tests run. Those of the other tutorials run in the tests of scaffold.
var elsewhere = map[string]string{
	"build-an-image.md":            "scaffold, TestSteps",
	"use-clients-in-generators.md": "scaffold, TestSteps",
	"migrate-from-sap.md":          "scaffold, TestPageOnMigration",
}

// TestHowTo runs the commands of each page in a shell, in a sandbox and a folder of its own. testdata/howto has a script for each
// page that creates what the page takes for granted. Its functions before_1, before_2, … run before the block with that number.
func TestHowTo(t *testing.T) {
	t.Parallel()
	pages, err := filepath.Glob("content/how-to/*.md")
	if err != nil || len(pages) < 30 {
		t.Fatalf("%d pages, %v", len(pages), err)
	}
	pages = append(pages, "content/tutorials/first-release.md")
	folder, err := programs()
	if err != nil {
		t.Fatal(err)
	}
	for _, page := range pages {
		name := filepath.Base(page)
		if elsewhere[name] != "" {
			continue
		}
		content, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		blocks := blocksOf(string(content))
		setup := "testdata/howto/" + strings.TrimSuffix(name, ".md") + ".sh"
		if _, err := os.Stat(setup); (err == nil) != (len(blocks) > 0) {
			t.Errorf("%s has %d blocks of commands, and %s: %v", page, len(blocks), setup, err)
			continue
		}
		if len(blocks) == 0 {
			continue
		}
		t.Run(strings.TrimSuffix(name, ".md"), func(t *testing.T) {
			t.Parallel()
			compare(t, page, blocks, runPage(t, folder, setup, blocks))
		})
	}
}

// A block is a block of commands of a page.
type block struct{ commands []command }

// A command may come with lines of its output.
type command struct {
	text  string
	shown []string
}

var fence = regexp.MustCompile("(?ms)^ *```(\\w*)\n(.*?)^ *```$")

// blocksOf returns what is to be run: blocks of sh as a whole, and in other blocks the lines after "$ ".
func blocksOf(page string) []block {
	var blocks []block
	for _, match := range fence.FindAllStringSubmatch(page, -1) {
		language, text := match[1], match[2]
		switch {
		case language == "sh":
			blocks = append(blocks, block{commands: []command{{text: text}}})
		case language == "console" || language == "" && strings.HasPrefix(strings.TrimSpace(text), "$ "):
			var commands []command
			for line := range strings.Lines(text) {
				line = strings.TrimSpace(line)
				if typed, isCommand := strings.CutPrefix(line, "$ "); isCommand {
					commands = append(commands, command{text: typed + "\n"})
				} else if last := len(commands) - 1; last >= 0 && line != "" {
					commands[last].shown = append(commands[last].shown, line)
				}
			}
			blocks = append(blocks, block{commands: commands})
		}
	}
	return blocks
}

// separator stands between the outputs of commands.
const separator = "\x1e"

// runPage returns the output of each command. A command whose page shows an error may fail.
func runPage(t *testing.T, programs, setup string, blocks []block) []string {
	t.Helper()
	data, err := filepath.Abs("testdata/howto")
	if err != nil {
		t.Fatal(err)
	}
	root, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	script := &strings.Builder{}
	fmt.Fprintf(script, "exec 2>&1\nsource %q\nsource %q\n", filepath.Join(data, "lib.sh"), filepath.Join(data, filepath.Base(setup)))
	for i, block := range blocks {
		fmt.Fprintf(script, "! declare -F before_%d > /dev/null || before_%[1]d\n", i+1)
		for _, command := range block.commands {
			fmt.Fprintf(script, "echo '%s'\n", separator)
			if shown := strings.ToLower(strings.Join(command.shown, "\n")); strings.Contains(shown, "error: ") || strings.Contains(shown, "✗") || strings.Contains(shown, "exit status ") {
				fmt.Fprintf(script, "set +e\n%sfailed=$?\nset -e\n[ $failed != 0 ]\n", command.text)
			} else {
				script.WriteString(command.text)
			}
			fmt.Fprintf(script, "echo '%s'\n", separator)
		}
	}
	folder := t.TempDir()
	path := filepath.Join(folder, "page.sh")
	if err := os.WriteFile(path, []byte(script.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	process := exec.CommandContext(t.Context(), filepath.Join(programs, "clm"), "sandbox", "run", "--", "bash", "-euo", "pipefail", path)
	process.Dir = t.TempDir()
	process.Env = append(append(os.Environ(), caches(t)...), "PATH="+programs+":"+os.Getenv("PATH"), "REPOSITORY="+root, "HOME="+folder, "NO_COLOR=1", "CI=true")
	output, err := process.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, strings.ReplaceAll(string(output), separator, "---"))
	}
	var outputs []string
	for i, part := range strings.Split(string(output), separator+"\n") {
		if i%2 == 1 {
			outputs = append(outputs, part)
		}
	}
	return outputs
}

// caches returns variables with the caches of the user, because a script has a home directory of its own.
func caches(t *testing.T) []string {
	t.Helper()
	folder, err := os.UserCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	modules, err := exec.CommandContext(t.Context(), "go", "env", "GOMODCACHE").Output()
	if err != nil {
		t.Fatal(err)
	}
	return []string{"XDG_CACHE_HOME=" + folder, "GOMODCACHE=" + strings.TrimSpace(string(modules))}
}

var (
	someDuration = regexp.MustCompile(`\b\d+(\.\d+)?(m|µ)?s\b`)
	someSuffix   = regexp.MustCompile(`\b([a-z]+)-[0-9a-f]{6,10}(-[a-z0-9]{5})?\b`)
	someTime     = regexp.MustCompile(`\b\d{4}-\d\d-\d\dT[\d:]+Z`)
	someUser     = regexp.MustCompile(`\b[\w.-]+@[\w.-]+\s`)
	someSpace    = regexp.MustCompile(`\s+`)
)

// lines returns what is the same each time: not durations, times, users, names that controllers choose, and what is waited for.
func lines(output string) []string {
	output = someUser.ReplaceAllString(someTime.ReplaceAllString(output, "TIME"), "USER ")
	output = someSuffix.ReplaceAllString(someDuration.ReplaceAllString(output, "AGE"), "$1-SUFFIX")
	var lines []string
	for line := range strings.Lines(output) {
		line = strings.TrimSpace(someSpace.ReplaceAllString(line, " "))
		if line != "" && !strings.Contains(line, " waiting") && !strings.Contains(line, "▸") {
			lines = append(lines, line)
		}
	}
	return lines
}

// compare looks for the lines of the page in the output, one after the other. In a line, "…" and "..." stand for anything. Between
// lines, nothing else may come, unless the page has a line of dots.
func compare(t *testing.T, page string, blocks []block, outputs []string) {
	t.Helper()
	i := 0
	for _, block := range blocks {
		for _, command := range block.commands {
			if problem := difference(command.shown, lines(outputs[i])); len(command.shown) > 0 && problem != "" {
				t.Errorf("%s: $ %s%s\nit was:\n%s", page, command.text, problem, outputs[i])
			}
			i++
		}
	}
}

func difference(shown []string, got []string) string {
	skip := false
	for _, line := range lines(strings.Join(shown, "\n")) {
		if line == "..." || line == "…" {
			skip = true
			continue
		}
		fits := regexp.MustCompile("^" + strings.NewReplacer("…", ".*", `\.\.\.`, ".*").Replace(regexp.QuoteMeta(line)) + "$")
		for skip && len(got) > 0 && !fits.MatchString(got[0]) {
			got = got[1:]
		}
		if len(got) == 0 || !fits.MatchString(got[0]) {
			return "the page has:\n" + line
		}
		got, skip = got[1:], false
	}
	if len(got) > 0 && !skip {
		return "the page lacks:\n" + strings.Join(got, "\n")
	}
	return ""
}
