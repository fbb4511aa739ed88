// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package clients_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/client-go/rest"
	ctrlmetrics "sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/component-operator/runtime/internal/clients"
	"github.com/component-operator/runtime/internal/metrics"
)

func TestIdentity(t *testing.T) {
	t.Parallel()
	local, remote := newServer(t), newServer(t)
	tests := []struct {
		reason string
		key    clients.Key
		server *server
		token  string
		user   string
		groups []string
	}{
		{reason: "nothing asked for is the operator itself", server: local, token: "Bearer operator"},
		{reason: "a user on the local cluster is impersonated", key: clients.Key{User: "jane"}, server: local, token: "Bearer operator", user: "jane"},
		{
			reason: "groups go along", key: clients.Key{User: "jane", Groups: []string{"b", "a", "b"}},
			server: local, token: "Bearer operator", user: "jane", groups: []string{"a", "b"},
		},
		{
			reason: "a kubeconfig brings its own identity",
			key:    clients.Key{KubeConfig: remote.kubeConfig("{token: remote}")}, server: remote, token: "Bearer remote",
		},
		{
			reason: "a kubeconfig may impersonate by itself", key: clients.Key{KubeConfig: remote.kubeConfig("{token: remote, as: joe}")},
			server: remote, token: "Bearer remote", user: "joe",
		},
		{
			reason: "a user may be impersonated remotely", key: clients.Key{KubeConfig: remote.kubeConfig("{token: remote}"), User: "jane"},
			server: remote, token: "Bearer remote", user: "jane",
		},
	}
	config := local.config()
	config.BearerToken = "operator"
	factory := newFactory(t, clients.Options{Config: config})
	for _, test := range tests {
		connection := get(t, factory, test.key)
		before := len(test.server.seen())
		if err := connection.DiscoveryClient().RESTClient().Get().AbsPath("/version").Do(t.Context()).Error(); err != nil {
			t.Fatalf("%s: %v", test.reason, err)
		}
		requests := test.server.seen()
		if len(requests) != before+1 {
			t.Fatalf("%s: the request went elsewhere", test.reason)
		}
		header := requests[before].Header
		got := []any{header.Get("Authorization"), header.Get("Impersonate-User"), header["Impersonate-Group"], header.Get("User-Agent")}
		want := []any{test.token, test.user, test.groups, "operator.example.io"}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.reason, diff)
		}
	}
}

