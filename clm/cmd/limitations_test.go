// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// limitation is what becomes of a command whose user may not do everything.
type limitation struct {
	// args are the arguments, in which FILE stands for one with another revision of release web, and LIST for a file that
	// lists this release.
	args string
	// nobody is the message for a user without permissions, with exit code 1; empty if the command works nevertheless.
	nobody string
	// reader is the message for a user who may read everything, and code is the exit code.
	reader string
	code   int
	// endless means that the command waits for the end of its time if its user may read everything.
	endless bool
}

// limitations has all commands that talk to a cluster.
func limitations() map[string][]limitation {
	const record, records, lock, object = `cannot get resource "secrets"`, `cannot list resource "secrets"`, `cannot create resource "leases"`, `cannot patch resource "configmaps"`
	const deployment = `cannot get resource "objectdeployments"`
	reads := func(args string) []limitation { return []limitation{{args: args, nobody: record}} }
	writes := func(args string) []limitation {
		return []limitation{{args: args, nobody: record, reader: lock, code: 1}}
	}
	// Components are in all namespaces.
	everywhere := []limitation{{args: "cm", nobody: `cannot list resource "configmaps"`, reader: `cannot list resource "configmaps"`, code: 1}}
	return map[string][]limitation{
		"clm rollout status": everywhere,
		"clm rollout pause":  everywhere,
		"clm rollout resume": everywhere,
		"clm rollout retry":  everywhere,

		"clm apply":        slices.Concat(writes("web FILE"), writes("new FILE")),
		"clm rollback":     writes("web"),
		"clm test":         writes("web"),
		"clm delete":       writes("web"),
		"clm adopt":        {{args: "web cm/taken", nobody: record, reader: object, code: 1}},
		"clm orphan":       writes("web cm/first"),
		"clm move":         writes("cm/first --from web --to other"),
		"clm reconcile":    {{args: "cm/first", nobody: `cannot get resource "configmaps"`, reader: "is no component", code: exitRefused}},
		"clm plan":         {{args: "web FILE", nobody: record, reader: object, code: exitRefused}},
		"clm diff":         {{args: "web FILE", nobody: record, reader: object, code: exitRefused}},
		"clm up plan":      {{args: "-f LIST", nobody: record, reader: object, code: exitRefused}},
		"clm up diff":      {{args: "-f LIST", nobody: record, reader: object, code: exitRefused}},
		"clm up status":    {{args: "-f LIST", nobody: record, reader: "not ready: ", code: exitNotReady}},
		"clm up delete":    {{args: "-f LIST --yes", nobody: record, reader: lock, code: 1}},
		"clm lint":         {{args: "FILE --name web", nobody: record, reader: object, code: 1}},
		"clm ls":           {{nobody: records}, {args: "-A", nobody: records, reader: records, code: 1}},
		"clm history":      reads("web"),
		"clm get all":      reads("web"),
		"clm get hooks":    reads("web"),
		"clm get manifest": reads("web"),
		"clm get metadata": reads("web"),
		"clm get notes":    reads("web"),
		"clm get values":   reads("web"),
		"clm status": {
			{args: "web", nobody: record, reader: "belongs to release PLACE/other", code: exitNotReady},
			{args: "odeploy/web", nobody: deployment, reader: "the operator has not reconciled it yet", code: exitNotReady},
		},
		"clm tree":   append(reads("web"), limitation{args: "odeploy/web", nobody: deployment}),
		"clm events": append(reads("web"), limitation{args: "odeploy/web", nobody: deployment}),
		"clm logs":   reads("web cm/first"),
		"clm wait":   {{args: "web --timeout 10m", nobody: record, reader: "belongs to release PLACE/other", code: exitNotReady, endless: true}},
		"clm drift":  {{args: "web", nobody: record, reader: object}, {args: "web --correct", nobody: record, reader: object, code: exitRefused}},
		"clm doctor": {
			{nobody: records, reader: "you are not allowed to list these types: ", code: exitChanges},
			{args: "web", nobody: record, reader: "you are not allowed to list these types in namespaces other than ", code: exitChanges},
			{args: "web --fix", nobody: record, reader: lock, code: 1},
		},
		// What these ask the cluster for, everybody may know.
		"clm template": {{args: "web FILE --server"}},
		"clm rbac":     {{args: "web FILE"}},
	}
}

