// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package live

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	apitypes "k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/internal/apiserver"
	"github.com/component-operator/runtime/internal/concurrent"
	"github.com/component-operator/runtime/internal/display"
	"github.com/component-operator/runtime/pkg/cluster"
	"github.com/component-operator/runtime/pkg/reconciler"
)

// survey has the results of reading the cluster so far.
type survey struct {
	Options
	core    corev1client.CoreV1Interface
	targets []*target
	// deadline is the earliest time at which a status may change by itself.
	deadline time.Duration

	mu sync.Mutex // guards all fields below
	// objects holds the live objects that were read.
	objects map[display.Key]*unstructured.Unstructured
	owned   map[apitypes.UID][]*unstructured.Unstructured
	notes   sets.Set[display.Note]
}

// target is a dependent to read.
type target struct {
	item *reconciler.InventoryItem
	// resource is empty if the type is not served.
	resource resource
	key      display.Key
	// denied is the reason if the object could not be read.
	denied *display.Note
}

func newSurvey(options Options) (*survey, error) {
	if options.Selector == nil {
		options.Selector = labels.Everything()
	}
	core, err := corev1client.NewForConfigAndClient(options.Client.Config(), options.Client.HttpClient())
	if err != nil {
		return nil, fmt.Errorf("setting up the reading of events and logs: %w", err)
	}
	s := &survey{
		Options: options,
		core:    core,
		objects: map[display.Key]*unstructured.Unstructured{},
		owned:   map[apitypes.UID][]*unstructured.Unstructured{},
		notes:   sets.New[display.Note](),
	}
	return s, s.resolve()
}

// resolve finds the resources by which the recorded types are served at present.
func (s *survey) resolve() error {
	for _, item := range s.Items {
		t := &target{item: item, key: display.KeyOf(item)}
		s.targets = append(s.targets, t)
		if item.Phase == reconciler.PhaseCompleted {
			continue
		}
		mapping, err := s.Client.RESTMapper().RESTMapping(t.key.GroupKind, item.Version)
		if cluster.IsNoMatch(err) {
			mapping, err = s.Client.RESTMapper().RESTMapping(t.key.GroupKind)
		}
		switch {
		case cluster.IsNoMatch(err):
		case err != nil:
			return fmt.Errorf("finding type %s: %w", t.key.GroupKind, err)
		default:
			t.resource = resource{mapping.GroupVersionKind, mapping.Resource.Resource}
		}
	}
	return nil
}

// query is one LIST.
type query struct {
	resource  resource
	namespace string
	// all includes objects that are not dependents themselves.
	all bool
}

// place is the scope of a LIST, independent of the API version.
type place struct {
	schema.GroupKind
	namespace string
}

// read sends all requests of the tree.
func (s *survey) read(ctx context.Context) error {
	complete := sets.New[place]()
	var mu sync.Mutex
	if err := concurrent.Each(maxRequests, planQueries(s.targets), func(_ int, q query) error {
		listed, err := s.list(ctx, q)
		if listed && (q.all || s.Selector.Empty()) {
			mu.Lock()
			defer mu.Unlock()
			complete.Insert(place{q.resource.GroupKind(), q.namespace})
		}
		return err
	}); err != nil {
		return err
	}
	var doubtful []*target
	for _, t := range s.targets {
		if t.resource.plural != "" && s.objects[t.key] == nil && !complete.Has(place{t.key.GroupKind, t.key.Namespace}) {
			doubtful = append(doubtful, t)
		}
	}
	return concurrent.Each(maxRequests, doubtful, func(_ int, t *target) error { return s.get(ctx, t) })
}

// planQueries returns the LIST requests: one for each type and namespace of the dependents, and for the types that they
// may own.
func planQueries(targets []*target) []query {
	planned := map[place]query{}
	add := func(r resource, namespace string, all bool) {
		at := place{r.GroupKind(), namespace}
		q, known := planned[at]
		if !known {
			q = query{resource: r, namespace: namespace}
		}
		q.all = q.all || all
		planned[at] = q
	}
	served := slices.DeleteFunc(slices.Clone(targets), func(t *target) bool { return t.resource.plural == "" })
	var namespaced []resource
	var namespaces []string
	for _, t := range served {
		add(t.resource, t.key.Namespace, false)
		if t.key.Namespace != "" {
			namespaces = append(namespaces, t.key.Namespace)
			namespaced = append(namespaced, t.resource)
		}
	}
	for _, t := range served {
		children, where := ownedTypes[t.key.GroupKind], []string{t.key.Namespace}
		if !apiserver.IsBuiltIn(t.key.Group) { // the types of the objects that it owns are unknown
			children = slices.Concat(namespaced, workloads)
			if t.key.Namespace == "" {
				where = namespaces
			}
		}
		for _, namespace := range where {
			for _, child := range children {
				add(child, namespace, true)
			}
		}
	}
	return slices.SortedFunc(maps.Values(planned), func(a, b query) int {
		return cmp.Or(cmp.Compare(a.resource.String(), b.resource.String()), cmp.Compare(a.namespace, b.namespace))
	})
}

