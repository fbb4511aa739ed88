// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package sources_test

import (
	"bytes"
	"compress/zlib"
	"context"
	"encoding/binary"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/component-operator/runtime/clm/internal/releases"
	"github.com/component-operator/runtime/clm/internal/sources"
	"github.com/component-operator/runtime/internal/helm/remote"
)

// repository is a Git repository.
type repository struct {
	*testing.T

	folder string
}

func newRepository(t *testing.T) repository {
	t.Helper()
	r := repository{t, t.TempDir()}
	r.git("init", "--quiet", "--initial-branch=main", ".")
	return r
}

// git runs git in the repository, and returns what it writes.
func (r repository) git(args ...string) string {
	r.Helper()
	command := exec.CommandContext(r.Context(), "git", append([]string{"-c", "user.name=me", "-c", "user.email=me@example.com", "-c", "protocol.file.allow=always"}, args...)...)
	command.Dir = r.folder
	out, err := command.CombinedOutput()
	if err != nil {
		r.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return strings.TrimSpace(string(out))
}

// commit adds files, and returns the commit.
func (r repository) commit(f files) string {
	r.Helper()
	for name, content := range f {
		path := filepath.Join(r.folder, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(content), 0o600)); err != nil {
			r.Fatal(err)
		}
	}
	r.git("add", "--all")
	r.git("commit", "--quiet", "--message=x")
	return r.git("rev-parse", "HEAD")
}

// reference returns a reference to the repository.
func (r repository) reference(end string) string { return "git::file://" + r.folder + end }

func TestGit(t *testing.T) {
	t.Parallel()
	r := newRepository(t)
	first := r.commit(merged(chart("charts/web", files{"a.yaml": configMap("{{ .Release.Name }}", "x: {{ .Values.x | quote }}")}), files{
		"base/kustomization.yaml": "resources: [a.yaml]", "base/a.yaml": configMap("a", "x: z1"),
		"overlay/kustomization.yaml": "resources: [../base]\nnamePrefix: my-",
	}))
	r.git("tag", "light")
	r.git("tag", "--annotate", "--message=x", "v1.0+x")
	r.git("switch", "--quiet", "--create", "feature/a")
	branch := r.commit(files{"base/a.yaml": configMap("a", "x: z2")})
	r.git("switch", "--quiet", "main")
	last := r.commit(files{"base/a.yaml": configMap("a", "x: z3")})
	for _, test := range []struct {
		reason, reference string
		want              []string
		source            releases.Source
	}{
		{"a chart of the default branch", "//charts/web", []string{`rel: x: "1"`}, releases.Source{Kind: sources.Chart, Name: "web", Version: "1.2.3", AppVersion: "4.5", Digest: last}},
		{"a kustomization with a base beside it", "//overlay", []string{"my-a: x: z3"}, releases.Source{Kind: sources.Kustomization, Digest: last}},
		{"one file", "//base/a.yaml?ref=main", []string{"a: x: z3"}, releases.Source{Kind: sources.Manifests, Digest: last}},
		{"a branch with a slash", "//overlay?ref=feature/a", []string{"my-a: x: z2"}, releases.Source{Kind: sources.Kustomization, Digest: branch}},
		{"a tag", "//overlay?ref=light", []string{"my-a: x: z1"}, releases.Source{Kind: sources.Kustomization, Digest: first}},
		{"a tag with a message", "//overlay?ref=v1.0+x", []string{"my-a: x: z1"}, releases.Source{Kind: sources.Kustomization, Digest: first}},
		{"a commit", "//overlay?ref=" + first, []string{"my-a: x: z1"}, releases.Source{Kind: sources.Kustomization, Digest: first}},
	} {
		test.source.Reference = r.reference(test.reference)
		references := []string{test.source.Reference, "-"} // the other takes no values
		set, err := load(t, "", sources.Options{Stdin: strings.NewReader(configMap("z", "x: z"))}, references...)
		if test.source.Kind == sources.Chart {
			set, err = load(t, "", sources.Options{Set: []string{"x=1"}, Stdin: strings.NewReader(configMap("z", "x: z"))}, references...)
		}
		if err != nil {
			t.Errorf("%s: %v", test.reason, err)
			continue
		}
		if diff := cmp.Diff(append(test.want, "z: x: z"), generate(t, set, request())); diff != "" {
			t.Errorf("%s: objects (-want +got):\n%s", test.reason, diff)
		}
		if diff := cmp.Diff(test.source, set.Sources()[0]); diff != "" {
			t.Errorf("%s: source (-want +got):\n%s", test.reason, diff)
		}
	}
}

