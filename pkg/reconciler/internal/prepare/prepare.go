// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package prepare

import (
	"encoding/base64"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/internal/clients"
	"github.com/component-operator/runtime/internal/manifest"
	"github.com/component-operator/runtime/internal/observe"
	"github.com/component-operator/runtime/pkg/behaviors"
	"github.com/component-operator/runtime/pkg/cluster"
	"github.com/component-operator/runtime/pkg/inventory"
	"github.com/component-operator/runtime/pkg/types"
)

// prepareObjects returns normalized copies of the objects, in the same order: without fields that only the server sets,
// and with or without a namespace as the scope of the type requires. awaited are the unknown types that objects wait
// for. It reports all problems at once.
func (p Preparer) prepareObjects(objects []client.Object, namespace string) (
	prepared []*unstructured.Unstructured, awaited map[schema.GroupVersionKind]bool, err error,
) {
	prepared = make([]*unstructured.Unstructured, 0, len(objects))
	var problems []string
	for _, object := range objects {
		u, err := toUnstructured(object, p.Scheme)
		if err != nil {
			problems = append(problems, err.Error())
			continue
		}
		if problem := p.normalise(u); problem != "" {
			problems = append(problems, problem)
			continue
		}
		prepared = append(prepared, u)
	}
	if len(problems) > 0 {
		return nil, nil, inventory.NewRefusedError(problems...)
	}
	scopes := newScopes(p, prepared)
	seen := make(map[types.ObjectID]bool, len(prepared))
	for _, u := range prepared {
		problem, err := scopes.place(u, namespace)
		if err != nil {
			return nil, nil, err
		}
		key := types.IDOf(u)
		if problem == "" && seen[key] {
			problem = fmt.Sprintf("%s: defined more than once", key)
		}
		if problem != "" {
			problems = append(problems, problem)
		}
		seen[key] = true
	}
	problems = append(problems, scopes.problems()...)
	if len(problems) > 0 {
		return nil, nil, inventory.NewRefusedError(problems...)
	}
	return prepared, scopes.awaited, nil
}

// toUnstructured returns a copy of the object in the form in which it is sent.
func toUnstructured(object client.Object, scheme *runtime.Scheme) (*unstructured.Unstructured, error) {
	converted, err := clients.ToUnstructured(object, scheme)
	if _, shared := behaviors.Bare(object).(*unstructured.Unstructured); err != nil || !shared {
		return converted, err
	}
	content, err := manifest.Normalize(converted.Object)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", types.IDOf(converted), err)
	}
	return &unstructured.Unstructured{Object: content}, nil
}

// normalise removes fields that a manifest cannot declare. It returns a message if the manifest cannot be accepted.
func (p Preparer) normalise(u *unstructured.Unstructured) string {
	text := types.IDOf(u).String()
	if u.GetGenerateName() != "" {
		return fmt.Sprintf("%s: metadata.generateName %q is not allowed; set metadata.name", text, u.GetGenerateName())
	}
	if u.GetName() == "" {
		return fmt.Sprintf("%s: metadata.name is required", text)
	}
	dropNulls(u.Object, "data", "stringData")
	if metadata, ok := u.Object["metadata"].(map[string]any); ok {
		dropNulls(metadata, "labels", "annotations")
	}
	for _, field := range []string{"labels", "annotations"} {
		if _, _, err := unstructured.NestedStringMap(u.Object, "metadata", field); err != nil {
			return fmt.Sprintf("%s: metadata.%s: all values must be strings: %s", text, field, err)
		}
	}
	if key := observe.RecordLabel(u.GetLabels()); key != "" {
		return fmt.Sprintf("%s: metadata.labels: %s marks parts of records of dependents, which cannot be dependents; leave the object out", text, key)
	}
	for _, field := range []string{"uid", "resourceVersion", "generation", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds", "managedFields", "selfLink"} {
		unstructured.RemoveNestedField(u.Object, "metadata", field)
	}
	unstructured.RemoveNestedField(u.Object, "metadata", "labels", p.Keys.OwnerLabel)
	unstructured.RemoveNestedField(u.Object, "metadata", "annotations", p.Keys.OwnerAnnotation)
	unstructured.RemoveNestedField(u.Object, "metadata", "annotations", p.Keys.Digest)
	unstructured.RemoveNestedField(u.Object, "status")
	switch kind := u.GroupVersionKind().GroupKind(); kind {
	case schema.GroupKind{Kind: "Secret"}:
		return encodeStringData(u)
	case schema.GroupKind{Group: GroupRBAC, Kind: "ClusterRole"}:
		dropAggregatedRules(u)
	case schema.GroupKind{Group: GroupCRD, Kind: "CustomResourceDefinition"}, schema.GroupKind{Group: GroupAPIService, Kind: "APIService"}:
		if version := u.GroupVersionKind().Version; version != "v1" {
			return fmt.Sprintf("%s: version %q is not supported; must be v1", text, version)
		}
	}
	return ""
}

// dropNulls removes fields that are null, as templates render a key without content. The API server accepts them.
func dropNulls(content map[string]any, fields ...string) {
	for _, field := range fields {
		if value, ok := content[field]; ok && value == nil {
			delete(content, field)
		}
	}
}

