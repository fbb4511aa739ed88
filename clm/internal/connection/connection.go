// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package connection

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"

	"github.com/component-operator/runtime/clm/internal/progress"
	"github.com/component-operator/runtime/clm/internal/releases"
	"github.com/component-operator/runtime/internal/clients"
	"github.com/component-operator/runtime/pkg/cluster"
)

// Options configure a Connection.
type Options struct {
	// Config leads to the cluster. Required.
	Config *rest.Config
	// Holder names this process to others that want to work on the same release, such as "alice@laptop/4711". Required.
	Holder string
	// Printer shows how operations go. Defaults to none.
	Printer progress.Printer
	// Clock defaults to the real time.
	Clock clock.WithTicker
}

// Connection leads to one cluster as one user, and to the releases in it. It is safe for concurrent use.
type Connection struct {
	options Options
	factory *clients.Factory
	client  *clients.Connection
	records *releases.Store
	// discovered is closed when it is known what the cluster serves, or that this cannot be known.
	discovered chan struct{}
}

// Open returns a connection. It does not wait for the cluster, but begins to ask what is served there, which whatever follows needs to know.
func Open(options Options) (*Connection, error) {
	if options.Clock == nil {
		options.Clock = clock.RealClock{}
	}
	if options.Printer == nil {
		options.Printer = progress.Silent{}
	}
	factory, err := clients.New(clients.Options{
		Name:   "clm",
		Config: options.Config,
		// What servers warn about is part of what the engine reports.
		WarningHandler: rest.NoWarnings{},
	})
	if err != nil {
		return nil, fmt.Errorf("connecting to the cluster: %w", err)
	}
	c := &Connection{
		options:    options,
		factory:    factory,
		client:     factory.Local(),
		records:    releases.NewStore(releases.Options{Client: factory.Local(), Clock: options.Clock}),
		discovered: make(chan struct{}),
	}
	go func() {
		defer close(c.discovered)
		// If it fails, whoever needs it tries again, and gets the error.
		_, _ = c.client.RESTMapper().RESTMapping(schema.GroupKind{Kind: "Secret"})
	}()
	return c, nil
}

// Ready returns when it is known what the cluster serves, or that this cannot be known. Otherwise the error is that of the context: discovery
// itself does not end with a context, which may take long if the server does not answer.
func (c *Connection) Ready(ctx context.Context) error {
	select {
	case <-c.discovered:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Records are the records of all releases.
func (c *Connection) Records() *releases.Store { return c.records }

// Release reads a release. If there is none, the error says which ones there are.
func (c *Connection) Release(ctx context.Context, namespace, name string) (*releases.Release, error) {
	release, err := c.records.Get(ctx, namespace, name)
	if errors.Is(err, releases.ErrNotFound) {
		return nil, c.suggest(ctx, namespace, name, err)
	}
	return release, err
}

// Absent returns the error about a release that was looked for in vain; never nil. It names the releases that there are. The release is not looked for
// again.
func (c *Connection) Absent(ctx context.Context, namespace, name string) error {
	return c.suggest(ctx, namespace, name, fmt.Errorf("release %s/%s: %w", namespace, name, releases.ErrNotFound))
}

// suggest adds to an error about a release that does not exist which ones there are, or that there was such a release.
func (c *Connection) suggest(ctx context.Context, namespace, name string, err error) error {
	if parts, partsErr := c.records.HasParts(ctx, namespace, name); partsErr == nil && parts {
		// It may have been created since it was looked for.
		if _, again := c.records.Get(ctx, namespace, name); errors.Is(again, releases.ErrNotFound) {
			return fmt.Errorf("%w; but there are parts of its record, which was lost. "+
				"To see what is left of it: clm doctor %[2]s -n %[3]s. To have it again, or these parts removed: clm doctor %[2]s -n %[3]s --fix", err, name, namespace)
		}
	}
	nearby, listErr := c.records.Nearby(ctx, namespace, name)
	switch {
	case listErr != nil:
		return err
	case len(nearby) == 0:
		return fmt.Errorf("%w; there are no releases in namespace %s", err, namespace)
	default:
		return fmt.Errorf("%w; there are: %s", err, strings.Join(nearby, ", "))
	}
}

// Printer shows how operations go.
func (c *Connection) Printer() progress.Printer { return c.options.Printer }

// Clock is what tells the time.
func (c *Connection) Clock() clock.WithTicker { return c.options.Clock }

// Holder names this process to others that want to work on the same release.
func (c *Connection) Holder() string { return c.options.Holder }

// Client makes requests to the cluster.
func (c *Connection) Client() cluster.Client { return c.client }

// Close ends the connection.
func (c *Connection) Close() { c.factory.Close() }
