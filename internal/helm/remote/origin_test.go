// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package remote

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// requestLog has a line for each request.
type requestLog struct {
	mutex sync.Mutex
	lines []string
}

// add records where a request goes to, and what of it is confidential.
func (l *requestLog) add(request *http.Request) {
	line := request.Host + request.URL.Path
	if request.Header.Get("Authorization") != "" {
		line += " password"
	}
	if strings.Contains(request.Header.Get("Referer"), "secret") {
		line += " token"
	}
	if body, _ := io.ReadAll(request.Body); strings.Contains(string(body), "secret") {
		line += " body"
	}
	l.mutex.Lock()
	defer l.mutex.Unlock()
	l.lines = append(l.lines, line)
}

// redirect serves the paths of hosts: to where they redirect, or "" for content.
func (l *requestLog) redirect(targets map[string]string) http.HandlerFunc {
	return func(writer http.ResponseWriter, request *http.Request) {
		l.add(request)
		switch target, ok := targets[request.Host+request.URL.Path]; {
		case !ok:
			http.NotFound(writer, request)
		case target == "":
			fmt.Fprint(writer, "kind: A")
		default:
			http.Redirect(writer, request, target, http.StatusFound)
		}
	}
}

// TestRedirections: a password, and a token in the URL, are for scheme, host and port of the reference, not for where
// that redirects to.
//
//nolint:paralleltest // the rows share the names of hosts
func TestRedirections(t *testing.T) {
	for _, test := range []struct {
		reason  string
		targets map[string]string
		want    []string
	}{
		{"the same origin", map[string]string{"repo.test/a": "/b", "repo.test/b": ""}, []string{"repo.test/a password", "repo.test/b password"}},
		{"the port that is the default", map[string]string{"repo.test/a": "http://repo.test:80/b", "repo.test:80/b": ""}, []string{"repo.test/a password", "repo.test:80/b password"}},
		{"another port", map[string]string{"repo.test/a": "http://repo.test:8080/b", "repo.test:8080/b": ""}, []string{"repo.test/a password", "repo.test:8080/b"}},
		{"a subdomain", map[string]string{"repo.test/a": "http://tenant.repo.test/b", "tenant.repo.test/b": ""}, []string{"repo.test/a password", "tenant.repo.test/b"}},
		{"another host", map[string]string{"repo.test/a": "http://other.test/b", "other.test/b": ""}, []string{"repo.test/a password", "other.test/b"}},
		{
			"twice",
			map[string]string{"repo.test/a": "http://repo.test:8080/b", "repo.test:8080/b": "/c", "repo.test:8080/c": ""},
			[]string{"repo.test/a password", "repo.test:8080/b", "repo.test:8080/c"},
		},
		{
			"there and back",
			map[string]string{"repo.test/a": "http://repo.test:8080/b", "repo.test:8080/b": "http://repo.test/c", "repo.test/c": ""},
			[]string{"repo.test/a password", "repo.test:8080/b", "repo.test/c password"},
		},
	} {
		log := &requestLog{}
		for _, name := range []string{"repo.test", "tenant.repo.test", "other.test"} {
			serveName(t, name, log.redirect(test.targets))
		}
		reference, err := Parse("http://repo.test/a?token=secret")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := reference.Fetch(t.Context(), Options{PlainHTTP: true, Username: "me", Password: "secret"}); err != nil {
			t.Errorf("%s: %v", test.reason, err)
		}
		if diff := cmp.Diff(test.want, log.lines); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.reason, diff)
		}
	}
}

// TestRegistryRedirections: registries redirect to stores for their content.
func TestRegistryRedirections(t *testing.T) {
	config := filepath.Join(t.TempDir(), "config.json")
	t.Setenv(registryConfigVariable, config)
	for _, test := range []struct {
		reason, credentials, challenge string
		want                           []string
	}{
		{
			"a password", `"auth": "` + base64.StdEncoding.EncodeToString([]byte("me:secret")) + `"`, `Basic realm="test"`,
			[]string{
				"registry.test/v2/charts/web/manifests/1.0.0", "registry.test/v2/charts/web/manifests/1.0.0 password",
				"registry.test:8080/v2/charts/web/manifests/1.0.0", "registry.test:8080/store",
			},
		},
		{
			"an identity token, which is in the body of a request", `"identitytoken": "secret"`, `Bearer realm="http://registry.test/token",service="test"`,
			[]string{"registry.test/v2/charts/web/manifests/1.0.0", "registry.test/token body"},
		},
	} {
		content := `{"auths": {"registry.test": {` + test.credentials + `}}}`
		if err := os.WriteFile(config, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		log := &requestLog{}
		serveName(t, "registry.test", func(writer http.ResponseWriter, request *http.Request) {
			log.add(request)
			switch {
			case request.Host == "registry.test:8080" && request.URL.Path != "/store":
				http.Redirect(writer, request, "/store", http.StatusTemporaryRedirect)
			case request.Host == "registry.test:8080":
				http.NotFound(writer, request)
			case request.Header.Get("Authorization") != "" || request.URL.Path == "/token":
				http.Redirect(writer, request, "http://registry.test:8080"+request.URL.Path, http.StatusTemporaryRedirect)
			default:
				writer.Header().Set("WWW-Authenticate", test.challenge)
				writer.WriteHeader(http.StatusUnauthorized)
			}
		})
		reference, err := Parse("oci://registry.test/charts/web:1.0.0")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := reference.Fetch(t.Context(), Options{PlainHTTP: true}); err == nil {
			t.Errorf("%s: want an error", test.reason)
		}
		if diff := cmp.Diff(test.want, log.lines); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.reason, diff)
		}
	}
}

// writeClientCertificate returns the names of files with a certificate and its key.
func writeClientCertificate(t *testing.T) (certFile, keyFile string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1)}
	certificate, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	certFile, keyFile = filepath.Join(t.TempDir(), "client.pem"), filepath.Join(t.TempDir(), "client.key")
	err = errors.Join(os.WriteFile(certFile, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: certificate}), 0o600),
		os.WriteFile(keyFile, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: raw}), 0o600))
	if err != nil {
		t.Fatal(err)
	}
	return certFile, keyFile
}

// TestClientCertificate: the client certificate of a repository is for its own origin, unless the user has said
// otherwise.
//
//nolint:paralleltest // Helm is told by environment variables where its files are
func TestClientCertificate(t *testing.T) {
	certFile, keyFile := writeClientCertificate(t)
	// identified has the paths for which a certificate was sent.
	var identified sync.Map
	serve := func(handler http.HandlerFunc) string {
		listening := httptest.NewUnstartedServer(http.HandlerFunc(func(writer http.ResponseWriter, request *http.Request) {
			identified.Store(request.URL.Path, len(request.TLS.PeerCertificates) > 0)
			handler(writer, request)
		}))
		listening.TLS = &tls.Config{ClientAuth: tls.RequestClientCert} //nolint:gosec // it is a server of tests
		listening.Config.ErrorLog = silent
		listening.StartTLS()
		t.Cleanup(listening.Close)
		return listening.URL
	}
	other := serve(func(writer http.ResponseWriter, _ *http.Request) { _, _ = writer.Write(webChart(t, "1.2.3")) })
	repository := serve(func(writer http.ResponseWriter, request *http.Request) {
		if request.URL.Path == "/moved.tgz" {
			http.Redirect(writer, request, other+"/redirected", http.StatusFound)
			return
		}
		fmt.Fprintf(writer, "entries: {moved: [{version: 1.2.3, urls: [moved.tgz]}], web: [{version: 1.2.3, urls: ['%s/indexed']}]}", other)
	})
	file := filepath.Join(t.TempDir(), "repositories.yaml")
	t.Setenv("HELM_REPOSITORY_CONFIG", file)
	for _, everywhere := range []bool{false, true} {
		content := fmt.Sprintf("repositories: [{name: shop, url: '%s', certFile: %s, keyFile: %s, insecure_skip_tls_verify: true, pass_credentials_all: %t}]",
			repository, certFile, keyFile, everywhere)
		if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"shop/web", "shop/moved"} {
			reference, err := ParseNamed(name)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := reference.Fetch(t.Context(), Options{}); err != nil {
				t.Error(err)
			}
		}
		for path, want := range map[string]bool{"/index.yaml": true, "/moved.tgz": true, "/indexed": everywhere, "/redirected": everywhere} {
			if got, _ := identified.Load(path); got != want {
				t.Errorf("credentials for all hosts %t, %s: got the certificate %v, want %t", everywhere, path, got, want)
			}
		}
	}
}
