// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package migrate

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"github.com/component-operator/runtime/internal/testenv"
)

// root is the checkout of this runtime.
func root(t *testing.T) string {
	t.Helper()
	path, err := filepath.Abs("../../..")
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// existing writes the project of an existing operator into a git repository, with further files in form of names and contents.
func existing(t *testing.T, more ...string) string {
	t.Helper()
	archive, err := txtar.ParseFile("testdata/operator.txtar")
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(more); i += 2 {
		archive.Files = append(archive.Files, txtar.File{Name: more[i], Data: []byte(more[i+1])})
	}
	folder := filepath.Join(t.TempDir(), "warehouse-operator")
	for _, file := range archive.Files {
		path := filepath.Join(folder, file.Name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, file.Data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, arguments := range [][]string{
		{"init", "-q"}, {"add", "-A"}, {"-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false", "commit", "-qm", "Begin"},
	} {
		run(t, folder, "git", arguments...)
	}
	return folder
}

func run(t *testing.T, folder string, name string, arguments ...string) string {
	t.Helper()
	command := exec.CommandContext(t.Context(), name, arguments...)
	command.Dir = folder
	output, err := command.CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", command, err, output)
	}
	return string(output)
}

// offline has the go command use the module cache only, and projects the controller-gen of this repository.
func offline(t *testing.T) {
	t.Helper()
	t.Setenv("GOPROXY", "off")
	t.Setenv("GOFLAGS", "-mod=mod")
	t.Setenv("GOWORK", "off")
	t.Setenv("CONTROLLER_GEN", strings.TrimSpace(run(t, root(t), "go", "tool", "-modfile=internal/tools/go.mod", "-n", "controller-gen")))
}

func mentions(findings []Finding, file, what string) bool {
	return slices.ContainsFunc(findings, func(finding Finding) bool { return finding.File == file && strings.Contains(finding.String(), what) })
}

// TestMigrate moves an operator, builds it, and runs its tests, in which its component becomes ready.
func TestMigrate(t *testing.T) {
	if testing.Short() {
		t.Skip("builds an operator")
	}
	offline(t)
	folder := existing(t)
	report, err := Run(t.Context(), Options{Dir: folder, RuntimePath: root(t), Out: t.Output()})
	if err != nil {
		t.Fatal(err)
	}
	t.Log(report)
	for file, what := range map[string]string{"Makefile": "envtest", "Dockerfile": "go.mod says which version is needed now", "go.mod": "../fork"} {
		if !mentions(report.Findings, file, what) {
			t.Errorf("want a finding in %s that mentions %s", file, what)
		}
	}
	for _, finding := range report.Findings {
		if strings.HasSuffix(finding.File, ".go") || strings.Contains(finding.What, "make") {
			t.Errorf("unexpected finding: %s", finding)
		}
	}
	for _, file := range []string{"go.mod", "go.sum", "api/v1alpha1/zz_generated.deepcopy.go", "crds/warehouse.example.org_warehouses.yaml"} {
		if !slices.Contains(report.Changed, file) {
			t.Errorf("%s has not changed", file)
		}
	}
	types, err := os.ReadFile(filepath.Join(folder, "api/v1alpha1/types.go"))
	if err != nil {
		t.Fatal(err)
	}
	if want := []byte("componentoperatorruntimetypes \"" + newModule + "/pkg/types\" // an alias that stays"); !bytes.Contains(types, want) {
		t.Errorf("alias and comment of an import are lost:\n%s", types)
	}
	if left, _ := filepath.Glob(filepath.Join(filepath.Dir(folder), ".*migrate*")); len(left) > 0 {
		t.Errorf("the copy is left: %v", left)
	}
	run(t, folder, "go", "vet", "./...")
	t.Setenv("KUBECONFIG", testenv.Kubeconfig(t))
	run(t, folder, "go", "test", "./...")
}

// TestFindings uses what this runtime does not have, and changes nothing.
func TestFindings(t *testing.T) {
	if testing.Short() {
		t.Skip("builds an operator")
	}
	offline(t)
	folder := existing(t, "pkg/engine/engine.go", `package engine

import (
	"github.com/sap/component-operator-runtime/pkg/reconciler"
	"github.com/sap/component-operator-runtime/pkg/unknown"
)

var (
	_ = reconciler.NewReconciler
	_ = unknown.Name
)
`, "vendored/go.mod", "module example.org/other\n", "chart/role.yaml", "kind: ClusterRole\nrules: []\n")
	report, err := Run(t.Context(), Options{Dir: folder, RuntimePath: root(t), DryRun: true, Out: t.Output()})
	if err != nil {
		t.Fatal(err)
	}
	t.Log(report)
	for _, want := range []struct{ file, what string }{
		{"pkg/engine/engine.go", "use reconciler.New"},
		{"pkg/engine/engine.go", "no such package"},
		{"vendored/go.mod", "module of its own"},
		{"chart/role.yaml", "list and watch"},
	} {
		if !mentions(report.Findings, want.file, want.what) {
			t.Errorf("want a finding in %s: %s", want.file, want.what)
		}
	}
	if !slices.Contains(report.Changed, "main.go") && !slices.Contains(report.Changed, "pkg/operator/operator.go") {
		t.Errorf("unexpected changes: %v", report.Changed)
	}
	if status := run(t, folder, "git", "status", "--porcelain"); status != "" {
		t.Errorf("a dry run has changed files:\n%s", status)
	}
}

func TestRefusals(t *testing.T) {
	t.Parallel()
	runtime := root(t)
	for name, tt := range map[string]struct {
		change func(t *testing.T, folder string)
		path   string
		want   string
	}{
		"changes that are not committed": {
			func(t *testing.T, folder string) {
				t.Helper()
				if err := os.WriteFile(filepath.Join(folder, "new.go"), nil, 0o600); err != nil {
					t.Fatal(err)
				}
			}, runtime, "--force",
		},
		"no repository": {
			func(t *testing.T, folder string) {
				t.Helper()
				if err := os.RemoveAll(filepath.Join(folder, ".git")); err != nil {
					t.Fatal(err)
				}
			}, runtime, "git",
		},
		"a project that is moved already": {
			func(t *testing.T, folder string) {
				t.Helper()
				if err := os.WriteFile(filepath.Join(folder, "go.mod"), []byte("module example.org/other\n"), 0o600); err != nil {
					t.Fatal(err)
				}
			}, runtime, "nothing is left to be moved",
		},
		"no version":  {func(*testing.T, string) {}, "", "--runtime-version"},
		"no checkout": {func(*testing.T, string) {}, "nowhere", "nowhere"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			folder := existing(t)
			tt.change(t, folder)
			_, err := Run(t.Context(), Options{Dir: folder, RuntimePath: tt.path})
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("want an error with %q, got %v", tt.want, err)
			}
		})
	}
}

