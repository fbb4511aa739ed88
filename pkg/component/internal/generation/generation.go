// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package generation

import (
	"context"
	"errors"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/internal/deletionhooks"
	"github.com/component-operator/runtime/internal/digest"
	"github.com/component-operator/runtime/internal/generating"
	"github.com/component-operator/runtime/pkg/generator"
	"github.com/component-operator/runtime/pkg/types"
)

// Memory has the last result for one component. To lose it costs a generation. It is used by one pass at a time; the zero value is ready for use.
type Memory struct {
	// result is the last one, if it may be used again.
	result *Result
	// readReason says why the last result may not, if that is because of a look into a cluster.
	readReason string
}

// Forget drops the last result.
func (m *Memory) Forget() { m.result = nil }

// Result is what a generator has made.
type Result struct {
	// Objects are the dependents, Hooks the deletion hooks.
	Objects []client.Object
	Hooks   []deletionhooks.Hook

	// key is empty if the result must not be used again.
	key string
	// discovery is the digest of what the generator has looked at of the types of the cluster; empty if of nothing.
	discovery string
}

// Version is the same for results that are the same; empty if the result may be like no other.
func (r *Result) Version() string {
	if r.key == "" {
		return ""
	}
	return r.key + "/" + r.discovery
}

// isCurrent reports whether the types of the cluster are those that the generator has looked at.
func (r *Result) isCurrent(ctx context.Context) bool {
	if r.discovery == "" {
		return true
	}
	found, err := generator.DiscoveryFromContext(ctx)
	// If they cannot be found out, the generator is going to say so.
	return err == nil && found.Digest == r.discovery
}

// Inputs are everything that the result of a pure generator depends on.
type Inputs struct {
	// Digest of what is declared; it covers the fingerprint of the generator.
	Digest      string            `json:"digest"`
	Labels      map[string]string `json:"labels"`
	Annotations map[string]string `json:"annotations"`
	Namespace   string            `json:"namespace"`
	Name        string            `json:"name"`
	Revision    int64             `json:"revision"`
	Installed   bool              `json:"installed"`
	Target      string            `json:"target"`
}

// Request says for which component something is to be generated.
type Request struct {
	Generator generator.Generator
	Inputs    Inputs
	// Parameters are what the generator is given.
	Parameters types.Unstructurable
	// Reconciler is the name of the reconciler, which prefixes annotations.
	Reconciler string
	Scheme     *runtime.Scheme
	// Context is what the generator may look at. It is called only if something is generated.
	Context func() context.Context
	// LookedAtTypes is told whether the generator has looked at the types of the cluster. It is called only if something is generated.
	LookedAtTypes func(looked bool)
	Log           logr.Logger
}

// Generate returns the dependents, and the deletion hooks. The context leads to the cluster of the dependents.
func Generate(ctx context.Context, memory *Memory, request Request) (*Result, error) {
	key := request.key()
	if kept := memory.result; kept != nil && key != "" && kept.key == key && kept.isCurrent(ctx) {
		return kept, nil
	}
	memory.result = nil
	if request.Parameters == nil {
		return nil, errors.New("the component has no spec")
	}
	ctx, reads := generating.TrackClusterReads(request.Context())
	objects, err := request.Generator.Generate(ctx, request.Inputs.Namespace, request.Inputs.Name, request.Parameters)
	request.LookedAtTypes(reads.Discovery() != "")
	memory.explain(request.Log, reads.Reason())
	if err != nil {
		return nil, err
	}
	result := &Result{discovery: reads.Discovery()}
	if result.Objects, result.Hooks, err = deletionhooks.Split(objects, request.Reconciler, request.Scheme); err != nil {
		return nil, err
	}
	if key != "" && !reads.Any() {
		result.key, memory.result = key, result
	}
	return result, nil
}

// explain says once why something is generated in each pass.
func (m *Memory) explain(log logr.Logger, reason string) {
	if reason == m.readReason {
		return
	}
	m.readReason = reason
	if reason != "" {
		log.V(1).Info("the manifests depend on the cluster, so that each pass generates them", "reason", reason)
	}
}

// key is empty if the result must not be used again.
func (r Request) key() string {
	if Fingerprint(r.Generator) == "" {
		return ""
	}
	key, err := digest.Of(r.Inputs)
	if err != nil {
		return ""
	}
	return key
}

// Fingerprint is empty for generators that are not pure.
func Fingerprint(g generator.Generator) string {
	if pure, ok := g.(generator.Pure); ok {
		return pure.Fingerprint()
	}
	return ""
}
