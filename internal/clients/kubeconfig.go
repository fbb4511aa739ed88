// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package clients

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/internal/manifest"
)

// ConnectOnce returns a client for the cluster of a kubeconfig, for a few requests; other code uses a Factory. The
// client has the bounds of a factory's connection, and keeps no connection open. The kubeconfig must neither refer to
// local files and programs, nor lead to a host that the context does not allow.
func ConnectOnce(ctx context.Context, raw []byte) (client.Client, error) {
	config, err := parseKubeConfig(raw, HostsFromContext(ctx))
	if err != nil {
		return nil, err
	}
	config.QPS = -1
	limits := &bounds{patience: Patience{}.complete(), remote: true, single: true}
	limits.confine(config)
	return client.New(config, client.Options{})
}

// errNoKubeConfig does not quote the content, which may come from any Secret that a user refers to.
var errNoKubeConfig = errors.New("invalid kubeconfig: must be YAML or JSON with apiVersion v1 and kind Config")

// parseKubeConfig returns the configuration of the current context. It ignores other contexts.
func parseKubeConfig(raw []byte, hosts Hosts) (*rest.Config, error) {
	if err := manifest.CheckSize(raw); err != nil {
		return nil, fmt.Errorf("invalid kubeconfig: %w", err)
	}
	kubeConfig, err := clientcmd.Load(raw)
	if err != nil {
		return nil, errNoKubeConfig
	}
	chosen := kubeConfig.Contexts[kubeConfig.CurrentContext]
	if kubeConfig.CurrentContext == "" || chosen == nil {
		return nil, errors.New("invalid kubeconfig: current-context is missing, or not among the contexts")
	}
	if err := refuseLocalCredentials(kubeConfig, chosen); err != nil {
		return nil, err
	}
	if err := hosts.check(kubeConfig.Clusters[chosen.Cluster]); err != nil {
		return nil, err
	}
	config, err := clientcmd.NewDefaultClientConfig(*kubeConfig, &clientcmd.ConfigOverrides{}).ClientConfig()
	if err != nil {
		return nil, fmt.Errorf("invalid kubeconfig: %w", err)
	}
	// The host is a label of client-go's metrics, which panic if it is not UTF-8.
	if server, _, err := rest.DefaultServerUrlFor(config); err != nil || !utf8.ValidString(server.Host) {
		return nil, errors.New("invalid kubeconfig: server is not a URL")
	}
	return config, nil
}

// refuseLocalCredentials fails if the kubeconfig refers to local files or programs. They could send the operator's own
// token to the cluster, or harm this machine.
func refuseLocalCredentials(kubeConfig *clientcmdapi.Config, context *clientcmdapi.Context) error {
	server := cmp.Or(kubeConfig.Clusters[context.Cluster], clientcmdapi.NewCluster())
	user := cmp.Or(kubeConfig.AuthInfos[context.AuthInfo], clientcmdapi.NewAuthInfo())
	fields := map[string]bool{
		"certificate-authority": server.CertificateAuthority != "",
		"client-certificate":    user.ClientCertificate != "",
		"client-key":            user.ClientKey != "",
		"tokenFile":             user.TokenFile != "",
		"exec":                  user.Exec != nil,
		"auth-provider":         user.AuthProvider != nil,
	}
	maps.DeleteFunc(fields, func(_ string, used bool) bool { return !used })
	if len(fields) == 0 {
		return nil
	}
	return fmt.Errorf("invalid kubeconfig: context %q uses %s: %w",
		kubeConfig.CurrentContext, strings.Join(slices.Sorted(maps.Keys(fields)), ", "), errLocalCredentials)
}

var errLocalCredentials = errors.New("files and programs are not allowed, credentials must be part of the kubeconfig " +
	"(certificate-authority-data, client-certificate-data, client-key-data, token, username and password)")

// Hosts are patterns of hosts that kubeconfigs may lead to; none means all. A pattern is a name ("api.example.com"), a
// name with a wildcard for one or more labels at its beginning ("*.example.com"), an address, or a range of addresses
// ("10.1.0.0/16"). It may end with a port ("api.example.com:6443", "[10.1.0.0/16]:6443"); otherwise all ports are
// allowed. Names are not resolved, so a range of addresses never matches a name.
type Hosts []string

