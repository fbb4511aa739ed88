// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package remote

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"sync/atomic"
	"time"

	"oras.land/oras-go/v2/registry/remote/retry"
)

const (
	// maxFetched is the limit for all responses together, in bytes. An unpacked chart has at most 100 MiB, indexes of
	// large repositories have some 30 MiB.
	maxFetched = 64 << 20
	// maxSilence is how long a server may take to begin its response.
	maxSilence = time.Minute
	userAgent  = "clm"
)

// newClient returns a client whose requests end with the context, even those of Helm's SDK, which takes no context.
func newClient(ctx context.Context, options Options) (*http.Client, error) {
	base := &http.Transport{
		Proxy: http.ProxyFromEnvironment,
		// Some servers declare the encoding of packaged charts as gzip; decompressed, they would be no charts.
		DisableCompression:    true,
		ForceAttemptHTTP2:     true,
		TLSHandshakeTimeout:   maxSilence,
		ResponseHeaderTimeout: maxSilence,
	}
	var err error
	if base.TLSClientConfig, err = tlsConfig(options); err != nil {
		return nil, err
	}
	strangers := base.Clone()
	strangers.TLSClientConfig.Certificates = nil
	bounded := &boundedTransport{ctx: ctx, next: base, strangers: strangers, options: options}
	bounded.left.Store(maxFetched)
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

// originOf returns scheme, host and port of a URL.
func (o Options) originOf(of *url.URL) string {
	scheme, port := of.Scheme, of.Port()
	if scheme == schemeOCI {
		scheme = schemeHTTPS
		if o.PlainHTTP {
			scheme = schemeHTTP
		}
	}
	if port == "" {
		port = map[string]string{schemeHTTP: "80", schemeHTTPS: "443"}[scheme]
	}
	return scheme + "://" + net.JoinHostPort(strings.ToLower(of.Hostname()), port)
}

// mayAuthenticate reports whether the credentials may be sent to that URL.
func (o Options) mayAuthenticate(to *url.URL) bool {
	return o.passCredentials || o.originOf(to) == o.origin
}

// boundedTransport may contain the context, because it serves only one fetch.
type boundedTransport struct {
	ctx context.Context //nolint:containedctx // see above
	// next is for URLs that may get the client certificate, strangers for all others.
	next, strangers *http.Transport
	options         Options
	// left is the number of bytes that may still be read.
	left atomic.Int64
}

// RoundTrip also gets redirected requests. The HTTP client would pass the header with the password to other ports and
// subdomains, and oras does so if there are two redirections.
func (t *boundedTransport) RoundTrip(request *http.Request) (*http.Response, error) {
	response, err := t.send(request)
	if err != nil {
		return nil, err
	}
	response.Body = &boundedBody{ReadCloser: response.Body, left: &t.left}
	return response, nil
}

func (t *boundedTransport) send(given *http.Request) (*http.Response, error) {
	request := given.Clone(t.ctx)
	if request.URL.Scheme == schemeHTTP && !t.options.PlainHTTP {
		return nil, refuse(request, fmt.Errorf("http://%s is not encrypted; --plain-http allows that", request.URL.Host))
	}
	// The URL before the redirection may contain a token.
	request.Header.Del("Referer")
	if asked := firstOf(given).URL; !t.options.passCredentials && t.options.originOf(asked) != t.options.originOf(request.URL) {
		if request.Body != nil && request.Body != http.NoBody {
			return nil, refuse(request, fmt.Errorf("%s redirects to %s a request that may contain a password", asked.Host, request.URL.Host))
		}
		request.Header.Del("Authorization")
	}
	if t.options.mayAuthenticate(request.URL) {
		return retry.NewTransport(t.next).RoundTrip(request)
	}
	return retry.NewTransport(t.strangers).RoundTrip(request)
}

// firstOf returns the original request that led to the given one through redirections.
func firstOf(request *http.Request) *http.Request {
	for request.Response != nil && request.Response.Request != nil {
		request = request.Response.Request
	}
	return request
}

// refuse closes the body of a request that is not sent, as transports must do.
func refuse(request *http.Request, reason error) error {
	if request.Body != nil {
		_ = request.Body.Close()
	}
	return reason
}

// CloseIdleConnections implements the client's method of that name.
func (t *boundedTransport) CloseIdleConnections() {
	t.next.CloseIdleConnections()
	t.strangers.CloseIdleConnections()
}

type boundedBody struct {
	io.ReadCloser

	left *atomic.Int64
}

func (b *boundedBody) Read(buffer []byte) (int, error) {
	n, err := b.ReadCloser.Read(buffer)
	if b.left.Add(-int64(n)) < 0 {
		return 0, fmt.Errorf("the response is larger than %d MiB", maxFetched>>20)
	}
	return n, err
}
