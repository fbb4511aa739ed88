// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package execute

import (
	"context"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/internal/judges"
	"github.com/component-operator/runtime/internal/observe"
	"github.com/component-operator/runtime/pkg/cluster"
	"github.com/component-operator/runtime/pkg/reconciler/internal/prepare"
)

// Observer answers from watches what is known about dependents; see observe.Cache. Owners are identified by the value
// of their label.
type Observer interface {
	Watch(ctx context.Context, owner string, needs []observe.Need) error
	Get(gvk schema.GroupVersionKind, namespace, name string) (observe.Observation, observe.View)
	Record(gvk schema.GroupVersionKind, namespace, name string, observation observe.Observation)
	WatchNames(ctx context.Context, owner string, names []observe.Name) error
	Version(name observe.Name) (version string, view observe.View)
}

// Config is what the servers of one reconciler have in common. All fields but Reading are required.
type Config struct {
	Client cluster.Client
	// Reading makes the reads that Client may not make; nil if there is no such client.
	Reading  cluster.Client
	Observer Observer
	Reader   *observe.Reader
	// Judges are those of Reader.
	Judges *judges.Judges
	Keys   prepare.Keys
	// OwnerKind is what owners are called in messages; empty if they have the ID.
	OwnerKind string
	// FieldOwner is the field manager of all writes.
	FieldOwner string
	// OnOperation is called for each request; see reconciler.Options.
	OnOperation func(action string)
	Clock       clock.PassiveClock
}

// DryRun returns a configuration in which all writes are dry runs.
func (c Config) DryRun() Config {
	count := c.OnOperation
	c.Client = cluster.NewClient(client.NewDryRunClient(c.Client), c.Client.DiscoveryClient(), c.Client.EventRecorder(), c.Client.Config(), c.Client.HttpClient())
	c.OnOperation = func(string) { count("read") }
	return c
}
