// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package runner

import (
	"io"
	"net/http"

	"k8s.io/client-go/transport"
	"k8s.io/klog/v2"
	"k8s.io/klog/v2/textlogger"
)

// logRequests returns what makes a transport log its requests. The levels of verbosity are those of kubectl: 6 logs
// methods, URLs, status codes and durations, 7 also headers, and 9 curl commands and details of the connection.
// Credentials in headers are masked.
func logRequests(out io.Writer, verbosity int) transport.WrapperFunc {
	logger := textlogger.NewLogger(textlogger.NewConfig(textlogger.Output(out), textlogger.Verbosity(verbosity)))
	return func(next http.RoundTripper) http.RoundTripper {
		return &loggingTransport{next: transport.NewDebuggingRoundTripper(next, transport.DebugByContext), logger: logger}
	}
}

// loggingTransport gives each request a logger.
type loggingTransport struct {
	next   http.RoundTripper
	logger klog.Logger
}

// RoundTrip implements http.RoundTripper.
func (t *loggingTransport) RoundTrip(request *http.Request) (*http.Response, error) {
	return t.next.RoundTrip(request.WithContext(klog.NewContext(request.Context(), t.logger)))
}

// WrappedRoundTripper returns the transport behind this one, as client-go asks for it.
func (t *loggingTransport) WrappedRoundTripper() http.RoundTripper { return t.next }
