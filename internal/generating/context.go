// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package generating

import (
	"context"
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/pkg/cluster"
)

// Key is the key of a value in the context that generators are called with.
type Key[T any] struct {
	// name is for messages, field is that of generator.Surroundings.
	name, field string
}

// The values that package generator returns.
var (
	ReconcilerName     = Key[string]{"reconciler name", "ReconcilerName"}
	LocalClient        = Key[cluster.Client]{"local client", "LocalClient"}
	Client             = Key[cluster.Client]{"client", "Client"}
	Discovery          = Key[func(ctx context.Context) (*cluster.Discovery, error)]{"discovery", "Discovery"}
	Component          = Key[client.Object]{"component", "Component"}
	ComponentName      = Key[string]{"component name", "ComponentName"}
	ComponentNamespace = Key[string]{"component namespace", "ComponentNamespace"}
	ComponentDigest    = Key[string]{"component digest", "ComponentDigest"}
	ComponentRevision  = Key[int64]{"component revision", "ComponentRevision"}
	Installed          = Key[bool]{"installation state", "Installed"}
	// ReleaseHooks demands objects with the annotation release-hook, which the caller must not apply with the others.
	ReleaseHooks = Key[bool]{"release hooks", "ReleaseHooks"}
	// NoLocalLookup makes templates fail that call localLookup or one of its variants. Go code is not affected.
	NoLocalLookup = Key[bool]{"no local lookup", ""}
)

// With returns a context that has the value.
func (k Key[T]) With(ctx context.Context, value T) context.Context {
	return context.WithValue(ctx, k, value)
}

// From returns the value. It fails if there is none: a caller of a generator has not prepared the context, and a zero
// value (revision 0, say) would go wrong silently.
func (k Key[T]) From(ctx context.Context) (T, error) {
	value, ok := ctx.Value(k).(T)
	if ok {
		return value, nil
	}
	const advice = "the caller of the generator (a reconciler, or a unit test) has to set Surroundings.%s of generator.NewContext"
	err := fmt.Errorf("%s not found in context: "+advice, k.name, k.field)
	if k.field == Client.field || k.field == LocalClient.field {
		err = fmt.Errorf("%w; post-read hooks have no clients, and hooks of a deletion have none for a lost cluster", err)
	}
	return value, err
}
