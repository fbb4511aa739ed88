// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package records

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/internal/annotations"
	"github.com/component-operator/runtime/pkg/inventory"
	"github.com/component-operator/runtime/pkg/reconciler"
	"github.com/component-operator/runtime/pkg/secrets"
)

// SeedMemory is what a process remembers about the seed of one component. Losing it only costs a request. Only one pass
// uses it at a time. The zero value is ready for use.
type SeedMemory struct {
	checksum string
	seed     []byte
	created  time.Time
}

// Seed is the seed of the generated secrets of a component during one pass. It is stored in a Secret whose name depends
// only on the component, so that it is found after a loss of the status, and after a restoration of both from a backup.
type Seed struct {
	memory *SeedMemory
	record *Record
	stores *Stores
	field  **inventory.Seed
}

// OpenSeed returns the seed of a component for one pass.
func OpenSeed(memory *SeedMemory, record *Record, stores *Stores, field **inventory.Seed) *Seed {
	return &Seed{memory: memory, record: record, stores: stores, field: field}
}

// The keys in the Secret.
const (
	seedKey    = "seed"
	createdKey = "created"
	// ownerKey has the component, in any cluster.
	ownerKey = "component"
)

// lostSeed is the checksum in the status if it is not known which seed the component had.
const lostSeed = "lost"

// name returns the name of the Secret: that of the component with its kind, or a digest of these if that is too long.
func (s *Seed) name() string {
	handle := s.stores.Handle
	name := strings.ToLower(handle.Kind()) + "." + handle.Key.Name + ".seed"
	if len(name) > validation.DNS1123SubdomainMaxLength {
		sum := sha256.Sum256([]byte(name))
		return "seed-" + hex.EncodeToString(sum[:])
	}
	return name
}

// isOurs reports whether a Secret has the seed of the component.
func (s *Seed) isOurs(secret *corev1.Secret) bool {
	return string(secret.Data[ownerKey]) == s.stores.Handle.Name()
}

// Source returns the source of the generated secrets. It creates the seed if there never was one, unless the pass must
// not write: then all values are those of an empty seed. It is a RefusedError if the seed is lost.
func (s *Seed) Source(ctx context.Context, mayCreate bool, now time.Time) (*secrets.Source, error) {
	if err := s.load(ctx, mayCreate, now); err != nil {
		return nil, err
	}
	reference, seed, created := *s.field, s.memory.seed, s.memory.created
	if reference == nil {
		return secrets.New(make([]byte, secrets.SeedSize), now, now)
	}
	if reference.RenewAt != nil && !now.Before(reference.RenewAt.Time) {
		reference.RenewedAt = &metav1.Time{Time: now}
	}
	clock := created
	if reference.RenewedAt != nil {
		clock = reference.RenewedAt.Time
	}
	return secrets.New(seed, created, clock)
}

// load sets the memory, and the reference in the status.
func (s *Seed) load(ctx context.Context, mayCreate bool, now time.Time) error {
	reference := *s.field
	if reference != nil && reference.Checksum != "" && reference.Checksum == s.memory.checksum {
		return nil
	}
	accepted := reference != nil && reference.Checksum == ""
	if s.stores.Namespace() == "" {
		return s.refused("generated secrets of cluster-scoped components require the operator's option StateNamespace")
	}
	secret := &corev1.Secret{}
	err := s.stores.Handle.Live().Get(ctx, client.ObjectKey{Namespace: s.stores.Namespace(), Name: s.name()}, secret)
	switch {
	case err == nil:
		return s.take(secret)
	case !apierrors.IsNotFound(err):
		return fmt.Errorf("reading the seed: %w", err)
	case reference == nil && s.record.IsLost():
		*s.field = &inventory.Seed{Checksum: lostSeed}
		return s.lost("does not exist, and the status of the component was lost")
	case reference != nil && !accepted:
		return s.lost("does not exist any more")
	case !mayCreate:
		return nil
	}
	return s.create(ctx, now)
}

func (s *Seed) create(ctx context.Context, now time.Time) error {
	seed := make([]byte, secrets.SeedSize)
	_, _ = rand.Read(seed) // never fails
	handle := s.stores.Handle
	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: s.stores.Namespace(), Name: s.name(), Finalizers: []string{annotations.InventoryFinalizer(handle.Reconciler)},
		},
		Immutable: new(true),
		Data:      map[string][]byte{seedKey: seed, createdKey: []byte(now.UTC().Format(time.RFC3339)), ownerKey: []byte(handle.Name())},
	}
	if err := handle.Writer().Create(ctx, secret, client.FieldOwner(handle.FieldOwner())); err != nil {
		return fmt.Errorf("creating the seed: %w", err)
	}
	return s.take(secret)
}