func TestRefusedKeys(t *testing.T) {
	t.Parallel()
	remote := newServer(t)
	tests := []struct {
		reason string
		config *rest.Config
		key    clients.Key
		err    string
	}{
		{
			reason: "two identities at once", key: clients.Key{KubeConfig: remote.kubeConfig("{token: t, as: joe}"), User: "jane"},
			err: `impersonating jane: the kubeconfig already impersonates "joe"`,
		},
		{
			reason: "two identities at once, locally", config: &rest.Config{Host: remote.URL, Impersonate: rest.ImpersonationConfig{UserName: "joe"}},
			key: clients.Key{User: "jane"}, err: `impersonating jane: the operator itself already impersonates "joe"`,
		},
		{reason: "groups without a user", key: clients.Key{Groups: []string{"a"}}, err: "impersonating groups [a] needs a user"},
		{reason: "no kubeconfig", key: clients.Key{KubeConfig: []byte("hello")}, err: "invalid kubeconfig: must be YAML or JSON with apiVersion v1 and kind Config"},
		{reason: "no text of its content is shown", key: clients.Key{KubeConfig: []byte("kind: hunter2\napiVersion: v1")}, err: "invalid kubeconfig: must be YAML or JSON with apiVersion v1 and kind Config"},
		{reason: "nor of what is no URL", key: clients.Key{KubeConfig: kubeConfig("{server: 'hunter2://127.0.0.1:1/%zz'}", "{token: t}")}, err: "server is not a URL"},
		{reason: "a host that metrics cannot have", key: clients.Key{KubeConfig: kubeConfig("{server: 'https://%ff:6443'}", "{token: t}")}, err: "server is not a URL"},
		{
			reason: "no context", key: clients.Key{KubeConfig: []byte("{apiVersion: v1, kind: Config}")},
			err: `invalid kubeconfig: current-context is missing, or not among the contexts`,
		},
		{reason: "no server", key: clients.Key{KubeConfig: kubeConfig("{}", "{token: t}")}, err: "invalid kubeconfig: "},
		{
			reason: "a file of this machine as CA", key: clients.Key{KubeConfig: kubeConfig("{server: https://x, certificate-authority: /ca}", "{token: t}")},
			err: `invalid kubeconfig: context "main" uses certificate-authority: files and programs are not allowed`,
		},
		{
			reason: "the operator's own token", key: clients.Key{KubeConfig: remote.kubeConfig("{tokenFile: /var/run/secrets/kubernetes.io/serviceaccount/token}")},
			err: `context "main" uses tokenFile: files and programs are not allowed`,
		},
		{
			reason: "files of this machine as certificate", key: clients.Key{KubeConfig: remote.kubeConfig("{client-certificate: /c, client-key: /k}")},
			err: `context "main" uses client-certificate, client-key: files`,
		},
		{
			reason: "a program of this machine",
			key:    clients.Key{KubeConfig: remote.kubeConfig("{exec: {command: sh, apiVersion: client.authentication.k8s.io/v1}}")},
			err:    `context "main" uses exec: files`,
		},
		{reason: "a plugin", key: clients.Key{KubeConfig: remote.kubeConfig("{auth-provider: {name: oidc}}")}, err: `context "main" uses auth-provider: files`},
	}
	for _, test := range tests {
		t.Run(test.reason, func(t *testing.T) {
			t.Parallel()
			counted := &counters{}
			factory := newFactory(t, clients.Options{Config: test.config, Metrics: counted})
			for range 2 {
				if _, err := factory.Get(test.key); err == nil || !strings.Contains(err.Error(), test.err) {
					t.Errorf("got error %v, want %s", err, test.err)
				}
			}
			counted.check(t, 0, 0)
		})
	}
}

func TestNoClientSideRateLimit(t *testing.T) {
	t.Parallel()
	config := &rest.Config{Host: "http://127.0.0.1:1"}
	factory := newFactory(t, clients.Options{Config: config})
	for _, connection := range []*clients.Connection{
		factory.Local(),
		get(t, factory, clients.Key{User: "jane"}),
		get(t, factory, clients.Key{KubeConfig: newServer(t).kubeConfig("{token: t}")}),
	} {
		if got := connection.Config(); got.QPS != -1 || got.RateLimiter != nil {
			t.Errorf("%s: limited to %v", connection.ID, got.QPS)
		}
	}
	if config.QPS != 0 || config.UserAgent != "" {
		t.Error("the caller's configuration was changed")
	}
	limited := newFactory(t, clients.Options{Config: &rest.Config{Host: "http://127.0.0.1:1", QPS: 7}})
	if got := limited.Local().Config().QPS; got != 7 {
		t.Errorf("a limit that was asked for became %v", got)
	}
	for qps, want := range map[float32]float32{0: -1, 7: 7} {
		plain, err := clients.Plain(&rest.Config{Host: "http://127.0.0.1:1", QPS: qps})
		if err != nil {
			t.Fatal(err)
		}
		if got := plain.Config().QPS; got != want {
			t.Errorf("without a factory, a limit of %v became %v", qps, got)
		}
	}
}