// needNoRights are the commands, or groups of them, that have no need of a cluster.
var needNoRights = map[string]string{
	"completion": "prints scripts",
	"dependency": "works on files",
	"help":       "prints texts",
	"images":     "works on files",
	"options":    "prints texts",
	"package":    "works on files",
	"pull":       "asks registries and repositories",
	"push":       "asks a registry",
	"registry":   "asks a registry",
	"repo":       "asks repositories",
	"show":       "works on files, registries and repositories",
	"sandbox":    "makes a cluster, in which its user may do everything",
	"ui":         "its pages say what the user may not do",
	"version":    "prints texts",
}

// leaves returns the paths of all commands that are no groups.
func leaves(command *cobra.Command) []string {
	if !command.HasSubCommands() {
		return []string{command.CommandPath()}
	}
	var paths []string
	for _, child := range command.Commands() {
		paths = append(paths, leaves(child)...)
	}
	return paths
}

// TestLimitationsAreComplete makes sure that no command is forgotten.
func TestLimitationsAreComplete(t *testing.T) {
	t.Parallel()
	root := newCommand()
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	rows, reasons := limitations(), map[string]bool{}
	for _, path := range leaves(root) {
		word := strings.Fields(path)[1]
		if _, limited := rows[path]; limited == (needNoRights[word] != "") {
			t.Errorf("%s: what becomes of it if its user may not do everything has to be known, unless it needs no rights", path)
		}
		delete(rows, path)
		reasons[word] = true
	}
	for path := range rows {
		t.Errorf("there is no command %s", path)
	}
	for word := range needNoRights {
		if !reasons[word] {
			t.Errorf("there is no command clm %s", word)
		}
	}
}

// TestWhoMayNotIsTold has two users try all commands. They change nothing.
func TestWhoMayNotIsTold(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	content := configMap("first", "1") + configMap("taken", "1") +
		"---\n{apiVersion: v1, kind: ConfigMap, metadata: {name: check, annotations: {clm.cs.sap.com/release-hook: test}}}\n"
	p.must("apply", "web", p.file("one.yaml", content))
	p.must("apply", "web", p.file("two.yaml", strings.ReplaceAll(content, `"1"`, `"2"`)))
	p.must("apply", "other", p.file("other.yaml", configMap("second", "1")))
	p.change("first", "3")
	p.as("thief", configMapKind, "taken", p.mark("other"))
	p.create(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "extra"}})
	p.as("somebody", configMapKind, "extra", p.mark("web"))
	p.objectDeployment()
	file := p.file("three.yaml", strings.ReplaceAll(content, `"1"`, `"3"`))
	list := p.file("releases.yaml", "{name: all, releases: [{name: web, sources: ["+file+"]}]}")
	nobody, reader := p.user("nobody"), p.user("reader", rule("*", "*", "get", "list", "watch"))
	before := p.versions()
	for path, rows := range limitations() {
		for _, row := range rows {
			args := strings.Fields(strings.TrimPrefix(path, "clm ") + " " + strings.NewReplacer("FILE", file, "LIST", list).Replace(row.args))
			code := 0
			if row.nobody != "" {
				code = 1
			}
			p.expect(p.clm(append(args, nobody)...), code, row.nobody)
			if args = append(args, reader); row.endless {
				p.expect(p.timesOut(row.reader, args...), row.code, row.reader)
			} else {
				p.expect(p.clm(args...), row.code, row.reader)
			}
			if diff := cmp.Diff(before, p.versions()); diff != "" {
				t.Fatalf("%s %s has changed something (-before +after):\n%s", path, row.args, diff)
			}
		}
	}
}
