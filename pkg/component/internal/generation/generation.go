// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package generation

import (
	"context"
	"fmt"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/runtime"
	apitypes "k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/internal/chunks"
	"github.com/component-operator/runtime/internal/clients"
	"github.com/component-operator/runtime/internal/deletionhooks"
	"github.com/component-operator/runtime/internal/generating"
	"github.com/component-operator/runtime/internal/manifest"
	"github.com/component-operator/runtime/pkg/generator"
	"github.com/component-operator/runtime/pkg/inventory"
	"github.com/component-operator/runtime/pkg/types"
)

// Memory has the last result for one component. Losing it costs a call of the generator. Only one pass uses it at a
// time. The zero value is ready for use.
type Memory struct {
	// result is the last one, if it may be reused.
	result *Result
	// readReason says why the last result may not be reused, if a read from a cluster is the reason.
	readReason string
}

// Forget drops the last result.
func (m *Memory) Forget() { m.result = nil }

// Result is the result of a generator.
type Result struct {
	// Objects are the dependents, Hooks the deletion hooks.
	Objects []client.Object
	Hooks   []deletionhooks.Hook

	// Warnings are what the generator and its objects have noticed.
	Warnings *generating.Warnings

	// key is empty if the result must not be used again.
	key string
	// discovery is the digest of the types of the cluster that the generator has looked up; empty if it has looked up
	// none.
	discovery string
}

// Version is equal for equal results; empty if the result cannot be compared.
func (r *Result) Version() string {
	if r.key == "" {
		return ""
	}
	return r.key + "/" + r.discovery
}

// isCurrent reports whether the types that the generator has looked up are unchanged.
func (r *Result) isCurrent(ctx context.Context) bool {
	if r.discovery == "" {
		return true
	}
	found, err := generator.DiscoveryFromContext(ctx)
	// If they cannot be read, the generator will report that.
	return err == nil && found.Digest == r.discovery
}

// Inputs are all inputs of a pure generator.
type Inputs struct {
	UID apitypes.UID `json:"uid"`
	// Digest of the declaration; it includes the fingerprint of the generator.
	Digest      string            `json:"digest"`
	Labels      map[string]string `json:"labels"`
	Annotations map[string]string `json:"annotations"`
	Namespace   string            `json:"namespace"`
	Name        string            `json:"name"`
	Revision    int64             `json:"revision"`
	Installed   bool              `json:"installed"`
	Target      string            `json:"target"`
}

// Request describes the component to generate dependents for.
type Request struct {
	Component apitypes.NamespacedName
	Generator generator.Generator
	Inputs    Inputs
	// Timeout is the maximum duration of a call of the generator.
	Timeout time.Duration
	// Reconciler is the name of the reconciler, the prefix of its annotations.
	Reconciler string
	Scheme     *runtime.Scheme
	// Prepare returns the context and the parameters of the generator, which nobody else must change even after the
	// pass. It is called only if the generator is.
	Prepare func() (context.Context, types.Unstructurable)
	// Slow is called once with a message if a call takes long.
	Slow func(message string)
	// LookedAtTypes receives whether the generator has looked up types of the cluster. It is called only if the
	// generator was.
	LookedAtTypes func(looked bool)
	Log           logr.Logger
}

// Generate returns the dependents and the deletion hooks. It fails with an UnfinishedError if a generator does not
// return.
func Generate(ctx context.Context, calls *Calls, memory *Memory, request Request) (*Result, error) {
	inputs, err := manifest.Digest(request.Inputs)
	if err != nil {
		return nil, err
	}
	isPure := Fingerprint(request.Generator) != ""
	if kept := memory.result; kept != nil && isPure && kept.key == inputs && kept.isCurrent(ctx) {
		return kept, nil
	}
	memory.result = nil
	answer, err := calls.answer(ctx, request)
	if err != nil {
		return nil, err
	}
	request.LookedAtTypes(answer.reads.Discovery() != "")
	memory.explain(request.Log, answer.reads.Reason())
	if answer.err != nil {
		return nil, answer.err
	}
	result := &Result{Objects: answer.objects, Hooks: answer.hooks, Warnings: answer.warnings, discovery: answer.reads.Discovery()}
	if isPure && !answer.reads.Any() {
		result.key, memory.result = inputs, result
	}
	return result, nil
}

// call calls the generator.
func (r Request) call(ctx context.Context, parameters types.Unstructurable) (objects []client.Object, hooks []deletionhooks.Hook, err error) {
	if objects, err = r.Generator.Generate(ctx, r.Inputs.Namespace, r.Inputs.Name, parameters); err != nil {
		return nil, nil, err
	}
	if len(objects) > chunks.MaxItems {
		// They could not be recorded. Each step before that makes copies.
		return nil, nil, inventory.NewRefusedError(fmt.Sprintf("the generator returns %d objects; at most %d are allowed", len(objects), chunks.MaxItems))
	}
	if err := clients.Normalize(objects); err != nil {
		return nil, nil, err
	}
	return deletionhooks.Split(objects, r.Reconciler, r.Scheme)
}

// explain logs once why the generator is called in each pass.
func (m *Memory) explain(log logr.Logger, reason string) {
	if reason == m.readReason {
		return
	}
	m.readReason = reason
	if reason != "" {
		log.V(1).Info("the manifests depend on the cluster, so each pass generates them", "reason", reason)
	}
}

// Fingerprint returns the fingerprint of a generator; empty for generators that are not pure.
func Fingerprint(g generator.Generator) string {
	if pure, ok := g.(generator.Pure); ok {
		return pure.Fingerprint()
	}
	return ""
}
