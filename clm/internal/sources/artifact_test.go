// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package sources_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"log/slog"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	containerregistry "github.com/google/go-containerregistry/pkg/registry"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"oras.land/oras-go/v2"
	orasremote "oras.land/oras-go/v2/registry/remote"

	"github.com/component-operator/runtime/clm/internal/releases"
	"github.com/component-operator/runtime/clm/internal/sources"
	"github.com/component-operator/runtime/internal/helm/remote"
)

// layer is a layer of an artifact.
type layer struct{ title, mediaType, content string }

// pusher pushes artifacts to a registry.
type pusher struct {
	*testing.T

	host string
}

func newPusher(t *testing.T) pusher {
	t.Helper()
	silent := slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
	server := httptest.NewServer(containerregistry.New(containerregistry.Logger(silent)))
	t.Cleanup(server.Close)
	return pusher{t, server.Listener.Addr().String()}
}

// push pushes an artifact, and returns the digest of its manifest.
func (p pusher) push(name, tag, configType string, layers ...layer) string {
	p.Helper()
	ctx := p.Context()
	repository, err := orasremote.NewRepository(p.host + "/" + name)
	if err != nil {
		p.Fatal(err)
	}
	repository.PlainHTTP = true
	put := func(content, mediaType string) ocispec.Descriptor {
		pushed, err := oras.PushBytes(ctx, repository, mediaType, []byte(content))
		if err != nil {
			p.Fatal(err)
		}
		return pushed
	}
	config := put(fmt.Sprintf(`{"of": %q}`, name), configType)
	options := oras.PackManifestOptions{ConfigDescriptor: &config, ManifestAnnotations: map[string]string{ocispec.AnnotationCreated: "2026-01-01T00:00:00Z"}}
	for _, layer := range layers {
		pushed := put(layer.content, layer.mediaType)
		if layer.title != "" {
			pushed.Annotations = map[string]string{ocispec.AnnotationTitle: layer.title}
		}
		options.Layers = append(options.Layers, pushed)
	}
	packed, err := oras.PackManifest(ctx, repository, oras.PackManifestVersion1_1, "application/vnd.unknown.artifact.v1", options)
	if err == nil {
		_, err = oras.Tag(ctx, repository, packed.Digest.String(), tag)
	}
	if err != nil {
		p.Fatal(err)
	}
	return packed.Digest.String()
}

const (
	fluxConfig   = "application/vnd.cncf.flux.config.v1+json"
	fluxContent  = "application/vnd.cncf.flux.content.v1.tar+gzip"
	chartConfig  = "application/vnd.cncf.helm.config.v1+json"
	chartContent = "application/vnd.cncf.helm.chart.content.v1.tar+gzip"
	emptyConfig  = ocispec.MediaTypeEmptyJSON
)

