// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package chunks

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apitypes "k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/internal/apiserver"
	"github.com/component-operator/runtime/internal/concurrent"
)

// listLimit is the number of objects in one page of a list.
const listLimit = 500

// claim updates an existing chunk, so that the guarded removal by a process that has observed it before fails. It
// removes a chunk that is damaged or being deleted, and reports that as an outdated state as well.
func (s *Store) claim(ctx context.Context, name string) (Handle, error) {
	object := s.options.Kind.newObject(nil)
	if err := s.options.Reader.Get(ctx, client.ObjectKey{Namespace: s.options.Namespace, Name: name}, object); err != nil {
		return Handle{}, err
	}
	for key, value := range s.options.Labels {
		if object.GetLabels()[key] != value {
			return Handle{}, fmt.Errorf("it already exists, and belongs to something else: label %s is %q; must be %q", key, object.GetLabels()[key], value)
		}
	}
	handle := s.handleOf(object)
	_, err := unpack(object, digestIn(name))
	if err != nil || object.GetDeletionTimestamp() != nil {
		if len(handle.foreign) > 0 {
			return Handle{}, fmt.Errorf("it cannot be replaced while it has finalizers of other clients: %s", strings.Join(handle.foreign, ", "))
		}
		if _, err := s.removeOne(ctx, name, handle); err != nil {
			return Handle{}, err
		}
		return Handle{}, apierrors.NewNotFound(corev1.Resource(strings.ToLower(string(s.options.Kind))), name)
	}
	return s.patch(ctx, name, handle, map[string]any{
		"finalizers":  s.finalizers(name, handle),
		"annotations": map[string]any{s.options.ClaimKey: handle.ResourceVersion},
	})
}

// finalizers returns the finalizers that a chunk should have.
func (s *Store) finalizers(name string, handle Handle) []string {
	if !s.options.Held(name) {
		return handle.foreign
	}
	return append(slices.Clone(handle.foreign), s.options.Finalizer)
}

// Hold adds the finalizer to chunks that should have it, so that removals by other processes that have observed these
// chunks fail. It returns the changed chunks.
func (s *Store) Hold(ctx context.Context, handles Handles) (Handles, error) {
	return s.refinalize(ctx, handles, func(name string, handle Handle) bool { return s.options.Held(name) && !handle.Held })
}

// LetGo removes the finalizer from chunks that should not have it, if they are in their observed state. It returns the
// changed chunks, even if there is an error.
func (s *Store) LetGo(ctx context.Context, handles Handles) (Handles, error) {
	return s.refinalize(ctx, handles, func(name string, handle Handle) bool { return !s.options.Held(name) && handle.Held })
}

func (s *Store) refinalize(ctx context.Context, handles Handles, wanted func(name string, handle Handle) bool) (Handles, error) {
	changed := Handles{}
	var names []string
	for _, name := range slices.Sorted(maps.Keys(handles)) {
		if wanted(name, handles[name]) {
			names = append(names, name)
		}
	}
	var mu sync.Mutex
	err := concurrent.Each(maxRequests, names, func(_ int, name string) error {
		handle, err := s.patch(ctx, name, handles[name], map[string]any{"finalizers": s.finalizers(name, handles[name])})
		if err != nil {
			return fmt.Errorf("changing the finalizers of %s: %w", s.text(name), err)
		}
		mu.Lock()
		defer mu.Unlock()
		changed[name] = handle
		return nil
	})
	return changed, err
}

// List returns all chunks, whether a reference names them or not.
func (s *Store) List(ctx context.Context) (Handles, error) {
	found := Handles{}
	list := &metav1.PartialObjectMetadataList{}
	for {
		list.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind(string(s.options.Kind) + "List"))
		err := s.options.Reader.List(ctx, list, client.InNamespace(s.options.Namespace), client.MatchingLabels(s.options.Labels),
			client.Limit(listLimit), client.Continue(list.Continue))
		if err != nil {
			return nil, fmt.Errorf("listing %ss in namespace %s: %w", s.options.Kind, s.options.Namespace, err)
		}
		for _, item := range list.Items {
			found[item.Name] = s.handleOf(&item)
		}
		if list.Continue == "" {
			return found, nil
		}
	}
}

// Remove removes chunks in their observed state, and reports whether all of them are gone. A chunk that has changed
// since stays.
func (s *Store) Remove(ctx context.Context, handles Handles) (complete bool, err error) {
	names := slices.Sorted(maps.Keys(handles))
	removed := make([]bool, len(names))
	err = concurrent.Each(maxRequests, names, func(i int, name string) error {
		done, err := s.removeOne(ctx, name, handles[name])
		if err != nil && !isOutdated(err) {
			return fmt.Errorf("removing %s: %w", s.text(name), err)
		}
		removed[i] = done || apierrors.IsNotFound(err)
		return nil
	})
	return !slices.Contains(removed, false), err
}

// removeOne removes the finalizer before it deletes the chunk: until the chunk is being deleted, another process may
// claim it. It reports whether the chunk is gone.
func (s *Store) removeOne(ctx context.Context, name string, handle Handle) (bool, error) {
	released := handle
	if handle.Held {
		var err error
		if released, err = s.patch(ctx, name, handle, map[string]any{"finalizers": handle.foreign}); err != nil {
			return false, err
		}
	}
	object := s.options.Kind.newObject(nil)
	object.SetNamespace(handle.Namespace)
	object.SetName(name)
	uid := apitypes.UID(released.UID)
	err := s.options.Client.Delete(ctx, object, client.Preconditions{UID: &uid, ResourceVersion: &released.ResourceVersion})
	if err != nil && !apierrors.IsNotFound(err) {
		return false, err
	}
	return len(handle.foreign) == 0, nil
}

// patch changes the metadata of a chunk, guarded by its observed state.
func (s *Store) patch(ctx context.Context, name string, handle Handle, metadata map[string]any) (Handle, error) {
	patch, err := apiserver.MergePatch(apitypes.UID(handle.UID), handle.ResourceVersion, map[string]any{"metadata": metadata})
	if err != nil {
		return Handle{}, err
	}
	object := &metav1.PartialObjectMetadata{}
	object.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind(string(s.options.Kind)))
	object.SetNamespace(handle.Namespace)
	object.SetName(name)
	err = s.options.Client.Patch(ctx, object, patch, client.FieldOwner(s.options.FieldOwner))
	return s.handleOf(object), err
}
