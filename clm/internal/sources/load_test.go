// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package sources_test

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/component-operator/runtime/clm/internal/releases"
	"github.com/component-operator/runtime/clm/internal/sources"
)

func TestLoad(t *testing.T) {
	t.Parallel()
	kustomization := files{
		"k/kustomization.yaml": "resources: [a.yaml]\nnamePrefix: my-\n",
		"k/a.yaml":             configMap("a", "x: '{{ .x }}'"),
	}
	folder := files{
		"m/b.yml": configMap("b", "x: '{{ .Values.x }}'"), "m/a.yaml": configMap("a", "p: q"), "m/README.md": "# no manifest",
		"m/c.json": `{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}}` + "\n" +
			`{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "d"}}`,
		"m/below/z.yaml": configMap("z", "p: q"),
	}
	webChart := chart("c", files{"a.yaml": configMap("{{ .Release.Name }}", "x: {{ .Values.x | quote }}")})
	cases := map[string]struct {
		reason     string
		files      files
		stdin      string
		options    sources.Options
		references []string
		want       []string
		sources    []releases.Source
	}{
		"Chart": {
			reason: "a folder with Chart.yaml is a chart; it is given the values", files: webChart,
			options: sources.Options{Set: []string{"x=1"}}, references: []string{"c"}, want: []string{`rel: x: "1"`},
			sources: []releases.Source{{Reference: "ROOT/c", Kind: sources.Chart, Name: "web", Version: "1.2.3", AppVersion: "4.5"}},
		},
		"Package": {
			reason: "a compressed file is a packaged chart, whatever its name is", files: files{"package": webChart.archive(t)},
			options: sources.Options{Set: []string{"x=1"}}, references: []string{"package"}, want: []string{`rel: x: "1"`},
			sources: []releases.Source{{Reference: "ROOT/package", Kind: sources.Chart, Name: "web", Version: "1.2.3", AppVersion: "4.5"}},
		},
		"Kustomization": {
			reason: "what looks like a template is text, unless templates are asked for", files: kustomization,
			references: []string{"k"}, want: []string{"my-a: x: '{{ .x }}'"},
			sources: []releases.Source{{Reference: "ROOT/k", Kind: sources.Kustomization}},
		},
		"ComponentConfig": {
			reason: "a folder may ask for templates itself; it needs no kustomization file then, and its files below belong to it",
			files: files{
				"k/.component-config.yaml": "values: {x: 10000000}", "k/below/a.yaml": configMap("a", "x: '{{ .x }}'", "z: '{{ .z }}'"), "v.yaml": "z: 20000000\n",
			},
			options: sources.Options{ValuesFiles: []string{"v.yaml"}}, references: []string{"k"}, want: []string{`a: x: "10000000" z: "20000000"`},
			sources: []releases.Source{{Reference: "ROOT/k", Kind: sources.Kustomization}},
		},
		"Folder": {
			reason: "any other folder is its manifests, by file name, and not those below; nothing of it is a template", files: folder,
			references: []string{"m"}, want: []string{"a: p: q", "b: x: '{{ .Values.x }}'", "c: null", "d: null"},
			sources: []releases.Source{{Reference: "ROOT/m", Kind: sources.Manifests}},
		},
		"File": {
			reason: "a file may have several documents, empty ones among them, and lists", files: files{"m.txt": "# nothing\n---\n" + configMap("a", "p: q") +
				"---\n---\napiVersion: v1\nkind: List\nitems:\n- apiVersion: v1\n  kind: ConfigMapList\n  items:\n  - metadata: {name: b}\n    data: {r: s}\n"},
			references: []string{"m.txt"}, want: []string{"a: p: q", "b: r: s"},
			sources: []releases.Source{{Reference: "ROOT/m.txt", Kind: sources.Manifests}},
		},
		"Stdin": {
			reason: "- is standard input", stdin: configMap("a", "p: q"), references: []string{"-"}, want: []string{"a: p: q"},
			sources: []releases.Source{{Reference: "-", Kind: sources.Manifests}},
		},
		"Several": {
			reason: "objects come in the order of the references, and values are for those that take some", files: merged(webChart, folder),
			options: sources.Options{Set: []string{"x=1"}}, references: []string{"m/c.json", "c", "m/a.yaml"},
			want: []string{"c: null", "d: null", `rel: x: "1"`, "a: p: q"},
			sources: []releases.Source{
				{Reference: "ROOT/m/c.json", Kind: sources.Manifests},
				{Reference: "ROOT/c", Kind: sources.Chart, Name: "web", Version: "1.2.3", AppVersion: "4.5"},
				{Reference: "ROOT/m/a.yaml", Kind: sources.Manifests},
			},
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			root := c.files.write(t)
			c.options.Stdin = strings.NewReader(c.stdin)
			set := mustLoad(t, root, c.options, c.references...)
			if diff := cmp.Diff(c.want, generate(t, set, request())); diff != "" {
				t.Errorf("%s: objects (-want +got):\n%s", c.reason, diff)
			}
			got := set.Sources()
			for i := range got {
				got[i].Reference = strings.ReplaceAll(got[i].Reference, root, "ROOT")
			}
			if diff := cmp.Diff(c.sources, got); diff != "" {
				t.Errorf("%s: sources (-want +got):\n%s", c.reason, diff)
			}
		})
	}
}

