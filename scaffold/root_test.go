// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"bytes"
	"cmp"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra/doc"

	"github.com/component-operator/runtime/scaffold/internal/project"
)

var manPages = flag.String("man", "", "folder to which TestManPages writes")

// TestManPages writes the man page of a release.
func TestManPages(t *testing.T) {
	t.Parallel()
	folder := cmp.Or(*manPages, t.TempDir())
	command := newCommand()
	command.DisableAutoGenTag = true
	if err := doc.GenManTree(command, &doc.GenManHeader{Source: "component-operator-runtime", Manual: "scaffold"}, folder); err != nil {
		t.Fatal(err)
	}
	if text := contentOf(t, filepath.Join(folder, "scaffold.1")); !strings.Contains(text, ".SH SYNOPSIS") {
		t.Errorf("unexpected page:\n%s", text)
	}
}

// TestDryRunWritesNothing checks that the tree is shown, and nothing else happens.
func TestDryRunWritesNothing(t *testing.T) {
	t.Parallel()
	folder := filepath.Join(t.TempDir(), "project")
	shown, err := scaffold(t, "--dry-run", "--group-name=shop.example.org", "--kind=WebShop", "--operator-name=webshop.shop.example.org",
		"--go-module=example.org/webshop-operator", "--runtime-version=v1.0.0", folder)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(shown, folder+"\n├── .dockerignore\n") || !strings.Contains(shown, "│       ├── webshop_component.go\n") {
		t.Errorf("unexpected tree:\n%s", shown)
	}
	if _, err := os.Stat(folder); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("want no folder, got %v", err)
	}
}

// TestRefusalsWriteNothing checks that bad input is refused before anything is written.
func TestRefusalsWriteNothing(t *testing.T) {
	t.Parallel()
	for want, flag := range map[string]string{
		`--kind: invalid value "web"`:                                                                                  "--kind=web",
		"--runtime-path: /nowhere: must be a checkout":                                                                 "--runtime-path=/nowhere",
		`--license: invalid value "MIT": must be one of`:                                                               "--license=MIT",
		`--served-version: invalid value "v1alpha1"`:                                                                   "--served-version=v1alpha1",
		"--chart: reading chart /nowhere":                                                                              "--chart=/nowhere",
		"--chart: chart shop must render with its default values and those that its schema requires":                   "--chart=" + writeChart(t, "1.0.0", map[string]string{"templates/b.yaml": "{{ fail \"no\" }}"}),
		"--chart: deriving types from the values of chart shop":                                                        "--chart=" + writeChart(t, "1.0.0", map[string]string{"values.schema.json": `{"type": "array"}`}),
		"--kustomization: the kustomization in testdata/outside must render without parameters, and without files out": "--kustomization=testdata/outside",
	} {
		parent := t.TempDir()
		_, err := scaffold(t, "--group-name=shop.example.org", "--kind=WebShop", "--operator-name=webshop.shop.example.org",
			"--go-module=example.org/webshop-operator", "--runtime-version=v1.0.0", flag, filepath.Join(parent, "project"))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got error %v, want %q", flag, err, want)
		}
		if entries, err := os.ReadDir(parent); err != nil || len(entries) > 0 {
			t.Errorf("%s: something was written: %v, %v", flag, entries, err)
		}
	}
}

// TestQuestions answers them: with a mistake, and with the enter key.
func TestQuestions(t *testing.T) {
	t.Parallel()
	s, shown := &settings{}, &bytes.Buffer{}
	s.options.GoModule = "example.org/given"
	if err := s.askOn(t.Context(), bufio.NewReader(strings.NewReader("shop\nshop.example.org\nWebShop\n\n")), shown); err != nil {
		t.Fatal(err)
	}
	want := project.Options{GroupName: "shop.example.org", Kind: "WebShop", OperatorName: "webshop.shop.example.org", GoModule: "example.org/given"}
	if diff := gocmp.Diff(want, s.options); diff != "" {
		t.Errorf("unexpected options:\n%s", diff)
	}
	if !strings.Contains(shown.String(), `"shop": must have at least one dot`) {
		t.Errorf("want an answer to the mistake, got:\n%s", shown)
	}
	if err := (&settings{}).askOn(t.Context(), bufio.NewReader(strings.NewReader("")), shown); err == nil || !strings.Contains(err.Error(), "--group-name") {
		t.Errorf("the input ends: got error %v", err)
	}
	if _, err := scaffold(t, "--interactive", "x"); !errors.Is(err, errNoTerminal) {
		t.Errorf("without a terminal: got error %v", err)
	}
}