// take checks the seed in a Secret, and remembers it.
func (s *Seed) take(secret *corev1.Secret) error {
	if !s.isOurs(secret) {
		return s.lost(fmt.Sprintf("belongs to something else: data.%s is %q; must be %q", ownerKey, secret.Data[ownerKey], s.stores.Handle.Name()))
	}
	created, err := time.Parse(time.RFC3339, string(secret.Data[createdKey]))
	if err != nil || len(secret.Data[seedKey]) != secrets.SeedSize {
		return s.lost(fmt.Sprintf("is damaged: it must have %d bytes of %s, and a time as %s", secrets.SeedSize, seedKey, createdKey))
	}
	sum := sha256.Sum256(secret.Data[seedKey])
	checksum := hex.EncodeToString(sum[:])
	switch reference := *s.field; {
	case reference == nil, reference.Checksum == lostSeed, reference.Checksum == "":
		*s.field = &inventory.Seed{Secret: secret.Name, Checksum: checksum}
	case reference.Checksum != checksum:
		return s.lost("has another seed than the one that status.seed records")
	}
	*s.memory = SeedMemory{checksum: checksum, seed: secret.Data[seedKey], created: created}
	return nil
}

// lost refuses the component: other secrets than before must not be generated silently. An empty checksum in the status
// accepts them.
func (s *Seed) lost(what string) error {
	handle := s.stores.Handle
	return s.refused(fmt.Sprintf("secrets cannot be generated: Secret %s/%s %s; restore it, or accept other secrets from now on: "+
		`kubectl patch %s %s -n %s --subresource=status --type=merge -p '{"status":{"seed":{"checksum":""}}}'`,
		s.stores.Namespace(), s.name(), what, strings.ToLower(handle.Kind()), handle.Key.Name, s.stores.Namespace()))
}

func (s *Seed) refused(problem string) error {
	return &reconciler.RefusedError{Problems: []string{s.stores.Handle.Name() + ": " + problem}}
}

// Version identifies the seed and the time for which certificates are generated; empty if there is no seed.
func (s *Seed) Version() string {
	reference := *s.field
	switch {
	case reference == nil:
		return ""
	case reference.RenewedAt == nil:
		return reference.Checksum
	default:
		return reference.Checksum + "/" + reference.RenewedAt.UTC().Format(time.RFC3339)
	}
}

// NoteRenewal records when the certificates of a source have to be renewed.
func (s *Seed) NoteRenewal(source *secrets.Source) {
	reference := *s.field
	if source == nil || reference == nil {
		return
	}
	reference.RenewAt = nil
	if renewal := source.Renewal(); !renewal.IsZero() {
		reference.RenewAt = &metav1.Time{Time: renewal}
	}
}

// Remove deletes the Secret, and reports whether it is gone. If dependents stay, so does the seed, without the finalizer:
// a component of the same name will then generate the same secrets again.
func (s *Seed) Remove(ctx context.Context, orphaning bool) (complete bool, err error) {
	if *s.field == nil && !s.record.IsLost() || s.stores.Namespace() == "" {
		return true, nil
	}
	handle, secret := s.stores.Handle, &corev1.Secret{}
	if err := handle.Live().Get(ctx, client.ObjectKey{Namespace: s.stores.Namespace(), Name: s.name()}, secret); err != nil {
		return apierrors.IsNotFound(err), client.IgnoreNotFound(err)
	}
	if !s.isOurs(secret) {
		return true, nil
	}
	before := secret.DeepCopy()
	finalizer := annotations.InventoryFinalizer(handle.Reconciler)
	secret.Finalizers = slices.DeleteFunc(secret.Finalizers, func(found string) bool { return found == finalizer })
	patch := client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})
	if err := handle.Writer().Patch(ctx, secret, patch, client.FieldOwner(handle.FieldOwner())); err != nil {
		return apierrors.IsNotFound(err), client.IgnoreNotFound(err)
	}
	if orphaning {
		return true, nil
	}
	err = handle.Writer().Delete(ctx, secret, client.Preconditions{UID: &secret.UID, ResourceVersion: &secret.ResourceVersion})
	return len(secret.Finalizers) == 0, client.IgnoreNotFound(err)
}
