// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package remote_test

import (
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/chartutil"

	"github.com/component-operator/runtime/internal/helm/remote"
)

// pack returns a packaged chart.
func pack(t *testing.T, name string) []byte {
	t.Helper()
	folder := t.TempDir()
	write(t, folder, name, "1.0.0")
	loaded, err := loader.LoadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	archive, err := chartutil.Save(loaded, folder)
	if err != nil {
		t.Fatal(err)
	}
	content, err := os.ReadFile(archive)
	if err != nil {
		t.Fatal(err)
	}
	return content
}

// TestCredentials: those of a repository are for its origin, wherever its index and its redirections lead to, unless
// the user has said otherwise.
//
//nolint:paralleltest // Helm is told by environment variables where its files are
func TestCredentials(t *testing.T) {
	charts := map[string][]byte{}
	for _, name := range []string{"here", "there", "moved"} {
		charts["/"+name+"-1.0.0.tgz"] = pack(t, name)
	}
	// seen has the user name and the password for each chart.
	var seen sync.Map
	serve := func(writer http.ResponseWriter, request *http.Request) {
		username, password, _ := request.BasicAuth()
		seen.Store(request.URL.Path, username+":"+password)
		if request.TLS == nil {
			seen.Store(request.URL.Path, "not encrypted, "+username+":"+password)
		}
		_, _ = writer.Write(charts[request.URL.Path])
	}
	plain := httptest.NewServer(http.HandlerFunc(serve))
	t.Cleanup(plain.Close)
	other := httptest.NewTLSServer(http.HandlerFunc(serve))
	t.Cleanup(other.Close)
	repository := httptest.NewTLSServer(http.HandlerFunc(func(writer http.ResponseWriter, request *http.Request) {
		switch request.URL.Path {
		case "/charts/index.yaml":
			http.Redirect(writer, request, "/index.yaml", http.StatusFound)
		case "/index.yaml":
			serve(writer, request)
			fmt.Fprint(writer, "apiVersion: v1\nentries:\n")
			for name, from := range map[string]string{"here": "..", "there": other.URL, "moved": "../moved"} {
				fmt.Fprintf(writer, "  %[1]s: [{apiVersion: v2, name: %[1]s, version: 1.0.0, urls: ['%[2]s/%[1]s-1.0.0.tgz']}]\n", name, from)
			}
		case "/moved/moved-1.0.0.tgz":
			http.Redirect(writer, request, plain.URL+"/moved-1.0.0.tgz", http.StatusFound)
		default:
			serve(writer, request)
		}
	}))
	t.Cleanup(repository.Close)
	authority := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(authority, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: repository.Certificate().Raw}), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		reason, everywhere string
		want               map[string]string
	}{
		{"for the repository only", "false", map[string]string{"there": ":", "moved": "not encrypted, :"}},
		{"for all hosts, as the user has said", "true", map[string]string{"there": "me:secret", "moved": "not encrypted, me:secret"}},
	} {
		home(t)
		entry := fmt.Sprintf("repositories: [{name: shop, url: '%s/charts', username: me, password: secret, caFile: %s, pass_credentials_all: %s}]", repository.URL, authority, test.everywhere)
		if err := os.WriteFile(os.Getenv("HELM_REPOSITORY_CONFIG"), []byte(entry), 0o600); err != nil {
			t.Fatal(err)
		}
		folder := t.TempDir()
		write(t, folder, "web", "1.0.0", "dependencies:", "- {name: here, version: 1.0.0, repository: '@shop'}", "- {name: there, version: 1.0.0, repository: '@shop'}",
			"- {name: moved, version: 1.0.0, repository: '@shop'}")
		err := remote.UpdateDependencies(t.Context(), folder, remote.DependencyOptions{})
		if want := strings.TrimPrefix(plain.URL, "http://") + " is not encrypted; --plain-http allows that"; err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: want the redirection out of the encryption to be refused, got %v", test.reason, err)
		}
		if err := remote.UpdateDependencies(t.Context(), folder, remote.DependencyOptions{PlainHTTP: true}); err != nil {
			t.Fatal(err)
		}
		for name, want := range map[string]string{"/index.yaml": "me:secret", "/here-1.0.0.tgz": "me:secret", "/there-1.0.0.tgz": test.want["there"], "/moved-1.0.0.tgz": test.want["moved"]} {
			if got, _ := seen.Load(name); got != want {
				t.Errorf("%s: %s: got credentials %q, want %q", test.reason, name, got, want)
			}
		}
		for _, each := range found(t, folder) {
			if diff := cmp.Diff("1.0.0", strings.Split(each, "|")[2]); diff != "" {
				t.Errorf("%s: %s", each, diff)
			}
		}
	}
}

// TestHostileRepositories: what a repository sends is checked before Helm's library unpacks or decodes it.
//
//nolint:paralleltest // Helm is told by environment variables where its files are
func TestHostileRepositories(t *testing.T) {
	bomb := fmt.Sprintf("a: &a %s\nb: [%s]\n", strings.Repeat("x", 1<<16), strings.Repeat("*a, ", 1000))
	folder := t.TempDir()
	write(t, folder, "db", "1.0.0")
	loaded, err := loader.LoadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	loaded.Raw = append(loaded.Raw, &chart.File{Name: "values.yaml", Data: []byte(bomb)})
	archive, err := chartutil.Save(loaded, folder)
	if err != nil {
		t.Fatal(err)
	}
	packed, err := os.ReadFile(archive)
	if err != nil {
		t.Fatal(err)
	}
	const index = "apiVersion: v1\nentries: {db: [{apiVersion: v2, name: db, version: 1.0.0, urls: [db-1.0.0.tgz]}]}\n"
	for reason, content := range map[string]map[string]string{
		"a chart":  {"/index.yaml": index, "/db-1.0.0.tgz": string(packed)},
		"an index": {"/index.yaml": index + bomb},
	} {
		home(t)
		repository := httptest.NewServer(http.HandlerFunc(func(writer http.ResponseWriter, request *http.Request) { fmt.Fprint(writer, content[request.URL.Path]) }))
		t.Cleanup(repository.Close)
		web := t.TempDir()
		write(t, web, "web", "1.0.0", "dependencies: [{name: db, version: 1.0.0, repository: '"+repository.URL+"'}]")
		err := remote.UpdateDependencies(t.Context(), web, remote.DependencyOptions{PlainHTTP: true})
		if want := "with its aliases replaced, it has more than"; err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: want an error with %q, got %v", reason, want, err)
		}
	}
}
