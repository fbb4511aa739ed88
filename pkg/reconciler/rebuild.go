// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package reconciler

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	apitypes "k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/discovery"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	"github.com/component-operator/runtime/internal/fieldset"
	"github.com/component-operator/runtime/internal/flow"
	"github.com/component-operator/runtime/internal/observe"
)

// RebuildRequest is the input of Reconciler.Rebuild.
type RebuildRequest struct {
	// ID is that of the owner. Required.
	ID string
	// Known are items that are recorded in spite of the loss. They are taken over as they are.
	Known []*InventoryItem
	// Objects are the wanted objects, as far as they are known. Their types are looked into.
	Objects []client.Object
	// Types are looked into as well. A kind of "*" stands for all kinds of a group, a group of "*" for all groups. The version does
	// not matter: one that is served is found.
	Types []TypeVersionInfo
	// Namespaces are looked into one by one for types that must not be listed in the whole cluster.
	Namespaces []string
	// Policies are those of the owner. They count for objects whose annotations do not say otherwise.
	Policies Policies
}

// RebuildResult is what Reconciler.Rebuild has found.
type RebuildResult struct {
	// Inventory holds the known items and the found ones, in the order in which inventories are kept.
	Inventory []*InventoryItem
	// Found is the number of items that were not known.
	Found int
	// Unlisted are the types of which it is not known whether there are objects, because it is forbidden to list them, or
	// because their API does not answer to discovery (then the kind is "*"). Sorted.
	Unlisted []TypeInfo
}

// listPage is the number of objects that are asked for at once.
const listPage = 500

// Rebuild finds the objects that belong to an owner by their label, for an inventory that was lost. It changes nothing. An object
// counts only if it carries the id of the owner in its annotation, too, and if Options.FieldOwner has written to it (on servers that do not
// tell who wrote what: unless it has a controller), because people and controllers make copies of objects with labels and annotations. Objects
// in which dependents are recorded do not count.
//
// A found object is recorded such that Apply verifies it by an apply that has no effect unless something is to be changed, and
// that it is not created anew for lack of a record. Objects that were purged are not found. A failure other
// than those that RebuildResult.Unlisted is about is an error, and worth a retry.
func (r *Reconciler) Rebuild(ctx context.Context, request RebuildRequest) (RebuildResult, error) {
	policies, err := request.Policies.validated()
	if err != nil {
		return RebuildResult{}, err
	}
	p := r.newPass(Owner{ID: request.ID}, nil)
	ctx = flow.WithLimiter(ctx, p.flow)
	search := &search{pass: p, policies: policies.or(r.options.Policies), namespaces: request.Namespaces, uids: map[apitypes.UID]bool{}, unlisted: map[TypeInfo]bool{}}
	kinds, err := search.kinds(request)
	if err != nil {
		return RebuildResult{}, err
	}
	var mu sync.Mutex
	var failures []error
	each(ctx, p.flow, kinds, func(kind schema.GroupVersionKind) {
		if err := search.kind(ctx, kind); err != nil {
			mu.Lock()
			defer mu.Unlock()
			failures = append(failures, err)
		}
	})
	if len(failures) > 0 {
		slices.SortFunc(failures, func(a, b error) int { return cmp.Compare(a.Error(), b.Error()) })
		return RebuildResult{}, fmt.Errorf("looking for dependents: %w", errors.Join(failures...))
	}
	result := RebuildResult{Inventory: slices.Clone(request.Known)}
	known := index(request.Known)
	for _, item := range search.found {
		if known[keyOf(item)] == nil {
			result.Inventory = append(result.Inventory, item)
			result.Found++
		}
	}
	sortInventory(result.Inventory)
	result.Unlisted = slices.SortedFunc(maps.Keys(search.unlisted), func(a, b TypeInfo) int {
		return cmp.Or(cmp.Compare(a.Group, b.Group), cmp.Compare(a.Kind, b.Kind))
	})
	return result, nil
}

// search is one call of Rebuild.
type search struct {
	*pass
	policies   Policies
	namespaces []string

	mu       sync.Mutex
	found    []*InventoryItem
	uids     map[apitypes.UID]bool // the same object may be served by several groups
	unlisted map[TypeInfo]bool
}

// kinds returns the types to look into, each in one version: that of the wanted objects comes first.
func (s *search) kinds(request RebuildRequest) ([]schema.GroupVersionKind, error) {
	var kinds []schema.GroupVersionKind
	seen := map[schema.GroupKind]bool{}
	add := func(kind schema.GroupVersionKind) {
		if !seen[kind.GroupKind()] {
			seen[kind.GroupKind()] = true
			kinds = append(kinds, kind)
		}
	}
	for _, object := range request.Objects {
		// What has no type that is known is going to be refused by Apply.
		if kind, err := apiutil.GVKForObject(object, s.client.Scheme()); err == nil {
			add(kind)
		}
	}
	var patterns []TypeInfo
	for _, wanted := range request.Types {
		if wanted.Kind == wildcard || strings.Contains(wanted.Group, wildcard) {
			patterns = append(patterns, TypeInfo{Group: wanted.Group, Kind: wanted.Kind})
			continue
		}
		add(schema.GroupVersionKind(wanted))
	}
	if len(patterns) == 0 {
		return kinds, nil
	}
	discovered, err := s.discovered(patterns)
	for _, kind := range discovered {
		add(kind)
	}
	return kinds, err
}

