// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package sources_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/component-operator/runtime/clm/internal/sources"
	"github.com/component-operator/runtime/internal/helm/remote"
)

// newHost returns the URL of a server that has a chart, also in a repository, and manifests.
func newHost(t *testing.T) string {
	t.Helper()
	content := map[string]string{
		"/charts/web-1.2.3.tgz": chart("web", files{"a.yaml": configMap("{{ .Release.Name }}", "x: {{ .Values.x | quote }}")}).archive(t),
		"/charts/index.yaml":    "entries: {web: [{version: 1.2.3, urls: [web-1.2.3.tgz]}]}",
		"/manifests.yaml":       configMap("a", "p: '{{ .Values.x }}'"),
		"/broken.tgz":           "\x1f\x8b\x00",
	}
	server := httptest.NewServer(http.HandlerFunc(func(writer http.ResponseWriter, request *http.Request) {
		fmt.Fprint(writer, content[request.URL.Path])
	}))
	t.Cleanup(server.Close)
	return server.URL
}

func TestRemoteErrors(t *testing.T) {
	t.Parallel()
	host := newHost(t)
	for _, test := range []struct {
		reason, reference string
		options           remote.Options
		want              string
	}{
		{"what is not encrypted has to be allowed", host + "/manifests.yaml", remote.Options{}, "--plain-http allows that"},
		{"a version is for charts that can have several", host + "/charts/web-1.2.3.tgz", remote.Options{PlainHTTP: true, Version: "1.2.3"}, "version 1.2.3 is given, but each source has a version or takes none"},
		{"a version of a reference is not overridden", host + "/charts#web:1.2.3", remote.Options{PlainHTTP: true, Version: "1.2.4"}, "version 1.2.4 is given"},
		{"the reference is named", host + "/charts#db", remote.Options{PlainHTTP: true}, "loading " + host + `/charts#db: there is no chart "db"`},
		{"so it is if the chart is broken", host + "/broken.tgz", remote.Options{PlainHTTP: true}, "loading " + host + "/broken.tgz: reading chart package.tgz: "},
		{"other schemes are not known", "git://example.com/web", remote.Options{}, `loading git://example.com/web: the scheme "git" is not known`},
		{"passwords are not repeated", "https://me:pass@example.com/web", remote.Options{}, "it contains a user name"},
	} {
		_, err := load(t, "", sources.Options{Remote: test.options}, test.reference)
		if err == nil || !strings.Contains(err.Error(), test.want) || strings.Contains(err.Error(), "pass@") {
			t.Errorf("%s: got error %v, want one with %q", test.reason, err, test.want)
		}
	}
}
