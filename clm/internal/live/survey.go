// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package live

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	apitypes "k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/clm/internal/display"
	"github.com/component-operator/runtime/pkg/cluster"
	"github.com/component-operator/runtime/pkg/reconciler"
)

// survey holds what was read from the cluster so far.
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
	options = options.complete()
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

// read sends all requests of the tree.
func (s *survey) read(ctx context.Context) error {
	complete := map[schema.GroupKind]map[string]bool{}
	var mu sync.Mutex
	if err := each(ctx, planQueries(s.targets), func(ctx context.Context, q query) error {
		listed, err := s.list(ctx, q)
		if listed && (q.all || s.Selector.Empty()) {
			mu.Lock()
			defer mu.Unlock()
			if complete[q.resource.GroupKind()] == nil {
				complete[q.resource.GroupKind()] = map[string]bool{}
			}
			complete[q.resource.GroupKind()][q.namespace] = true
		}
		return err
	}); err != nil {
		return err
	}
	var doubtful []*target
	for _, t := range s.targets {
		if t.resource.plural != "" && s.objects[t.key] == nil && !complete[t.key.GroupKind][t.key.Namespace] {
			doubtful = append(doubtful, t)
		}
	}
	return each(ctx, doubtful, s.get)
}

// planQueries returns the LIST requests: one for each type and namespace of the dependents, and for the types that they
// may own.
func planQueries(targets []*target) []query {
	type place struct {
		schema.GroupKind
		namespace string
	}
	planned := map[place]*query{}
	add := func(r resource, namespace string, all bool) {
		at := place{r.GroupKind(), namespace}
		if planned[at] == nil {
			planned[at] = &query{resource: r, namespace: namespace}
		}
		planned[at].all = planned[at].all || all
	}
	var namespaced []resource
	var namespaces []string
	for _, t := range targets {
		if t.resource.plural == "" {
			continue
		}
		add(t.resource, t.key.Namespace, false)
		if t.key.Namespace != "" {
			namespaces = append(namespaces, t.key.Namespace)
			namespaced = append(namespaced, t.resource)
		}
	}
	for _, t := range targets {
		children, where := ownedTypes[t.key.GroupKind], []string{t.key.Namespace}
		switch {
		case t.resource.plural == "":
			continue
		case isCustom(t.key.GroupKind):
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
	queries := make([]query, 0, len(planned))
	for _, q := range planned {
		queries = append(queries, *q)
	}
	slices.SortFunc(queries, func(a, b query) int {
		return cmp.Or(cmp.Compare(a.resource.String(), b.resource.String()), cmp.Compare(a.namespace, b.namespace))
	})
	return queries
}

// list reports whether the user was allowed to list.
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

// readsMetadata reports whether objects of the type are read without their content.
func (s *survey) readsMetadata(kind schema.GroupKind) bool {
	return isJustMetadata(kind) && !s.Judges.NeedsContent("", kind)
}

func (s *survey) fetch(ctx context.Context, kind schema.GroupVersionKind, options []client.ListOption) ([]*unstructured.Unstructured, error) {
	if s.readsMetadata(kind.GroupKind()) {
		list := &metav1.PartialObjectMetadataList{}
		list.SetGroupVersionKind(kind)
		if err := s.Client.List(ctx, list, options...); err != nil {
			return nil, err
		}
		objects := make([]*unstructured.Unstructured, len(list.Items))
		for i := range list.Items {
			object, err := expand(&list.Items[i], kind)
			if err != nil {
				return nil, err
			}
			objects[i] = object
		}
		return objects, nil
	}
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(kind)
	if err := s.Client.List(ctx, list, options...); err != nil {
		return nil, err
	}
	objects := make([]*unstructured.Unstructured, len(list.Items))
	for i := range list.Items {
		objects[i] = &list.Items[i]
	}
	return objects, nil
}

// expand converts metadata to an object.
func expand(metadata *metav1.PartialObjectMetadata, kind schema.GroupVersionKind) (*unstructured.Unstructured, error) {
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(metadata)
	if err != nil {
		return nil, fmt.Errorf("converting the metadata of %s %s: %w", kind.Kind, metadata.Name, err)
	}
	object := &unstructured.Unstructured{Object: content}
	object.SetGroupVersionKind(kind)
	return object, nil
}

// get reads a dependent that was not in any list.
func (s *survey) get(ctx context.Context, t *target) error {
	kind := t.resource.GroupVersionKind
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(kind)
	name := client.ObjectKey{Namespace: t.key.Namespace, Name: t.key.Name}
	var err error
	if s.readsMetadata(t.key.GroupKind) {
		metadata := &metav1.PartialObjectMetadata{}
		metadata.SetGroupVersionKind(kind)
		if err = s.Client.Get(ctx, name, metadata); err == nil {
			object, err = expand(metadata, kind)
		}
	} else {
		err = s.Client.Get(ctx, name, object)
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
