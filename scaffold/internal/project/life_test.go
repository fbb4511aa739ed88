// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package project

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestLife makes an operator from the chart of the parcel operator and takes a component through its life, in a test
// that is added to the project. The operator has the rights of its own chart. The test fails if a right is denied or
// not used.
func TestLife(t *testing.T) {
	if os.Getenv(allVariants) == "" {
		t.Skip("it builds a project, which takes minutes; make test-pages runs it")
	}
	runtimePath, err := filepath.Abs("../../..")
	if err != nil {
		t.Fatal(err)
	}
	options := &Options{
		GroupName: "parcels.example.org", Kind: "ParcelService", OperatorName: "parcel-operator.example.io", GoModule: "example.org/parcel-operator",
		Image: "parcel-operator:latest", Generator: GeneratorHelm, Chart: filepath.Join(runtimePath, "examples/parcel-operator/chart"), RuntimePath: runtimePath,
	}
	if err := options.Complete(); err != nil {
		t.Fatal(err)
	}
	folder := filepath.Join(t.TempDir(), "project")
	create(t, options, folder)
	// The life uses a capability that is off at first.
	rewrite(t, filepath.Join(folder, "api/v1alpha1/parcelservice_types.go"), "// component.ReconcileSpec", "component.ReconcileSpec")
	test, err := os.ReadFile("testdata/life/life_test.go.txt")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(folder, "pkg/operator/life_test.go"), test, 0o600); err != nil {
		t.Fatal(err)
	}
	run(t, folder, "make", "generate")
	run(t, folder, "go", "test", "-count=1", "-run=TestLife", "./pkg/operator")
}

// rewrite replaces a text of a file, which must be there.
func rewrite(t *testing.T, path, before, after string) {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(content), before) {
		t.Fatalf("%s does not contain %q", path, before)
	}
	if err := os.WriteFile(path, []byte(strings.Replace(string(content), before, after, 1)), 0o600); err != nil {
		t.Fatal(err)
	}
}
