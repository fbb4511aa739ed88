// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package component

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	apitypes "k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/rand"
	"k8s.io/apimachinery/pkg/util/validation"
	coordinationv1client "k8s.io/client-go/kubernetes/typed/coordination/v1"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/internal/shards"
	"github.com/component-operator/runtime/pkg/component/internal/queue"
)

// Sharding divides the components among the replicas of an operator, all of which work at the same time. The shard of a
// component is the first eight bytes of the SHA-256 of <namespace>/<name>, as a big-endian number, modulo the number of
// shards. One replica holds each shard, by a Lease named <name of the reconciler>-shard-<number>. The set of live
// replicas determines which replica holds which shard.
//
// A lease cannot stop a replica that was suspended at the wrong moment from writing. Older content never overwrites
// newer content nevertheless, because each write carries the resource version that was read. Hooks that write should do
// the same. Their context ends when the replica loses the shard.
type Sharding struct {
	// Shards is the number of shards; about ten per replica spread well. Replicas that run at the same time should have
	// the same number: those that differ from the oldest replica get no shards until it is gone. Required.
	Shards int
	// Namespace of the leases. Defaults to the namespace of the pod; required outside of a cluster.
	Namespace string
	// Identity of this replica, which must be unique. Defaults to the host name and random characters.
	Identity string
	// LeaseDuration is how long a replica may go without renewing its lease before it counts as dead; whole seconds, at
	// most one hour. Another replica then waits as long once more for the lease of each shard, because clocks may
	// differ, so that the shards of a killed replica are taken over after about twice this time. Defaults to 15
	// seconds.
	LeaseDuration time.Duration
	// RenewDeadline is how long a replica continues to write without renewing its lease; at least one second less than
	// LeaseDuration. Defaults to 10 seconds.
	RenewDeadline time.Duration
	// RetryPeriod is the interval at which leases are renewed, or tried to be acquired. Defaults to 2 seconds.
	RetryPeriod time.Duration
}

// complete returns a copy with defaults, except for those that depend on where the process runs.
func (s *Sharding) complete(name string) (*Sharding, error) {
	if s == nil {
		return nil, nil
	}
	completed := *s
	completed.LeaseDuration = cmp.Or(s.LeaseDuration, 15*time.Second)
	completed.RenewDeadline = cmp.Or(s.RenewDeadline, 10*time.Second)
	completed.RetryPeriod = cmp.Or(s.RetryPeriod, 2*time.Second)
	var problems []error
	refuse := func(field string, value any, rule string) {
		problems = append(problems, fmt.Errorf("option Sharding.%s %v: %s", field, value, rule))
	}
	if s.Shards <= 0 {
		refuse("Shards", s.Shards, "must be positive")
	}
	if messages := validation.IsDNS1123Subdomain(shards.LeaseName(name, max(s.Shards, 1))); len(messages) > 0 {
		refuse("Shards", s.Shards, "makes the names of leases invalid: "+strings.Join(messages, "; "))
	}
	if messages := validation.IsDNS1123Label(s.Namespace); s.Namespace != "" && len(messages) > 0 {
		refuse("Namespace", s.Namespace, strings.Join(messages, "; "))
	}
	if completed.LeaseDuration < time.Second || completed.LeaseDuration > shards.LongestLease || completed.LeaseDuration%time.Second != 0 {
		refuse("LeaseDuration", completed.LeaseDuration, fmt.Sprintf("must be whole seconds, and at most %s", shards.LongestLease))
	}
	if completed.RenewDeadline > completed.LeaseDuration-time.Second {
		refuse("RenewDeadline", completed.RenewDeadline, fmt.Sprintf("must be at least one second less than LeaseDuration (%s)", completed.LeaseDuration))
	}
	if completed.RetryPeriod <= 0 || completed.RetryPeriod > completed.RenewDeadline/2 {
		refuse("RetryPeriod", completed.RetryPeriod, fmt.Sprintf("must be positive, and at most half of RenewDeadline (%s)", completed.RenewDeadline))
	}
	return &completed, errors.Join(problems...)
}

// podNamespace is the file with the namespace of the pod.
const podNamespace = "/var/run/secrets/kubernetes.io/serviceaccount/namespace"

