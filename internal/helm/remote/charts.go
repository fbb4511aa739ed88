// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package remote

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing/fstest"

	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/provenance"
	"helm.sh/helm/v3/pkg/pusher"
	"helm.sh/helm/v3/pkg/registry"

	"github.com/component-operator/runtime/internal/helm"
)

// ReadChart reads the chart of a reference in any form, or at a path. It may be a library, and its dependencies may be
// missing. The package is empty if it was not fetched.
func ReadChart(ctx context.Context, text string, options Options) (chart *helm.Chart, packaged File, err error) {
	reference, err := Find(text)
	switch {
	case err != nil:
		return nil, File{}, fmt.Errorf("reading the chart: %w", err)
	case options.Version != "" && (reference == nil || !reference.TakesVersion()):
		return nil, File{}, fmt.Errorf("version %s is given, but the chart has a version already", options.Version)
	case reference == nil:
		if _, err := Verify(text, options.Signatures); err != nil {
			return nil, File{}, err
		}
		chart, err = helm.ReadLocal(text)
		return chart, File{}, err
	}
	if packaged, err = reference.Fetch(ctx, options); err == nil {
		const name = "package.tgz"
		chart, err = helm.Read(fstest.MapFS{name: {Data: packaged.Content}}, name)
	}
	return chart, packaged, err
}

// Pull fetches the chart of a reference in any form. It writes the package as NAME-VERSION.tgz to the folder, or unpacks
// it into a new folder NAME there, and reports the path and the digest. It fails if there is something at that path.
func Pull(ctx context.Context, text, folder string, unpack bool, options Options) (report string, err error) {
	chart, packaged, err := ReadChart(ctx, text, options)
	switch {
	case err != nil:
		return "", err
	case packaged.Content == nil:
		return "", fmt.Errorf("%s is on this machine; to package a chart: clm package", text)
	}
	target := filepath.Join(folder, chart.Name())
	if !unpack {
		target += "-" + chart.Version() + ".tgz"
	}
	if _, err := os.Lstat(target); err == nil {
		return "", fmt.Errorf("%s exists already; it is not overwritten", target)
	}
	if unpack {
		err = chartutil.Expand(folder, bytes.NewReader(packaged.Content))
	} else {
		err = errors.Join(os.MkdirAll(folder, 0o755), os.WriteFile(target, packaged.Content, 0o644))
	}
	if err != nil {
		return "", fmt.Errorf("writing %s: %w", target, err)
	}
	return "Saved: " + target + "\nDigest: " + packaged.Digest, nil
}

// Sign signs the package in a file with the private key of a keyring that has the name, or part of it, and writes the
// signature beside the file, with .prov. The passphrase is requested only if the key has one.
func Sign(file, keyring, name string, passphrase func(key string) ([]byte, error)) error {
	signatory, err := provenance.NewFromKeyring(keyring, name)
	if err == nil {
		err = signatory.DecryptKey(passphrase)
	}
	if err != nil {
		return fmt.Errorf("reading key %q of keyring %s: %w", name, keyring, err)
	}
	signature, err := signatory.ClearSign(file)
	if err != nil {
		return fmt.Errorf("signing %s: %w", file, err)
	}
	return os.WriteFile(file+".prov", []byte(signature), 0o644)
}

// Push pushes a packaged chart to a registry, with its signature if there is a file with the same name and .prov. The
// target is oci://HOST/PATH, to which Helm adds the name and the version of the chart. It returns what Helm reports.
func Push(ctx context.Context, file, target string, options Options) (report string, err error) {
	to, err := Parse(target)
	if err != nil || to.url.Scheme != schemeOCI || to.suffix != "" { // the target may contain a password
		return "", errors.New("the target is not oci://HOST/PATH, to which the name and the version of the chart are added")
	}
	return withRegistry(ctx, to.url.Host, options, func(client *registry.Client) error {
		push, err := pusher.NewOCIPusher(pusher.WithRegistryClient(client))
		if err == nil {
			err = push.Push(file, target)
		}
		return refused(to.url.Host, 0, err)
	})
}

// Login checks the user name and the password for a registry, HOST or HOST:PORT, and stores them where Helm does. It
// returns what Helm reports.
func Login(ctx context.Context, host string, options Options) (report string, err error) {
	return withRegistry(ctx, host, options, func(client *registry.Client) error {
		return client.Login(host, registry.LoginOptBasicAuth(options.Username, options.Password))
	})
}

// Logout removes the user name and the password for a registry from where Helm stores them. It returns what Helm reports.
func Logout(ctx context.Context, host string) (report string, err error) {
	return withRegistry(ctx, host, Options{}, func(client *registry.Client) error { return client.Logout(host) })
}

// withRegistry calls a function with Helm's client for a registry, and returns what that has written.
func withRegistry(ctx context.Context, host string, options Options, do func(client *registry.Client) error) (string, error) {
	own, err := url.Parse(schemeOCI + "://" + host)
	if err != nil || own.Host != host { // it may contain a password
		return "", errors.New("the host of the registry is not HOST or HOST:PORT")
	}
	f, err := newFetcher(ctx, own, options)
	if err != nil {
		return "", err
	}
	defer f.client.CloseIdleConnections()
	var out bytes.Buffer
	client, err := f.registryClient(own, registry.ClientOptWriter(&out))
	if err != nil {
		return "", fmt.Errorf("reading credentials for registries: %w", err)
	}
	err = do(client)
	return strings.TrimSpace(out.String()), err
}
