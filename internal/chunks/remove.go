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

	"github.com/component-operator/runtime/internal/guarded"
	"github.com/component-operator/runtime/internal/parallel"
)

// listLimit is the size of a page.
const listLimit = 500

// claim makes a chunk that exists already ours again. Its removal by somebody who has seen it before is spoiled, because that
// is guarded by the resource version. A chunk that cannot be used is taken away; that, too, is reported as outdated.
func (s *Store) claim(ctx context.Context, name string) (Handle, error) {
	object := s.options.Kind.newObject(nil)
	if err := s.options.Reader.Get(ctx, client.ObjectKey{Namespace: s.options.Namespace, Name: name}, object); err != nil {
		return Handle{}, err
	}
	for key, value := range s.options.Labels {
		if object.GetLabels()[key] != value {
			return Handle{}, fmt.Errorf("it exists and is not ours: label %s is %q; allowed is: %q", key, object.GetLabels()[key], value)
		}
	}
	handle := s.handleOf(object)
	_, err := unpack(object, digestIn(name))
	if err != nil || object.GetDeletionTimestamp() != nil {
		if len(handle.foreign) > 0 {
			return Handle{}, fmt.Errorf("it cannot be replaced as long as it has finalizers of others: %s", strings.Join(handle.foreign, ", "))
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

// finalizers are those that a chunk should have.
func (s *Store) finalizers(name string, handle Handle) []string {
	if !s.options.Held(name) {
		return handle.foreign
	}
	return append(slices.Clone(handle.foreign), s.options.Finalizer)
}

// Hold puts the finalizer on those of the chunks that should have it and do not, which spoils their removal by others. It returns them.
func (s *Store) Hold(ctx context.Context, handles Handles) (Handles, error) {
	return s.refinalize(ctx, handles, func(name string, handle Handle) bool { return s.options.Held(name) && !handle.Held })
}

// LetGo takes the finalizer off those of the chunks that have it and should not, in the state in which they were seen. It returns those that are
// changed, also if there is an error.
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
	err := parallel.Each(maxRequests, names, func(_ int, name string) error {
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

// List returns all chunks, referred to or not.
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

// Remove removes chunks in the state in which they were seen. It reports whether all of them are gone: not so if one was changed
// since then.
func (s *Store) Remove(ctx context.Context, handles Handles) (complete bool, err error) {
	names := slices.Sorted(maps.Keys(handles))
	removed := make([]bool, len(names))
	err = parallel.Each(maxRequests, names, func(i int, name string) error {
		done, err := s.removeOne(ctx, name, handles[name])
		if err != nil && !isOutdated(err) {
			return fmt.Errorf("removing %s: %w", s.text(name), err)
		}
		removed[i] = done || apierrors.IsNotFound(err)
		return nil
	})
	return !slices.Contains(removed, false), err
}

// removeOne takes the finalizer off first: as long as the chunk is not being deleted, somebody else may claim it. It tells
// whether the chunk is gone.
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

// patch changes metadata of a chunk, guarded by the state in which it was seen.
func (s *Store) patch(ctx context.Context, name string, handle Handle, metadata map[string]any) (Handle, error) {
	patch, err := guarded.MergePatch(apitypes.UID(handle.UID), handle.ResourceVersion, map[string]any{"metadata": metadata})
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
