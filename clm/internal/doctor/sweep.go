// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/clm/internal/display"
	"github.com/component-operator/runtime/clm/internal/releases"
	"github.com/component-operator/runtime/clm/internal/runner"
	"github.com/component-operator/runtime/internal/fieldset"
	"github.com/component-operator/runtime/internal/observe"
	"github.com/component-operator/runtime/pkg/cluster"
)

// markedObject is an object that carries the mark of a release.
type markedObject struct {
	display.Object
	releases.OwnerMark

	copied bool // another client has copied it, with its marks, from an object of a release
}

// sweep finds all objects that carry the mark of a release.
type sweep struct {
	client     cluster.Client
	selector   labels.Selector
	namespaces []string // where to list types that the user may not list in the whole cluster

	mu       sync.Mutex
	found    []markedObject
	unlisted []string
	denied   map[string][]string // types that must not be listed, by where
}

const (
	// sweepers is the number of types that are listed at once.
	sweepers = 8
	// sweepPage is the number of objects that are asked for at once.
	sweepPage = 500
)

// run lists all types that the server knows. What must not be listed, or does not answer, is noted.
func (s *sweep) run(ctx context.Context) error {
	lists, err := s.client.DiscoveryClient().ServerPreferredResources()
	var partial *discovery.ErrGroupDiscoveryFailed
	if err != nil && !errors.As(err, &partial) {
		return fmt.Errorf("discovering types: %w", err)
	}
	if partial != nil {
		for version := range partial.Groups {
			s.unlisted = append(s.unlisted, fmt.Sprintf("%s does not answer, so its objects are unknown", version))
		}
	}
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(sweepers)
	runner.EachResource(lists, func(gv schema.GroupVersion, resource metav1.APIResource) {
		if slices.Contains(resource.Verbs, "list") {
			group.Go(func() error { return s.resource(ctx, gv, resource) })
		}
	})
	if err := group.Wait(); err != nil {
		return err
	}
	for where, names := range s.denied {
		slices.Sort(names)
		s.unlisted = append(s.unlisted, fmt.Sprintf("you are not allowed to list these types%s: %s", where, strings.Join(names, ", ")))
	}
	slices.SortFunc(s.found, func(a, b markedObject) int {
		return cmp.Or(cmp.Compare(a.Object.String(), b.Object.String()), cmp.Compare(a.Key().Group, b.Key().Group))
	})
	return nil
}

// resource lists one type, in the whole cluster or else namespace by namespace.
func (s *sweep) resource(ctx context.Context, gv schema.GroupVersion, resource metav1.APIResource) error {
	kind := gv.WithKind(resource.Kind)
	err := s.list(ctx, kind, "")
	name := schema.GroupResource{Group: gv.Group, Resource: resource.Name}.String()
	switch {
	case isUnserved(err):
		return nil
	case !apierrors.IsForbidden(err):
		return err
	case !resource.Namespaced:
		s.deny("", name)
		return nil
	}
	var looked []string
	for _, namespace := range s.namespaces {
		switch err := s.list(ctx, kind, namespace); {
		case err == nil:
			looked = append(looked, namespace)
		case isUnserved(err):
			// In the whole cluster, the server says first that it may not be listed.
			return nil
		case !apierrors.IsForbidden(err):
			return err
		}
	}
	where := ""
	if len(looked) > 0 {
		where = " in namespaces other than " + strings.Join(looked, ", ")
	}
	s.deny(where, name)
	return nil
}

// isUnserved reports whether a type cannot be listed, because it no longer exists, or does not support lists.
func isUnserved(err error) bool {
	return apierrors.IsNotFound(err) || apierrors.IsMethodNotSupported(err)
}

func (s *sweep) deny(where, name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.denied == nil {
		s.denied = map[string][]string{}
	}
	s.denied[where] = append(s.denied[where], name)
}

func (s *sweep) list(ctx context.Context, kind schema.GroupVersionKind, namespace string) error {
	next := ""
	for {
		page := &metav1.PartialObjectMetadataList{}
		page.SetGroupVersionKind(kind.GroupVersion().WithKind(kind.Kind + "List"))
		err := s.client.List(ctx, page, client.InNamespace(namespace), client.MatchingLabelsSelector{Selector: s.selector}, client.Limit(sweepPage), client.Continue(next))
		if err != nil {
			return fmt.Errorf("listing %s: %w", kind.GroupKind(), err)
		}
		for i := range page.Items {
			s.take(kind, &page.Items[i])
		}
		if next = page.Continue; next == "" {
			return nil
		}
	}
}

// take keeps what is known about an object.
func (s *sweep) take(kind schema.GroupVersionKind, object *metav1.PartialObjectMetadata) {
	if observe.RecordLabel(object.Labels) != "" {
		// A record is no dependent, whatever marks it has.
		return
	}
	version, name := kind.ToAPIVersionAndKind()
	found := markedObject{
		Object:    display.Object{APIVersion: version, Kind: name, Namespace: object.Namespace, Name: object.Name},
		OwnerMark: releases.OwnerOf(object),
		// EndpointSlices, say, have the labels of their Services.
		copied: object.Annotations[releases.Annotation] == "" || fieldset.IsCopy(object, releases.ReconcilerName),
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.found = append(s.found, found)
}
