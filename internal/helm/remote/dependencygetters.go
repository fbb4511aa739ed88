// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package remote

import (
	"bytes"
	"context"
	"crypto/tls"
	"io"
	"net/http"
	"path"
	"slices"
	"strings"

	"helm.sh/helm/v3/pkg/cli"
	"helm.sh/helm/v3/pkg/getter"

	"github.com/component-operator/runtime/internal/manifest"
)

var httpSchemes = []string{"http", "https"}

// getters returns Helm's, plugins included. They end with the context. What they get by HTTP is fetched as remote does:
// without encryption only if that is allowed, and the credentials of a repository go to its origin only.
func getters(ctx context.Context, settings *cli.EnvSettings, repositories repositories, options DependencyOptions) getter.Providers {
	// HTTP/2 is left out because that would be another implementation of https.
	fetching := &http.Transport{TLSNextProto: map[string]func(string, *tls.Conn) http.RoundTripper{}}
	for _, scheme := range httpSchemes {
		fetching.RegisterProtocol(scheme, transportFunc(func(request *http.Request) (*http.Response, error) {
			identity, _, _ := request.BasicAuth()
			file, err := Get(ctx, request, repositories.entries[identity], Options{PlainHTTP: options.PlainHTTP})
			if err != nil {
				return nil, err
			}
			return &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(bytes.NewReader(file.Content)), Request: request}, nil
		}))
	}
	providers := getter.All(settings)
	for i, provider := range providers {
		providers[i].New = func(given ...getter.Option) (getter.Getter, error) {
			next, err := provider.New(append(slices.Clip(given), getter.WithTransport(fetching))...)
			if err != nil {
				return nil, err
			}
			return getterFunc(func(from string, given ...getter.Option) (*bytes.Buffer, error) {
				if scheme, _, _ := strings.Cut(from, ":"); !slices.Contains(httpSchemes, scheme) && !repositories.plugins[scheme] {
					// An index has led to a plugin.
					given = append(slices.Clip(given), getter.WithBasicAuth("", ""))
				}
				content, err := get(ctx, next, from, given)
				if err != nil {
					return nil, err
				}
				return content, checkContent(from, content.Bytes())
			}), nil
		}
	}
	return providers
}

// transportFunc is a function that is a transport.
type transportFunc func(*http.Request) (*http.Response, error)

func (f transportFunc) RoundTrip(request *http.Request) (*http.Response, error) { return f(request) }

// checkContent refuses what Helm's library would need too much memory for.
func checkContent(from string, content []byte) error {
	switch {
	case bytes.HasPrefix(content, []byte("\x1f\x8b")):
		return nil
	case path.Base(from) == "index.yaml":
		return manifest.CheckSize(content)
	default:
		return nil
	}
}

// getterFunc is a function that is a getter.
type getterFunc func(from string, options ...getter.Option) (*bytes.Buffer, error)

func (f getterFunc) Get(from string, options ...getter.Option) (*bytes.Buffer, error) {
	return f(from, options...)
}

// get leaves a request alone whose answer does not come before the context ends.
func get(ctx context.Context, next getter.Getter, from string, options []getter.Option) (*bytes.Buffer, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	type answer struct {
		content *bytes.Buffer
		err     error
	}
	answers := make(chan answer, 1)
	go func() {
		content, err := next.Get(from, options...)
		answers <- answer{content, err}
	}()
	select {
	case got := <-answers:
		return got.content, got.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}
