// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package releases

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/internal/chunks"
	"github.com/component-operator/runtime/internal/manifest"
	"github.com/component-operator/runtime/pkg/cluster"
	"github.com/component-operator/runtime/pkg/reconciler"
	"github.com/component-operator/runtime/pkg/types"
)

// Options configure a Store.
type Options struct {
	// Client talks to the cluster of the releases; it must read from the server and not from a cache. Required.
	Client cluster.Client
	// FieldOwner is the field manager of all writes. Defaults to ReconcilerName.
	FieldOwner string
	// Clock defaults to the real time.
	Clock clock.PassiveClock

	// packedLimit is how large a compressed inventory in the index may be, in bytes. Tests need a small one. Defaults
	// to 256 KiB.
	packedLimit int
	// chunkSize is how many bytes of JSON a chunk of an inventory holds on average. Tests need a small one. Defaults to
	// 256 KiB.
	chunkSize int
}

// Store keeps the records of releases. It has no state, and is safe for concurrent use.
type Store struct {
	options Options
}

// NewStore returns a store. It makes no request.
func NewStore(options Options) *Store {
	if options.Clock == nil {
		options.Clock = clock.RealClock{}
	}
	options.FieldOwner = cmp.Or(options.FieldOwner, ReconcilerName)
	options.packedLimit = cmp.Or(options.packedLimit, 256<<10)
	options.chunkSize = cmp.Or(options.chunkSize, 256<<10)
	return &Store{options: options}
}

// chunks returns the place for the chunks of a release.
func (s *Store) chunks(namespace, name string) *chunks.Store {
	owner := OwnerID(namespace, name)
	label := manifest.OwnerLabel(owner)
	return chunks.NewStore(chunks.Options{
		Kind:        chunks.Secret,
		Client:      s.options.Client,
		Reader:      s.options.Client,
		Namespace:   namespace,
		Prefix:      "clm-" + label[:20],
		Labels:      map[string]string{ReconcilerName + "/" + types.LabelKeySuffixInventoryOwnerId: label},
		Marks:       map[string]string{recordLabel: recordChunk},
		Annotations: map[string]string{ReconcilerName + "/" + types.AnnotationKeySuffixOwnerId: owner},
		ClaimKey:    ReconcilerName + "/" + types.AnnotationKeySuffixClaimedAt,
		Finalizer:   finalizer,
		FieldOwner:  s.options.FieldOwner,
	})
}

// Get reads a release, be it one that only the ancestor of clm has recorded. The error is ErrNotFound if there is none,
// and a DamagedError if it, or its inventory, cannot be read because the record is damaged. With a DamagedError, it
// also returns what is left of the release, for repairs: saving that replaces the record.
func (s *Store) Get(ctx context.Context, namespace, name string) (*Release, error) {
	if err := ValidateName(name); err != nil {
		return nil, err
	}
	// The inventory is read after the index that names its parts. If another process writes both in between, some of
	// these parts may be gone.
	for attempt := 1; ; attempt++ {
		release, err := s.get(ctx, namespace, name)
		var damaged *DamagedError
		if !errors.As(err, &damaged) || attempt == maxReads {
			return release, err
		}
		if unchanged, lookErr := s.Unchanged(ctx, release); lookErr != nil || unchanged {
			return release, errors.Join(err, lookErr)
		}
	}
}

// maxReads limits how often a record is read that other processes keep changing.
const maxReads = 5

// Unchanged reports whether the record of a release is still the one that was read or written last.
func (s *Store) Unchanged(ctx context.Context, release *Release) (bool, error) {
	object := &metav1.PartialObjectMetadata{}
	object.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Secret"))
	err := s.options.Client.Get(ctx, client.ObjectKey{Namespace: release.Namespace, Name: prefix + release.Name}, object)
	switch {
	case apierrors.IsNotFound(err):
		return !release.Recorded(), nil
	case err != nil:
		return false, fmt.Errorf("reading Secret %s/%s again: %w", release.Namespace, prefix+release.Name, err)
	}
	return string(object.UID) == release.stored.uid && object.ResourceVersion == release.stored.resourceVersion, nil
}

// get is one attempt of Get.
func (s *Store) get(ctx context.Context, namespace, name string) (*Release, error) {
	secret := &corev1.Secret{}
	err := s.options.Client.Get(ctx, client.ObjectKey{Namespace: namespace, Name: prefix + name}, secret)
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
	var newer *newerError
	if errors.As(err, &newer) {
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

// readInventories adds the inventories to what decodeSecret has returned.
func readInventories(ctx context.Context, store *chunks.Store, release *Release) error {
	known := &release.stored
	known.chunks = chunks.Handles{}
	var damaged *DamagedError
	for _, part := range []struct {
		name  string
		list  **chunks.List
		items *[]*reconciler.InventoryItem
	}{
		{"the inventory", &known.index.Inventory, &release.Inventory},
		{"the inventory of the deletion hooks", &known.index.HookInventory, &release.HookInventory},
		{"the inventory of the tests", &known.index.TestInventory, &release.TestInventory},
	} {
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
