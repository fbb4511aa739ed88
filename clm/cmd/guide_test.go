// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// A guide is a page of the documentation that is followed literally. The examples are run in the order in which they
// stand there.
type guide struct {
	*place

	folder string
	// kubectl are the deeds of commands of kubectl.
	kubectl map[string]func() string
}

// TestGettingStarted does what the page says, and compares what comes with what the page shows.
func TestGettingStarted(t *testing.T) {
	t.Parallel()
	g := &guide{place: newPlace(t), folder: t.TempDir()}
	g.kubectl = map[string]func() string{
		"kubectl scale deployment web --replicas 1": func() string {
			web := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: g.namespace, Name: "web"}}
			scale := client.RawPatch(types.MergePatchType, []byte(`{"spec":{"replicas":1}}`))
			if err := g.client.SubResource("scale").Patch(t.Context(), web, scale, client.FieldOwner("kubectl")); err != nil {
				t.Error(err)
			}
			return "deployment.apps/web scaled\n"
		},
		"kubectl create configmap other --dry-run=client -o yaml > other.yaml": func() string {
			g.write(filepath.Join(g.folder, "other.yaml"), configMap("other", "1"))
			return ""
		},
	}
	page, err := os.ReadFile("../../website/content/clm/getting-started.md")
	if err != nil {
		t.Fatal(err)
	}
	commands := 0
	for _, block := range regexp.MustCompile("(?sm)^```(sh)?\n(.*?)^```$").FindAllStringSubmatch(string(page), -1) {
		switch {
		case block[1] == "" && strings.HasPrefix(block[2], "$ "):
			for _, example := range strings.Split(block[2], "\n$ ") {
				command, want, _ := strings.Cut(strings.TrimPrefix(example, "$ "), "\n")
				g.compare(command, want, g.run(command))
				commands++
			}
		case strings.HasPrefix(block[2], "mkdir "):
			g.script(block[2])
			commands++
		}
	}
	if commands < 15 {
		t.Errorf("the page has %d commands only; are its blocks found?", commands)
	}
}

// script runs what only concerns files.
func (g *guide) script(text string) {
	g.Helper()
	command := exec.Command("sh", "-e", "-c", text)
	command.Dir = g.folder
	if output, err := command.CombinedOutput(); err != nil {
		g.Fatalf("%s: %v\n%s", text, err, output)
	}
}

// run returns what a command writes.
func (g *guide) run(command string) string {
	g.Helper()
	if deed, isKubectl := g.kubectl[command]; isKubectl {
		return deed()
	}
	args := strings.Fields(command)
	if args[0] != "clm" {
		g.Fatalf("%s: the test does not know this command", command)
	}
	var output bytes.Buffer
	process := g.process(args[1:]...)
	process.Dir, process.Stdout, process.Stderr = g.folder, &output, &output
	err := process.Run()
	if process.ProcessState == nil {
		g.Fatal(err)
	}
	return fmt.Sprintf("%sexit code %d\n", output.String(), process.ProcessState.ExitCode())
}

var (
	someDuration = regexp.MustCompile(`\b\d+m?s\b`)
	someSuffix   = regexp.MustCompile(`\b(web-[0-9a-f]{6,10})(-[a-z0-9]{5})?\b`)
	someSpace    = regexp.MustCompile(`[ \t]+`)
)

// lines are those of an output that are the same each time: not those about what is waited for.
func (g *guide) lines(output string) []string {
	output = strings.ReplaceAll(output, g.namespace, "demo")
	output = someDuration.ReplaceAllString(output, "AGE")
	output = someSuffix.ReplaceAllString(output, "POD")
	var lines []string
	for line := range strings.Lines(output) {
		if line = strings.TrimSpace(someSpace.ReplaceAllString(line, " ")); !isWaiting(line) && line != "" {
			lines = append(lines, line)
		}
	}
	return lines
}

// isWaiting reports whether a line is about what is waited for: how often there is one depends on the cluster.
func isWaiting(line string) bool {
	return strings.Contains(line, " waiting") || strings.Contains(line, "▸")
}

// compare looks for the lines of the page in the output, one after the other. Nothing may be between them but where the
// page has dots.
func (g *guide) compare(command, want, output string) {
	g.Helper()
	got := g.lines(output)
	expected := g.lines(want)
	if strings.HasPrefix(command, "clm ") {
		code := 0
		switch {
		case strings.Contains(want, "✗"):
			code = exitNotReady
		case strings.Contains(want, "Error:"):
			code = exitRefused
		}
		expected = append(expected, fmt.Sprintf("exit code %d", code))
	}
	skip := false
	for _, line := range expected {
		if line == "..." {
			skip = true
			continue
		}
		start, open := strings.CutSuffix(line, "...")
		fits := func(actual string) bool { return actual == line || open && strings.HasPrefix(actual, start) }
		for skip && len(got) > 0 && !fits(got[0]) {
			got = got[1:]
		}
		if len(got) == 0 || !fits(got[0]) {
			g.Errorf("$ %s\nthe page has:\n%s\nit was:\n%s", command, line, output)
			return
		}
		got, skip = got[1:], false
	}
	if len(got) > 0 {
		g.Errorf("$ %s\nthe page lacks:\n%s\nit was:\n%s", command, strings.Join(got, "\n"), output)
	}
}
