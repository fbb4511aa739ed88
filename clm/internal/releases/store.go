// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package releases

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/internal/apiserver"
	"github.com/component-operator/runtime/internal/chunks"
	"github.com/component-operator/runtime/internal/manifest"
	"github.com/component-operator/runtime/pkg/cluster"
	"github.com/component-operator/runtime/pkg/types"
)

// Store keeps the records of releases. It has no state, and is safe for concurrent use.
type Store struct {
	client cluster.Client
	now    func() time.Time
	// packedLimit is the maximum size of a compressed inventory in the index, in bytes.
	packedLimit int
	// chunkSize is how many bytes of JSON a chunk of an inventory holds on average.
	chunkSize int
}

// NewStore returns a store for the releases of a cluster. The client must read from the server and not from a cache.
func NewStore(clnt cluster.Client) *Store {
	return &Store{client: clnt, now: time.Now, packedLimit: 256 << 10, chunkSize: 256 << 10}
}

// chunks returns the store for the chunks of a release.
func (s *Store) chunks(namespace, name string) *chunks.Store {
	owner := OwnerID(namespace, name)
	label := manifest.OwnerLabel(owner)
	return chunks.NewStore(chunks.Options{
		Kind:        chunks.Secret,
		Client:      s.client,
		Reader:      s.client,
		Namespace:   namespace,
		Prefix:      "clm-" + label[:20],
		Labels:      map[string]string{ReconcilerName + "/" + types.LabelKeySuffixInventoryOwnerId: label},
		Marks:       map[string]string{recordLabel: recordChunk},
		Annotations: map[string]string{ReconcilerName + "/" + types.AnnotationKeySuffixOwnerId: owner},
		ClaimKey:    ReconcilerName + "/" + types.AnnotationKeySuffixClaimedAt,
		Finalizer:   finalizer,
		FieldOwner:  ReconcilerName,
	})
}

// Get reads a release, even if only the ancestor of clm has recorded it. The error is ErrNotFound if there is none, and
// a DamagedError if the record, or an inventory, is damaged. With a DamagedError, it also returns the readable rest of
// the release for repairs: saving that replaces the record.
func (s *Store) Get(ctx context.Context, namespace, name string) (*Release, error) {
	if err := ValidateName(name); err != nil {
		return nil, err
	}
	// The inventory is read after the index that names its chunks. If another process writes both in between, some of
	// these chunks may be gone.
	for attempt := 1; ; attempt++ {
		release, err := s.get(ctx, namespace, name)
		if _, damaged := errors.AsType[*DamagedError](err); !damaged || attempt == maxReads {
			return release, err
		}
		if unchanged, lookErr := s.Unchanged(ctx, release); lookErr != nil || unchanged {
			return release, errors.Join(err, lookErr)
		}
	}
}

// maxReads limits how often Get reads a record that other processes keep changing.
const maxReads = 5

// Unchanged reports whether the record of a release has not changed since it was last read or written.
func (s *Store) Unchanged(ctx context.Context, release *Release) (bool, error) {
	object := metadataNamed("Secret", release.Namespace, prefix+release.Name)
	err := s.client.Get(ctx, client.ObjectKeyFromObject(object), object)
	switch {
	case apierrors.IsNotFound(err):
		return !release.Recorded(), nil
	case err != nil:
		return false, fmt.Errorf("reading Secret %s/%s again: %w", release.Namespace, prefix+release.Name, err)
	}
	return object.UID == release.stored.uid && object.ResourceVersion == release.stored.resourceVersion, nil
}

// metadataNamed returns an object of the core group for reading or patching its metadata.
func metadataNamed(kind, namespace, name string) *metav1.PartialObjectMetadata {
	object := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
	object.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind(kind))
	return object
}

// get is one attempt of Get.
func (s *Store) get(ctx context.Context, namespace, name string) (*Release, error) {
	secret := &corev1.Secret{}
	err := s.client.Get(ctx, client.ObjectKey{Namespace: namespace, Name: prefix + name}, secret)
	if apierrors.IsNotFound(err) {
		return s.getAncestor(ctx, namespace, name)
	}
	if err != nil {
		return nil, fmt.Errorf("reading Secret %s/%s: %w", namespace, prefix+name, err)
	}
	release, err := decodeSecret(secret)
	if err != nil {
		return release, err
	}
	return release, readInventories(ctx, s.chunks(namespace, name), release)
}

