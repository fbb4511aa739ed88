// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package clients

import (
	"context"
	"slices"
	"sync"

	"k8s.io/client-go/rest"
)

// warningCode is the code of warnings that are meant for people.
const warningCode = 299

// Collector collects warnings of the API server. The zero value is ready for use; it is safe for concurrent use.
type Collector struct {
	mu       sync.Mutex
	warnings []string
}

// Warnings returns all distinct warnings so far, sorted.
func (c *Collector) Warnings() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.warnings)
}

func (c *Collector) add(warning string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if at, found := slices.BinarySearch(c.warnings, warning); !found {
		c.warnings = slices.Insert(c.warnings, at, warning)
	}
}

type collectorKey struct{}

// WithWarnings returns a context whose requests put warnings into the collector, instead of passing them to the handler
// of the connection. It works with all connections of this package.
func WithWarnings(ctx context.Context, collector *Collector) context.Context {
	return context.WithValue(ctx, collectorKey{}, collector)
}

// collecting passes warnings to the Collector of the request's context, or to the next handler.
type collecting struct {
	next rest.WarningHandlerWithContext
}

// HandleWarningHeaderWithContext collects the warning or passes it on.
func (h collecting) HandleWarningHeaderWithContext(ctx context.Context, code int, agent string, text string) {
	if collector, ok := ctx.Value(collectorKey{}).(*Collector); ok && collector != nil {
		if code == warningCode && text != "" {
			collector.add(text)
		}
		return
	}
	h.next.HandleWarningHeaderWithContext(ctx, code, agent, text)
}