// locate sets the defaults that depend on where the process runs.
func (s *Sharding) locate() error {
	if s.Namespace == "" {
		namespace, err := os.ReadFile(podNamespace)
		if err != nil {
			return fmt.Errorf("option Sharding.Namespace: required, since the process does not run in a cluster: %w", err)
		}
		s.Namespace = strings.TrimSpace(string(namespace))
	}
	if s.Identity == "" {
		host, err := os.Hostname()
		if err != nil {
			return fmt.Errorf("option Sharding.Identity: required, since the host has no name: %w", err)
		}
		s.Identity = host + "-" + rand.String(8)
	}
	return nil
}

// shareWork starts the work on this replica's shards.
func (w *worker) shareWork(mgr ctrl.Manager, queue *queue.Wakeups) error {
	if w.options.Sharding == nil {
		return nil
	}
	options := *w.options.Sharding
	if err := options.locate(); err != nil {
		return err
	}
	// The operator's rate limit must not keep it from renewing its leases.
	config := rest.CopyConfig(w.local.Config())
	config.QPS, config.RateLimiter = -1, nil
	leases, err := coordinationv1client.NewForConfigAndClient(config, w.local.HttpClient())
	if err != nil {
		return fmt.Errorf("creating a client for leases: %w", err)
	}
	log := mgr.GetLogger().WithValues("reconciler", w.name, "replica", options.Identity)
	w.metrics.ShardsHeld(0)
	w.shards = shards.New(shards.Options{
		Name: w.name, Namespace: options.Namespace, Identity: options.Identity, Shards: options.Shards,
		LeaseDuration: options.LeaseDuration, RenewDeadline: options.RenewDeadline, RetryPeriod: options.RetryPeriod,
		Client: leases, Log: log,
		Acquired: func(shard int) {
			w.metrics.ShardsHeld(1)
			if err := w.takeOver(mgr.GetScheme(), queue, shard); err != nil {
				log.Error(err, "components are reconciled only when they change", "shard", shard)
			}
		},
		Lost: w.handOver,
	})
	return mgr.Add(onAllReplicas(func(ctx context.Context) error { return w.share(ctx, queue) }))
}

// share joins the other replicas once this one has listed the components.
func (w *worker) share(ctx context.Context, queue *queue.Wakeups) error {
	if _, err := w.cache.GetInformer(ctx, w.resource.New()); err != nil {
		if ctx.Err() != nil {
			return nil
		}
		return fmt.Errorf("watching the components: %w", err)
	}
	select {
	case <-queue.Started:
	case <-ctx.Done():
		return nil
	}
	w.shards.Run(ctx)
	return nil
}

// shardOf must not be called without sharding.
func (w *worker) shardOf(key apitypes.NamespacedName) int {
	return w.shards.Of(key.Namespace, key.Name)
}

// isOurs reports whether this replica may start a pass of a component.
func (w *worker) isOurs(component client.Object) bool {
	return w.shards == nil || w.shards.Holds(w.shardOf(client.ObjectKeyFromObject(component)))
}

// takeOver schedules a pass of each component of a shard.
func (w *worker) takeOver(scheme *runtime.Scheme, queue *queue.Wakeups, shard int) error {
	object, err := scheme.New(w.resource.Kind.GroupVersion().WithKind(w.resource.Kind.Kind + "List"))
	if err != nil {
		return fmt.Errorf("listing components: %w", err)
	}
	list, ok := object.(client.ObjectList)
	if !ok {
		return fmt.Errorf("listing components: %T is not a list", object)
	}
	if err := w.cache.List(context.Background(), list, client.UnsafeDisableDeepCopy); err != nil {
		return fmt.Errorf("listing components: %w", err)
	}
	return meta.EachListItem(list, func(item runtime.Object) error {
		if component, ok := item.(client.Object); ok {
			if key := client.ObjectKeyFromObject(component); w.shardOf(key) == shard {
				queue.Due(key)
			}
		}
		return nil
	})
}

// handOver drops everything remembered, watched and measured about the components of a shard.
func (w *worker) handOver(shard int) {
	w.metrics.ShardsHeld(-1)
	for _, key := range w.memories.keys() {
		if w.shardOf(key) == shard {
			w.forget(key)
		}
	}
}
