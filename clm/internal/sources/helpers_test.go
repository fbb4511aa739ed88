// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package sources_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"go.uber.org/goleak"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/component-operator/runtime/clm/internal/sources"
)

const reconcilerName = "clm.example.io"

// files are contents by their paths.
type files map[string]string

// chart returns the files of a chart in the folder, which yields the given templates, by their file names.
func chart(folder string, templates files) files {
	all := files{folder + "/Chart.yaml": "apiVersion: v2\nname: web\nversion: 1.2.3\nappVersion: \"4.5\"\n"}
	for name, content := range templates {
		all[folder+"/templates/"+name] = content
	}
	return all
}

// configMap returns a ConfigMap whose data are the given lines.
func configMap(name string, lines ...string) string {
	return "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: " + name + "\ndata:\n  " + strings.Join(lines, "\n  ") + "\n"
}

// merged returns all files.
func merged(parts ...files) files {
	all := files{}
	for _, part := range parts {
		maps.Copy(all, part)
	}
	return all
}

// write returns a folder with the files.
func (f files) write(t *testing.T) string {
	t.Helper()
	root := t.TempDir()
	for name, content := range f {
		path := filepath.Join(root, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(content), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

// archive packages the files as "helm package" does.
func (f files) archive(t *testing.T) string {
	t.Helper()
	var buffer bytes.Buffer
	zipper := gzip.NewWriter(&buffer)
	writer := tar.NewWriter(zipper)
	for _, name := range slices.Sorted(maps.Keys(f)) {
		err := writer.WriteHeader(&tar.Header{Name: name, Mode: 0o644, Size: int64(len(f[name])), Typeflag: tar.TypeReg})
		if _, writeErr := writer.Write([]byte(f[name])); errors.Join(err, writeErr) != nil {
			t.Fatal(err, writeErr)
		}
	}
	if err := errors.Join(writer.Close(), zipper.Close()); err != nil {
		t.Fatal(err)
	}
	return buffer.String()
}

// load loads sources by their paths below a folder; those that are no paths are taken as they are.
func load(t *testing.T, root string, options sources.Options, references ...string) (*sources.Set, error) {
	t.Helper()
	paths := make([]string, len(references))
	for i, reference := range references {
		paths[i] = reference
		if reference != "-" && !strings.Contains(reference, "://") {
			paths[i] = filepath.Join(root, reference)
		}
	}
	options.ValuesFiles = slices.Clone(options.ValuesFiles)
	for i, name := range options.ValuesFiles {
		if name != "-" && !strings.Contains(name, "://") {
			options.ValuesFiles[i] = filepath.Join(root, name)
		}
	}
	return sources.Load(t.Context(), paths, options)
}

func mustLoad(t *testing.T, root string, options sources.Options, references ...string) *sources.Set {
	t.Helper()
	set, err := load(t, root, options, references...)
	if err != nil {
		t.Fatal(err)
	}
	return set
}

// request is what objects are generated for, unless a test wants something else.
func request() sources.Request {
	return sources.Request{ReconcilerName: reconcilerName, Namespace: "shop", Name: "rel", Revision: 1}
}

// generate returns one line per object: its name and its data.
func generate(t *testing.T, set *sources.Set, request sources.Request) []string {
	t.Helper()
	generated, err := set.Generate(t.Context(), request)
	if err != nil {
		t.Fatal(err)
	}
	return lines(t, generated.Objects)
}

// lines returns the names of objects, and their data.
func lines(t *testing.T, objects []*unstructured.Unstructured) []string {
	t.Helper()
	var lines []string
	for _, object := range objects {
		raw, err := yaml.Marshal(object)
		if err != nil {
			t.Fatal(err)
		}
		var content struct {
			Data any `json:"data"`
		}
		if err := yaml.Unmarshal(raw, &content); err != nil {
			t.Fatal(err)
		}
		data, err := yaml.Marshal(content.Data)
		if err != nil {
			t.Fatal(err)
		}
		lines = append(lines, object.GetName()+": "+strings.Join(strings.Fields(string(data)), " "))
	}
	return lines
}

// expectError reports whether the error has all parts. In it, the folder counts as ROOT.
func expectError(t *testing.T, err error, root string, parts ...string) {
	t.Helper()
	if err == nil {
		t.Fatalf("got no error, want one with %q", parts)
	}
	text := err.Error()
	if root != "" {
		text = strings.ReplaceAll(text, root, "ROOT")
	}
	for _, part := range parts {
		if !strings.Contains(text, part) {
			t.Errorf("got %q, which lacks %q", text, part)
		}
	}
}

// TestMain fails if a test leaves a goroutine behind.
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }
