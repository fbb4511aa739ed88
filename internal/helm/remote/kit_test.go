// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package remote

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/pem"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	containerregistry "github.com/google/go-containerregistry/pkg/registry"
	"helm.sh/helm/v3/pkg/registry"
)

// silent keeps what servers say out of the output of tests.
var silent = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)

// server is a host that speaks TLS with an unknown certificate.
type server struct {
	*testing.T

	host, caFile string
	// username and password are demanded, unless they are empty.
	username, password string
}

func newServer(t *testing.T, handler http.Handler) *server {
	t.Helper()
	s := &server{T: t}
	listening := httptest.NewUnstartedServer(http.HandlerFunc(func(writer http.ResponseWriter, request *http.Request) {
		username, password, _ := request.BasicAuth()
		if username != s.username || password != s.password {
			writer.Header().Set("WWW-Authenticate", `Basic realm="test"`)
			http.Error(writer, "who are you?", http.StatusUnauthorized)
			return
		}
		handler.ServeHTTP(writer, request)
	}))
	listening.Config.ErrorLog = silent
	listening.StartTLS()
	t.Cleanup(listening.Close)
	s.host = listening.Listener.Addr().String()
	s.caFile = filepath.Join(t.TempDir(), "ca.pem")
	certificate := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: listening.Certificate().Raw})
	if err := os.WriteFile(s.caFile, certificate, 0o600); err != nil {
		t.Fatal(err)
	}
	return s
}

// newRegistry returns a registry that has versions of the chart web.
func newRegistry(t *testing.T, versions ...string) *server {
	t.Helper()
	s := newServer(t, containerregistry.New(containerregistry.Logger(silent)))
	httpClient, err := newClient(t.Context(), Options{CAFile: s.caFile})
	if err != nil {
		t.Fatal(err)
	}
	client, err := registry.NewClient(registry.ClientOptHTTPClient(httpClient), registry.ClientOptCredentialsFile(filepath.Join(t.TempDir(), "none")))
	if err != nil {
		t.Fatal(err)
	}
	for _, version := range versions {
		if _, err := client.Push(webChart(t, version), s.host+"/charts/web:"+version); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

// fetch fetches a reference in which HOST stands for the server.
func (s *server) fetch(reference string, options Options) (File, error) {
	s.Helper()
	parsed, err := Parse(strings.ReplaceAll(reference, "HOST", s.host))
	if err != nil {
		s.Fatal(err)
	}
	if options.CAFile == "" {
		options.CAFile = s.caFile
	}
	return parsed.Fetch(s.Context(), options)
}

// webChart returns a packaged chart.
func webChart(t *testing.T, version string) []byte {
	t.Helper()
	var buffer bytes.Buffer
	zipper := gzip.NewWriter(&buffer)
	writer := tar.NewWriter(zipper)
	content := "apiVersion: v2\nname: web\nversion: " + version + "\n"
	err := writer.WriteHeader(&tar.Header{Name: "web/Chart.yaml", Mode: 0o644, Size: int64(len(content)), Typeflag: tar.TypeReg})
	if _, writeErr := writer.Write([]byte(content)); errors.Join(err, writeErr, writer.Close(), zipper.Close()) != nil {
		t.Fatal(err, writeErr)
	}
	return buffer.Bytes()
}

// expectError tells whether the error has all parts. In it, the host of the server counts as HOST.
func (s *server) expectError(reason string, err error, parts ...string) {
	s.Helper()
	if err == nil {
		s.Errorf("%s: got no error, want one with %q", reason, parts)
		return
	}
	text := strings.ReplaceAll(err.Error(), s.host, "HOST")
	for _, part := range parts {
		if !strings.Contains(text, part) {
			s.Errorf("%s: got %q, which lacks %q", reason, text, part)
		}
	}
}
