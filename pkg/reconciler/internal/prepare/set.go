// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package prepare

import (
	"fmt"
	"reflect"
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/pkg/inventory"
	"github.com/component-operator/runtime/pkg/types"
)

// Preparer turns the objects of requests into desired objects, for one reconciler. It asks the cluster only which types are served.
type Preparer struct {
	Scheme *runtime.Scheme
	Mapper meta.RESTMapper
	Keys   Keys
	// OwnAnnotations are the suffixes of annotations that begin with the name of the reconciler, and mean nothing to it.
	OwnAnnotations []string
	// FailuresAreFinal means that what removes itself is not applied again after it has failed.
	FailuresAreFinal bool
	// AwaitTypes means that objects of unknown types wait for these, unless they say otherwise.
	AwaitTypes bool
}

// Source is what desired objects are made from; see reconciler.ApplyRequest.
type Source struct {
	Objects []client.Object
	// Version identifies the objects; empty if each call has to process them.
	Version string
	// Namespace is the namespace of namespaced objects that do not name one.
	Namespace string
	// Digest is that of the owner. FormerDigest is another digest of the same state that may be recorded; empty if there is none.
	Digest, FormerDigest string
	DigestKey            []byte
	// Policies have no empty fields.
	Policies inventory.Policies
	// Additional are the managed types that none of the objects defines.
	Additional []inventory.TypeInfo
	RunOnce    bool
}

// Set has the desired objects of a source. The next call for the same owner uses it again if it has the same source. Usually it does not
// keep the objects, because nobody needs them while nothing changes.
type Set struct {
	// Source is what the objects are made from, without the objects of the request.
	Source  Source
	Objects []*Object
	// manifests are the manifests that a plan has prepared, for the call that follows; nil if they are not kept.
	manifests []*unstructured.Unstructured
}

// fits reports whether a source would lead to the same desired objects.
func (s *Set) fits(source Source) bool {
	count := len(source.Objects)
	source.Objects = nil
	return s != nil && source.Version != "" && len(s.Objects) == count && reflect.DeepEqual(s.Source, source)
}

// Prepare returns the desired objects of a source, and their manifests. It uses the known set again if that fits.
func (p Preparer) Prepare(source Source, known *Set) (*Set, *Manifests, error) {
	if known.fits(source) {
		spent := *known
		spent.manifests = nil
		return &spent, p.manifests(source, known.manifests), nil
	}
	objects, awaited, err := p.prepareObjects(source.Objects, source.Namespace)
	if err != nil {
		return nil, nil, err
	}
	wanted, err := p.newObjects(objects, source, awaited)
	if err != nil {
		return nil, nil, err
	}
	manifests := p.manifests(source, objects)
	source.Objects = nil
	return &Set{Source: source, Objects: wanted}, manifests, nil
}

// Manifests has the normalised manifests of desired objects. Only one goroutine at a time may use it for a desired object.
type Manifests struct {
	preparer Preparer
	source   Source
	objects  []*unstructured.Unstructured // by the index of the desired object; nil until first used
	// completed are the manifests of late objects, by the index of the desired object.
	completed map[int]*unstructured.Unstructured
}

func (p Preparer) manifests(source Source, objects []*unstructured.Unstructured) *Manifests {
	if objects == nil {
		objects = make([]*unstructured.Unstructured, len(source.Objects))
	}
	return &Manifests{preparer: p, source: source, objects: slices.Clone(objects)}
}

// Keep keeps the manifests in a set, if all of them are prepared.
func (m *Manifests) Keep(set *Set) {
	set.manifests = nil
	if !slices.Contains(m.objects, nil) {
		set.manifests = m.objects
	}
}

// Of returns the manifest of a desired object, without the marks of the owner; that of a late object as announced until it is completed. It must not be
// changed.
func (m *Manifests) Of(t *Object) (*unstructured.Unstructured, error) {
	if completed := m.completed[t.Index]; completed != nil {
		return completed, nil
	}
	return m.announced(t)
}

// announced returns the manifest of a desired object as the request has it.
func (m *Manifests) announced(t *Object) (*unstructured.Unstructured, error) {
	if object := m.objects[t.Index]; object != nil {
		return object, nil
	}
	object, err := toUnstructured(m.source.Objects[t.Index], m.preparer.Scheme)
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
