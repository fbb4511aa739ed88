// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package remote

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"path"

	"helm.sh/helm/v3/pkg/repo"
	"oras.land/oras-go/v2/registry/remote/auth"
	"oras.land/oras-go/v2/registry/remote/errcode"
)

// Options say how to fetch. The zero value works for everything that is public.
type Options struct {
	// Version is a version, or a range of versions. It applies if the reference has none itself. Defaults to the newest
	// version other than a pre-release.
	Version string
	// PlainHTTP allows unencrypted connections, and uses them for registries. Defaults to false.
	PlainHTTP bool
	// CAFile is a PEM file with certificate authorities to trust in addition to those of the system. Defaults to none.
	CAFile string
	// Username and Password are sent to the origin of the reference only. Default to none; for registries to the
	// credentials of Helm and Docker.
	Username, Password string

	// origin is the origin of the reference or of its repository. Only it gets credentials.
	origin string
	// What follows is known of named repositories only: the client certificate with its key, whether to accept any
	// server certificate, and whether the credentials are for all origins.
	certFile, keyFile         string
	insecure, passCredentials bool
	// provenance also fetches the signature of a chart.
	provenance bool
}

// File is a fetched file.
type File struct {
	// Name is a file name without a folder, for messages.
	Name    string
	Content []byte

	// version is the version of a chart from a repository or registry, provenance its signature if that was asked for.
	version    string
	provenance []byte
}

// Fetch gets the file of a reference. The context ends it. Errors do not repeat the reference.
func (r Reference) Fetch(ctx context.Context, options Options) (File, error) {
	if r.TakesVersion() {
		r.version = options.Version
	}
	f, err := newFetcher(ctx, r.url, r.repository, options)
	if err != nil {
		return File{}, err
	}
	defer f.client.CloseIdleConnections()
	return f.fetch(ctx, r)
}

func (f *fetcher) fetch(ctx context.Context, r Reference) (File, error) {
	switch {
	case r.url.Scheme == schemeOCI:
		return f.pull(r)
	case r.chart != "":
		return f.fromRepository(ctx, r)
	default:
		return f.get(ctx, r.url)
	}
}

// fetcher fetches one reference.
type fetcher struct {
	client  *http.Client
	options Options
}

// newFetcher returns a fetcher that sends credentials to the origin of that URL. The repository may be nil.
func newFetcher(ctx context.Context, own *url.URL, repository *repo.Entry, options Options) (*fetcher, error) {
	options = options.withRepository(repository)
	options.origin = options.originOf(own)
	client, err := newClient(ctx, options)
	return &fetcher{client: client, options: options}, err
}

// credentials returns the credentials for a URL.
func (f *fetcher) credentials(to *url.URL) (username, password string) {
	if !f.options.mayAuthenticate(to) {
		return "", ""
	}
	return f.options.Username, f.options.Password
}

// get fetches a file by HTTP.
func (f *fetcher) get(ctx context.Context, from *url.URL) (File, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, from.String(), http.NoBody)
	if err != nil {
		return File{}, err
	}
	request.Header.Set("User-Agent", userAgent)
	if username, password := f.credentials(from); username != "" || password != "" {
		request.SetBasicAuth(username, password)
	}
	response, err := f.client.Do(request)
	if err != nil {
		return File{}, withoutURL(err)
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return File{}, refused(from.Host, response.StatusCode, fmt.Errorf("%s responded with %s", from.Host, response.Status))
	}
	content, err := io.ReadAll(response.Body)
	if err != nil {
		return File{}, fmt.Errorf("reading the answer of %s: %w", from.Host, err)
	}
	return File{Name: path.Base(from.Path), Content: content}, nil
}

// withoutURL removes the method and the URL that the HTTP client puts in front of its errors.
func withoutURL(err error) error {
	var wrapped *url.Error
	if errors.As(err, &wrapped) {
		return wrapped.Err
	}
	return err
}

// refused adds advice to the error of a response, if there is any.
func refused(host string, status int, err error) error {
	var answer *errcode.ErrorResponse
	if errors.As(err, &answer) {
		status = answer.StatusCode
	}
	switch {
	case status == http.StatusUnauthorized, status == http.StatusForbidden, errors.Is(err, auth.ErrBasicCredentialNotFound):
		return fmt.Errorf("%w; user name and password are missing or wrong: set them or, for a registry, run \"helm registry login %s\"", err, host)
	default:
		return err
	}
}