func TestGitErrors(t *testing.T) {
	t.Parallel()
	r := newRepository(t)
	commit := r.commit(merged(files{
		"a/a.yaml": configMap("a", "x: z1"), "broken/a.yaml": "a: [\n", "large/a.yaml": "",
		"c/Chart.yaml":         "apiVersion: v2\nname: web\nversion: 1.0.0\ndependencies: [{name: db, version: 1.0.0}]\n",
		"k/kustomization.yaml": "resources: [../../../../../../../../tmp]",
	}))
	if err := errors.Join(os.Symlink("/etc/hostname", filepath.Join(r.folder, "a/b.yaml")), os.Symlink("nothing", filepath.Join(r.folder, "dangling"))); err != nil {
		t.Fatal(err)
	}
	r.git("switch", "--quiet", "--create", "link")
	r.commit(nil)
	r.git("switch", "--quiet", "--create", "large", "main")
	if err := os.Truncate(filepath.Join(r.folder, "large/a.yaml"), 101<<20); err != nil {
		t.Fatal(err)
	}
	r.commit(nil)
	for _, test := range []struct {
		reason, reference string
		options           remote.Options
		want              string
	}{
		{"no such branch", r.reference("?ref=none"), remote.Options{}, "there is no branch or tag none in it"},
		{"a short commit", r.reference("?ref=" + commit[:8]), remote.Options{}, "there is no branch or tag " + commit[:8] + " in it; a commit must be given with all of its digits, usually 40"},
		{"no such commit", r.reference("?ref=" + strings.Repeat("1", 40)), remote.Options{}, "not our ref 1111111111"},
		{"no such folder", r.reference("//none?ref=main"), remote.Options{}, "stat none: no such file or directory"},
		{"no such repository", r.reference("/none"), remote.Options{}, "git fetch: exit status 128: fatal: "},
		{"a link that leads out", r.reference("//a?ref=link"), remote.Options{}, "symbolic link a/b.yaml must not lead out of what is fetched"},
		{"a large file", r.reference("?ref=large"), remote.Options{}, "it is larger than 100 MiB"},
		{"a base that leads out", r.reference("//k?ref=main"), remote.Options{}, "building kustomization k: accumulating resources: "},
		{"files are named as in the repository", r.reference("//broken?ref=main"), remote.Options{}, "?ref=main: parsing broken/a.yaml: document 1: "},
		{"dependencies are not fetched", r.reference("//c?ref=main"), remote.Options{}, "missing in folder charts: db 1.0.0; the chart was published without them"},
		{"an option", r.reference("?ref=--upload-pack=x"), remote.Options{}, "must be git::URL//DIRECTORY?ref=REF, where URL begins with https, ssh or file, and REF is a branch, a tag or a full commit"},
		{"a pattern", r.reference("?ref=refs/*"), remote.Options{}, "must be git::URL"},
		{"nothing", r.reference("?ref="), remote.Options{}, "must be git::URL"},
		{"parameters of others", r.reference("?ref=main&depth=1"), remote.Options{}, "must be git::URL"},
		{"a folder above", r.reference("//../a"), remote.Options{}, "must be git::URL"},
		{"a program", "git::ext::sh -c true", remote.Options{}, "it does not name a host"},
		{"another program", "git::ext://sh", remote.Options{}, "must be git::URL"},
		{"a host that is an option", "git::ssh://-oProxyCommand=true/a", remote.Options{}, "strange hostname"},
		{"a password", "git::ssh://me:pass@example.com/a.git", remote.Options{}, "loading git::ssh://...@example.com/a.git: it contains a user name or a password"},
		{"a password for another source", r.reference(""), remote.Options{Username: "me", Password: "pass"}, "--username and --password are not for Git"},
		{"no encryption", "git::http://example.com/a.git", remote.Options{}, "http://example.com is not encrypted; --plain-http allows that"},
		{"a version", r.reference("//a?ref=main"), remote.Options{Version: "1.0.0"}, "version 1.0.0 is given, but each source has a version or takes none"},
	} {
		set, err := load(t, "", sources.Options{Remote: test.options}, test.reference)
		if err == nil {
			_, err = set.Generate(t.Context(), request())
		}
		if err == nil || !strings.Contains(err.Error(), test.want) || strings.Contains(err.Error(), "pass@") || strings.Contains(err.Error(), "clm-source-") {
			t.Errorf("%s: got error %v, want one with %q", test.reason, err, test.want)
		}
	}
}

