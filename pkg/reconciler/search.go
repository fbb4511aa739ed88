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
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	apitypes "k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	"github.com/component-operator/runtime/internal/concurrent"
	"github.com/component-operator/runtime/internal/fieldset"
	"github.com/component-operator/runtime/internal/observe"
	"github.com/component-operator/runtime/pkg/behaviors"
	"github.com/component-operator/runtime/pkg/inventory"
	"github.com/component-operator/runtime/pkg/reconciler/internal/execute"
	"github.com/component-operator/runtime/pkg/reconciler/internal/guard"
	"github.com/component-operator/runtime/pkg/reconciler/internal/prepare"
	"github.com/component-operator/runtime/pkg/reconciler/internal/run"
)

// findDependents finds the dependents of the owner of a call. Unlisted are the types that could not be listed, sorted.
func findDependents(ctx context.Context, call *run.Call, request RebuildRequest) (items []*InventoryItem, unlisted []TypeInfo, err error) {
	s := &search{call: call, policies: request.Policies, namespaces: request.Namespaces, uids: map[apitypes.UID]bool{}, unlisted: map[TypeInfo]bool{}}
	found, err := s.kinds(request)
	if err != nil {
		return nil, nil, err
	}
	var failures run.Failures
	concurrent.All(call.Server.Concurrency, found, func(kind schema.GroupVersionKind) { failures.Add(s.kind(ctx, kind)) })
	if err := failures.Err(); err != nil {
		return nil, nil, fmt.Errorf("looking for dependents: %w", err)
	}
	unlisted = slices.SortedFunc(maps.Keys(s.unlisted), func(a, b TypeInfo) int {
		return cmp.Or(cmp.Compare(a.Group, b.Group), cmp.Compare(a.Kind, b.Kind))
	})
	return s.found, unlisted, nil
}

// search is one call of Rebuild.
type search struct {
	call       *run.Call
	policies   inventory.Policies
	namespaces []string

	mu       sync.Mutex
	found    []*inventory.Item
	uids     map[apitypes.UID]bool // the same object may be served by several groups
	unlisted map[inventory.TypeInfo]bool
}

// kinds returns the types to list, each in one version, preferably that of a wanted object.
func (s *search) kinds(request RebuildRequest) ([]schema.GroupVersionKind, error) {
	var found []schema.GroupVersionKind
	seen := map[schema.GroupKind]bool{}
	add := func(kind schema.GroupVersionKind) {
		if !seen[kind.GroupKind()] {
			seen[kind.GroupKind()] = true
			found = append(found, kind)
		}
	}
	for _, object := range request.Objects {
		// Apply refuses objects without a known type.
		if kind, err := apiutil.GVKForObject(behaviors.Bare(object), s.call.Server.Client.Scheme()); err == nil {
			add(kind)
		}
	}
	var patterns []inventory.TypeInfo
	for _, wanted := range request.Types {
		if wanted.Kind == prepare.Wildcard || strings.Contains(wanted.Group, prepare.Wildcard) {
			patterns = append(patterns, inventory.TypeInfo{Group: wanted.Group, Kind: wanted.Kind})
			continue
		}
		add(schema.GroupVersionKind(wanted))
	}
	if len(patterns) == 0 {
		return found, nil
	}
	discovered, err := s.discovered(patterns)
	for _, kind := range discovered {
		add(kind)
	}
	return found, err
}

// discovered returns the listable types that match one of the patterns. It notes matching groups that do not answer.
func (s *search) discovered(patterns []inventory.TypeInfo) ([]schema.GroupVersionKind, error) {
	mappings, silent, err := guard.Listable(s.call.Server, func(gvk schema.GroupVersionKind, _ metav1.APIResource) bool {
		return slices.ContainsFunc(patterns, func(pattern inventory.TypeInfo) bool { return prepare.MatchesKind(pattern, gvk.GroupKind()) })
	})
	if err != nil {
		return nil, err
	}
	for version := range silent {
		if slices.ContainsFunc(patterns, func(pattern inventory.TypeInfo) bool { return prepare.MatchesGroup(pattern.Group, version.Group) }) {
			s.unlisted[inventory.TypeInfo{Group: version.Group, Kind: prepare.Wildcard}] = true
		}
	}
	var found []schema.GroupVersionKind
	for _, mapping := range mappings {
		found = append(found, mapping.GroupVersionKind)
	}
	return found, nil
}

