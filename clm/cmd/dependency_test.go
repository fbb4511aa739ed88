// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// helmHome is what Helm has stored for a user, who knows the repository "shop" on this machine, and its password.
type helmHome struct {
	*testing.T

	url string
	// versions are those of chart db in the repository.
	versions []string
	// requests are the paths that were asked for.
	requests []string
}

func newHelmHome(t *testing.T, versions ...string) *helmHome {
	t.Helper()
	h := &helmHome{T: t, versions: versions}
	server := httptest.NewServer(h)
	t.Cleanup(server.Close)
	h.url = server.URL
	dir := t.TempDir()
	for name, path := range map[string]string{
		"HELM_REPOSITORY_CONFIG": "repositories.yaml", "HELM_REPOSITORY_CACHE": "cache", "HELM_REGISTRY_CONFIG": "registry.json", "HELM_PLUGINS": "plugins",
	} {
		t.Setenv(name, filepath.Join(dir, path))
	}
	h.know("me", "secret")
	return h
}

// know stores a user name and a password for the repository.
func (h *helmHome) know(username, password string) {
	h.Helper()
	content := fmt.Sprintf("apiVersion: v1\nrepositories:\n- {name: shop, url: %s, username: %s, password: %s}\n- {name: away, url: 'https://localhost:1'}\n", h.url, username, password)
	if err := os.WriteFile(os.Getenv("HELM_REPOSITORY_CONFIG"), []byte(content), 0o600); err != nil {
		h.Fatal(err)
	}
}

func (h *helmHome) ServeHTTP(writer http.ResponseWriter, request *http.Request) {
	h.requests = append(h.requests, request.URL.Path)
	if username, password, _ := request.BasicAuth(); username != "me" || password != "secret" {
		http.Error(writer, "who are you?", http.StatusUnauthorized)
		return
	}
	if request.URL.Path == "/index.yaml" {
		fmt.Fprint(writer, "apiVersion: v1\nentries:\n  db:\n")
		for _, version := range h.versions {
			fmt.Fprintf(writer, "  - {apiVersion: v2, name: db, version: %s, urls: [db-%s.tgz]}\n", version, version)
		}
		return
	}
	for _, version := range h.versions {
		if request.URL.Path == "/db-"+version+".tgz" {
			_, _ = writer.Write(h.archive("db", version))
			return
		}
	}
	http.NotFound(writer, request)
}

// archive is a packaged chart of one ConfigMap.
func (h *helmHome) archive(name, version string) []byte {
	var buffer bytes.Buffer
	zipper := gzip.NewWriter(&buffer)
	writer := tar.NewWriter(zipper)
	var err error
	for _, file := range [][2]string{
		{name + "/Chart.yaml", fmt.Sprintf("apiVersion: v2\nname: %s\nversion: %s\n", name, version)},
		{name + "/templates/all.yaml", configMap(name, "{{ .Chart.Version }}")},
	} {
		headerErr := writer.WriteHeader(&tar.Header{Name: file[0], Mode: 0o644, Size: int64(len(file[1])), Typeflag: tar.TypeReg})
		_, writeErr := writer.Write([]byte(file[1]))
		err = errors.Join(err, headerErr, writeErr)
	}
	if err := errors.Join(err, writer.Close(), zipper.Close()); err != nil {
		h.Error(err)
	}
	return buffer.Bytes()
}

// clm runs clm without a cluster.
func (h *helmHome) clm(args ...string) result {
	h.Helper()
	var stdout, stderr bytes.Buffer
	code := run(h.Context(), streams{in: strings.NewReader(""), out: &stdout, err: &stderr}, append(args, "--kubeconfig", os.DevNull))
	return result{code: code, stdout: stdout.String(), stderr: stderr.String()}
}

// expect runs clm, which has to be successful and print all these texts, after blanks were reduced to one.
func (h *helmHome) expect(reason string, args []string, want ...string) {
	h.Helper()
	got := h.clm(args...)
	if got.code != 0 {
		h.Fatalf("%s: clm %s: exit code %d\n%s", reason, strings.Join(args, " "), got.code, got.stderr)
	}
	for _, text := range want {
		if !strings.Contains(strings.Join(strings.Fields(got.stdout), " "), text) {
			h.Errorf("%s: clm %s: want %q in:\n%s", reason, strings.Join(args, " "), text, got.stdout)
		}
	}
}