// TestGitRunsNothing: neither the repository nor the configuration of the user has a program run, or changes files.
//
//nolint:paralleltest // git is configured by environment variables
func TestGitRunsNothing(t *testing.T) {
	marker := filepath.Join(t.TempDir(), "marker")
	program := "#!/bin/sh\ntouch " + marker + "\ncat\n"
	home := files{"templates/hooks/post-checkout": program, "hooks/reference-transaction": program, "hooks/post-checkout": program, "run": program, "attributes": "*.yaml filter=run"}.write(t)
	for _, name := range []string{"templates/hooks/post-checkout", "hooks/reference-transaction", "hooks/post-checkout", "run"} {
		if err := os.Chmod(filepath.Join(home, name), 0o700); err != nil { //nolint:gosec // it is a program
			t.Fatal(err)
		}
	}
	module, r := newRepository(t), newRepository(t)
	module.commit(files{"a.yaml": configMap("module", "x: z1")})
	r.commit(files{
		".gitattributes": "*.yaml filter=run text eol=crlf ident export-subst\nb.yaml export-ignore\n",
		"a.yaml":         configMap("a", `x: "$Id$ $Format:%H$"`), "b.yaml": configMap("b", "x: z1"),
	})
	r.git("submodule", "--quiet", "add", "file://"+module.folder, "module")
	want := r.commit(nil)
	config := fmt.Sprintf("[core]\nhooksPath = %[1]s/hooks\nattributesFile = %[1]s/attributes\nautocrlf = true\n[init]\ntemplateDir = %[1]s/templates\n"+
		"[filter \"run\"]\nsmudge = %[1]s/run\nclean = %[1]s/run\nrequired = true\n[submodule]\nrecurse = true\n[protocol]\nallow = always\n[fetch]\nrecurseSubmodules = true\n", home)
	if err := os.WriteFile(filepath.Join(home, "config"), []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("GIT_CONFIG_GLOBAL", filepath.Join(home, "config"))
	t.Setenv("GIT_DIR", module.folder) // as in a hook
	t.Setenv("GIT_OBJECT_DIRECTORY", marker)
	set, err := load(t, "", sources.Options{}, r.reference(""))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{`a: x: $Id$ $Format:%H$`, "b: x: z1"}, generate(t, set, request())); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got := set.Sources()[0].Digest; got != want {
		t.Errorf("got commit %s, want %s", got, want)
	}
	if _, err := os.Stat(marker); err == nil {
		t.Error("a program has run, or objects are stored elsewhere")
	}
	_, err = load(t, "", sources.Options{}, r.reference("//module"))
	expectError(t, err, "", "stat module: no such file or directory")
}

