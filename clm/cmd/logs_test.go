// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"k8s.io/client-go/rest"

	"github.com/component-operator/runtime/internal/requests"
	"github.com/component-operator/runtime/internal/testenv"
)

// withLogs has clm talk to the API server through one that answers the requests for logs: the sandbox has no kubelets,
// so that no container ever writes anything.
func (p *place) withLogs(answer func(query url.Values) string) {
	p.Helper()
	config := testenv.Config(p)
	transport, err := rest.TransportFor(config)
	if err != nil {
		p.Fatal(err)
	}
	target, err := url.Parse(config.Host)
	if err != nil {
		p.Fatal(err)
	}
	proxy := &httputil.ReverseProxy{
		Transport:     transport,
		FlushInterval: -1,
		Rewrite:       func(r *httputil.ProxyRequest) { r.SetURL(target) },
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if requests.New(r.Method, r.URL).Subresource == "log" {
			_, _ = fmt.Fprint(w, answer(r.URL.Query()))
			return
		}
		proxy.ServeHTTP(w, r)
	}))
	p.Cleanup(server.Close)
	kubeconfig := fmt.Sprintf(`
apiVersion: v1
kind: Config
current-context: test
contexts: [{name: test, context: {cluster: test, user: test}}]
clusters: [{name: test, cluster: {server: %q}}]
users: [{name: test, user: {}}]
`, server.URL)
	p.kubeconfig = filepath.Join(p.TempDir(), "kubeconfig")
	if err := os.WriteFile(p.kubeconfig, []byte(kubeconfig), 0o600); err != nil {
		p.Fatal(err)
	}
}

func TestLogs(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.must("apply", "web", p.file("app.yaml", deployment("front", "", "")+deployment("back", "", "")+configMap("a", "1")))
	p.withLogs(func(query url.Values) string {
		return fmt.Sprintf("container %s, tail %q, since %t, previous %q\n",
			query.Get("container"), query.Get("tailLines"), query.Has("sinceTime") || query.Has("sinceSeconds"), query.Get("previous"))
	})
	const all = "container main, tail \"\", since false, previous \"\"\n"
	for _, test := range []struct {
		reason         string
		args           []string
		code           int
		stdout, stderr string
	}{
		{"all pods of all dependents", nil, 0, "back/main: " + all + "front/main: " + all, ""},
		{"one dependent", []string{"deployment/back"}, 0, "back/main: " + all, ""},
		{"by its short name, with its group", []string{"deployments.apps/PLACE/back", "deploy/back"}, 0, "back/main: " + all, ""},
		{"by its pod", []string{"pod/POD"}, 0, "front/main: " + all, ""},
		{
			"not all of it",
			[]string{"deployment/back", "--tail", "5", "--since", "10m", "-c", "main"},
			0,
			"back/main: container main, tail \"5\", since true, previous \"\"\n", "",
		},
		{"nothing has crashed", []string{"--previous"}, 0, "", "no selected container has been restarted, so there are no previous logs\n"},
		{"a container that does not exist", []string{"-c", "other"}, 1, "", "Error: no selected pod has a container \"other\"; its containers are: main\n"},
		{"no pod that could have one", []string{"configmap/a", "-c", "other"}, 0, "", "no selected container has started yet\n"},
		{
			"a pod that does not exist",
			[]string{"deployment/back", "pod/none"},
			4, "back/main: " + all,
			"Error: release PLACE/web has no pod/none; to list its objects: clm tree web -n PLACE\n",
		},
		{
			"a dependent that does not exist",
			[]string{"deployment/other"},
			4, "",
			"Error: release PLACE/web has no dependent deployment/other; to list them: clm tree web -n PLACE\n",
		},
		{"this denotes nothing", []string{"back"}, 1, "", "Error: invalid object \"back\"; must be KIND[.GROUP]/[NAMESPACE/]NAME, for example deployment/web\n"},
		{"what is over cannot be followed", []string{"-f", "-p"}, 1, "", "Error: flags --follow and --previous are mutually exclusive: the log of a container that has exited cannot be followed\n"},
	} {
		args := []string{"logs", "web"}
		for _, arg := range test.args {
			args = append(args, strings.NewReplacer("PLACE", p.namespace, "POD", p.podName("front")).Replace(arg))
		}
		got := p.clm(args...)
		stdout := regexp.MustCompile(`(front|back)-\w+-\w+/`).ReplaceAllString(got.stdout, "$1/")
		stderr := strings.ReplaceAll(got.stderr, p.namespace, "PLACE")
		if got.code != test.code || stdout != test.stdout || stderr != test.stderr {
			t.Errorf("%s: %v: got exit code %d\n%s%s\nwanted exit code %d\n%s%s", test.reason, test.args, got.code, stdout, stderr, test.code, test.stdout, test.stderr)
		}
	}
}