// decodeSecret returns the release of an index, without inventories. The error is a DamagedError if the index is
// damaged.
func decodeSecret(secret *corev1.Secret) (*Release, error) {
	name, named := strings.CutPrefix(secret.Name, prefix)
	if secret.Type != SecretType || !named {
		return nil, fmt.Errorf("reading the release %s/%s: Secret %s is not the record of a release: its type is %.64q; must be %q",
			secret.Namespace, name, secret.Name, secret.Type, SecretType)
	}
	decoded, err := decodeIndex(secret.Data[dataKey])
	if errors.Is(err, errNewer) {
		return nil, fmt.Errorf("reading the record of release %s/%s: %w", secret.Namespace, name, err)
	}
	release := decoded.release(secret.Namespace, name)
	release.stored = stored{raw: secret.Data[dataKey], index: decoded, incomplete: true}
	release.stored.took(secret)
	if err != nil {
		release.stored.raw, release.stored.incomplete = nil, false
		return release, &DamagedError{Release: release.String(), Part: "the record", Damage: "Secret " + secret.Namespace + "/" + secret.Name + ": " + err.Error()}
	}
	return release, nil
}

// readInventories adds the inventories to a release from decodeSecret.
func readInventories(ctx context.Context, store *chunks.Store, release *Release) error {
	known := &release.stored
	known.chunks = chunks.Handles{}
	var damaged *DamagedError
	for _, part := range known.index.parts(release) {
		items, intact, damage, err := readInventory(ctx, store, *part.list)
		if err != nil {
			return fmt.Errorf("reading %s of release %s: %w", part.name, release, err)
		}
		maps.Copy(known.chunks, intact)
		*part.items = items
		switch {
		case damage == "":
			continue
		case damaged == nil:
			damaged = &DamagedError{Release: release.String(), Part: part.name, Damage: damage}
		default:
			damaged.Damage += "; " + part.name + ": " + damage
		}
		// So that the next write stores it again.
		*part.list, known.raw = nil, nil
	}
	known.incomplete = false
	if damaged != nil {
		return damaged
	}
	return nil
}

// AddRevision records a further revision, which becomes the current one, and sets the state of the release to
// StateApplying. A release that is not recorded yet, or only by the ancestor, is recorded with it. It sets the number
// and the time of the revision if they are empty, and always the state and the numbers of objects. If there is an
// error, the release is unchanged. The error is ErrFull if the index has no room for the revision, and ErrOutdated if
// another client has changed or created the record.
func (s *Store) AddRevision(ctx context.Context, release *Release, revision Revision, content Content) error {
	changed := release.Clone()
	changed.State, revision.State, revision.CanceledBy, revision.Failure = StateApplying, RevisionApplying, "", ""
	raw, err := encodeContent(content)
	if err != nil {
		return fmt.Errorf("recording a revision of release %s: encoding it: %w", changed, err)
	}
	contents, size, err := chunks.Divide(raw)
	if err != nil {
		return fmt.Errorf("recording a revision of release %s: %w", changed, err)
	}
	if changed.stored.uid == "" {
		inventory, outside := changed.Inventory, changed.Outside()
		// The index is written before the first chunk, so that the release can be found even if the process dies in
		// between. It replaces the record of the ancestor; if there is none, nothing was done yet.
		if !changed.Ancestor {
			changed.Inventory = nil
			// Chunks of an earlier release of this name, whose record was removed by force, are left to the next
			// operation.
			changed.stored.chunks, changed.stored.swept = chunks.Handles{}, true
		}
		// The next write determines whether the index needs the finalizer.
		changed.stored.anchored = outside || content.deletionHooks() > 0
		err := s.commit(ctx, changed, nil)
		changed.stored.anchored = false
		if err != nil {
			return err
		}
		changed.Inventory = inventory
	}
	if current := changed.Current(); current != nil {
		current.State = current.State.succeeded()
		revision.Number = max(revision.Number, current.Number+1)
	}
	revision.Number = max(revision.Number, 1)
	revision.Objects, revision.DeletionHooks, revision.KeepsFields = len(content.Manifest), content.deletionHooks(), content.keepsFields()
	if revision.Created.IsZero() {
		revision.Created = s.present()
	}
	revision.Chunks, revision.Bytes = nil, int64(size)
	for _, content := range contents {
		revision.Chunks = append(revision.Chunks, s.chunks(changed.Namespace, changed.Name).Name(content))
	}
	changed.Revisions = append(changed.Revisions, revision)
	if err := s.commit(ctx, changed, contents); err != nil {
		return err
	}
	*release = *changed
	return nil
}