// kind searches one type.
func (s *search) kind(ctx context.Context, kind schema.GroupVersionKind) error {
	err := s.list(ctx, kind, "")
	if execute.IsTypeless(err) {
		// Another version may be served. If none is, there are no objects.
		mapping, servedErr := s.call.Server.ServedNow(ctx, kind.GroupKind())
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
	if apierrors.IsForbidden(err) || apierrors.IsMethodNotSupported(err) || execute.IsUnknownType(err) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.unlisted[inventory.TypeInfo{Group: kind.Group, Kind: kind.Kind}] = true
		return nil
	}
	return err
}

func (s *search) isNamespaced(kind schema.GroupVersionKind) bool {
	mapping, err := s.call.Server.Client.RESTMapper().RESTMapping(kind.GroupKind(), kind.Version)
	return err == nil && mapping.Scope.Name() == meta.RESTScopeNameNamespace
}

// list takes the dependents of a type in one namespace, or in all if it is empty. Whole objects are read only if they
// define types, which are recorded.
func (s *search) list(ctx context.Context, kind schema.GroupVersionKind, namespace string) error {
	err := s.call.Server.Each(ctx, s.call.Server.Client, kind, prepare.DefinesTypes(kind.GroupKind()), func(object client.Object) (bool, error) {
		return true, s.take(kind, object)
	}, client.InNamespace(namespace), client.MatchingLabels{s.call.Server.Keys.OwnerLabel: s.call.Owner.Label})
	if err != nil {
		return fmt.Errorf("listing %s: %w", kind.GroupKind(), err)
	}
	return nil
}

// take records an object if it belongs to the owner.
func (s *search) take(kind schema.GroupVersionKind, listed client.Object) error {
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(listed)
	if err != nil {
		return err
	}
	object := &unstructured.Unstructured{Object: content}
	if object.GetAnnotations()[s.call.Server.Keys.OwnerAnnotation] != s.call.Owner.ID || fieldset.IsCopy(object, s.call.Server.FieldOwner) ||
		observe.RecordLabel(object.GetLabels()) != "" {
		return nil
	}
	object.SetGroupVersionKind(kind)
	// An annotation that has become invalid counts as missing.
	parsed, _ := prepare.Parse(s.call.Server.Keys.Prefix, object, prepare.Policies(kind.GroupKind(), s.policies))
	item := &inventory.Item{
		TypeVersionInfo:   inventory.TypeVersionInfo(kind),
		NameInfo:          inventory.NameInfo{Namespace: object.GetNamespace(), Name: object.GetName()},
		AdoptionPolicy:    parsed.Adoption,
		ReconcilePolicy:   parsed.Reconcile,
		UpdatePolicy:      parsed.Update,
		DeletePolicy:      parsed.Delete,
		ApplyOrder:        parsed.ApplyOrder,
		DeleteOrder:       parsed.DeleteOrder,
		DeletePropagation: parsed.DeletePropagation,
		PrunePolicy:       parsed.Prune,
		ManagedTypes:      prepare.ManagedTypesOf(object),
		Digest:            object.GetAnnotations()[s.call.Server.Keys.Digest],
		// Without a UID and a baseline, Apply verifies the object and does not recreate it.
		Phase:         inventory.PhaseReady,
		LastAppliedAt: new(object.GetCreationTimestamp()),
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.uids[object.GetUID()] {
		s.uids[object.GetUID()] = true
		s.found = append(s.found, item)
	}
	return nil
}
