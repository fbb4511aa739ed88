// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package component

import (
	"context"
	"errors"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/internal/clients"
	"github.com/component-operator/runtime/internal/deletionhooks"
	"github.com/component-operator/runtime/internal/digest"
	"github.com/component-operator/runtime/pkg/manifests"
	"github.com/component-operator/runtime/pkg/types"
)

// generated is a result of the generator that may be used again.
type generated struct {
	// key is empty if the result must not be used again.
	key     string
	objects []client.Object
	hooks   []deletionhooks.Hook
	// discovery is the digest of what the generator has looked at of the types of the cluster; empty if of nothing.
	discovery string
}

// generationKey is everything that the result of a pure generator depends on.
type generationKey struct {
	Digest      string            `json:"digest"`
	Labels      map[string]string `json:"labels"`
	Annotations map[string]string `json:"annotations"`
	Namespace   string            `json:"namespace"`
	Name        string            `json:"name"`
	Revision    int64             `json:"revision"`
	Installed   bool              `json:"installed"`
	Target      string            `json:"target"`
}

// generate returns the dependents, and the deletion hooks. The result of a pure generator is used again until something changes that
// it depends on, unless it has looked into a cluster.
func (w *worker) generate(ctx context.Context, s *scope) (*generated, error) {
	key := w.generationKey(s)
	if kept := s.memory.generated; kept != nil && key != "" && kept.key == key && kept.isCurrent(w.hookContext(ctx, s)) {
		return kept, nil
	}
	s.memory.generated = nil
	ctx = w.generatorContext(ctx, s)
	parameters, ok := specParameters(s.component)
	if !ok {
		return nil, errors.New("the component has no spec")
	}
	ctx, reads := manifests.TrackClusterReads(ctx)
	objects, err := w.generator.Generate(ctx, s.settings.namespace, s.settings.name, parameters)
	if reads.Discovery() != "" {
		s.target.watchTypes()
	}
	w.memories.depends(s.key, reads.Discovery() != "")
	if reason := reads.Reason(); reason != s.memory.readReason {
		s.memory.readReason = reason
		if reason != "" {
			s.log.V(1).Info("what is generated depends on the cluster, so it is generated in each pass", "reason", reason)
		}
	}
	if err != nil {
		return nil, err
	}
	result := &generated{discovery: reads.Discovery()}
	if result.objects, result.hooks, err = deletionhooks.Split(objects, w.name, s.target.client.Scheme()); err != nil {
		return nil, err
	}
	if key != "" && !reads.Any() {
		result.key, s.memory.generated = key, result
	}
	return result, nil
}

// isCurrent reports whether the types of the cluster are those that the generator has looked at.
func (g *generated) isCurrent(ctx context.Context) bool {
	if g.discovery == "" {
		return true
	}
	found, err := manifests.DiscoveryFromContext(ctx)
	// If they cannot be found out, the generator is going to say so.
	return err == nil && found.Digest == g.discovery
}

// version is the same for results that are the same; empty if the result may be like no other.
func (g *generated) version() string {
	if g.key == "" {
		return ""
	}
	return g.key + "/" + g.discovery
}

// specParameters returns what the generator is given as parameters.
func specParameters(component Component) (types.Unstructurable, bool) {
	spec := component.GetSpec()
	return spec, spec != nil
}

// generationKey is empty if the result must not be used again.
func (w *worker) generationKey(s *scope) string {
	if fingerprintOf(w.generator) == "" {
		return ""
	}
	key, err := digest.Of(generationKey{
		Digest:      s.digest, // covers the fingerprint
		Labels:      s.component.GetLabels(),
		Annotations: w.withoutProof(s.component.GetAnnotations()),
		Namespace:   s.settings.namespace,
		Name:        s.settings.name,
		Revision:    s.status.Revision,
		Installed:   s.isInstalled(),
		Target:      s.target.id,
	})
	if err != nil {
		return ""
	}
	return key
}

// isInstalled reports whether all dependents were ready at least once in an earlier revision, which does not change throughout
// a revision.
func (s *scope) isInstalled() bool {
	return s.status.InstalledRevision > 0 && s.status.InstalledRevision < s.status.Revision
}

// generatorContext has a copy of the component, inventory included, which costs by its size.
func (w *worker) generatorContext(ctx context.Context, s *scope) context.Context {
	component := s.component
	if copied, ok := component.DeepCopyObject().(Component); ok {
		component = copied
	}
	result := w.hookContext(ctx, s).
		WithComponent(component).
		WithComponentName(s.key.Name).
		WithComponentNamespace(s.key.Namespace).
		WithComponentDigest(s.digest).
		WithComponentRevision(s.status.Revision)
	if len(w.options.AllowedTargets) > 0 {
		result = NewContext(clients.WithHosts(result, w.options.AllowedTargets))
	}
	if w.options.DisableLocalLookup {
		result = NewContext(manifests.WithoutLocalLookup(result))
	}
	return manifests.WithInstalled(result, s.isInstalled())
}
