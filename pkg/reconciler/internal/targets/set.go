// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package targets

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/pkg/inventory"
	"github.com/component-operator/runtime/pkg/reconciler/internal/marks"
	"github.com/component-operator/runtime/pkg/types"
)

// Preparer turns objects into targets, for one reconciler. It asks the cluster nothing but which types there are.
type Preparer struct {
	Scheme *runtime.Scheme
	Mapper meta.RESTMapper
	Keys   marks.Keys
}

// Source is what targets are made of; see the request of Apply.
type Source struct {
	Objects []client.Object
	// Version identifies the objects; empty if they have to be looked at each time.
	Version string
	// Namespace is for namespaced objects that do not name one.
	Namespace string
	// Digest is that of the owner. FormerDigest is another one of the same state that may be recorded; empty if there is none.
	Digest, FormerDigest string
	DigestKey            []byte
	// Policies are complete.
	Policies inventory.Policies
	// Additional are the types whose instances count although none of the objects defines them.
	Additional []inventory.TypeInfo
	RunOnce    bool
}

// Set are the targets of a source. The next call for the same owner uses them again if it has the same source. The objects are mostly not kept: at
// rest nobody needs them.
type Set struct {
	Version    string
	namespace  string
	digest     string
	former     string
	key        string
	policies   inventory.Policies
	additional []inventory.TypeInfo
	Targets    []*Target
	// objects are those of a plan, for the call that follows; nil if they are not kept.
	objects []*unstructured.Unstructured
}

// fits reports whether the targets would be the same for a source.
func (s *Set) fits(source Source) bool {
	return s != nil && source.Version != "" && s.Version == source.Version && s.namespace == source.Namespace && s.digest == source.Digest &&
		s.former == source.FormerDigest && s.key == string(source.DigestKey) &&
		s.policies == source.Policies && slices.Equal(s.additional, source.Additional) && len(s.Targets) == len(source.Objects)
}

// Prepare returns the targets of a source, and their manifests. What is known is used again if it fits.
func (p Preparer) Prepare(source Source, known *Set) (*Set, *Manifests, error) {
	if known.fits(source) {
		spent := *known
		spent.objects = nil
		return &spent, p.manifests(source, known.objects), nil
	}
	objects, err := p.prepareObjects(source.Objects, source.Namespace)
	if err != nil {
		return nil, nil, err
	}
	targets, err := p.newTargets(objects, source)
	if err != nil {
		return nil, nil, err
	}
	return &Set{
		Version: source.Version, namespace: source.Namespace, digest: source.Digest, former: source.FormerDigest, key: string(source.DigestKey),
		policies: source.Policies, additional: source.Additional, Targets: targets,
	}, p.manifests(source, objects), nil
}

// Manifests has the normalised manifests of targets. It is for one goroutine for each target at a time.
type Manifests struct {
	preparer Preparer
	sources  []client.Object
	objects  []*unstructured.Unstructured // by the index of the target; nil until somebody needs it
}

func (p Preparer) manifests(source Source, objects []*unstructured.Unstructured) *Manifests {
	if objects == nil {
		objects = make([]*unstructured.Unstructured, len(source.Objects))
	}
	return &Manifests{preparer: p, sources: source.Objects, objects: slices.Clone(objects)}
}

// Keep has a set keep the manifests, if all of them are known.
func (m *Manifests) Keep(set *Set) {
	set.objects = nil
	if !slices.Contains(m.objects, nil) {
		set.objects = m.objects
	}
}

// Of returns the manifest of a target, without the marks of the owner. It must not be changed.
func (m *Manifests) Of(t *Target) (*unstructured.Unstructured, error) {
	if object := m.objects[t.Index]; object != nil {
		return object, nil
	}
	object, err := toUnstructured(m.sources[t.Index], m.preparer.Scheme)
	if err != nil {
		return nil, err
	}
	problem := m.preparer.normalise(object)
	elsewhere := object.GetNamespace() != "" && t.Key.Namespace != "" && object.GetNamespace() != t.Key.Namespace
	if problem == "" && (object.GroupVersionKind() != t.GVK() || object.GetName() != t.Key.Name || elsewhere) {
		problem = fmt.Sprintf("%s: was %s before, although the version of the objects is the same", types.IDOf(object), t.Key)
	}
	if problem != "" {
		return nil, inventory.NewRefusedError(problem)
	}
	object.SetNamespace(t.Key.Namespace)
	m.objects[t.Index] = object
	return object, nil
}