func TestLoadErrors(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason     string
		files      files
		stdin      string
		options    sources.Options
		references []string
		want       []string
	}{
		"Missing": {reason: "a path has to exist", references: []string{"c"}, want: []string{"loading ROOT/c: ", "no such file or directory"}},
		"Dependencies": {
			reason: "nothing is fetched for a chart, so the user is told how to", references: []string{"c"},
			files: files{"c/Chart.yaml": "apiVersion: v2\nname: web\nversion: 1.0.0\ndependencies: [{name: db, version: 1.0.0}]\n"},
			want:  []string{"loading ROOT/c: ", "chart web: ", "missing in folder charts: db 1.0.0; to put them there: clm dependency build ROOT/c"},
		},
		"Broken": {
			reason: "the place is named", files: files{"m/a.yaml": configMap("a", "p: q") + "---\na: [\n"}, references: []string{"m"},
			want: []string{"loading ROOT/m: parsing ROOT/m/a.yaml: document 2: ", "line"},
		},
		"NoSeparator": {
			reason: "of keys that are there twice the last one counts, so that the first object would be lost", references: []string{"m.yaml"},
			files: files{"m.yaml": configMap("a", "p: q") + "---\n" + configMap("b", "p: q") + configMap("c", "p: |\n    kind: text")},
			want:  []string{"loading ROOT/m.yaml: parsing ROOT/m.yaml: document 2: line ", `key "apiVersion" is already set on line `},
		},
		"KeyOccursTwice": {
			reason: "of keys that are there twice the last one counts, so that what the first one has would be deleted", references: []string{"m.yaml"},
			files: files{"m.yaml": configMap("a", "p: q") + "---\n" + configMap("b", "p: q") + "data: {r: s}\n"},
			want:  []string{"parsing ROOT/m.yaml: document 2: line ", `key "data" is already set on line `},
		},
		"SecondValue": {
			reason: "decoders take the first value of a document only", references: []string{"m.yaml"},
			files: files{"m.yaml": configMap("a", "p: q") + "---\n{apiVersion: v1, kind: ConfigMap, metadata: {name: b}}\n\n{apiVersion: v1, kind: ConfigMap, metadata: {name: c}}\n"},
			want:  []string{"parsing ROOT/m.yaml: document 2: line ", "another value begins here"},
		},
		"NoKind": {
			reason: "what a document says may be confidential", files: files{"m.yaml": "password: secret\n"}, references: []string{"m.yaml"},
			want: []string{"parsing ROOT/m.yaml: document 1: apiVersion of object <no name> is missing"},
		},
		"StdinTwice": {
			reason: "standard input is gone when it was read", stdin: configMap("a", "p: q"), references: []string{"-"},
			options: sources.Options{ValuesFiles: []string{"-"}}, want: []string{"loading standard input: standard input can be read only once"},
		},
		"ValuesForNobody": {
			reason: "the user believes that values have an effect", files: files{"m.yaml": configMap("a", "p: q"), "k/kustomization.yaml": "namePrefix: a-\n"},
			references: []string{"m.yaml", "k"}, options: sources.Options{SetString: []string{"x=1"}}, want: []string{"values are given, but no source takes any"},
		},
		"ValuesRemote": {
			reason: "values tell secrets, and are not fetched", references: []string{"-"},
			options: sources.Options{ValuesFiles: []string{"https://example.com/v.yaml"}}, want: []string{"values must be in a local file"},
		},
		"SetBroken": {
			reason: "the path is named, but not the value", references: []string{"-"},
			options: sources.Options{Set: []string{"a[x]=secret"}}, want: []string{"parsing --set a[x]: "},
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			root := c.files.write(t)
			c.options.Stdin = strings.NewReader(c.stdin)
			_, err := load(t, root, c.options, c.references...)
			expectError(t, err, root, c.want...)
			if err != nil && strings.Contains(err.Error(), "secret") {
				t.Errorf("%s: the error shows a secret: %v", c.reason, err)
			}
		})
	}
}

// TestLoadFromAPipe reads from a pipe that no process writes to.
func TestLoadFromAPipe(t *testing.T) {
	t.Parallel()
	for _, options := range []sources.Options{{}, {ValuesFiles: []string{"-"}}} {
		reader, writer := io.Pipe()
		ctx, interrupt := context.WithCancel(t.Context())
		options.Stdin = reading{Reader: reader, begun: interrupt}
		if _, err := sources.Load(ctx, []string{"-"}, options); !errors.Is(err, context.Canceled) {
			t.Errorf("want the load to end with its context, got %v", err)
		}
		_ = writer.Close()
	}
}

// reading tells when it is read from.
type reading struct {
	io.Reader

	begun func()
}

func (r reading) Read(into []byte) (int, error) {
	r.begun()
	return r.Reader.Read(into)
}