// list sends one LIST, and reports whether the user was allowed to do that.
func (s *survey) list(ctx context.Context, q query) (bool, error) {
	options := []client.ListOption{client.InNamespace(q.namespace)}
	if !q.all && !s.Selector.Empty() {
		options = append(options, client.MatchingLabelsSelector{Selector: s.Selector})
	}
	objects, err := s.fetch(ctx, q.resource.GroupVersionKind, options)
	switch {
	case apierrors.IsForbidden(err):
		// Read the dependents one by one: a user who may not list them may be allowed to get them.
		if q.all {
			s.note(display.Note{Verb: "list", Group: q.resource.Group, Resource: q.resource.plural, Namespace: q.namespace})
		}
		return false, nil
	case apierrors.IsNotFound(err), cluster.IsNoMatch(err):
		// The type is no longer served, although discovery still has it.
		return true, nil
	case err != nil:
		return false, fmt.Errorf("listing %s in namespace %q: %w", q.resource.plural, q.namespace, err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, object := range objects {
		s.keepLocked(object)
	}
	return true, nil
}

// readsMetadata reports whether objects of the type are read without their content, which is often large or secret,
// because their metadata is enough to compute their status.
func (s *survey) readsMetadata(kind schema.GroupKind) bool {
	isData := kind.Group == "" && (kind.Kind == "Secret" || kind.Kind == "ConfigMap")
	return isData && !s.Judges.NeedsContent("", kind)
}

func (s *survey) fetch(ctx context.Context, kind schema.GroupVersionKind, options []client.ListOption) ([]*unstructured.Unstructured, error) {
	var list client.ObjectList = &unstructured.UnstructuredList{}
	if s.readsMetadata(kind.GroupKind()) {
		list = &metav1.PartialObjectMetadataList{}
	}
	list.GetObjectKind().SetGroupVersionKind(kind)
	if err := s.Client.List(ctx, list, options...); err != nil {
		return nil, err
	}
	var objects []*unstructured.Unstructured
	err := meta.EachListItem(list, func(item runtime.Object) error {
		object, err := expand(item, kind)
		objects = append(objects, object)
		return err
	})
	return objects, err
}

// expand returns an object that was read, perhaps only its metadata, as unstructured.
func expand(read runtime.Object, kind schema.GroupVersionKind) (*unstructured.Unstructured, error) {
	if object, isWhole := read.(*unstructured.Unstructured); isWhole {
		return object, nil
	}
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(read)
	if err != nil {
		name, _ := meta.NewAccessor().Name(read)
		return nil, fmt.Errorf("converting the metadata of %s %s: %w", kind.Kind, name, err)
	}
	object := &unstructured.Unstructured{Object: content}
	object.SetGroupVersionKind(kind)
	return object, nil
}

// get reads a dependent that was not in any list.
func (s *survey) get(ctx context.Context, t *target) error {
	kind, name := t.resource.GroupVersionKind, client.ObjectKey{Namespace: t.key.Namespace, Name: t.key.Name}
	var read client.Object = &unstructured.Unstructured{}
	if s.readsMetadata(t.key.GroupKind) {
		read = &metav1.PartialObjectMetadata{}
	}
	read.GetObjectKind().SetGroupVersionKind(kind)
	err := s.Client.Get(ctx, name, read)
	var object *unstructured.Unstructured
	if err == nil {
		object, err = expand(read, kind)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case apierrors.IsForbidden(err):
		t.denied = &display.Note{Verb: "get", Group: kind.Group, Resource: t.resource.plural, Namespace: t.key.Namespace}
		s.notes.Insert(*t.denied)
	case apierrors.IsNotFound(err), cluster.IsNoMatch(err):
	case err != nil:
		return fmt.Errorf("reading %s %s: %w", kind.Kind, name, err)
	default:
		s.keepLocked(object)
	}
	return nil
}

func (s *survey) keepLocked(object *unstructured.Unstructured) {
	s.objects[objectOf(object).Key()] = object
	for _, owner := range object.GetOwnerReferences() {
		s.owned[owner.UID] = append(s.owned[owner.UID], object)
	}
}

func (s *survey) note(n display.Note) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.notes.Insert(n)
}