// TestInterruption ends while the go command runs.
func TestInterruption(t *testing.T) {
	t.Parallel()
	folder := existing(t)
	ctx, cancel := context.WithCancel(t.Context())
	_, err := Run(ctx, Options{Dir: folder, RuntimePath: root(t), Out: canceler(cancel)})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("want the interruption, got %v", err)
	}
	if status := run(t, folder, "git", "status", "--porcelain"); status != "" {
		t.Errorf("files have changed:\n%s", status)
	}
	if left, _ := filepath.Glob(filepath.Join(filepath.Dir(folder), ".*migrate*")); len(left) > 0 {
		t.Errorf("the copy is left: %v", left)
	}
}

// canceler cancels at the first step.
type canceler context.CancelFunc

func (c canceler) Write(text []byte) (int, error) {
	c()
	return len(text), nil
}

// TestPutBack fails halfway, and must leave the files as they were.
func TestPutBack(t *testing.T) {
	t.Parallel()
	p := project{dir: t.TempDir(), copy: t.TempDir()}
	files := map[string]string{"a": "old a", "b": "old b", "gone": "old"}
	for name, content := range files {
		if err := os.WriteFile(filepath.Join(p.dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(p.copy, "a"), []byte("new a"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := p.putBack([]string{"a", "b"}, []string{"gone"}); err == nil {
		t.Fatal("want an error, because the copy has no b")
	}
	for name, want := range files {
		got, err := os.ReadFile(filepath.Join(p.dir, name))
		if err != nil || string(got) != want {
			t.Errorf("%s: want %q, got %q: %v", name, want, got, err)
		}
	}
}

func TestWithNewImports(t *testing.T) {
	t.Parallel()
	for reason, tt := range map[string]struct{ before, after string }{
		"order of paths": {
			"package a\n\nimport (\n\t\"github.com/google/go-cmp/cmp\"\n\t\"github.com/sap/component-operator-runtime/pkg/types\"\n)\n",
			"package a\n\nimport (\n\t\"github.com/component-operator/runtime/pkg/types\"\n\t\"github.com/google/go-cmp/cmp\"\n)\n",
		},
		"a file that is not formatted stays so": {
			"package a\nimport   x `github.com/sap/component-operator-runtime/pkg/types` // why\n",
			"package a\nimport   x \"github.com/component-operator/runtime/pkg/types\" // why\n",
		},
		"another module with the same beginning": {
			"package a\n\nimport _ \"github.com/sap/component-operator-runtime-x/pkg\"\n", "package a\n\nimport _ \"github.com/sap/component-operator-runtime-x/pkg\"\n",
		},
		"text that is no import": {
			"package a\n\nconst b = \"github.com/sap/component-operator-runtime\"\n", "package a\n\nconst b = \"github.com/sap/component-operator-runtime\"\n",
		},
	} {
		t.Run(reason, func(t *testing.T) {
			t.Parallel()
			got, err := withNewImports("a.go", []byte(tt.before))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.after, string(got)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestAdvice(t *testing.T) {
	t.Parallel()
	for message, want := range map[string]string{
		"undefined: reconciler.NewReconciler":                                          "use reconciler.New, with reconciler.Options; Apply and Delete take a request and return a Result",
		"undefined: kustomize.Something":                                               "look for its replacement with: go doc " + newModule + "/pkg/manifests/kustomize",
		"*Shop does not implement component.Component (missing method DeepCopyObject)": "the code that copies API types is missing: generate it again",
		"could not import " + newModule + "/pkg/unknown":                               "this runtime has no such package; see " + newModule + "/pkg",
		"undefined: scheme.Builder":                                                    "the move also raises the versions of Kubernetes' libraries and of controller-runtime; see what has changed in them",
	} {
		if got := advice(message); got != want {
			t.Errorf("%s: want %q, got %q", message, want, got)
		}
	}
}
