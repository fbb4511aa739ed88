// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package steps

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/component-operator/runtime/internal/observe"
	"github.com/component-operator/runtime/pkg/behaviors"
	"github.com/component-operator/runtime/pkg/inventory"
	"github.com/component-operator/runtime/pkg/reconciler/internal/answers"
	"github.com/component-operator/runtime/pkg/reconciler/internal/calls"
	"github.com/component-operator/runtime/pkg/reconciler/internal/desired"
	"github.com/component-operator/runtime/pkg/reconciler/internal/server"
	"github.com/component-operator/runtime/pkg/types"
)

// Watch has the observer watch the objects that desired objects read without owning them.
func Watch(ctx context.Context, call *calls.Call, wanted []*desired.Object) error {
	var names []observe.Name
	for _, t := range wanted {
		for _, read := range readsOf(call, t) {
			names = append(names, nameOf(read))
		}
	}
	call.Memory.Disregard(names)
	if err := call.Server.Observer.WatchNames(ctx, call.Owner.Label, names); err != nil {
		return fmt.Errorf("watching the objects that dependents need data of: %w", err)
	}
	return nil
}

func readsOf(call *calls.Call, t *desired.Object) []behaviors.Read {
	if !t.Reading {
		return nil
	}
	reading, ok := behaviors.Of[behaviors.Reading](call.Executor.Manifests.Source(t))
	if !ok {
		return nil
	}
	return reading.Reads()
}

func nameOf(read behaviors.Read) observe.Name {
	return observe.Name{GroupVersionKind: read.GroupVersionKind, Namespace: read.Namespace, Name: read.Name}
}

func itemOf(name observe.Name) *inventory.Item {
	return &inventory.Item{TypeVersionInfo: inventory.TypeVersionInfo(name.GroupVersionKind), NameInfo: inventory.NameInfo{Namespace: name.Namespace, Name: name.Name}}
}

// Read hands a desired object what it reads without owning it. If the object cannot do without something that is missing, or that must not be read, reason says so.
func (s *Steps) Read(ctx context.Context, t *desired.Object) (reason string, err error) {
	for _, read := range readsOf(s.call, t) {
		name := nameOf(read)
		id := types.IDOf(itemOf(name))
		if problem := s.misplaced(name); problem != "" {
			return fmt.Sprintf("%s cannot be read: %s", id, problem), nil
		}
		object, isWatched, err := s.fetch(ctx, name)
		switch {
		case apierrors.IsForbidden(err):
			s.call.Retry(s.call.Ledger.Of(t))
			return fmt.Sprintf("%s must not be read: %v", id, err), nil
		case err != nil:
			return "", fmt.Errorf("reading %s for %s: %w", id, t.Key, err)
		}
		if err := read.Take(object); err != nil {
			if object != nil || !isWatched {
				s.retry(t, err)
			}
			return fmt.Sprintf("needs data of %s: %v", id, err), nil
		}
		if !isWatched {
			s.call.Retry(s.call.Ledger.Of(t))
		}
	}
	return "", nil
}

// misplaced says what is wrong with the namespace of an object; empty if nothing is, or its type is not served.
func (s *Steps) misplaced(name observe.Name) string {
	mapping, err := s.call.Server.Client.RESTMapper().RESTMapping(name.GroupKind(), name.Version)
	if err != nil {
		return ""
	}
	switch isNamespaced := mapping.Scope.Name() == meta.RESTScopeNameNamespace; {
	case isNamespaced && name.Namespace == "":
		return "its type is namespaced, and no namespace is given"
	case !isNamespaced && name.Namespace != "":
		return "its type is cluster-scoped, and a namespace is given"
	default:
		return ""
	}
}

// fetch returns an object, which must not be changed; nil if it does not exist. It makes a request only if the object has changed since the last one, or is not watched.
func (s *Steps) fetch(ctx context.Context, name observe.Name) (object *unstructured.Unstructured, isWatched bool, err error) {
	version, view := s.call.Server.Observer.Version(name)
	switch view {
	case observe.Absent:
		return nil, true, nil
	case observe.Present:
		if object = s.call.Memory.Recollect(name, version); object != nil {
			return object, true, nil
		}
	case observe.Unseen:
	}
	err = s.call.Server.Read(func() (err error) {
		object, err = server.LookUp(ctx, s.call.Server.Client, itemOf(name))
		return err
	})
	switch {
	case answers.IsGone(err):
		return nil, view == observe.Present, nil
	case err != nil:
		return nil, false, err
	}
	object = observe.Kept(object)
	s.call.Memory.Recollects(name, object)
	return object, view == observe.Present, nil
}
