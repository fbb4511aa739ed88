// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package resource

import (
	"context"

	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Writer returns a client for objects beside the component. It writes as long as this process may.
func (h *Handle) Writer() client.Client {
	return fencedClient{Client: h.client.Client, fence: h.Fence}
}

type fencedClient struct {
	client.Client
	fence func() error
}

// Create creates an object.
func (c fencedClient) Create(ctx context.Context, object client.Object, options ...client.CreateOption) error {
	if err := c.fence(); err != nil {
		return err
	}
	return c.Client.Create(ctx, object, options...)
}

// Patch patches an object.
func (c fencedClient) Patch(ctx context.Context, object client.Object, patch client.Patch, options ...client.PatchOption) error {
	if err := c.fence(); err != nil {
		return err
	}
	return c.Client.Patch(ctx, object, patch, options...)
}

// Delete deletes an object.
func (c fencedClient) Delete(ctx context.Context, object client.Object, options ...client.DeleteOption) error {
	if err := c.fence(); err != nil {
		return err
	}
	return c.Client.Delete(ctx, object, options...)
}
