// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package remote_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	containerregistry "github.com/google/go-containerregistry/pkg/registry"
	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/registry"

	"github.com/component-operator/runtime/internal/helm"
	"github.com/component-operator/runtime/internal/helm/remote"
)

// home makes Helm use files of this test only.
func home(t *testing.T) {
	t.Helper()
	dir := t.TempDir()
	for _, name := range []string{"HELM_REPOSITORY_CONFIG", "HELM_REPOSITORY_CACHE", "HELM_REGISTRY_CONFIG", "HELM_PLUGINS"} {
		t.Setenv(name, filepath.Join(dir, strings.ToLower(name)))
	}
}

// write writes Chart.yaml into a folder.
func write(t *testing.T, folder, name, version string, lines ...string) {
	t.Helper()
	content := fmt.Sprintf("apiVersion: v2\nname: %s\nversion: %s\n%s\n", name, version, strings.Join(lines, "\n"))
	if err := errors.Join(os.MkdirAll(folder, 0o700), os.WriteFile(filepath.Join(folder, "Chart.yaml"), []byte(content), 0o600)); err != nil {
		t.Fatal(err)
	}
}

// push packages the chart in a folder, and pushes it to a registry.
func push(t *testing.T, folder, host string) {
	t.Helper()
	loaded, err := loader.LoadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	archive, err := chartutil.Save(loaded, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	content, err := os.ReadFile(archive)
	if err != nil {
		t.Fatal(err)
	}
	client, err := registry.NewClient(registry.ClientOptPlainHTTP(), registry.ClientOptCredentialsFile(filepath.Join(t.TempDir(), "none")))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := client.Push(content, fmt.Sprintf("%s/charts/%s:%s", host, loaded.Name(), loaded.Metadata.Version)); err != nil {
		t.Fatal(err)
	}
}

// found returns the names, versions and problems of dependencies.
func found(t *testing.T, folder string) []string {
	t.Helper()
	_, all, err := helm.Dependencies(nil, folder)
	if err != nil {
		t.Fatal(err)
	}
	var texts []string
	for _, each := range all {
		texts = append(texts, strings.Join([]string{each.Name, each.Locked, each.Versions(), each.Problem}, "|"))
	}
	return texts
}

//nolint:paralleltest // Helm is told by environment variables where its files are
func TestRegistriesAndFolders(t *testing.T) {
	home(t)
	server := httptest.NewServer(containerregistry.New(containerregistry.Logger(slog.NewLogLogger(slog.DiscardHandler, slog.LevelError))))
	t.Cleanup(server.Close)
	host := strings.TrimPrefix(server.URL, "http://")
	root := t.TempDir()
	web := filepath.Join(root, "web")
	for _, version := range []string{"1.0.0", "1.4.0", "2.0.0"} {
		write(t, filepath.Join(root, "cache"), "cache", version)
		push(t, filepath.Join(root, "cache"), host)
	}
	write(t, filepath.Join(root, "common"), "common", "0.3.0", "type: library")
	write(t, filepath.Join(web, "charts", "inner"), "inner", "0.1.0")
	write(t, filepath.Join(web, "charts", "other"), "other", "0.2.0")
	write(t, web, "web", "1.0.0", "dependencies:", "- {name: cache, version: ^1.0.0, repository: 'oci://"+host+"/charts'}",
		"- {name: common, version: '*', repository: 'file://../common'}", "- {name: inner, version: '>=0.1.0'}")
	if diff := cmp.Diff([]string{"cache|||missing", "common|||missing", "inner||0.1.0|", "other||0.2.0|"}, found(t, web)); diff != "" {
		t.Errorf("before (-want +got):\n%s", diff)
	}
	options := remote.DependencyOptions{PlainHTTP: true}
	for range 2 {
		// First there is no Chart.lock, then there is.
		if err := remote.BuildDependencies(t.Context(), web, options); err != nil {
			t.Fatal(err)
		}
		want := []string{"cache|1.4.0|1.4.0|", "common|0.3.0|0.3.0|", "inner|>=0.1.0|0.1.0|", "other||0.2.0|"}
		if diff := cmp.Diff(want, found(t, web)); diff != "" {
			t.Errorf("afterwards (-want +got):\n%s", diff)
		}
		if _, err := helm.Load(nil, web); err != nil {
			t.Error(err)
		}
	}
	write(t, filepath.Join(root, "common"), "common", "0.4.0", "type: library")
	if err := remote.BuildDependencies(t.Context(), web, options); err == nil || !strings.Contains(err.Error(), "common") {
		t.Errorf("want another version in the folder to be refused, got %v", err)
	}
	if err := os.Mkdir(filepath.Join(web, "charts", "cache"), 0o700); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(web, "charts", "cache"), "cache", "1.0.0")
	if err := remote.UpdateDependencies(t.Context(), web, options); err == nil || !strings.Contains(err.Error(), "cache: there are versions 1.0.0, 1.4.0 in folder charts; remove all but one") {
		t.Errorf("want a second version to be refused, got %v", err)
	}
}

// TestEnd: a repository that does not answer does not keep the process from ending.
//
//nolint:paralleltest // Helm is told by environment variables where its files are
func TestEnd(t *testing.T) {
	home(t)
	ctx, cancel := context.WithCancel(t.Context())
	released := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		cancel()
		<-released
	}))
	t.Cleanup(server.Close)
	t.Cleanup(func() { close(released) })
	web := filepath.Join(t.TempDir(), "web")
	write(t, web, "web", "1.0.0", "dependencies: [{name: db, version: 1.0.0, repository: '"+server.URL+"'}]")
	ended := make(chan error, 1)
	go func() {
		err := remote.BuildDependencies(ctx, web, remote.DependencyOptions{PlainHTTP: true})
		ended <- err
	}()
	select {
	case err := <-ended:
		if !errors.Is(err, context.Canceled) {
			t.Errorf("want the error of the context, got %v", err)
		}
	case <-time.After(30 * time.Second):
		t.Error("it still waits for the repository")
	}
	if entries, err := os.ReadDir(web); err != nil || len(entries) != 1 {
		t.Errorf("want nothing but Chart.yaml, got %v, %v", entries, err)
	}
}

// TestPackagedChartsOfOthers: only packages of declared and of former dependencies are replaced.
func TestPackagedChartsOfOthers(t *testing.T) {
	home(t)
	folder, db := t.TempDir(), t.TempDir()
	write(t, db, "db", "1.0.0")
	write(t, folder, "shop", "1.0.0", "dependencies:", "- {name: db, version: 1.0.0, repository: \"file://"+db+"\"}")
	charts := filepath.Join(folder, "charts")
	if err := errors.Join(os.MkdirAll(charts, 0o700), os.WriteFile(filepath.Join(charts, "extra-1.0.0.tgz"), pack(t, "extra"), 0o600)); err != nil {
		t.Fatal(err)
	}
	for _, want := range [][]string{{"db|1.0.0|1.0.0|", "extra||1.0.0|"}, {"extra||1.0.0|"}} {
		if err := remote.UpdateDependencies(t.Context(), folder, remote.DependencyOptions{}); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, found(t, folder)); diff != "" {
			t.Error(diff)
		}
		write(t, folder, "shop", "1.0.0")
	}
}