// TestArtifacts loads what other tools have pushed.
func TestArtifacts(t *testing.T) {
	t.Parallel()
	p := newPusher(t)
	overlay := files{
		"deploy/base/kustomization.yaml": "resources: [a.yaml]", "deploy/base/a.yaml": configMap("a", "x: z1"),
		"deploy/production/kustomization.yaml": "resources: [../base]\nnamePrefix: my-",
	}
	var plain bytes.Buffer
	archive(t, &plain, &tar.Header{Name: "./", Typeflag: tar.TypeDir}, &tar.Header{Name: "./a.yaml", Typeflag: tar.TypeReg}, configMap("a", "x: z1"),
		&tar.Header{Name: "b.yaml", Linkname: "a.yaml", Typeflag: tar.TypeSymlink})
	digests := map[string]string{
		"flux":  p.push("flux", "1.2.0", fluxConfig, layer{"", fluxContent, overlay.archive(t)}),
		"files": p.push("files", "latest", emptyConfig, layer{"b.yaml", ocispec.MediaTypeImageLayer, configMap("b", "x: z1")}, layer{"a.yml", "text/yaml", configMap("a", "x: z2")}),
		"folder": p.push("folder", "latest", emptyConfig,
			layer{"web", ocispec.MediaTypeImageLayerGzip, chart("web", files{"a.yaml": configMap("{{ .Release.Name }}", "x: {{ .Values.x | quote }}")}).archive(t)}),
		"chart": p.push("chart", "1.2.3", chartConfig, layer{"", chartContent, chart("web", files{"a.yaml": configMap("a", "x: z1")}).archive(t)}),
		"tar":   p.push("tar", "latest", ocispec.MediaTypeImageConfig, layer{"", ocispec.MediaTypeImageLayer, plain.String()}),
	}
	p.push("flux", "1.3.0-rc.1", fluxConfig, layer{"", fluxContent, files{"a.yaml": configMap("other", "x: z1")}.archive(t)})
	for _, test := range []struct {
		reason, reference string
		options           sources.Options
		want              []string
		source            releases.Source
	}{
		{
			"a kustomization of Flux, with a base beside it", "oci://HOST/flux//deploy/production:1.2.0",
			sources.Options{},
			[]string{"my-a: x: z1"},
			releases.Source{Kind: sources.Kustomization, Digest: digests["flux"]},
		},
		{
			"the newest version other than pre-releases, and one file of it", "oci://HOST/flux//deploy/base/a.yaml",
			sources.Options{Remote: remote.Options{Version: "^1"}},
			[]string{"a: x: z1"},
			releases.Source{Kind: sources.Manifests, Digest: digests["flux"]},
		},
		{
			"two files of oras, by name and not by layer", "oci://HOST/files:latest",
			sources.Options{},
			[]string{"a: x: z2", "b: x: z1"},
			releases.Source{Kind: sources.Manifests, Digest: digests["files"]},
		},
		{
			"a chart in a folder of oras, by digest", "oci://HOST/folder//web@" + digests["folder"],
			sources.Options{Set: []string{"x=1"}},
			[]string{`rel: x: "1"`},
			releases.Source{Kind: sources.Chart, Name: "web", Version: "1.2.3", AppVersion: "4.5", Digest: digests["folder"]},
		},
		{
			"a chart that Helm has pushed", "oci://HOST/chart",
			sources.Options{},
			[]string{"a: x: z1"},
			releases.Source{Kind: sources.Chart, Name: "web", Version: "1.2.3", AppVersion: "4.5", Digest: digests["chart"]},
		},
		{
			"an archive that is not compressed, with a link within it", "oci://HOST/tar:latest",
			sources.Options{},
			[]string{"a: x: z1", "a: x: z1"},
			releases.Source{Kind: sources.Manifests, Digest: digests["tar"]},
		},
	} {
		test.options.Remote.PlainHTTP = true
		test.source.Reference = strings.ReplaceAll(test.reference, "HOST", p.host)
		set, err := load(t, "", test.options, test.source.Reference)
		if err != nil {
			t.Errorf("%s: %v", test.reason, err)
			continue
		}
		if diff := cmp.Diff(test.want, generate(t, set, request())); diff != "" {
			t.Errorf("%s: objects (-want +got):\n%s", test.reason, diff)
		}
		if diff := cmp.Diff([]releases.Source{test.source}, set.Sources()); diff != "" {
			t.Errorf("%s: sources (-want +got):\n%s", test.reason, diff)
		}
	}
}

// archive writes an archive: headers, each followed by the content if there is one.
func archive(t *testing.T, into io.Writer, parts ...any) {
	t.Helper()
	writer := tar.NewWriter(into)
	for i, part := range parts {
		header, ok := part.(*tar.Header)
		if !ok {
			continue
		}
		content := ""
		if i+1 < len(parts) {
			content, _ = parts[i+1].(string)
		}
		header.Mode, header.Size = 0o644, int64(len(content))
		if err := writer.WriteHeader(header); err != nil {
			t.Fatal(err)
		}
		if _, err := writer.Write([]byte(content)); err != nil {
			t.Fatal(err)
		}
	}
	if err := writer.Close(); err != nil {
		t.Fatal(err)
	}
}

// compressed returns a compressed archive.
func compressed(t *testing.T, parts []any) string {
	t.Helper()
	var buffer bytes.Buffer
	zipper := gzip.NewWriter(&buffer)
	archive(t, zipper, parts...)
	if err := zipper.Close(); err != nil {
		t.Fatal(err)
	}
	return buffer.String()
}