func TestConnectionsAreShared(t *testing.T) {
	t.Parallel()
	kubeConfig := newServer(t).kubeConfig("{token: very-secret}")
	factory, other := newFactory(t, clients.Options{}), newFactory(t, clients.Options{})
	if get(t, factory, clients.Key{}) != factory.Local() || factory.Local().ID != "local" {
		t.Error("the zero key is not the operator itself")
	}
	one := get(t, factory, clients.Key{User: "jane", Groups: []string{"a", "b"}})
	if get(t, factory, clients.Key{User: "jane", Groups: []string{"b", "a"}}) != one {
		t.Error("the order of groups matters")
	}
	if get(t, factory, clients.Key{User: "jane"}) == one {
		t.Error("groups do not matter")
	}
	if one.RESTMapper() != factory.Local().RESTMapper() {
		t.Error("types of the local cluster are discovered more than once")
	}
	remote := get(t, factory, clients.Key{KubeConfig: kubeConfig})
	if again := get(t, other, clients.Key{KubeConfig: kubeConfig}); again.ID != remote.ID || again == remote {
		t.Errorf("IDs %s and %s", remote.ID, again.ID)
	}
	if strings.Contains(remote.ID, "secret") || !strings.HasPrefix(remote.ID, "remote-") {
		t.Errorf("ID is %s", remote.ID)
	}
}

func TestDroppedConnections(t *testing.T) {
	t.Parallel()
	counted := &counters{}
	factory := newFactory(t, clients.Options{Metrics: counted})
	jane := get(t, factory, clients.Key{User: "jane"})
	factory.Drop(jane.ID)
	if get(t, factory, clients.Key{User: "jane"}) == jane {
		t.Error("a dropped connection is still kept")
	}
	counted.check(t, 2, 1)
	factory.Close()
	counted.check(t, 2, 0)
	for _, key := range []clients.Key{{}, {User: "jane"}, {User: "new"}} {
		if _, err := factory.Get(key); !errors.Is(err, clients.ErrClosed) {
			t.Errorf("got error %v after the end", err)
		}
	}
}

// TestHostsAreForgotten has a user whose kubeconfig names ever new hosts.
func TestHostsAreForgotten(t *testing.T) {
	t.Parallel()
	made, err := metrics.New(prometheus.NewRegistry(), "hosts")
	if err != nil {
		t.Fatal(err)
	}
	local, kept, left := newServer(t), newServer(t), newServer(t)
	factory := newFactory(t, clients.Options{Config: local.config(), Metrics: made})
	keys := map[string]clients.Key{"local": {}, "kept": {KubeConfig: kept.kubeConfig("{token: t}")}, "left": {KubeConfig: left.kubeConfig("{token: t}")}}
	hosts := map[string]string{"local": local.Listener.Addr().String(), "kept": kept.Listener.Addr().String(), "left": left.Listener.Addr().String()}
	for name, key := range keys {
		connection := get(t, factory, key)
		if err := connection.DiscoveryClient().RESTClient().Get().AbsPath("/version").Do(t.Context()).Error(); err != nil {
			t.Fatal(err)
		}
		if !isCounted(t, hosts[name]) {
			t.Fatalf("requests to the %s host are not counted", name)
		}
	}
	// The host of a dropped connection stays as long as another one has it.
	other := get(t, factory, clients.Key{KubeConfig: kept.kubeConfig("{token: other}")})
	for _, connection := range []*clients.Connection{other, get(t, factory, keys["left"])} {
		factory.Drop(connection.ID)
	}
	if isCounted(t, hosts["left"]) {
		t.Error("requests to a host that is not used any more are still counted")
	}
	for _, name := range []string{"local", "kept"} {
		if !isCounted(t, hosts[name]) {
			t.Errorf("what was counted of the %s host is lost", name)
		}
	}
}

// isCounted reports whether a series of the default registry has the host as a label.
func isCounted(t *testing.T, host string) bool {
	t.Helper()
	families, err := ctrlmetrics.Registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, family := range families {
		for _, metric := range family.GetMetric() {
			for _, label := range metric.GetLabel() {
				if label.GetValue() == host {
					return true
				}
			}
		}
	}
	return false
}
