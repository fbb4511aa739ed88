// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"bytes"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ProtonMail/go-crypto/openpgp"
	containerregistry "github.com/google/go-containerregistry/pkg/registry"
)

// secureRegistry is a registry with TLS that demands user name "me" and password "secret".
type secureRegistry struct{ host, caFile string }

func newSecureRegistry(t *testing.T) secureRegistry {
	t.Helper()
	silent := slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
	handler := containerregistry.New(containerregistry.Logger(silent))
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(writer http.ResponseWriter, request *http.Request) {
		if username, password, _ := request.BasicAuth(); username != "me" || password != "secret" {
			writer.Header().Set("WWW-Authenticate", `Basic realm="test"`)
			http.Error(writer, "who are you?", http.StatusUnauthorized)
			return
		}
		handler.ServeHTTP(writer, request)
	}))
	server.Config.ErrorLog = silent
	server.StartTLS()
	t.Cleanup(server.Close)
	r := secureRegistry{host: server.Listener.Addr().String(), caFile: filepath.Join(t.TempDir(), "ca.pem")}
	certificate := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	if err := os.WriteFile(r.caFile, certificate, 0o600); err != nil {
		t.Fatal(err)
	}
	return r
}

// write writes files in a new folder.
func (h *helmHome) write(files map[string]string) string {
	h.Helper()
	folder := filepath.Join(h.TempDir(), "web")
	for name, content := range files {
		path := filepath.Join(folder, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(content), 0o600)); err != nil {
			h.Fatal(err)
		}
	}
	return folder
}

func (h *helmHome) read(path string) string {
	h.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		h.Fatal(err)
	}
	return string(content)
}

// keys writes a keyring with a private key, whose passphrase is "open", and one with the public key.
func (h *helmHome) keys(name string) (private, public string) {
	h.Helper()
	private, public = filepath.Join(h.TempDir(), "private.gpg"), filepath.Join(h.TempDir(), "public.gpg")
	var own, known bytes.Buffer
	key, err := openpgp.NewEntity(name, "", name+"@example.com", nil)
	if err != nil {
		h.Fatal(err)
	}
	err = errors.Join(key.Serialize(&known), key.EncryptPrivateKeys([]byte("open"), nil), key.SerializePrivateWithoutSigning(&own, nil),
		os.WriteFile(private, own.Bytes(), 0o600), os.WriteFile(public, known.Bytes(), 0o600))
	if err != nil {
		h.Fatal(err)
	}
	return private, public
}

// with runs clm with an input, and without a cluster.
func (h *helmHome) with(stdin string, args ...string) result {
	h.Helper()
	var stdout, stderr bytes.Buffer
	code := run(h.Context(), streams{in: strings.NewReader(stdin), out: &stdout, err: &stderr}, append(args, "--kubeconfig", os.DevNull))
	return result{code: code, stdout: stdout.String(), stderr: stderr.String()}
}

