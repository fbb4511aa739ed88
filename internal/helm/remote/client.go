// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package remote

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net/http"
	"os"
	"sync/atomic"
	"time"

	"oras.land/oras-go/v2/registry/remote/retry"
)

const (
	// maxFetched is the limit for all responses together, in bytes. An unpacked chart has at most 100 MiB, indexes of large
	// repositories have some 30 MiB.
	maxFetched = 64 << 20
	// maxSilence is how long a server may take to begin its response.
	maxSilence = time.Minute
	userAgent  = "clm"
)

// newClient returns a client whose requests end with the context, even those of Helm's SDK, which takes no context.
func newClient(ctx context.Context, options Options, limit int64) (*http.Client, error) {
	base := &http.Transport{
		Proxy:                 http.ProxyFromEnvironment,
		ForceAttemptHTTP2:     true,
		TLSHandshakeTimeout:   maxSilence,
		ResponseHeaderTimeout: maxSilence,
	}
	var err error
	if base.TLSClientConfig, err = tlsConfig(options); err != nil {
		return nil, err
	}
	bounded := &boundedTransport{ctx: ctx, next: retry.NewTransport(base), plainHTTP: options.PlainHTTP, limit: limit}
	bounded.left.Store(limit)
	bounded.closeIdle = base.CloseIdleConnections
	return &http.Client{Transport: bounded}, nil
}

func tlsConfig(options Options) (*tls.Config, error) {
	config := &tls.Config{MinVersion: tls.VersionTLS12, InsecureSkipVerify: options.insecure} //nolint:gosec // the user has said so to Helm
	if options.CAFile != "" {
		trusted, err := trust(options.CAFile)
		if err != nil {
			return nil, err
		}
		config.RootCAs = trusted
	}
	if options.certFile != "" || options.keyFile != "" {
		certificate, err := tls.LoadX509KeyPair(options.certFile, options.keyFile)
		if err != nil {
			return nil, fmt.Errorf("reading the client certificate of the repository: %w", err)
		}
		config.Certificates = []tls.Certificate{certificate}
	}
	return config, nil
}

func trust(file string) (*x509.CertPool, error) {
	certificates, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("reading certificates: %w", err)
	}
	pool, err := x509.SystemCertPool()
	if err != nil {
		return nil, fmt.Errorf("reading the certificates of the system: %w", err)
	}
	if !pool.AppendCertsFromPEM(certificates) {
		return nil, fmt.Errorf("%s contains no certificates in PEM form", file)
	}
	return pool, nil
}

// boundedTransport serves one fetch, therefore it may keep the context.
type boundedTransport struct {
	ctx       context.Context //nolint:containedctx // see above
	next      http.RoundTripper
	plainHTTP bool
	// limit is how many bytes may be read, left is how many still may.
	limit     int64
	left      atomic.Int64
	closeIdle func()
}

// RoundTrip also gets requests that follow a redirection.
func (t *boundedTransport) RoundTrip(request *http.Request) (*http.Response, error) {
	if request.URL.Scheme == schemeHTTP && !t.plainHTTP {
		return nil, fmt.Errorf("http://%s is not encrypted; --plain-http allows that", request.URL.Host)
	}
	response, err := t.next.RoundTrip(request.WithContext(t.ctx))
	if err != nil {
		return nil, err
	}
	response.Body = &boundedBody{ReadCloser: response.Body, left: &t.left, limit: t.limit}
	return response, nil
}

// CloseIdleConnections lets the client's method of that name have an effect.
func (t *boundedTransport) CloseIdleConnections() { t.closeIdle() }

type boundedBody struct {
	io.ReadCloser

	left  *atomic.Int64
	limit int64
}

func (b *boundedBody) Read(buffer []byte) (int, error) {
	n, err := b.ReadCloser.Read(buffer)
	if b.left.Add(-int64(n)) < 0 {
		return 0, fmt.Errorf("the response is larger than %d MiB", b.limit>>20)
	}
	return n, err
}
