// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package remote

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
)

func TestParseErrors(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ reason, reference, want string }{
		{"what we cannot fetch from", "git://example.com/web", `the scheme "git" is not known; must be one of: oci, https, http`},
		{"passwords would be recorded", "https://me:secret@example.com/web", "it contains a user name"},
		{"a registry is no repository", "oci://example.com/charts#web", "must be oci://HOST/PATH, optionally followed by :TAG or @DIGEST"},
	} {
		_, err := Parse(test.reference)
		if err == nil || !strings.Contains(err.Error(), test.want) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: got error %v, want one with %q", test.reason, err, test.want)
		}
	}
}

// newRepository returns a repository whose charts are also on another host, and in a registry.
func newRepository(t *testing.T, other, inRegistry string) *server {
	t.Helper()
	index := fmt.Sprintf(`
entries:
  web:
  - {version: 1.0.0, urls: [web-1.0.0.tgz]}
  - {version: 1.10.0, urls: [files/web-1.10.0.tgz]}
  - {version: 1.9.0, urls: [/charts/files/web-1.9.0.tgz]}
  - {version: 2.0.0-rc.1, urls: [web-2.0.0-rc.1.tgz]}
  - {version: 3.0.0-other, urls: ["https://%[1]s/web-3.0.0-other.tgz"]}
  - {version: 3.0.0-registry, urls: ["oci://%[2]s/charts/web:3.0.0-registry"]}
  - {version: 3.0.0-plain, urls: ["http://%[1]s/web-3.0.0-plain.tgz"]}
  - {version: 3.0.0-moved, urls: [moved.tgz]}
  - {version: 9.9.9}
  - {version: none, urls: [none]}
  empty: []
`, other, inRegistry)
	mux := http.NewServeMux()
	mux.HandleFunc("/charts/index.yaml", func(writer http.ResponseWriter, _ *http.Request) { fmt.Fprint(writer, index) })
	mux.HandleFunc("/broken/index.yaml", func(writer http.ResponseWriter, _ *http.Request) { fmt.Fprint(writer, "entries: [") })
	mux.HandleFunc("/bomb/index.yaml", func(writer http.ResponseWriter, _ *http.Request) {
		fmt.Fprintf(writer, "x: &x %s\ny: [%s]\nentries: {}\n", strings.Repeat("x", 1<<16), strings.Repeat("*x, ", 1000))
	})
	mux.HandleFunc("/dense/index.yaml", func(writer http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(writer, strings.Repeat("[],\n", 8<<20/3))
	})
	mux.HandleFunc("/none/index.yaml", func(writer http.ResponseWriter, _ *http.Request) { fmt.Fprint(writer, "entries: {}") })
	for _, path := range []string{"web-1.0.0", "files/web-1.10.0", "files/web-1.9.0", "web-2.0.0-rc.1"} {
		_, version, _ := strings.Cut(path, "web-")
		mux.HandleFunc("/charts/"+path+".tgz", func(writer http.ResponseWriter, _ *http.Request) { _, _ = writer.Write(webChart(t, version)) })
	}
	mux.Handle("/charts/moved.tgz", http.RedirectHandler("http://"+other+"/web.tgz", http.StatusFound))
	return newServer(t, mux)
}

func TestRepository(t *testing.T) {
	t.Parallel()
	inRegistry := newRegistry(t, "3.0.0-registry")
	other := newServer(t, http.HandlerFunc(func(writer http.ResponseWriter, request *http.Request) {
		if _, _, ok := request.BasicAuth(); ok {
			t.Error("another host was told the password")
		}
		_, _ = writer.Write(webChart(t, "3.0.0-other"))
	}))
	s := newRepository(t, other.host, inRegistry.host)
	s.username, s.password = "me", "secret"
	options := Options{Username: "me", Password: "secret"}
	for _, test := range []struct{ reason, reference, version, want string }{
		{"the newest that is no pre-release and is to be had", "https://HOST/charts#web", "", "1.10.0"},
		{"the version of the reference counts", "https://HOST/charts#web:2.0.0-rc.1", "1.0.0", "2.0.0-rc.1"},
		{"a chart on another host", "https://HOST/charts#web:3.0.0-other", "", "3.0.0-other"},
		{"a chart in a registry", "https://HOST/charts#web:3.0.0-registry", "", "3.0.0-registry"},
		{"a URL of its own", "https://HOST/charts/web-1.0.0.tgz", "", "1.0.0"},
	} {
		options.Version = test.version
		got, err := s.fetch(test.reference, options)
		if err != nil {
			t.Errorf("%s: %v", test.reason, err)
			continue
		}
		if !bytes.Equal(got.Content, webChart(t, test.want)) {
			t.Errorf("%s: got %s, want version %s", test.reason, got.Name, test.want)
		}
		if want := fmt.Sprintf("sha256:%x", sha256.Sum256(got.Content)); (got.Digest == want) == strings.HasSuffix(test.want, "-registry") || len(got.Digest) != len(want) {
			t.Errorf("%s: got digest %s; only that of a registry is not %s", test.reason, got.Digest, want)
		}
	}
}

func TestRepositoryErrors(t *testing.T) {
	t.Parallel()
	s := newRepository(t, "other.example.com", "registry.example.com")
	for _, test := range []struct {
		reason, reference string
		want              []string
	}{
		{"no repository", "https://HOST/elsewhere#web", []string{"fetching the index of the repository: HOST responded with 404 Not Found"}},
		{"an index that grows", "https://HOST/bomb#web", []string{"parsing the index of the repository: with its aliases replaced, it has more than"}},
		{"an index that fills the memory", "https://HOST/dense#web", []string{"parsing the index of the repository: it has about 8388606 values; at most 3145728 are allowed"}},
		{"no such version", "https://HOST/charts#web:^7", []string{`chart "web": there is no version ^7; available versions: 3.0.0-registry, 3.0.0-plain, `}},
		{"the index must not lead out of the encryption", "https://HOST/charts#web:3.0.0-plain", []string{"fetching version 3.0.0-plain of chart web: ", "http://other.example.com is not encrypted"}},
		{"nor must a redirection", "https://HOST/charts#web:3.0.0-moved", []string{"http://other.example.com is not encrypted; --plain-http allows that"}},
	} {
		_, err := s.fetch(test.reference, Options{})
		s.expectError(test.reason, err, test.want...)
	}
	s.username = "me"
	_, err := s.fetch("https://HOST/charts#web", Options{})
	s.expectError("a password is needed", err, "HOST responded with 401 Unauthorized", "user name and password are missing or wrong")
}

// TestTooLarge: a server cannot fill the memory.
func TestTooLarge(t *testing.T) {
	t.Parallel()
	s := newServer(t, http.HandlerFunc(func(writer http.ResponseWriter, _ *http.Request) {
		_, err := io.WriteString(writer, `{"tags": ["`)
		for block := strings.Repeat("a", 1<<16); err == nil; {
			_, err = io.WriteString(writer, block)
		}
	}))
	for _, text := range []string{"https://HOST/web.tgz", "https://HOST/charts#web", "oci://HOST/charts/web"} {
		reference, err := Parse(strings.ReplaceAll(text, "HOST", s.host))
		if err != nil {
			t.Fatal(err)
		}
		client, err := newClient(t.Context(), Options{CAFile: s.caFile})
		if err != nil {
			t.Fatal(err)
		}
		client.Transport.(*boundedTransport).left.Store(1 << 20) //nolint:forcetypeassert // it is of that type
		_, err = (&fetcher{client: client}).fetch(t.Context(), reference)
		s.expectError(text, err, "the response is larger than 64 MiB")
	}
}
