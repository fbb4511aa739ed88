// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package runner

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/transport"
	"k8s.io/klog/v2"
	"k8s.io/klog/v2/textlogger"
	"k8s.io/utils/clock"

	"github.com/component-operator/runtime/clm/internal/display"
	"github.com/component-operator/runtime/clm/internal/releases"
	"github.com/component-operator/runtime/internal/clients"
	"github.com/component-operator/runtime/internal/judges"
	"github.com/component-operator/runtime/pkg/cluster"
)

// Options configure a Connection.
type Options struct {
	// Config says how to connect to the cluster. Required.
	Config *rest.Config
	// Holder names this process to others that wait for its locks, such as "alice@laptop/4711". Required.
	Holder string
	// Started is when this process was started: other processes compare it with their own start. Defaults to the time
	// when the connection is opened.
	Started time.Time
	// Printer shows operations. Defaults to none.
	Printer display.Printer
	// Clock defaults to the real time.
	Clock clock.WithTicker
	// MaxConcurrency is the maximum number of concurrent requests about dependents. Defaults to that of the engine.
	MaxConcurrency int
	// Log gets the requests that the verbosity, which is that of kubectl, says. It must be safe for concurrent use.
	// Defaults to none.
	Log       io.Writer
	Verbosity int
}

// Connection accesses one cluster as one user, and the releases in it. It is safe for concurrent use.
type Connection struct {
	options Options
	factory *clients.Factory
	client  *clients.Connection
	records *releases.Store
	// definitions are shared by all that looks at dependents.
	definitions *judges.Definitions
	// discovered is closed when discovery has ended, whether or not it has succeeded.
	discovered chan struct{}
}

// Open returns a connection. It does not wait for the cluster, but starts discovery, which all commands need.
func Open(options Options) (*Connection, error) {
	if options.Clock == nil {
		options.Clock = clock.RealClock{}
	}
	if options.Started.IsZero() {
		options.Started = options.Clock.Now()
	}
	if options.Printer == nil {
		options.Printer = display.Silent{}
	}
	config := options.Config
	if options.Log != nil && options.Verbosity > 0 {
		config = rest.CopyConfig(config)
		config.Wrap(logRequests(options.Log, options.Verbosity))
	}
	factory, err := clients.New(clients.Options{
		Name:   "clm",
		Config: config,
		// The engine reports the warnings of servers.
		WarningHandler: rest.NoWarnings{},
	})
	if err != nil {
		return nil, fmt.Errorf("connecting to the cluster: %w", err)
	}
	c := &Connection{
		options:     options,
		factory:     factory,
		client:      factory.Local(),
		definitions: judges.NewDefinitions(factory.Local()),
		records:     releases.NewStore(releases.Options{Client: factory.Local(), Clock: options.Clock}),
		discovered:  make(chan struct{}),
	}
	go func() {
		defer close(c.discovered)
		// If it fails, the next user of the mapper tries again, and gets the error.
		_, _ = c.client.RESTMapper().RESTMapping(schema.GroupKind{Kind: "Secret"})
	}()
	return c, nil
}

// Ready waits until discovery has ended, whether or not it has succeeded. The error is that of the context: discovery
// itself has no context, and takes long if the server does not answer.
func (c *Connection) Ready(ctx context.Context) error {
	select {
	case <-c.discovered:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Definitions returns what is known of the types of dependents.
func (c *Connection) Definitions() *judges.Definitions { return c.definitions }

// MaxConcurrency returns the maximum number of concurrent requests about dependents; 0 means that of the engine.
func (c *Connection) MaxConcurrency() int { return c.options.MaxConcurrency }

// Records returns the store of all releases.
func (c *Connection) Records() *releases.Store { return c.records }

// Release reads a release. If it does not exist, the error names the existing ones.
func (c *Connection) Release(ctx context.Context, namespace, name string) (*releases.Release, error) {
	release, err := c.records.Get(ctx, namespace, name)
	if errors.Is(err, releases.ErrNotFound) {
		return nil, c.suggest(ctx, namespace, name, err)
	}
	return release, err
}

// Absent returns the error for a release that was not found; never nil. The error names the existing releases. Absent
// does not look for the release again.
func (c *Connection) Absent(ctx context.Context, namespace, name string) error {
	return c.suggest(ctx, namespace, name, fmt.Errorf("release %s/%s: %w", namespace, name, releases.ErrNotFound))
}

// suggest adds the existing releases to the error for a release that does not exist, or that parts of its record are
// left.
func (c *Connection) suggest(ctx context.Context, namespace, name string, err error) error {
	if parts, partsErr := c.records.HasParts(ctx, namespace, name); partsErr == nil && parts {
		// It may have been created since it was looked for.
		if _, again := c.records.Get(ctx, namespace, name); errors.Is(again, releases.ErrNotFound) {
			return fmt.Errorf("%w; but there are parts of its record, which was lost. "+
				"To see what is left: clm doctor %[2]s -n %[3]s. To rebuild the record, or to remove these parts: clm doctor %[2]s -n %[3]s --fix", err, name, namespace)
		}
	}
	nearby, listErr := c.records.Nearby(ctx, namespace, name)
	switch {
	case listErr != nil:
		return err
	case len(nearby) == 0:
		return fmt.Errorf("%w; there are no releases in namespace %s", err, namespace)
	default:
		return fmt.Errorf("%w; existing releases: %s", err, strings.Join(nearby, ", "))
	}
}

// Printer returns the printer that shows operations.
func (c *Connection) Printer() display.Printer { return c.options.Printer }

// Clock returns the clock.
func (c *Connection) Clock() clock.WithTicker { return c.options.Clock }

// Holder returns the name of this process for locks.
func (c *Connection) Holder() string { return c.options.Holder }

// Started returns when this process was started.
func (c *Connection) Started() time.Time { return c.options.Started }

// Client returns the client of the cluster.
func (c *Connection) Client() cluster.Client { return c.client }

// Close closes the connection.
func (c *Connection) Close() { c.factory.Close() }

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