// discovered returns the types that can be listed and fit one of the patterns. Groups that fit and do not answer are noted.
func (s *search) discovered(patterns []TypeInfo) ([]schema.GroupVersionKind, error) {
	fits := func(gvk schema.GroupVersionKind) bool {
		return slices.ContainsFunc(patterns, func(pattern TypeInfo) bool { return pattern.matches(gvk.GroupKind()) })
	}
	lists, err := s.client.DiscoveryClient().ServerPreferredResources()
	var partial *discovery.ErrGroupDiscoveryFailed
	if err != nil && !errors.As(err, &partial) {
		return nil, fmt.Errorf("discovering types: %w", err)
	}
	if partial != nil {
		for version := range partial.Groups {
			if slices.ContainsFunc(patterns, func(pattern TypeInfo) bool { return matchesGroup(pattern.Group, version.Group) }) {
				s.unlisted[TypeInfo{Group: version.Group, Kind: wildcard}] = true
			}
		}
	}
	var kinds []schema.GroupVersionKind
	for _, mapping := range listable(lists, fits) {
		kinds = append(kinds, mapping.GroupVersionKind)
	}
	return kinds, nil
}

// kind looks into one type.
func (s *search) kind(ctx context.Context, kind schema.GroupVersionKind) error {
	err := s.list(ctx, kind, "")
	if isTypeless(err) {
		// It may be served in another version. If it is not served at all, there is nothing that could be found.
		mapping, servedErr := s.servedNow(ctx, kind.GroupKind())
		if err = servedErr; err == nil && mapping != nil {
			kind = mapping.GroupVersionKind
			err = s.list(ctx, kind, "")
		}
	}
	if apierrors.IsForbidden(err) && s.isNamespaced(kind) && len(s.namespaces) > 0 {
		err = nil
		for _, namespace := range s.namespaces {
			err = errors.Join(err, s.list(ctx, kind, namespace))
		}
	}
	if apierrors.IsForbidden(err) || apierrors.IsMethodNotSupported(err) || isUnknownType(err) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.unlisted[TypeInfo{Group: kind.Group, Kind: kind.Kind}] = true
		return nil
	}
	return err
}

func (s *search) isNamespaced(kind schema.GroupVersionKind) bool {
	mapping, err := s.client.RESTMapper().RESTMapping(kind.GroupKind(), kind.Version)
	return err == nil && mapping.Scope.Name() == meta.RESTScopeNameNamespace
}

// list takes what is ours of a type, in one namespace or in all of them. Of objects that define types the content is needed.
func (s *search) list(ctx context.Context, kind schema.GroupVersionKind, namespace string) error {
	options := []client.ListOption{client.InNamespace(namespace), client.MatchingLabels{s.keys.ownerLabel: s.label}, client.Limit(listPage)}
	next := ""
	for {
		page := append(slices.Clone(options), client.Continue(next))
		objects, err := s.page(ctx, kind, &next, page)
		if err != nil {
			return fmt.Errorf("listing %s: %w", kind.GroupKind(), err)
		}
		for i := range objects {
			s.take(kind, &objects[i])
		}
		if next == "" {
			return nil
		}
	}
}

// page reads one page, and sets next to where the following one begins.
func (s *search) page(ctx context.Context, kind schema.GroupVersionKind, next *string, options []client.ListOption) ([]unstructured.Unstructured, error) {
	listKind := kind.GroupVersion().WithKind(kind.Kind + "List")
	if definesTypes(kind.GroupKind()) {
		list := &unstructured.UnstructuredList{}
		list.SetGroupVersionKind(listKind)
		err := s.read(func() error { return s.client.List(ctx, list, options...) })
		*next = list.GetContinue()
		return list.Items, err
	}
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(listKind)
	err := s.read(func() error { return s.client.List(ctx, list, options...) })
	*next = list.GetContinue()
	objects := make([]unstructured.Unstructured, len(list.Items))
	for i, item := range list.Items {
		objects[i] = bare(item)
	}
	return objects, err
}

// bare has all of the metadata that matters here.
func bare(object metav1.PartialObjectMetadata) unstructured.Unstructured {
	u := unstructured.Unstructured{Object: map[string]any{}}
	u.SetNamespace(object.Namespace)
	u.SetName(object.Name)
	u.SetUID(object.UID)
	u.SetCreationTimestamp(object.CreationTimestamp)
	u.SetLabels(object.Labels)
	u.SetAnnotations(object.Annotations)
	u.SetOwnerReferences(object.OwnerReferences)
	u.SetManagedFields(object.ManagedFields)
	return u
}

// take records an object if it is ours.
func (s *search) take(kind schema.GroupVersionKind, object *unstructured.Unstructured) {
	if object.GetAnnotations()[s.keys.ownerAnnotation] != s.owner.ID || fieldset.IsCopy(object, s.options.FieldOwner) || observe.RecordLabel(object.GetLabels()) != "" {
		return
	}
	object.SetGroupVersionKind(kind)
	// An annotation that somebody has spoiled since is like none.
	parsed, _ := parseBehavior(s.keys.prefix, object, s.policies)
	item := &InventoryItem{
		TypeVersionInfo: TypeVersionInfo(kind),
		NameInfo:        NameInfo{Namespace: object.GetNamespace(), Name: object.GetName()},
		AdoptionPolicy:  parsed.adoption,
		ReconcilePolicy: parsed.reconcile,
		UpdatePolicy:    parsed.update,
		DeletePolicy:    parsed.delete,
		ApplyOrder:      parsed.applyOrder,
		DeleteOrder:     parsed.deleteOrder,
		ManagedTypes:    managedTypesOf(object),
		Digest:          object.GetAnnotations()[s.keys.digest],
		// Without a UID and a baseline it has to be verified, and is not taken for the object that was recorded.
		Phase:         PhaseReady,
		LastAppliedAt: new(object.GetCreationTimestamp()),
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.uids[object.GetUID()] {
		s.uids[object.GetUID()] = true
		s.found = append(s.found, item)
	}
}
