// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package helm

import (
	"archive/tar"
	"errors"
	"maps"
	"strings"
	"testing"
	"testing/fstest"

	"sigs.k8s.io/controller-runtime/pkg/client"
)

// files are the files of a chart, by their paths.
type files map[string]string

// with returns the files plus, or overridden by, the given ones.
func (f files) with(more files) files {
	all := maps.Clone(f)
	maps.Copy(all, more)
	return all
}

// below returns the files in a sub-folder.
func (f files) below(folder string) files {
	moved := files{}
	for name, content := range f {
		moved[folder+"/"+name] = content
	}
	return moved
}

func (f files) fs() fstest.MapFS {
	fsys := fstest.MapFS{}
	for name, content := range f {
		fsys[name] = &fstest.MapFile{Data: []byte(content)}
	}
	return fsys
}

func write(writer *tar.Writer, content string) error {
	_, err := writer.Write([]byte(content))
	return err
}

// metadata returns a Chart.yaml.
func metadata(name string, more ...string) string {
	return "apiVersion: v2\nname: " + name + "\nversion: 1.2.3\n" + strings.Join(more, "\n") + "\n"
}

// configMap is a template whose data consists of the given lines.
func configMap(name string, lines ...string) string {
	return "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: " + name + "\ndata:\n  " + strings.Join(lines, "\n  ") + "\n"
}

func load(t *testing.T, f files) *Chart {
	t.Helper()
	chart, err := Load(f.fs(), ".")
	if err != nil {
		t.Fatal(err)
	}
	return chart
}

func release(values map[string]any) Release {
	return Release{
		Name:      "web",
		Namespace: "shop",
		Revision:  3,
		Values:    values,
		Capabilities: Capabilities{
			KubeVersion: KubeVersion{Version: "v1.36.3", Major: "1", Minor: "36"},
			APIVersions: []string{"apps/v1", "apps/v1/Deployment", "v1"},
		},
		Client: func() (client.Client, error) { return nil, errors.New("no client expected") },
	}
}

// render returns the data of the rendered ConfigMaps by their names.
func render(t *testing.T, f files, values map[string]any) map[string]map[string]any {
	t.Helper()
	objects, err := load(t, f).Render(t.Context(), release(values))
	if err != nil {
		t.Fatal(err)
	}
	data := map[string]map[string]any{}
	for _, object := range objects {
		if _, ok := data[object.GetName()]; ok {
			t.Fatalf("more than one object has name %s", object.GetName())
		}
		content, _ := object.Object["data"].(map[string]any)
		data[object.GetName()] = content
	}
	return data
}

func renderError(t *testing.T, f files, values map[string]any) string {
	t.Helper()
	objects, err := load(t, f).Render(t.Context(), release(values))
	if err == nil {
		t.Fatalf("got no error, but %d objects", len(objects))
	}
	return err.Error()
}

func expectParts(t *testing.T, text string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if !strings.Contains(text, part) {
			t.Errorf("got %q, which lacks %q", text, part)
		}
	}
}