// TestChartsInARegistry takes a chart from its folder to a registry and back, signed.
//
//nolint:paralleltest // Helm is told by environment variables where its files are
func TestChartsInARegistry(t *testing.T) {
	h, r := newHelmHome(t), newSecureRegistry(t)
	private, public := h.keys("release")
	chart := h.write(map[string]string{"Chart.yaml": "apiVersion: v2\nname: web\nversion: 1.0.0\n", "values.yaml": "a: 1 # one\n", "templates/a.yaml": configMap("a", "1")})
	dist, passphrase := filepath.Join(t.TempDir(), "dist"), filepath.Join(h.write(map[string]string{"passphrase": "open\nrest\n"}), "passphrase")
	file, charts, trust := filepath.Join(dist, "web-1.1.0.tgz"), "oci://"+r.host+"/charts", []string{"--ca-file", r.caFile}
	given := func(args ...string) []string { return append(args, trust...) }

	signed := []string{"package", chart, "--version", "1.1.0", "-d", dist, "--sign", "--key", "release", "--keyring", private, "--passphrase-file"}
	h.expect("it is packaged and signed", append(signed, passphrase), "Saved: "+file)

	h.expectError("nobody is known", given("push", file, charts), `run "clm registry login `+r.host+`"`)
	login := given("registry", "login", r.host, "-u", "me", "--password-stdin")
	if got := h.with("dragon\n", login...); got.code != 1 || !strings.Contains(got.stderr, "401") || strings.Contains(got.stderr, "dragon") {
		t.Errorf("want a wrong password to be refused, got %d, %s", got.code, got.stderr)
	}
	if content, err := os.ReadFile(os.Getenv("HELM_REGISTRY_CONFIG")); err == nil && strings.Contains(string(content), r.host) {
		t.Errorf("want nothing to be stored, got %s", content)
	}
	if got := h.with("secret\n", login...); got.code != 0 || got.stdout != "Login Succeeded\n" {
		t.Fatalf("want a login, got %d, %s%s", got.code, got.stdout, got.stderr)
	}
	if stored := h.read(os.Getenv("HELM_REGISTRY_CONFIG")); !strings.Contains(stored, base64.StdEncoding.EncodeToString([]byte("me:secret"))) {
		t.Errorf("want credentials where Helm stores them, got %s", stored)
	}

	pushed := h.clm(given("push", file, charts)...)
	reference, digest, _ := strings.Cut(strings.TrimSpace(pushed.stdout), "\nDigest: ")
	if pushed.code != 0 || reference != "Pushed: "+r.host+"/charts/web:1.1.0" {
		t.Fatalf("want it to be pushed, got %s%s", pushed.stdout, pushed.stderr)
	}
	h.expect("once more, the same", given("push", file, charts), digest)
	h.expect("it is shown", given("show", "values", charts+"/web"), "a: 1 # one")
	h.expect("a version is chosen", given("show", "chart", charts+"/web", "--version", "^1.0"), "version: 1.1.0")

	got := filepath.Join(t.TempDir(), "new", "folder")
	pull := given("pull", charts+"/web@"+digest, "-d", got)
	h.expect("it is pulled", pull, "Saved: "+filepath.Join(got, "web-1.1.0.tgz")+" Digest: "+digest)
	if h.read(filepath.Join(got, "web-1.1.0.tgz")) != h.read(file) {
		t.Error("want the file that was pushed")
	}
	h.expectError("a file is not overwritten", pull, filepath.Join(got, "web-1.1.0.tgz")+" exists already; it is not overwritten\n")
	h.expect("it is unpacked", append(pull, "--untar", "--untardir", "in"), "Saved: "+filepath.Join(got, "in", "web"))
	if content := h.read(filepath.Join(got, "in", "web", "values.yaml")); content != "a: 1 # one\n" {
		t.Errorf("want the files as they are, got %q", content)
	}
	h.expectError("a folder is not overwritten", append(pull, "--untar", "--untardir", "in"), "exists already; it is not overwritten")

	parent := filepath.Join(t.TempDir(), "parent")
	h.declare(parent, "1.1.0", charts)
	content := strings.Replace(h.read(filepath.Join(parent, "Chart.yaml")), "name: db", "name: web", 1)
	if err := os.WriteFile(filepath.Join(parent, "Chart.yaml"), []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	_, other := h.keys("stranger")
	h.expectError("a signature of others", given("dependency", "build", parent, "--verify", "--keyring", other), "verifying the signature of web-1.1.0.tgz")
	h.expect("the signature was pushed, and is valid", given("dependency", "build", parent, "--verify", "--keyring", public), "web 1.1.0")

	verified := func(keyring string, sources ...string) []string {
		return given(append(append([]string{"template", "web"}, sources...), "--verify", "--keyring", keyring)...)
	}
	h.expectError("a source with a signature of others", verified(other, charts+"/web"), "verifying the signature of web-1.1.0.tgz")
	h.expect("a source with a valid signature", verified(public, charts+"/web"), "name: a")
	h.expect("a package on this machine", verified(public, file), "name: a")
	h.expectError("a folder", verified(public, chart), "unpacked charts cannot be verified")
	h.expectError("standard input", verified(public, file, "-"), "loading standard input: --verify demands a signature, but only packaged charts, and charts and artifacts in registries, can have one")
	if err := os.WriteFile(file, append([]byte(h.read(file)), 0), 0o600); err != nil {
		t.Fatal(err)
	}
	h.expectError("it was changed", verified(public, file), "sha256 sum does not match")

	h.expect("out", []string{"registry", "logout", r.host}, "Removing login credentials for "+r.host)
	h.expectError("nobody is known any more", given("show", "chart", charts+"/web"), "user name and password are missing or wrong")
	h.expect("credentials for one command", given("show", "chart", charts+"/web", "--username", "me", "--password", "secret"), "name: web")
}

// TestShow shows each part of charts of all kinds, and refuses what is none.
//
//nolint:paralleltest // Helm is told by environment variables where its files are
func TestShow(t *testing.T) {
	h := newHelmHome(t, "2.0.0", "1.0.0")
	chart := h.write(map[string]string{
		"Chart.yaml":  "apiVersion: v2\nname: web\nversion: 1.0.0\ntype: library\ndependencies: [{name: db, version: 1.0.0, repository: '@shop'}]\n",
		"values.yaml": "a: 1\n", "README.md": "# Web\n", "crds/b.yaml": "kind: B\n", "crds/a.yaml": "---\nkind: A\n",
	})
	const metadata = "apiVersion: v2\ndependencies:\n- name: db\n  repository: '@shop'\n  version: 1.0.0\nname: web\ntype: library\nversion: 1.0.0\n\n"
	for part, want := range map[string]string{
		"chart": metadata, "values": "a: 1\n\n", "readme": "# Web\n\n", "crds": "---\nkind: A\n\nkind: B\n\n",
		"all": metadata + "---\na: 1\n\n---\n# Web\n\n---\nkind: A\n\nkind: B\n\n",
	} {
		if got := h.clm("show", part, chart); got.code != 0 || got.stdout != want {
			t.Errorf("%s: want %q, got %q%s", part, want, got.stdout, got.stderr)
		}
	}
	h.expect("nothing is shown of what is not there", []string{"show", "readme", "shop/db", "--plain-http"}, "")
	h.expect("a chart in a repository", []string{"inspect", "chart", h.url + "/#db:1.0.0", "--plain-http", "--username", "me", "--password", "secret"}, "version: 1.0.0")
	for _, test := range []struct {
		reason string
		args   []string
		want   string
	}{
		{"a kustomization", []string{h.write(map[string]string{"kustomization.yaml": "resources: []\n"})}, "Chart.yaml file is missing"},
		{"manifests", []string{filepath.Join(chart, "crds", "a.yaml")}, "neither a folder nor a gzip-compressed archive"},
		{"nothing", []string{"none"}, "none: no such file or directory"},
		{"an unknown repository", []string{"none/db"}, "nor is it REPO/CHART: there is no repository none; known repositories: away, shop; to add it: clm repo add none URL\n"},
		{"a folder has one version", []string{chart, "--version", "1"}, "version 1 is given, but the chart has a version already"},
		{"whatever a URL leads to", []string{h.url + "/index.yaml", "--plain-http", "--username", "me", "--password", "secret"}, "nor a gzip-compressed archive"},
		{"a flag about the cluster", []string{chart, "--insecure-skip-tls-verify"}, "is about the API server"},
	} {
		h.expectError(test.reason, append([]string{"show", "values"}, test.args...), test.want)
	}
	h.expectError("what is here already", []string{"pull", chart}, "to package a chart: clm package")
}

// TestPackage packages charts that lack something.
//
//nolint:paralleltest // Helm is told by environment variables where its files are
func TestPackage(t *testing.T) {
	h := newHelmHome(t, "1.0.0")
	chart, dist := filepath.Join(t.TempDir(), "chart"), t.TempDir()
	h.declare(chart, "^1", "@shop")
	h.expectError("a dependency is missing", []string{"package", chart, "-d", dist}, "missing in folder charts: db ^1; \"clm dependency build\" puts them there\n")
	h.expect("it is fetched", []string{"package", chart, "-d", dist, "-u", "--plain-http", "--app-version", "7"}, "Saved: "+filepath.Join(dist, "web-1.0.0.tgz"))
	h.expect("it is in the package", []string{"dependency", "list", filepath.Join(dist, "web-1.0.0.tgz")}, "db ^1 1.0.0 1.0.0 @shop ok")
	h.expect("so is the version of the application", []string{"show", "chart", filepath.Join(dist, "web-1.0.0.tgz")}, `appVersion: "7"`)
	if err := os.Symlink("/etc/hostname", filepath.Join(chart, "secret.txt")); err != nil {
		t.Fatal(err)
	}
	h.expectError("a link that leads out", []string{"package", chart, "-d", dist}, "path escapes from parent")
	if err := os.Remove(filepath.Join(chart, "secret.txt")); err != nil {
		t.Fatal(err)
	}
	h.expectError("no version", []string{"package", chart, "-d", dist, "--version", "new"}, `version "new" is invalid`)
	private, _ := h.keys("release")
	signed := []string{"package", chart, "-d", dist, "--sign", "--keyring", private, "--key"}
	h.expectError("no such key", append(signed, "nobody"), `reading key "nobody" of keyring `+private)
	h.expectError("nobody knows the passphrase", append(signed, "release"), "clm cannot ask, because there is no terminal")
	for _, target := range []string{"oci://localhost:1/charts:1.0.0", "https://localhost:1/charts"} {
		h.expectError("no place for charts", []string{"push", filepath.Join(dist, "web-1.0.0.tgz"), target}, "the target is not oci://HOST/PATH")
	}
	h.expectError("no package", []string{"push", filepath.Join(chart, "Chart.yaml"), "oci://localhost:1/charts"}, "expected a gzipped archive")
}

// TestRepo adds, lists, updates and removes repositories.
//
//nolint:paralleltest // Helm is told by environment variables where its files are
func TestRepo(t *testing.T) {
	h := newHelmHome(t, "1.0.0")
	file, cache := os.Getenv("HELM_REPOSITORY_CONFIG"), os.Getenv("HELM_REPOSITORY_CACHE")
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	if got := h.clm("repo", "list"); got.code != 0 || got.stdout != "" || got.stderr != "there are no repositories; to add one: clm repo add REPO URL\n" {
		t.Errorf("want no repositories, got %s%s", got.stdout, got.stderr)
	}
	add := []string{"repo", "add", "mine", h.url, "--plain-http", "--username", "me", "--password"}
	for _, test := range []struct {
		reason string
		args   []string
		want   string
	}{
		{"a wrong password", append(add, "dragon"), "adding repository mine: fetching the index of repository mine: 127.0.0.1"},
		{"no index", []string{"repo", "add", "mine", h.url + "/none", "--plain-http", "--username", "me", "--password", "secret"}, "404 Not Found"},
		{"no encryption", []string{"repo", "add", "mine", h.url}, "is not encrypted; --plain-http allows that"},
		{"a password in the URL", []string{"repo", "add", "mine", "https://me:secret@localhost:1"}, "to set user name and password: clm repo add --username\n"},
		{"a registry", []string{"repo", "add", "mine", "oci://localhost:1"}, "must be https://HOST/PATH"},
		{"a name that is none in REPO/CHART", []string{"repo", "add", "a/b", h.url}, `"a/b" is not a valid name of a repository`},
		{"no password", []string{"repo", "add", "mine", h.url, "--username", "me"}, "flag --password-stdin is missing: clm cannot ask, because there is no terminal"},
		{"a password twice", append(add, "secret", "--password-stdin"), "[password password-stdin] were all set"},
		{"nothing to remove", []string{"repo", "remove", "mine"}, "there is no repository mine; known repositories: none"},
	} {
		h.expectError(test.reason, test.args, test.want)
		if got := h.clm(test.args...); strings.Contains(got.stderr, "secret") || strings.Contains(got.stderr, "dragon") {
			t.Errorf("%s: want no password, got %s", test.reason, got.stderr)
		}
	}
	if entries, _ := os.ReadDir(cache); len(entries) > 0 {
		t.Errorf("want no index in the cache, got %v", entries)
	}

	h.expect("it is added", append(add, "secret"), "Added: mine")
	h.expect("its charts are found", []string{"show", "chart", "mine/db", "--plain-http"}, "version: 1.0.0")
	h.expect("the same once more", append(add, "secret"), "Added: mine")
	h.expectError("a different one", append(add, "secret", "--pass-credentials-all"), "there is a repository mine already, with another URL or other options; to replace it: --force-update\n")
	h.expect("it may be replaced", append(add, "secret", "--pass-credentials-all", "--force-update"), "Added: mine")
	if got := h.with("secret\n", append(add[:len(add)-1], "--password-stdin", "--pass-credentials-all")...); got.code != 0 {
		t.Errorf("want the password of the input, got %s", got.stderr)
	}
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 || !strings.Contains(h.read(file), "pass_credentials_all: true") {
		t.Errorf("want a file with the repository that only its owner may read, got %v, %v", info, err)
	}
	h.expect("a list for people", []string{"repo", "ls"}, "NAME URL mine "+h.url)
	listed := h.clm("repo", "list", "-o", "json").stdout
	if !strings.Contains(listed, `"kind": "Repository"`) || !strings.Contains(listed, `"username": "me"`) || strings.Contains(listed, "secret") {
		t.Errorf("want a list without passwords, got %s", listed)
	}

	h.versions = append(h.versions, "1.1.0")
	h.expect("it is updated", []string{"repo", "update", "--plain-http"}, "Updated: mine")
	if index, charts := h.read(filepath.Join(cache, "mine-index.yaml")), h.read(filepath.Join(cache, "mine-charts.txt")); !strings.Contains(index, "1.1.0") || charts != "db\n" {
		t.Errorf("want the index where Helm expects it, got %q and %q", index, charts)
	}
	if err := os.WriteFile(file, []byte(strings.Replace(h.read(file), "repositories:", "repositories:\n- {name: away, url: 'https://localhost:1'}", 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	h.expectError("one of them does not answer", []string{"repo", "up", "--plain-http"}, "fetching the index of repository away: ")
	if got := h.offers("repo", "remove", "away", ""); got != "mine\n:4\n" {
		t.Errorf("want the other repository to be offered, got %q", got)
	}
	h.expectError("all or nothing", []string{"repo", "rm", "mine", "none"}, "there is no repository none; known repositories: away, mine; ")
	h.expect("they are removed", []string{"repo", "rm", "mine", "away"}, "Removed: mine, away")
	if entries, _ := os.ReadDir(cache); len(entries) > 0 || strings.Contains(h.read(file), "secret") {
		t.Errorf("want nothing to be left, got %v and %s", entries, h.read(file))
	}
}

// offers returns what is offered for the last of the words.
func (h *helmHome) offers(words ...string) string {
	h.Helper()
	return (&place{T: h.T, kubeconfig: os.DevNull, namespace: "default"}).offers(words...)
}

// TestRepositoriesAtOnce adds repositories at the same time: none is lost.
//
//nolint:paralleltest // Helm is told by environment variables where its files are
func TestRepositoriesAtOnce(t *testing.T) {
	h := newHelmHome(t)
	index := httptest.NewServer(http.HandlerFunc(func(writer http.ResponseWriter, _ *http.Request) { fmt.Fprint(writer, "apiVersion: v1\nentries: {}\n") }))
	t.Cleanup(index.Close)
	const count = 8
	done := make(chan result, count)
	for i := range count {
		go func() { done <- h.clm("repo", "add", fmt.Sprintf("r%d", i), index.URL, "--plain-http") }()
	}
	for range count {
		if got := <-done; got.code != 0 {
			t.Error(got.stderr)
		}
	}
	h.expect("all are there", []string{"repo", "list", "-o", "jsonpath={.items[*].metadata.name}"}, "shop away")
	for i := range count {
		h.expect("all are there", []string{"repo", "list", "-o", "jsonpath={.items[*].metadata.name}"}, fmt.Sprintf("r%d", i))
	}
}