// Validate returns an error for each invalid pattern.
func (h Hosts) Validate() error {
	var problems []error
	for _, pattern := range h {
		host, port := splitPattern(pattern)
		if !isHostPattern(host) || !isPort(port) {
			problems = append(problems, fmt.Errorf(
				"host pattern %q: must be a name such as api.example.com, *.example.com, an address, or a range of addresses such as 10.1.0.0/16, with or without a port", pattern))
		}
	}
	return errors.Join(problems...)
}

func isHostPattern(host string) bool {
	if _, err := netip.ParseAddr(host); err == nil {
		return true
	}
	if _, err := netip.ParsePrefix(host); err == nil {
		return true
	}
	return len(validation.IsDNS1123Subdomain(strings.TrimPrefix(strings.ToLower(host), "*."))) == 0
}

func isPort(port string) bool {
	number, err := strconv.Atoi(port)
	return port == "" || err == nil && len(validation.IsValidPortNum(number)) == 0
}

// splitPattern returns host and port; port is empty if there is none.
func splitPattern(pattern string) (host, port string) {
	if host, port, err := net.SplitHostPort(pattern); err == nil && port != "" {
		return host, port
	}
	return strings.Trim(pattern, "[]"), ""
}

// allows reports whether one of the patterns matches the host.
func (h Hosts) allows(host, port string) bool {
	host = strings.TrimSuffix(strings.ToLower(host), ".")
	return len(h) == 0 || slices.ContainsFunc(h, func(pattern string) bool {
		wanted, wantedPort := splitPattern(strings.ToLower(pattern))
		if wantedPort != "" && wantedPort != port {
			return false
		}
		address, err := netip.ParseAddr(host)
		if err != nil {
			suffix, isWildcard := strings.CutPrefix(wanted, "*")
			return host == wanted || isWildcard && strings.HasSuffix(host, suffix) && len(host) > len(suffix)
		}
		address = address.Unmap()
		if allowed, err := netip.ParseAddr(wanted); err == nil {
			return address == allowed.Unmap()
		}
		prefix, err := netip.ParsePrefix(wanted)
		return err == nil && prefix.Contains(address)
	})
}

// check fails if the server or the proxy of a kubeconfig is not allowed.
func (h Hosts) check(found *clientcmdapi.Cluster) error {
	if found == nil || len(h) == 0 {
		return nil
	}
	for _, target := range []struct{ field, value string }{{"server", found.Server}, {"proxy-url", found.ProxyURL}} {
		if target.value == "" && target.field == "proxy-url" {
			continue
		}
		host, port := hostOf(target.value)
		if !h.allows(host, port) {
			return fmt.Errorf("invalid kubeconfig: %s: host %q is not allowed; must match one of: %s",
				target.field, net.JoinHostPort(host, port), strings.Join(slices.Sorted(slices.Values(h)), ", "))
		}
	}
	return nil
}

// hostOf returns host and port that a client connects to, given a URL, or a host with or without port.
func hostOf(server string) (host, port string) {
	parsed, err := url.Parse(server)
	if err != nil || parsed.Scheme == "" || parsed.Host == "" {
		// As clients do.
		if parsed, err = url.Parse("http://" + server); err != nil {
			return server, ""
		}
	}
	port = parsed.Port()
	if port == "" {
		port = map[string]string{"https": "443", "http": "80", "socks5": "1080", "socks5h": "1080"}[strings.ToLower(parsed.Scheme)]
	}
	return parsed.Hostname(), port
}

type hostsKey struct{}

// HostsFromContext returns the Hosts from WithHosts; nil if there are none.
func HostsFromContext(ctx context.Context) Hosts {
	hosts, _ := ctx.Value(hostsKey{}).(Hosts)
	return hosts
}

// WithHosts returns a context for calls that use ConnectOnce.
func WithHosts(ctx context.Context, hosts Hosts) context.Context {
	return context.WithValue(ctx, hostsKey{}, hosts)
}