// Save records the release. It writes nothing if the record is up to date. It removes the contents of revisions that
// the release no longer has. If there is an error, the release is unchanged.
//
// While a release is being deleted, the record may keep an earlier inventory, which has more items.
func (s *Store) Save(ctx context.Context, release *Release) error {
	if !release.stored.exists() {
		return fmt.Errorf("recording release %s: it was not read", release)
	}
	return s.commit(ctx, release, nil)
}

// Restore records a release whose record was lost, with its inventory and without revisions. The error is ErrOutdated
// if there is a record after all.
func (s *Store) Restore(ctx context.Context, release *Release) error {
	if release.stored.exists() || len(release.Revisions) > 0 {
		return fmt.Errorf("restoring the record of release %s: it must neither be recorded nor have revisions", release)
	}
	return s.commit(ctx, release, nil)
}

// present returns the current time in the precision of the record.
func (s *Store) present() time.Time { return s.now().UTC().Truncate(time.Microsecond) }

// commit updates the record to the release. added are the contents of the chunks of a new current revision.
func (s *Store) commit(ctx context.Context, release *Release, added [][]byte) error {
	if err := ValidateName(release.Name); err != nil {
		return err
	}
	known := &release.stored
	if known.incomplete {
		return fmt.Errorf("recording release %s: it was read without its inventory, which would be lost", release)
	}
	store := s.chunks(release.Namespace, release.Name)
	next, contents, err := s.draft(store, release, added)
	if err != nil {
		return fmt.Errorf("recording release %s: %w", release, err)
	}
	needed := decideHold(next, release.Outside(), known.held())
	needed.index = needed.index || known.anchored
	if raw, err := next.encode(); err == nil && bytes.Equal(raw, known.raw) && (!needed.index || known.held() || known.deleting) {
		return nil
	}
	store = store.Holding(needed.chunks.Has)
	w := &writing{Store: s, chunks: store, known: known, namespace: release.Namespace, name: release.Name, next: next, contents: contents, hold: needed}
	if err := w.run(ctx); err != nil {
		return fmt.Errorf("recording release %s: %w", release, withRemedy(err))
	}
	release.Ancestor = false
	release.Created, release.Updated, release.Message = known.index.Created, known.index.Updated, known.index.Message
	release.Since = cmp.Or(known.index.Since, known.index.Updated)
	return nil
}

// withRemedy adds the remedy to an error of a webhook that does not respond. The webhook may belong to the release
// itself.
func withRemedy(err error) error {
	if strings.Contains(err.Error(), "failed calling webhook") {
		return fmt.Errorf("%w; the record is a Secret: make the webhook respond, or delete its ValidatingWebhookConfiguration or MutatingWebhookConfiguration, and run "+
			"the same command again", err)
	}
	return err
}

// draft returns the next index, with the times of the present one, and the contents of all chunks that it may need.
func (s *Store) draft(store *chunks.Store, release *Release, added [][]byte) (index, [][]byte, error) {
	next, known := indexOf(release), &release.stored
	next.TakenOver = known.ancestor
	contents, recorded := slices.Clone(added), known.index.parts(release)
	for i, part := range next.parts(release) {
		before := *recorded[i].list
		list, more, err := s.encodeInventory(store, *part.items, before, known.chunks)
		if err != nil {
			return index{}, nil, err
		}
		if release.State == StateDeleting && len(more) > 0 && part.list == &next.Inventory && before != nil && list.Items <= before.Items {
			// Keep the present list: additional items are harmless, and no chunk can be created in a namespace that is
			// being deleted.
			list, more = before, nil
		}
		*part.list = list
		contents = append(contents, more...)
	}
	return next, contents, nil
}

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
	// No chunk may be referred to when it is removed.
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

// remove removes the rest of a record that refers to no chunks.
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
		err = w.patchFinalizers(ctx, known.foreign())
	}
	if err == nil {
		secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: release.Namespace, Name: prefix + release.Name}}
		err = s.client.Delete(ctx, secret, client.Preconditions{UID: &known.uid, ResourceVersion: &known.resourceVersion})
	}
	if apiserver.IsOutdated(err) {
		return ErrOutdated
	}
	return client.IgnoreNotFound(err)
}
