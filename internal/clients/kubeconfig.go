// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package clients

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

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

// errNoKubeConfig does not quote the text, which may be from any Secret that a user refers to.
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
	var fields []string
	if found := kubeConfig.Clusters[context.Cluster]; found != nil && found.CertificateAuthority != "" {
		fields = append(fields, "certificate-authority")
	}
	if user := kubeConfig.AuthInfos[context.AuthInfo]; user != nil {
		for field, used := range map[string]bool{
			"client-certificate": user.ClientCertificate != "",
			"client-key":         user.ClientKey != "",
			"tokenFile":          user.TokenFile != "",
			"exec":               user.Exec != nil,
			"auth-provider":      user.AuthProvider != nil,
		} {
			if used {
				fields = append(fields, field)
			}
		}
	}
	if len(fields) == 0 {
		return nil
	}
	slices.Sort(fields)
	return fmt.Errorf("invalid kubeconfig: context %q uses %s: %w",
		kubeConfig.CurrentContext, strings.Join(fields, ", "), errLocalCredentials)
}

var errLocalCredentials = errors.New("files and programs are not allowed, credentials must be part of the kubeconfig " +
	"(certificate-authority-data, client-certificate-data, client-key-data, token, username and password)")
