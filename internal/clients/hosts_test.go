// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package clients_test

import (
	"fmt"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/component-operator/runtime/internal/clients"
)

func TestAllowedHosts(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		reason   string
		patterns clients.Hosts
		cluster  string
		allowed  bool
	}{
		{"without patterns all hosts are allowed", nil, `{server: "https://169.254.169.254"}`, true},
		{"a name", clients.Hosts{"api.example.com"}, `{server: "https://api.example.com:6443/path"}`, true},
		{"letters and a final dot do not matter", clients.Hosts{"API.example.com"}, `{server: "https://Api.Example.com."}`, true},
		{"another name", clients.Hosts{"api.example.com"}, `{server: "https://evil.example.com"}`, false},
		{"a name that begins alike", clients.Hosts{"api.example.com"}, `{server: "https://api.example.com.evil.com"}`, false},
		{"a user in the URL is not the host", clients.Hosts{"api.example.com"}, `{server: "https://api.example.com@evil.com"}`, false},
		{"a server without scheme", clients.Hosts{"api.example.com"}, `{server: "api.example.com:80"}`, true},
		{"another server without scheme", clients.Hosts{"api.example.com"}, `{server: "evil.com:80"}`, false},
		{"a wildcard", clients.Hosts{"*.example.com"}, `{server: "https://a.b.example.com"}`, true},
		{"a wildcard does not mean the domain itself", clients.Hosts{"*.example.com"}, `{server: "https://example.com"}`, false},
		{"a wildcard ends at a dot", clients.Hosts{"*.example.com"}, `{server: "https://evilexample.com"}`, false},
		{"a port", clients.Hosts{"api.example.com:443"}, `{server: "https://api.example.com"}`, true},
		{"another port", clients.Hosts{"api.example.com:6443"}, `{server: "https://api.example.com"}`, false},
		{"an address", clients.Hosts{"10.0.0.1"}, `{server: "https://10.0.0.1:6443"}`, true},
		{"an address in another form", clients.Hosts{"10.0.0.1"}, `{server: "https://[::ffff:10.0.0.1]"}`, true},
		{"a range", clients.Hosts{"10.1.0.0/16"}, `{server: "https://10.1.2.3"}`, true},
		{"an address outside of the range", clients.Hosts{"10.1.0.0/16"}, `{server: "https://10.2.2.3"}`, false},
		{"a range with a port", clients.Hosts{"[10.1.0.0/16]:6443"}, `{server: "https://10.1.2.3:6443"}`, true},
		{"a range says nothing about names", clients.Hosts{"0.0.0.0/0"}, `{server: "https://localhost"}`, false},
		{"one of several", clients.Hosts{"a.com", "fd00::/8"}, `{server: "https://[fd00::1]:6443"}`, true},
		{"a proxy that is not allowed", clients.Hosts{"a.com"}, `{server: "https://a.com", proxy-url: "http://evil.com:3128"}`, false},
		{"a proxy that is allowed", clients.Hosts{"a.com", "proxy.com"}, `{server: "https://a.com", proxy-url: "socks5://proxy.com:1080"}`, true},
	} {
		_, err := newFactory(t, clients.Options{Hosts: test.patterns}).Get(clients.Key{KubeConfig: kubeConfig(test.cluster, "{}")})
		if (err == nil) != test.allowed {
			t.Errorf("%s: allowed: %t, got error %v", test.reason, test.allowed, err)
		}
		if err != nil && !strings.HasSuffix(err.Error(), "is not allowed; must match one of: "+strings.Join(test.patterns, ", ")) {
			t.Errorf("%s: the error does not say what is allowed: %v", test.reason, err)
		}
		_, err = clients.ConnectOnce(clients.WithHosts(t.Context(), test.patterns), kubeConfig(strings.Replace(test.cluster, "https", "http", 1), "{}"))
		if !test.allowed && (err == nil || !strings.Contains(err.Error(), "is not allowed")) {
			t.Errorf("%s: a connection for a moment is allowed: %v", test.reason, err)
		}
	}
}

func TestHostPatterns(t *testing.T) {
	t.Parallel()
	for pattern, valid := range map[string]bool{
		"a.com": true, "*.a.com": true, "a.com:1": true, "10.0.0.1": true, "10.0.0.0/8": true, "fd00::1": true, "[fd00::1]:443": true, "[fd00::/8]:443": true,
		"": false, "*": false, "a.*.com": false, "https://a.com": false, "a.com:0": false, "a.com:x": false, "10.0.0.0/33": false, "a.com/b": false,
	} {
		if err := (clients.Hosts{pattern}).Validate(); (err == nil) != valid {
			t.Errorf("pattern %q: valid: %t, got error %v", pattern, valid, err)
		} else if err != nil && !strings.HasPrefix(err.Error(), fmt.Sprintf("host pattern %q: must be ", pattern)) {
			t.Errorf("pattern %q: %v", pattern, err)
		}
	}
}

// TestRejectedValuesAreNotShown has an API server quote the object that it rejects.
func TestRejectedValuesAreNotShown(t *testing.T) {
	t.Parallel()
	const status = `{"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": 422, "reason": "Invalid", "message": "x: Invalid value: \"secret\": the rule",
"details": {"causes": [{"reason": "FieldValueInvalid", "field": "x", "message": "Invalid value: \"secret\": the rule"}]}}`
	connection := remote(t, answer(t, 422, "application/json", status), clients.Patience{})
	err := resource(t, connection).Delete(t.Context(), "name", metav1.DeleteOptions{})
	if err == nil || !strings.Contains(err.Error(), "x: Invalid value: ***: the rule") || strings.Contains(fmt.Sprintf("%+v %#v", err, err), "secret") {
		t.Errorf("got error %v", err)
	}
}