// encodeStringData moves stringData into data, as the server does for all writes but apply.
func encodeStringData(u *unstructured.Unstructured) string {
	for _, field := range []string{"data", "stringData"} {
		if problem := secretProblem(u.Object[field], field == "data"); problem != "" {
			return fmt.Sprintf("%s: %s: %s", types.IDOf(u).String(), field, problem)
		}
	}
	values, found, err := unstructured.NestedStringMap(u.Object, "stringData")
	if err != nil {
		return fmt.Sprintf("%s: stringData: all values must be strings: %s", types.IDOf(u).String(), err)
	}
	if !found {
		return ""
	}
	for key, value := range values {
		if err := unstructured.SetNestedField(u.Object, base64.StdEncoding.EncodeToString([]byte(value)), "data", key); err != nil {
			return fmt.Sprintf("%s: data: %s", types.IDOf(u).String(), err)
		}
	}
	unstructured.RemoveNestedField(u.Object, "stringData")
	return ""
}

// secretProblem returns the problem with the content of a Secret; empty if there is none. It quotes no values, because
// messages are shown and recorded. A message from the server might quote them.
func secretProblem(content any, encoded bool) string {
	values, ok := content.(map[string]any)
	if !ok && content != nil {
		return "it must be a map"
	}
	for _, key := range slices.Sorted(maps.Keys(values)) {
		switch value := values[key].(type) {
		case nil:
		case string:
			if _, err := base64.StdEncoding.DecodeString(value); encoded && err != nil {
				return fmt.Sprintf("all values must be base64-encoded, but that of %q is not; plain text belongs in stringData", key)
			}
		default:
			return fmt.Sprintf("all values must be strings, but that of %q is not; put it in quotes", key)
		}
	}
	return ""
}

// dropAggregatedRules removes the rules of a ClusterRole that a controller fills from other roles.
func dropAggregatedRules(u *unstructured.Unstructured) {
	if _, found, _ := unstructured.NestedFieldNoCopy(u.Object, "aggregationRule"); found {
		unstructured.RemoveNestedField(u.Object, "rules")
	}
}

// scopes determines which types are namespaced, including types that the objects themselves define.
type scopes struct {
	prefix      string // of annotations
	mapper      meta.RESTMapper
	defined     map[schema.GroupKind]scope
	apiServices map[schema.GroupVersion]bool
	known       map[schema.GroupVersionKind]scope
	strangers   map[string][]string // objects of types that are not served, by what is wrong with these
	await       bool                // whether objects of unknown types wait for these if they do not say
	awaited     map[schema.GroupVersionKind]bool
}

type scope int

const (
	scopeUnknown scope = iota
	scopeNamespaced
	scopeCluster
)

func newScopes(p Preparer, objects []*unstructured.Unstructured) *scopes {
	s := &scopes{
		mapper: p.Mapper, prefix: p.Keys.Prefix, await: p.AwaitTypes, awaited: map[schema.GroupVersionKind]bool{}, strangers: map[string][]string{},
		defined: map[schema.GroupKind]scope{}, apiServices: map[schema.GroupVersion]bool{}, known: map[schema.GroupVersionKind]scope{},
	}
	for _, u := range objects {
		for _, managed := range ManagedTypesOf(u) {
			if IsAPIService(u.GroupVersionKind().GroupKind()) {
				s.apiServices[schema.GroupVersion{Group: managed.Group, Version: managed.Version}] = true
				continue
			}
			scope := scopeCluster
			if text, _, _ := unstructured.NestedString(u.Object, "spec", "scope"); text == "Namespaced" {
				scope = scopeNamespaced
			}
			s.defined[schema.GroupKind{Group: managed.Group, Kind: managed.Kind}] = scope
		}
	}
	return s
}

// place sets or removes the namespace of an object, as its scope requires. Problems with its type are returned by
// problems instead.
func (s *scopes) place(u *unstructured.Unstructured, namespace string) (problem string, err error) {
	scope, err := s.of(u.GroupVersionKind())
	if err != nil {
		return "", fmt.Errorf("finding the scope of %s: %w", types.IDOf(u).String(), err)
	}
	switch scope {
	case scopeNamespaced:
		if u.GetNamespace() == "" {
			u.SetNamespace(namespace)
		}
		if u.GetNamespace() == "" {
			return fmt.Sprintf("%s: metadata.namespace is required, because its owner has no namespace; "+
				"a component without a namespace may have one for its dependents in spec.namespace", types.IDOf(u)), nil
		}
	case scopeCluster:
		u.SetNamespace("")
	case scopeUnknown:
		switch {
		case s.apiServices[u.GroupVersionKind().GroupVersion()]:
		case AwaitsType(s.prefix, u.GetAnnotations(), s.await):
			s.awaited[u.GroupVersionKind()] = true
		default:
			text := s.unknown(u.GroupVersionKind())
			s.strangers[text] = append(s.strangers[text], types.IDOf(u).String())
		}
	}
	return "", nil
}