// TestHostileArtifacts: the author of an artifact neither reads nor writes files of the user, and does not fill the disk.
func TestHostileArtifacts(t *testing.T) {
	t.Parallel()
	p := newPusher(t)
	of := func(parts ...any) layer {
		var buffer bytes.Buffer
		archive(t, &buffer, parts...)
		return layer{"", ocispec.MediaTypeImageLayer, buffer.String()}
	}
	link := func(name, target string) *tar.Header {
		return &tar.Header{Name: name, Linkname: target, Typeflag: tar.TypeSymlink}
	}
	file := func(name string) *tar.Header { return &tar.Header{Name: name, Typeflag: tar.TypeReg} }
	var many []any
	for range 103_000 {
		many = append(many, &tar.Header{Name: "a/", Typeflag: tar.TypeDir})
	}
	chart := layer{"", chartContent, chart("web", nil).archive(t)}
	for _, test := range []struct {
		reason string
		layers []layer
		folder string
		want   string
	}{
		{"a name that leads out", []layer{of(file("../a.yaml"), "x")}, "", "unpacking ../a.yaml: "},
		{"an absolute name", []layer{of(file("/tmp/a.yaml"), "x")}, "", "unpacking /tmp/a.yaml: "},
		{"a title that leads out", []layer{{"../a.yaml", "text/yaml", "x"}}, "", "path escapes from parent"},
		{"a link that leads out", []layer{of(file("a.yaml"), configMap("a", "x: z1"), link("b.yaml", "/etc/hostname"))}, "", "symbolic link b.yaml must not lead out of what is fetched: "},
		{"a link that leads out over another one", []layer{of(file("d/x"), "", link("d/up", ".."), link("d/up/b.yaml", "../etc"))}, "", "must not lead out of what is fetched"},
		{"a file that is written through a link", []layer{of(link("out", "/tmp"), file("out/a.yaml"), "x")}, "", "unpacking out/a.yaml: "},
		{"a file that is none", []layer{of(&tar.Header{Name: "a.yaml", Typeflag: tar.TypeFifo})}, "", "unpacking a.yaml: it is neither a file nor a directory nor a symbolic link"},
		{"too large", []layer{{"", fluxContent, files{"a": strings.Repeat("x", 101<<20)}.archive(t)}}, "", "unpacking a: the files together, each with 1 KiB in addition to its content, are larger than 100 MiB"},
		{"too many", []layer{{"", fluxContent, compressed(t, many)}}, "", "larger than 100 MiB"},
		{"too deep", []layer{of(file(strings.Repeat("a/", 5000)+"a"), "x")}, "", "its name has 10001 bytes; must be at most 4096"},
		{"no such folder", []layer{of(file("a.yaml"), "x")}, "//deploy", "stat deploy: no such file or directory"},
		{"a folder out of it", []layer{of(file("a.yaml"), "x")}, "//../x", "must be oci://HOST/PATH"},
		{"neither a chart nor anything else", []layer{of(file("a.txt"), "x")}, "", "the directory has neither Chart.yaml nor a kustomization file nor files"},
	} {
		p.push("it", "1", emptyConfig, test.layers...)
		_, err := load(t, "", sources.Options{Remote: remote.Options{PlainHTTP: true}}, "oci://"+p.host+"/it"+test.folder+":1")
		if err == nil || !strings.Contains(err.Error(), test.want) || strings.Contains(err.Error(), "clm-source-") {
			t.Errorf("%s: got error %v, want one with %q", test.reason, err, test.want)
		}
	}
	p.push("it", "1", chartConfig, chart)
	_, err := load(t, "", sources.Options{Remote: remote.Options{PlainHTTP: true}}, "oci://"+p.host+"/it//web:1")
	expectError(t, err, "", "it is a chart, which is used as a whole; leave out //web")
	_, err = load(t, "", sources.Options{Remote: remote.Options{PlainHTTP: true}}, "oci://"+p.host+"/it")
	expectError(t, err, "", "there is no version other than pre-releases; specify a version or a tag; available versions: none")
}
