// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package sandbox

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// contextName names cluster, user and context in the sandbox's kubeconfigs, and distinguishes them from other
// kubeconfigs.
const contextName = "component-operator-sandbox"

// writeKubeconfig writes a self-contained kubeconfig for the user with that certificate.
func (p *pki) writeKubeconfig(path, server, user string) error {
	var contents [3][]byte
	for i, file := range []string{p.cert("ca"), p.cert(user), p.key(user)} {
		content, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		contents[i] = content
	}
	config := clientcmdapi.NewConfig()
	config.Clusters[contextName] = &clientcmdapi.Cluster{Server: server, CertificateAuthorityData: contents[0]}
	config.AuthInfos[contextName] = &clientcmdapi.AuthInfo{ClientCertificateData: contents[1], ClientKeyData: contents[2]}
	config.Contexts[contextName] = &clientcmdapi.Context{Cluster: contextName, AuthInfo: contextName}
	config.CurrentContext = contextName
	content, err := clientcmd.Write(*config)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	// Write another file and rename it, so that readers never see half of it.
	temporary, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+"-")
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(temporary.Name()) }()
	_, err = temporary.Write(content)
	if err := errors.Join(err, temporary.Close()); err != nil {
		return err
	}
	return os.Rename(temporary.Name(), path)
}

// checkKubeconfig refuses to overwrite a file that no sandbox has written: it may be the user's only access to a
// cluster.
func checkKubeconfig(path string) error {
	config, err := clientcmd.LoadFromFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("reading the kubeconfig to replace: %w", err)
	}
	_, ours := config.Contexts[contextName]
	if ours && len(config.Contexts) == 1 && len(config.Clusters) == 1 {
		return nil
	}
	return fmt.Errorf("%s exists and was not written by a sandbox: choose another path for the kubeconfig", path)
}