// expectError runs clm, which has to fail with all these texts.
func (h *helmHome) expectError(reason string, args []string, want ...string) {
	h.Helper()
	got := h.clm(args...)
	if got.code != 1 {
		h.Errorf("%s: clm %s: want exit code 1, got %d", reason, strings.Join(args, " "), got.code)
	}
	for _, text := range want {
		if !strings.Contains(got.stderr, text) {
			h.Errorf("%s: clm %s: want %q in:\n%s", reason, strings.Join(args, " "), text, got.stderr)
		}
	}
}

// charts lists what is in folder charts of a chart.
func (h *helmHome) charts(folder string) []string {
	h.Helper()
	entries, err := os.ReadDir(filepath.Join(folder, "charts"))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		h.Fatal(err)
	}
	var names []string
	for _, entry := range entries {
		names = append(names, entry.Name())
	}
	return names
}

// declare writes a chart with one dependency.
func (h *helmHome) declare(folder, version, repository string) {
	h.Helper()
	content := fmt.Sprintf("apiVersion: v2\nname: web\nversion: 1.0.0\ndependencies:\n- {name: db, version: %q, repository: %q}\n", version, repository)
	if err := errors.Join(os.MkdirAll(folder, 0o700), os.WriteFile(filepath.Join(folder, "Chart.yaml"), []byte(content), 0o600)); err != nil {
		h.Fatal(err)
	}
}

//nolint:paralleltest // Helm is told by environment variables where its files are
func TestDependency(t *testing.T) {
	h := newHelmHome(t, "2.0.0", "1.1.0", "1.0.0")
	chart := filepath.Join(t.TempDir(), "chart")
	h.declare(chart, "^1", "@shop")
	build, update, list := []string{"dependency", "build", chart, "--plain-http"}, []string{"dep", "up", chart, "--plain-http"}, []string{"dependency", "list", chart}

	h.expectError("nothing is fetched without being asked for", []string{"template", "web", chart},
		"chart web: dependencies declared in Chart.yaml are missing in folder charts: db ^1; to put them there: clm dependency build "+chart+"\n")
	h.expect("what is missing is listed", list, "db ^1 - - @shop missing")
	h.expectError("what is not encrypted has to be allowed", build[:3], "is not encrypted; --plain-http allows that")
	if got := h.charts(chart); len(got) > 0 || len(h.requests) > 0 {
		t.Errorf("want nothing to be asked for and written, got %v and %v", h.requests, got)
	}

	h.expect("without a lock, versions are chosen", build, "chart web has its dependencies: db 1.1.0")
	h.expect("the chart is complete", []string{"template", "web", chart}, "value: 1.1.0")
	h.expect("so is the list", list, "db ^1 1.1.0 1.1.0 @shop ok")

	h.versions = append([]string{"1.2.0"}, h.versions...)
	if err := os.RemoveAll(filepath.Join(chart, "charts")); err != nil {
		t.Fatal(err)
	}
	h.expect("the lock keeps its version", build, "db 1.1.0")
	h.expect("an update does not", update, "db 1.2.0")
	if got := h.charts(chart); !slices.Equal(got, []string{"db-1.2.0.tgz"}) {
		t.Errorf("want the former version to be gone, got %v", got)
	}

	h.declare(chart, "^2", "@shop")
	h.expect("the list says that versions do not fit", list, "db ^2 1.2.0 1.2.0 @shop wrong version")
	h.expectError("the lock is of another Chart.yaml", build, "the file Chart.lock does not match the dependencies in Chart.yaml; to update it: clm dependency update "+chart+"\n")
	if got := h.charts(chart); !slices.Equal(got, []string{"db-1.2.0.tgz"}) {
		t.Errorf("want nothing to be changed, got %v", got)
	}
	h.expect("an update makes another lock", update, "db 2.0.0")
	h.expect("for programs", append(slices.Clone(list), "-o", "jsonpath={.items[*].status.locked}"), "2.0.0")
	if slices.ContainsFunc(h.requests, func(path string) bool { return strings.Contains(path, "1.0.0") }) {
		t.Errorf("want no other version to be fetched, got %v", h.requests)
	}
}
