// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package parity

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"golang.org/x/tools/txtar"
)

// files are the files of a chart, by their paths.
type files map[string]string

// sample is a chart with what is expected of it.
type sample struct {
	reason  string
	chart   files
	values  string
	upgrade bool
	// errors are parts of the expected error.
	errors  []string
	objects string
}

// expectedObjects is the name of the part that Helm's objects are compared with.
const expectedObjects = "expected-objects.yaml"

func readSample(t *testing.T, file string) sample {
	t.Helper()
	archive, err := txtar.ParseFile(file)
	if err != nil {
		t.Fatal(err)
	}
	s := sample{reason: strings.Join(strings.Fields(string(archive.Comment)), " "), chart: files{}}
	for _, part := range archive.Files {
		content := string(part.Data)
		switch part.Name {
		case "given-values.yaml":
			s.values = content
		case "given-upgrade":
			s.upgrade = true
		case "expected-error":
			s.errors = lines(content)
		case expectedObjects:
			s.objects = content
		default:
			if _, ok := s.chart[part.Name]; ok {
				t.Fatalf("%s contains %s twice", file, part.Name)
			}
			s.chart[part.Name] = content
		}
	}
	s.chart = s.chart.completed().packaged(t)
	return s
}

// updateSample replaces the expected objects.
func updateSample(t *testing.T, file string, objects string) {
	t.Helper()
	archive, err := txtar.ParseFile(file)
	if err != nil {
		t.Fatal(err)
	}
	archive.Files = slices.DeleteFunc(archive.Files, func(part txtar.File) bool { return part.Name == expectedObjects })
	archive.Files = append(archive.Files, txtar.File{Name: expectedObjects, Data: []byte(objects)})
	if err := os.WriteFile(file, txtar.Format(archive), 0o600); err != nil {
		t.Fatal(err)
	}
}

func lines(text string) []string {
	return strings.FieldsFunc(text, func(r rune) bool { return r == '\n' })
}

// completed returns the files plus each Chart.yaml that is missing.
func (f files) completed() files {
	roots := map[string]string{"": "top"}
	for name := range f {
		parts := strings.Split(name, "/")
		for i := range parts {
			if i+2 < len(parts) && parts[i] == "charts" && !strings.HasPrefix(parts[i+1], "_") {
				roots[path.Join(parts[:i+2]...)+"/"] = strings.TrimSuffix(parts[i+1], ".tgz")
			}
		}
	}
	all := maps.Clone(f)
	for folder, name := range roots {
		if _, ok := f[folder+"Chart.yaml"]; !ok {
			all[folder+"Chart.yaml"] = "apiVersion: v2\nname: " + name + "\nversion: 1.2.3\n"
		}
	}
	return all
}

// packaged returns the files with packages instead of folders that are named as such, one level deep.
func (f files) packaged(t *testing.T) files {
	t.Helper()
	all, packages := files{}, map[string]files{}
	for name, content := range f {
		folder, rest, found := strings.Cut(name, ".tgz/")
		if !found {
			all[name] = content
			continue
		}
		if packages[folder] == nil {
			packages[folder] = files{}
		}
		packages[folder][rest] = content
	}
	for folder, content := range packages {
		all[folder+".tgz"] = content.archive(t, path.Base(folder))
	}
	return all
}

func (f files) archive(t *testing.T, folder string) string {
	t.Helper()
	var buffer bytes.Buffer
	zipper := gzip.NewWriter(&buffer)
	writer := tar.NewWriter(zipper)
	for _, name := range slices.Sorted(maps.Keys(f)) {
		header := &tar.Header{Name: folder + "/" + name, Mode: 0o644, Size: int64(len(f[name])), Typeflag: tar.TypeReg}
		if err := writer.WriteHeader(header); err != nil {
			t.Fatal(err)
		}
		if _, err := writer.Write([]byte(f[name])); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(writer.Close(), zipper.Close()); err != nil {
		t.Fatal(err)
	}
	return buffer.String()
}

// dir writes the files to a folder of the operating system.
func (f files) dir(t *testing.T) string {
	t.Helper()
	folder := t.TempDir()
	for name, content := range f {
		file := filepath.Join(folder, filepath.FromSlash(name))
		if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, []byte(content), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	return folder
}

func (f files) fs() fstest.MapFS {
	fsys := fstest.MapFS{}
	for name, content := range f {
		fsys[name] = &fstest.MapFile{Data: []byte(content)}
	}
	return fsys
}