// endlessGit serves a repository whose commit never ends. It calls begun when it has sent some of it.
func endlessGit(begun func(sent int)) http.HandlerFunc {
	line := func(text string) string { return fmt.Sprintf("%04x%s", len(text)+4, text) }
	commit := strings.Repeat("1", 40)
	return func(writer http.ResponseWriter, request *http.Request) {
		if strings.HasSuffix(request.URL.Path, "/info/refs") {
			writer.Header().Set("Content-Type", "application/x-git-upload-pack-advertisement")
			fmt.Fprint(writer, line("# service=git-upload-pack\n"), "0000", line(commit+" HEAD\x00shallow side-band-64k\n"), "0000")
			return
		}
		asked, _ := io.ReadAll(request.Body)
		writer.Header().Set("Content-Type", "application/x-git-upload-pack-result")
		fmt.Fprint(writer, line("shallow "+commit), "0000")
		if !bytes.Contains(asked, []byte("done")) {
			return
		}
		header := binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32([]byte("\x01PACK"), 2), 1<<16)
		fmt.Fprint(writer, line("NAK\n"), line(string(header)))
		const size = 60_000
		content := make([]byte, size)
		random := rand.NewChaCha8([32]byte{})
		var err error
		for sent := 0; err == nil; sent += size {
			_, _ = random.Read(content)
			var object bytes.Buffer
			object.WriteString("\x01")
			rest := size >> 4
			object.WriteByte(3<<4 | size&15 | 0x80) // a blob of that size
			for ; rest >= 0x80; rest >>= 7 {
				object.WriteByte(byte(rest&0x7f | 0x80))
			}
			object.WriteByte(byte(rest))
			zipper, _ := zlib.NewWriterLevel(&object, zlib.NoCompression)
			_, _ = zipper.Write(content)
			_ = zipper.Close()
			_, err = fmt.Fprint(writer, line(object.String()))
			begun(sent)
		}
	}
}

// TestEndlessGit: a fetch ends with its context, including all its processes, or when it is too large.
func TestEndlessGit(t *testing.T) {
	t.Parallel()
	for _, interrupted := range []bool{true, false} {
		ctx, interrupt := context.WithCancel(t.Context())
		gone := make(chan struct{})
		handler := endlessGit(func(sent int) {
			if interrupted && sent > 1<<20 {
				interrupt()
			}
		})
		server := httptest.NewServer(http.HandlerFunc(func(writer http.ResponseWriter, request *http.Request) {
			handler(writer, request)
			if request.Method == http.MethodPost && request.Context().Err() != nil {
				close(gone)
			}
		}))
		_, err := sources.Load(ctx, []string{"git::" + server.URL + "/a.git"}, sources.Options{Remote: remote.Options{PlainHTTP: true}})
		interrupt()
		switch {
		case interrupted && !errors.Is(err, context.Canceled):
			t.Errorf("got error %v, want that of the context", err)
		case !interrupted && (err == nil || !strings.Contains(err.Error(), "without its history, it is larger than 100 MiB: git fetch: ")):
			t.Errorf("got error %v, want one about the size", err)
		}
		<-gone // no process goes on to fetch
		server.Close()
	}
}

// TestGitCertificates: certificates of servers are checked, as for charts.
func TestGitCertificates(t *testing.T) {
	t.Parallel()
	server := httptest.NewUnstartedServer(endlessGit(nil))
	server.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
	server.StartTLS()
	t.Cleanup(server.Close)
	trusted := filepath.Join(t.TempDir(), "ca.pem")
	certificate := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	if err := os.WriteFile(trusted, certificate, 0o600); err != nil {
		t.Fatal(err)
	}
	for file, want := range map[string]string{"": "certificate", trusted: "there is no branch or tag none in it"} {
		_, err := load(t, "", sources.Options{Remote: remote.Options{CAFile: file}}, "git::"+server.URL+"/a.git?ref=none")
		expectError(t, err, "", want)
	}
}
