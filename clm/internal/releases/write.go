// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package releases

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apitypes "k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/internal/chunks"
	"github.com/component-operator/runtime/internal/conflicts"
)

// change is what is to be written.
type change struct {
	namespace, name string
	next            index
	// contents of the chunks to which the next index refers, as far as they may be missing.
	contents [][]byte
	// hold says what has the finalizer afterwards.
	hold hold
}

// write makes a change: first the chunks, then the index, then what is not needed any more. It updates what is known if it succeeds.
//
// The index has the finalizer before the first chunk gets it, and until the last one has lost it: a chunk that outlives its namespace without an index
// would be one that nobody can remove.
func (s *Store) write(ctx context.Context, store *chunks.Store, known *stored, c change) error {
	c.next.stamp(s.now(), known.index.State)
	raw, err := c.next.encode()
	if err != nil {
		return err
	}
	have, err := s.look(ctx, store, known)
	if err != nil {
		return err
	}
	if ancestor := known.index.TakenOver; ancestor != nil {
		if err := s.removeAncestor(ctx, c.namespace, c.name, ancestor); err != nil {
			return err
		}
	}
	if err := s.hold(ctx, store, known, &have, c); err != nil {
		return err
	}
	written, err := store.Write(ctx, c.contents, have.trusted)
	if err != nil {
		return err
	}
	if known.uid == "" {
		err = s.createIndex(ctx, known, c, raw)
	} else {
		err = s.patchIndex(ctx, known, c, raw, !anyHeld(have.all) && !anyHeld(have.trusted))
	}
	if err != nil {
		return err
	}
	known.raw, known.index, known.ancestor = raw, c.next, nil
	s.sweep(ctx, store, known, have, written)
	if !c.hold.index && known.held() && known.swept && !anyHeld(known.chunks) {
		// If it fails, a later write does it.
		_ = s.patch(ctx, known, c, map[string]any{"metadata": map[string]any{"finalizers": known.foreign()}})
	}
	return nil
}

// hold puts finalizers on what is there already, first on the index.
func (s *Store) hold(ctx context.Context, store *chunks.Store, known *stored, have *seen, c change) error {
	if known.uid == "" || known.deleting || len(c.hold.chunks) == 0 {
		// While an object is being deleted, it gets no new finalizers.
		return nil
	}
	if !known.held() {
		body := map[string]any{"metadata": map[string]any{"finalizers": append(known.foreign(), finalizer)}}
		if err := s.patch(ctx, known, c, body); err != nil {
			return s.refusal(err, c)
		}
	}
	held, err := store.Hold(ctx, have.trusted)
	if err != nil {
		return err
	}
	have.trusted = maps.Clone(have.trusted)
	maps.Copy(have.trusted, held)
	return nil
}

// refusal is the error of a write to the index.
func (s *Store) refusal(err error, c change) error {
	if conflicts.IsOutdated(err) || apierrors.IsNotFound(err) {
		return ErrOutdated
	}
	return fmt.Errorf("updating Secret %s/%s: %w", c.namespace, prefix+c.name, err)
}

// seen are the chunks of a release before a write.
type seen struct {
	// all there are, as far as that is known.
	all chunks.Handles
	// trusted are those that need not be looked at to be relied upon: the index that guards the write refers to them.
	trusted chunks.Handles
}

// look finds out which chunks there are. Those that earlier processes have left behind are looked for once.
func (s *Store) look(ctx context.Context, store *chunks.Store, known *stored) (seen, error) {
	if known.swept {
		return seen{all: known.chunks, trusted: known.chunks}, nil
	}
	listed, err := store.List(ctx)
	if err != nil {
		return seen{}, err
	}
	have := seen{all: listed, trusted: maps.Clone(known.chunks)}
	if have.trusted == nil {
		have.trusted = chunks.Handles{}
	}
	for _, revision := range known.index.Revisions {
		for _, name := range revision.Chunks {
			if handle, exists := listed[name]; exists {
				have.trusted[name] = handle
			}
		}
	}
	return have, nil
}

// sweep removes the chunks to which the index does not refer any more. What cannot be removed now is left to a later write.
func (s *Store) sweep(ctx context.Context, store *chunks.Store, known *stored, have seen, written chunks.Written) {
	names := known.index.names()
	unneeded := func(name string, _ chunks.Handle) bool { return !names[name] }
	stale := maps.Clone(have.all)
	maps.DeleteFunc(stale, func(name string, _ chunks.Handle) bool { return names[name] })
	needed := maps.Clone(have.trusted)
	maps.Copy(needed, written.All)
	maps.DeleteFunc(needed, unneeded)
	known.chunks = needed
	complete, err := store.Remove(ctx, stale)
	released, letErr := store.LetGo(ctx, needed)
	maps.Copy(needed, released)
	known.swept = complete && err == nil && letErr == nil
}

