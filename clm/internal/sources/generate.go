// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package sources

import (
	"context"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/pkg/cluster"
	"github.com/component-operator/runtime/pkg/generator"
	"github.com/component-operator/runtime/pkg/manifests/helm"
	"github.com/component-operator/runtime/pkg/types"
)

// Request is what objects are generated for.
type Request struct {
	// ReconcilerName is the prefix of annotations, and the group of the component that templates see.
	ReconcilerName string
	// Namespace and Name are those of the release.
	Namespace, Name string
	// Revision is the number of the revision that the objects will make up, at least 1.
	Revision int64
	// Installed tells that an earlier revision was completely installed; otherwise this is still the installation.
	Installed bool
	// Digest identifies what the revision is made from.
	Digest string
	// ReleaseHooks asks for what is applied when the release is tested or rolled back, too. Whether or not, the caller has to take out what
	// has the annotation release-hook, since manifests may carry it themselves. Defaults to false.
	ReleaseHooks bool
	// Client is for the cluster of the release. Defaults to none: looking something up finds nothing then.
	Client cluster.Client
	// Discovery is what templates see of the API server. Defaults to what the cluster says, without one to what
	// Kubernetes serves in version DefaultKubernetesVersion.
	Discovery *cluster.Discovery
}

// Generate returns the objects of all sources for a release, with the values as parameters. Templates see the release as a component of
// kind Component that has the values as spec. An error of the context, or one of a source, ends it.
func (s *Set) Generate(ctx context.Context, request Request) ([]client.Object, error) {
	ctx, err := s.contextFor(ctx, request)
	if err != nil {
		return nil, err
	}
	return s.generator.Generate(ctx, request.Namespace, request.Name, types.UnstructurableMap(s.values))
}

// GenerateWithOrigins is Generate, and also tells of each object where it comes from: the file of the chart, which begins with the
// name of the chart, or the reference of the source.
func (s *Set) GenerateWithOrigins(ctx context.Context, request Request) ([]client.Object, []string, error) {
	var origins []string
	objects, err := s.Generate(context.WithValue(ctx, originsKey{}, &origins), request)
	return objects, origins, err
}

// Notes returns what the charts have to tell users, one after the other; empty if that is nothing. It renders them once more.
func (s *Set) Notes(ctx context.Context, request Request) (string, error) {
	ctx, err := s.contextFor(ctx, request)
	if err != nil {
		return "", err
	}
	var all []string
	for _, m := range s.members {
		chart, ok := m.generator.(*helm.HelmGenerator)
		if !ok {
			continue
		}
		notes, err := chart.Notes(ctx, request.Namespace, request.Name, types.UnstructurableMap(s.values))
		if err != nil {
			return "", fmt.Errorf("rendering the notes of %s: %w", displayed(m.Reference), err)
		}
		if notes = strings.TrimSpace(notes); notes != "" {
			all = append(all, notes)
		}
	}
	return strings.Join(all, "\n\n"), nil
}

// contextFor prepares what generators find in their context, as an operator does.
func (s *Set) contextFor(ctx context.Context, request Request) (context.Context, error) {
	var err error
	if request.Client == nil && request.Discovery == nil {
		if request.Discovery, err = Offline("", nil); err != nil {
			return nil, err
		}
	}
	if request.Client == nil {
		if request.Client, err = noCluster(); err != nil {
			return nil, err
		}
	}
	surroundings := generator.Surroundings{
		ReconcilerName:     request.ReconcilerName,
		Client:             request.Client,
		LocalClient:        request.Client,
		Component:          s.component(request),
		ComponentNamespace: request.Namespace,
		ComponentName:      request.Name,
		ComponentDigest:    request.Digest,
		ComponentRevision:  request.Revision,
		Installed:          request.Installed,
		ReleaseHooks:       request.ReleaseHooks,
	}
	if request.Discovery != nil {
		surroundings.Discovery = func(context.Context) (*cluster.Discovery, error) { return request.Discovery, nil }
	}
	return generator.NewContext(ctx, surroundings), nil
}

// component returns what stands for the release in templates that ask for their component.
func (s *Set) component(request Request) *unstructured.Unstructured {
	component := &unstructured.Unstructured{Object: map[string]any{"spec": s.Values()}}
	component.SetGroupVersionKind(schema.GroupVersionKind{Group: request.ReconcilerName, Version: "v1alpha1", Kind: "Component"})
	component.SetNamespace(request.Namespace)
	component.SetName(request.Name)
	return component
}
