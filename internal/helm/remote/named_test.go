// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package remote

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestNamedRepositories: what "helm repo add" has stored is used, for the repository and, if the user has said so, for
// the host of its charts.
//
//nolint:paralleltest // Helm is told by environment variables where its files are
func TestNamedRepositories(t *testing.T) {
	charts := newServer(t, http.HandlerFunc(func(writer http.ResponseWriter, _ *http.Request) { _, _ = writer.Write(webChart(t, "1.2.3")) }))
	repository := newServer(t, http.HandlerFunc(func(writer http.ResponseWriter, _ *http.Request) {
		fmt.Fprintf(writer, "entries: {web: [{version: 1.2.3, urls: ['https://%s/web.tgz']}]}", charts.host)
	}))
	for _, s := range []*server{charts, repository} {
		s.username, s.password = "me", "secret"
	}
	file := filepath.Join(t.TempDir(), "repositories.yaml")
	t.Setenv("HELM_REPOSITORY_CONFIG", file)
	for _, test := range []struct {
		reason, entry string
		options       Options
		want          string // in the error; empty if there is none
	}{
		{"all that is needed", "username: me, password: secret, insecure_skip_tls_verify: true, pass_credentials_all: true", Options{}, ""},
		{"the certificate is not known", "username: me, password: secret, pass_credentials_all: true", Options{}, "certificate signed by unknown authority"},
		{"the password is for the repository", "username: me, password: secret, insecure_skip_tls_verify: true", Options{}, charts.host + " responded with 401"},
		{"those of the command line are for the repository only", "insecure_skip_tls_verify: true, pass_credentials_all: true", Options{Username: "me", Password: "secret"}, charts.host + " responded with 401"},
		{"a client certificate that is none", "certFile: none.pem, keyFile: none.key", Options{}, "reading the client certificate of the repository: "},
	} {
		content := fmt.Sprintf("repositories: [{name: shop, url: 'https://%s', %s}]", repository.host, strings.ReplaceAll(test.entry, "REPOSITORY", repository.caFile))
		if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		reference, err := ParseNamed("shop/web")
		if err != nil || !reference.TakesVersion() {
			t.Fatal(reference, err)
		}
		got, err := reference.Fetch(t.Context(), test.options)
		switch {
		case test.want == "" && (err != nil || len(got.Content) == 0):
			t.Errorf("%s: got error %v", test.reason, err)
		case test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)):
			t.Errorf("%s: want an error with %q, got %v", test.reason, test.want, err)
		}
	}
}
