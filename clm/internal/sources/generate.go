// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package sources

import (
	"context"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/internal/clients"
	internalhelm "github.com/component-operator/runtime/internal/helm"
	"github.com/component-operator/runtime/pkg/cluster"
	"github.com/component-operator/runtime/pkg/generator"
	"github.com/component-operator/runtime/pkg/types"
)

// Request says which release to generate objects for.
type Request struct {
	// ReconcilerName is the prefix of annotations, and the API group of the component that templates see.
	ReconcilerName string
	// Namespace and Name of the release.
	Namespace, Name string
	// Revision is the number of the revision that the objects are generated for, at least 1.
	Revision int64
	// Installed says that an earlier revision was completely installed; otherwise, templates see an installation.
	Installed bool
	// Digest identifies the input of the revision.
	Digest string
	// Recorded returns the objects of the last recorded revision of the release, whose versions of ConfigMaps and
	// Secrets are carried over. It is called only if one of the objects is versioned. Defaults to none.
	Recorded func(ctx context.Context) ([]*unstructured.Unstructured, error)
	// ReleaseHooks includes the objects that are applied when the release is tested or rolled back. In any case, the
	// caller must separate the objects with the annotation release-hook, since manifests may have it, too. Defaults to
	// false.
	ReleaseHooks bool
	// Client reads from the cluster of the release. Defaults to a client that finds no objects.
	Client cluster.Client
	// Discovery is the API server's discovery information that templates see. Defaults to that of the cluster or,
	// without a cluster, to that of Kubernetes version DefaultKubernetesVersion.
	Discovery *cluster.Discovery
}

// Generate returns the objects of all sources for a release, with the values as parameters. Templates see the release
// as a component of kind Component that has the values as spec. Versioned ConfigMaps and Secrets have the names of
// their versions; the objects of Request.Recorded that are carried over come last. It fails if the context ends or a
// source fails. The error is a RefusedError if an object cannot be versioned.
func (s *Set) Generate(ctx context.Context, request Request) ([]client.Object, error) {
	// Helm renders notes in any case, so that a chart that fails in them fails here, too.
	return s.generate(internalhelm.WithNotes(ctx, func(string) {}), request)
}

func (s *Set) generate(ctx context.Context, request Request) ([]client.Object, error) {
	generating, err := s.contextFor(ctx, request)
	if err != nil {
		return nil, err
	}
	objects, err := s.generator.Generate(generating, request.Namespace, request.Name, types.UnstructurableMap(s.values))
	if err != nil {
		return nil, err
	}
	return withVersions(ctx, request, objects)
}

// withVersions gives versioned objects the names of their versions, and adds the earlier ones.
func withVersions(ctx context.Context, request Request, objects []client.Object) ([]client.Object, error) {
	rules := Rules{Prefix: request.ReconcilerName + "/", Namespace: request.Namespace}
	if !rules.Any(objects) {
		return objects, nil
	}
	var recorded []*unstructured.Unstructured
	if request.Recorded != nil {
		var err error
		if recorded, err = request.Recorded(ctx); err != nil {
			return nil, err
		}
	}
	rendered := make([]*unstructured.Unstructured, len(objects))
	for i, object := range objects {
		var err error
		if rendered[i], err = clients.ToUnstructured(object, clientgoscheme.Scheme); err != nil {
			return nil, err
		}
	}
	all, err := rules.Apply(rendered, recorded)
	result := make([]client.Object, len(all))
	for i, object := range all {
		result[i] = object
	}
	return result, err
}

// GenerateWithOrigins is Generate, and also returns the origin of each object: the file of the chart, beginning with
// the name of the chart, or the reference of the source. Objects that are carried over have none.
func (s *Set) GenerateWithOrigins(ctx context.Context, request Request) ([]client.Object, []string, error) {
	var origins []string
	objects, err := s.Generate(context.WithValue(ctx, originsKey{}, &origins), request)
	return objects, origins, err
}

// GenerateWithNotes is Generate, and also returns the notes of the charts, one after the other; may be empty.
func (s *Set) GenerateWithNotes(ctx context.Context, request Request) ([]client.Object, string, error) {
	var notes []string
	ctx = internalhelm.WithNotes(ctx, func(text string) { notes = append(notes, strings.TrimSpace(text)) })
	objects, err := s.generate(ctx, request)
	return objects, strings.Join(notes, "\n\n"), err
}

// contextFor returns the context that generators expect, as in an operator.
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

// component returns the component that templates see in place of the release.
func (s *Set) component(request Request) *unstructured.Unstructured {
	component := &unstructured.Unstructured{Object: map[string]any{"spec": s.Values()}}
	component.SetGroupVersionKind(schema.GroupVersionKind{Group: request.ReconcilerName, Version: "v1alpha1", Kind: "Component"})
	component.SetNamespace(request.Namespace)
	component.SetName(request.Name)
	return component
}
