// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package releases

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apitypes "k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/internal/apiserver"
)

// Remove removes the record of a release, the index last. It refuses while the release has dependents, deletion hooks
// or tests, which would be lost. Removing a record that does not exist is not an error. It also works in a namespace
// that is being deleted.
func (s *Store) Remove(ctx context.Context, release *Release) error {
	if !release.stored.exists() {
		return nil
	}
	if count := len(release.Inventory) + len(release.HookInventory) + len(release.TestInventory); count > 0 {
		return fmt.Errorf("removing the record of release %s: it still has %d objects", release, count)
	}
	// So that none of the chunks is referred to when it goes.
	emptied := release.Clone()
	emptied.State, emptied.Revisions = StateDeleting, nil
	err := s.commit(ctx, emptied, nil)
	if err != nil {
		return err
	}
	*release = *emptied
	if err := s.remove(ctx, release); err != nil {
		return fmt.Errorf("removing the record of release %s: %w", release, err)
	}
	release.stored = stored{}
	return nil
}

// remove removes what is left of a record that refers to nothing.
func (s *Store) remove(ctx context.Context, release *Release) error {
	store, known := s.chunks(release.Namespace, release.Name), &release.stored
	if !known.swept {
		left, err := store.List(ctx)
		if err != nil {
			return err
		}
		complete, err := store.Remove(ctx, left)
		if err != nil {
			return err
		}
		if !complete {
			return errors.New("other clients have set finalizers on further Secrets with parts of it, or keep changing them")
		}
	}
	// After the chunks: in a namespace that is being deleted, an index without finalizer would be deleted at once, and
	// the chunks would be lost.
	w := &writing{Store: s, chunks: store, known: known, namespace: release.Namespace, name: release.Name}
	var err error
	if known.held() {
		err = w.patch(ctx, map[string]any{"metadata": map[string]any{"finalizers": known.foreign()}})
	}
	if err == nil {
		secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: release.Namespace, Name: prefix + release.Name}}
		uid := apitypes.UID(known.uid)
		err = s.options.Client.Delete(ctx, secret, client.Preconditions{UID: &uid, ResourceVersion: &known.resourceVersion})
	}
	if apiserver.IsOutdated(err) {
		return ErrOutdated
	}
	return client.IgnoreNotFound(err)
}
