// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package resource

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	apitypes "k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// CachePatience is how long passes wait for the cache to show the last write before they read from the server.
const CachePatience = 2 * time.Second

// Client reads and writes components of one kind. Its fields do not change once it is in use.
type Client struct {
	Kind schema.GroupVersionKind
	// New returns an empty component.
	New func() client.Object
	// ClearStatus empties the reconciler's fields of the status of a component.
	ClearStatus func(component client.Object)
	// Client reads from the cache and writes; Live reads from the server.
	Client client.Client
	Live   client.Reader
	// FieldOwner is the field manager of all writes.
	FieldOwner string
	// OwnFields are the reconciler's fields of the status. It leaves the others alone.
	OwnFields []string
	Clock     clock.PassiveClock
}

// Fetch returns the component; if the cache does not show the last write yet, it returns none, and a delay. The error is NotFound if the component is
// gone. With confirm, a component that this process does not know is read from the server: another process may have seen, and applied, a version that
// the cache does not show yet. It must not be called concurrently for one component.
func (c *Client) Fetch(ctx context.Context, key apitypes.NamespacedName, memoryOf func(uid apitypes.UID) *Memory, confirm bool) (client.Object, time.Duration, error) {
	component, wait, err := c.fetch(ctx, key, memoryOf, confirm)
	if err != nil {
		return nil, 0, fmt.Errorf("reading %s %s: %w", c.Kind.Kind, key, err)
	}
	return component, wait, nil
}

func (c *Client) fetch(ctx context.Context, key apitypes.NamespacedName, memoryOf func(uid apitypes.UID) *Memory, confirm bool) (client.Object, time.Duration, error) {
	component, err := c.read(ctx, c.Client, key)
	if err != nil {
		return nil, 0, err
	}
	known := memoryOf(component.GetUID())
	if confirm && !known.confirmed {
		component, err := c.confirm(ctx, key, memoryOf)
		return component, 0, err
	}
	if !known.isOutdated(component.GetResourceVersion()) {
		known.awaitingSince = time.Time{}
		return component, 0, nil
	}
	// The event may have come between the read and the request for it.
	if component, err = c.read(ctx, c.Client, key); err != nil {
		return nil, 0, err
	}
	now := c.Clock.Now()
	switch {
	case !known.isOutdated(component.GetResourceVersion()):
	case known.awaitingSince.IsZero():
		known.awaitingSince = now
		return nil, CachePatience, nil
	case now.Sub(known.awaitingSince) < CachePatience:
		return nil, CachePatience, nil
	default:
		if component, err = c.read(ctx, c.Live, key); err != nil {
			return nil, 0, err
		}
		known.isOutdated(component.GetResourceVersion())
	}
	known.awaitingSince = time.Time{}
	return component, 0, nil
}

// confirm reads a component from the server.
func (c *Client) confirm(ctx context.Context, key apitypes.NamespacedName, memoryOf func(uid apitypes.UID) *Memory) (client.Object, error) {
	component, err := c.read(ctx, c.Live, key)
	if err != nil {
		return nil, err
	}
	known := memoryOf(component.GetUID())
	known.confirmed, known.awaitingSince = true, time.Time{}
	// Later passes must not start from an older version.
	known.wrote(component.GetResourceVersion())
	return component, nil
}

func (c *Client) read(ctx context.Context, reader client.Reader, key apitypes.NamespacedName) (client.Object, error) {
	component := c.New()
	if err := reader.Get(ctx, key, component); err != nil {
		return nil, err
	}
	return component, nil
}

// Concerns reports whether a change of a component may matter to its reconciliation: everything but changes of status and of metadata other than
// labels, annotations and finalizers.
func Concerns(before, after client.Object) bool {
	return before.GetUID() != after.GetUID() ||
		before.GetGeneration() != after.GetGeneration() ||
		before.GetDeletionTimestamp().IsZero() != after.GetDeletionTimestamp().IsZero() ||
		!maps.Equal(before.GetAnnotations(), after.GetAnnotations()) ||
		!maps.Equal(before.GetLabels(), after.GetLabels()) ||
		!slices.Equal(before.GetFinalizers(), after.GetFinalizers())
}