// createIndex creates the Secret of a release that does not have one.
func (s *Store) createIndex(ctx context.Context, known *stored, c change, raw []byte) error {
	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: c.namespace, Name: prefix + c.name, Labels: map[string]string{recordLabel: recordRelease},
		},
		Type: SecretType,
		Data: map[string][]byte{dataKey: raw},
	}
	if c.hold.index {
		secret.Finalizers = []string{finalizer}
	}
	err := s.options.Client.Create(ctx, secret, client.FieldOwner(s.options.FieldOwner))
	if apierrors.IsAlreadyExists(err) {
		return s.recognize(ctx, known, c, raw)
	}
	if err != nil {
		return fmt.Errorf("creating Secret %s/%s: %w", c.namespace, prefix+c.name, err)
	}
	known.took(secret)
	return nil
}

// patchIndex changes the Secret of a release if it is still the one that was read. The finalizer goes with it only if no chunk has it.
func (s *Store) patchIndex(ctx context.Context, known *stored, c change, raw []byte, loose bool) error {
	metadata := map[string]any{}
	if known.labels[recordLabel] != recordRelease {
		metadata["labels"] = map[string]any{recordLabel: recordRelease}
	}
	switch {
	case c.hold.index && !known.held() && !known.deleting:
		metadata["finalizers"] = append(known.foreign(), finalizer)
	case !c.hold.index && known.held() && loose:
		metadata["finalizers"] = known.foreign()
	}
	err := s.patch(ctx, known, c, map[string]any{"metadata": metadata, "data": map[string]any{dataKey: raw}})
	if conflicts.IsOutdated(err) {
		return s.recognize(ctx, known, c, raw)
	}
	if err != nil {
		return s.refusal(err, c)
	}
	return nil
}

// patch changes the Secret of a release, guarded by what is known about it.
func (s *Store) patch(ctx context.Context, known *stored, c change, body map[string]any) error {
	metadata, _ := body["metadata"].(map[string]any)
	metadata["uid"], metadata["resourceVersion"] = known.uid, known.resourceVersion
	encoded, err := json.Marshal(body)
	if err != nil {
		return fmt.Errorf("encoding a patch: %w", err)
	}
	object := &metav1.PartialObjectMetadata{}
	object.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Secret"))
	object.SetNamespace(c.namespace)
	object.SetName(prefix + c.name)
	err = s.options.Client.Patch(ctx, object, client.RawPatch(apitypes.MergePatchType, encoded), client.FieldOwner(s.options.FieldOwner))
	if conflicts.IsOutdated(err) && s.marked(ctx, known, c) {
		return s.patch(ctx, known, c, body)
	}
	if err == nil {
		known.took(object)
	}
	return err
}

// marked tells whether the Secret of a release has become another one by nothing but being deleted now, as all is that is in a namespace which is
// being deleted. Then that is known, so that it happens once.
func (s *Store) marked(ctx context.Context, known *stored, c change) bool {
	secret := &corev1.Secret{}
	err := s.options.Client.Get(ctx, client.ObjectKey{Namespace: c.namespace, Name: prefix + c.name}, secret)
	if err != nil || known.deleting || secret.DeletionTimestamp == nil || string(secret.UID) != known.uid || !bytes.Equal(secret.Data[dataKey], known.raw) {
		return false
	}
	known.took(secret)
	return true
}

// recognize looks whether a write that was refused has succeeded before: a client repeats a request by itself if the server says
// that it could not tell how the first attempt ended. The time in the record makes it different from all others.
func (s *Store) recognize(ctx context.Context, known *stored, c change, raw []byte) error {
	secret := &corev1.Secret{}
	err := s.options.Client.Get(ctx, client.ObjectKey{Namespace: c.namespace, Name: prefix + c.name}, secret)
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("reading Secret %s/%s: %w", c.namespace, prefix+c.name, err)
	}
	if err != nil || secret.Type != SecretType || !bytes.Equal(secret.Data[dataKey], raw) {
		return ErrOutdated
	}
	known.took(secret)
	return nil
}
