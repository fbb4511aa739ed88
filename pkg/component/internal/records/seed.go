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

// seedField is the field of the status that refers to the seed.
const seedField = "seed"

// lostSeed is the checksum in the status if it is not known which seed the component had.
const lostSeed = "lost"

// name returns the name of the Secret: that of the component with its type, or a digest of these if that is too long.
func (s *Seed) name() string {
	handle := s.stores.Handle
	name := strings.ToLower(handle.Type().Kind) + "." + handle.Type().Group + "." + handle.Key.Name + ".seed"
	if len(name) > validation.DNS1123SubdomainMaxLength {
		sum := sha256.Sum256([]byte(name))
		return "seed-" + hex.EncodeToString(sum[:])
	}
	return name
}

// owner identifies the component in the Secret, in any cluster.
func (s *Seed) owner() string {
	return s.stores.Handle.Type().String() + " " + s.stores.Handle.Key.String()
}

// isOurs reports whether a Secret has the seed of the component.
func (s *Seed) isOurs(secret *corev1.Secret) bool { return string(secret.Data[ownerKey]) == s.owner() }

// Source returns the source of the generated secrets. It creates the seed if there never was one, unless the pass must
// not write: then all values are those of an empty seed. The error is a RefusedError if the seed is lost.
func (s *Seed) Source(ctx context.Context, mayCreate bool, now time.Time) (*secrets.Source, error) {
	if err := s.load(ctx, mayCreate, now); err != nil {
		return nil, err
	}
	reference := *s.field
	if reference == nil || reference.Checksum != s.memory.checksum || s.memory.seed == nil {
		return secrets.New(make([]byte, secrets.SeedSize), now, now)
	}
	if reference.RenewAt != nil && !now.Before(reference.RenewAt.Time) {
		reference.RenewedAt = &metav1.Time{Time: now}
	}
	clock := s.memory.created
	if renewed := reference.RenewedAt; renewed != nil && renewed.After(now) {
		// The clock was ahead.
		clock = now
	} else if renewed != nil {
		clock = renewed.Time
	}
	return secrets.New(s.memory.seed, s.memory.created, clock)
}

// NoteRenewal records when the certificates of a source have to be renewed. It returns false if that should have happened
// before: the source was for a time too long ago, and its values must not be used.
func (s *Seed) NoteRenewal(source *secrets.Source, now time.Time) bool {
	reference := *s.field
	if source == nil || reference == nil {
		return true
	}
	renewal := source.Renewal()
	switch {
	case renewal.IsZero():
		reference.RenewAt = nil
	case renewal.After(now):
		reference.RenewAt = &metav1.Time{Time: renewal}
	default:
		reference.RenewedAt = &metav1.Time{Time: now}
		return false
	}
	return true
}

// Until returns how long it takes until certificates have to be renewed; zero if there are none.
func (s *Seed) Until(now time.Time) time.Duration {
	if reference := *s.field; reference != nil && reference.RenewAt != nil {
		return max(reference.RenewAt.Sub(now), time.Second)
	}
	return 0
}

// Key returns a key for digests of what may contain generated secrets; nil if there is no seed.
func (s *Seed) Key() []byte {
	if len(s.memory.seed) == 0 {
		return nil
	}
	sum := sha256.Sum256(append([]byte("digests\x00"), s.memory.seed...))
	return sum[:]
}

// NoteKept records, before the first dependent is deleted, that some stay, and with them the seed.
func (s *Seed) NoteKept() {
	if reference := *s.field; reference != nil {
		reference.Kept = true
	}
}

// load sets the memory, and the reference in the status.
func (s *Seed) load(ctx context.Context, mayCreate bool, now time.Time) error {
	reference := *s.field
	if reference != nil && reference.Checksum != "" && reference.Checksum == s.memory.checksum {
		return nil
	}
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
	case reference != nil && reference.Checksum != "":
		return s.lost("does not exist any more")
	case !mayCreate:
		return nil
	}
	return s.create(ctx, now)
}

// create makes a seed. Before, the status says that there may be one: otherwise nobody would notice its loss, or remove it.
func (s *Seed) create(ctx context.Context, now time.Time) error {
	*s.field = &inventory.Seed{Secret: s.name()}
	if err := s.record.SaveStatus(ctx); err != nil {
		return err
	}
	if s.stores.Handle.Stored(seedField) == nil {
		*s.field = nil
		return s.refused("status.seed: the seed of generated secrets cannot be recorded, because the component's CustomResourceDefinition lacks this field; update it")
	}
	seed := make([]byte, secrets.SeedSize)
	_, _ = rand.Read(seed) // never fails
	handle := s.stores.Handle
	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: s.stores.Namespace(), Name: s.name(), Finalizers: []string{annotations.InventoryFinalizer(handle.Reconciler)},
		},
		Immutable: new(true),
		Data:      map[string][]byte{seedKey: seed, createdKey: []byte(now.UTC().Format(time.RFC3339)), ownerKey: []byte(s.owner())},
	}
	if err := handle.Writer().Create(ctx, secret, client.FieldOwner(handle.FieldOwner())); err != nil {
		return fmt.Errorf("creating the seed: %w", err)
	}
	return s.take(secret)
}

// take checks the seed in a Secret, and remembers it.
func (s *Seed) take(secret *corev1.Secret) error {
	if !s.isOurs(secret) {
		return s.lost(fmt.Sprintf("belongs to something else, so delete it with its finalizers first: data.%s is %q; must be %q", ownerKey, secret.Data[ownerKey], s.owner()))
	}
	created, err := time.Parse(time.RFC3339, string(secret.Data[createdKey]))
	if err != nil || len(secret.Data[seedKey]) != secrets.SeedSize {
		return s.lost(fmt.Sprintf("is damaged, so delete it with its finalizers first: it must have %d bytes of %s, and a time as %s", secrets.SeedSize, seedKey, createdKey))
	}
	sum := sha256.Sum256(secret.Data[seedKey])
	checksum := hex.EncodeToString(sum[:])
	switch reference := *s.field; {
	case reference == nil, reference.Checksum == lostSeed, reference.Checksum == "":
		// Certificates may have been renewed before; the first source shows which time is right.
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
		s.stores.Namespace(), s.name(), what, strings.ToLower(handle.Type().Kind), handle.Key.Name, s.stores.Namespace()))
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

// Remove deletes the Secret, and reports whether it is gone. If dependents stay, so does the seed, without the finalizer:
// a component of the same name will then generate the same secrets again. Without a reference in the status, it looks
// only if demanded.
func (s *Seed) Remove(ctx context.Context, look, orphaning bool) (complete bool, err error) {
	if *s.field == nil && !look || s.stores.Namespace() == "" {
		return true, nil
	}
	orphaning = orphaning || *s.field != nil && (*s.field).Kept
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