// problems returns the problems with the types of objects, one for each type.
func (s *scopes) problems() (problems []string) {
	const named = 5 // objects
	for text, objects := range s.strangers {
		if more := len(objects) - named; more > 1 {
			objects = append(objects[:named:named], fmt.Sprintf("and %d more", more))
		}
		problems = append(problems, strings.Join(objects, ", ")+": "+text)
	}
	return problems
}

// unknown returns a message that a type is not served, with the versions that are served.
func (s *scopes) unknown(gvk schema.GroupVersionKind) string {
	mappings, err := s.mapper.RESTMappings(gvk.GroupKind())
	var served []string
	for _, mapping := range mappings {
		served = append(served, mapping.GroupVersionKind.GroupVersion().String())
	}
	slices.Sort(served)
	if err != nil || len(served) == 0 {
		return fmt.Sprintf("type %s %s is unknown to the cluster, and no CustomResourceDefinition or APIService among the objects defines it; "+
			"if another controller does, set the annotation %s: wait", gvk.GroupVersion(), gvk.Kind, s.prefix+types.AnnotationKeySuffixMissingTypePolicy)
	}
	return fmt.Sprintf("apiVersion %s of kind %s is not served by the cluster; it serves %s", gvk.GroupVersion(), gvk.Kind, strings.Join(slices.Compact(served), ", "))
}

func (s *scopes) of(gvk schema.GroupVersionKind) (scope, error) {
	if defined, ok := s.defined[gvk.GroupKind()]; ok {
		return defined, nil
	}
	if known, ok := s.known[gvk]; ok {
		return known, nil
	}
	mapping, err := s.mapper.RESTMapping(gvk.GroupKind(), gvk.Version)
	switch {
	case cluster.IsNoMatch(err):
		s.known[gvk] = scopeUnknown
	case err != nil:
		return scopeUnknown, err
	case mapping.Scope.Name() == meta.RESTScopeNameNamespace:
		s.known[gvk] = scopeNamespaced
	default:
		s.known[gvk] = scopeCluster
	}
	return s.known[gvk], nil
}

// Preparer turns the objects of requests into desired objects, for one reconciler. It queries the cluster only for the
// served types.
type Preparer struct {
	Scheme *runtime.Scheme
	Mapper meta.RESTMapper
	Keys   Keys
	// OwnAnnotations are the suffixes of annotations that begin with the name of the reconciler, but that it does not
	// use.
	OwnAnnotations []string
	// FailuresAreFinal means that objects that remove themselves are not applied again after a failure.
	FailuresAreFinal bool
	// AwaitTypes means that objects of unknown types wait for their types, unless their annotations prevent that.
	AwaitTypes bool
}

// Source is the input for making desired objects; see reconciler.ApplyRequest.
type Source struct {
	Objects []client.Object
	// Version identifies the objects; empty if each call has to process them.
	Version string
	// Namespace is the default namespace of namespaced objects.
	Namespace string
	// Digest is the owner's digest. FormerDigest is another digest of the same state that may be recorded; empty if
	// there is none.
	Digest, FormerDigest string
	DigestKey            []byte
	// Policies have no empty fields.
	Policies inventory.Policies
	// Additional are the managed types that none of the objects defines.
	Additional []inventory.TypeInfo
	RunOnce    bool
}

// Set has the desired objects of a source. The next call for the same owner reuses it if the source is the same. It
// does not keep the manifests, because they are not needed while nothing changes.
type Set struct {
	// Source is the source of the desired objects, without the objects of the request.
	Source  Source
	Objects []*Object
}

// fits reports whether a source would lead to the same desired objects.
func (s *Set) fits(source Source) bool {
	count := len(source.Objects)
	source.Objects = nil
	return s != nil && source.Version != "" && len(s.Objects) == count && reflect.DeepEqual(s.Source, source)
}

// Prepare returns the desired objects of a source, and their manifests. It reuses the known set if that fits.
func (p Preparer) Prepare(source Source, known *Set) (*Set, *Manifests, error) {
	if known.fits(source) {
		return known, p.manifests(source, make([]*unstructured.Unstructured, len(source.Objects))), nil
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

// Manifests has the normalized manifests of desired objects. Only one goroutine at a time may use it for a desired
// object.
type Manifests struct {
	preparer Preparer
	source   Source
	objects  []*unstructured.Unstructured // by the index of the desired object; nil until first used
	// completed are the manifests of late objects, by the index of the desired object.
	completed map[int]*unstructured.Unstructured
}

func (p Preparer) manifests(source Source, objects []*unstructured.Unstructured) *Manifests {
	return &Manifests{preparer: p, source: source, objects: objects, completed: map[int]*unstructured.Unstructured{}}
}

// Of returns the manifest of a desired object, without the marks of the owner; for a late object, the announced
// manifest until it is completed. The manifest must not be changed.
func (m *Manifests) Of(t *Object) (*unstructured.Unstructured, error) {
	if completed := m.completed[t.Index]; completed != nil {
		return completed, nil
	}
	return m.announced(t)
}

// announced returns the manifest of a desired object from the request.
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
