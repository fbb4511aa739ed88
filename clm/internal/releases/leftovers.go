// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package releases

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apitypes "k8s.io/apimachinery/pkg/types"
	coordinationclient "k8s.io/client-go/kubernetes/typed/coordination/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/internal/chunks"
	"github.com/component-operator/runtime/pkg/types"
)

// Restore records a release whose record was lost, with its inventory and without revisions. The error is ErrOutdated if there is a
// record after all.
func (s *Store) Restore(ctx context.Context, release *Release) error {
	if err := ValidateName(release.Name); err != nil {
		return err
	}
	if release.stored.exists() || len(release.Revisions) > 0 {
		return fmt.Errorf("restoring the record of release %s: it must neither be recorded nor have revisions", release)
	}
	return s.commit(ctx, release, nil)
}

// Leftovers returns the names of the chunks to which the record of a release does not refer, sorted. The record must be intact.
func (s *Store) Leftovers(ctx context.Context, release *Release) ([]string, error) {
	left, err := s.leftovers(ctx, release)
	if err != nil {
		return nil, fmt.Errorf("looking for what the record of release %s does not need: %w", release, err)
	}
	return slices.Sorted(maps.Keys(left)), nil
}

// Tidy removes the chunks to which the record of a release does not refer. The caller has the lock, and has read the release under it.
func (s *Store) Tidy(ctx context.Context, release *Release) error {
	left, err := s.leftovers(ctx, release)
	if err == nil {
		var complete bool
		if complete, err = s.chunks(release.Namespace, release.Name).Remove(ctx, left); err == nil && !complete {
			err = errors.New("other clients have set finalizers on some of them, or keep changing them")
		}
	}
	if err != nil {
		return fmt.Errorf("removing what the record of release %s does not need: %w", release, err)
	}
	return nil
}

func (s *Store) leftovers(ctx context.Context, release *Release) (chunks.Handles, error) {
	if release.stored.uid == "" || release.stored.raw == nil {
		return nil, errors.New("the record is damaged, or there is none")
	}
	left, err := s.chunks(release.Namespace, release.Name).List(ctx)
	names := release.stored.index.names()
	maps.DeleteFunc(left, func(name string, _ chunks.Handle) bool { return names[name] })
	return left, err
}

// Remains returns the releases of a namespace, or of all namespaces if it is empty, of which there are chunks, whether there is a record or not.
func (s *Store) Remains(ctx context.Context, namespace string) ([]apitypes.NamespacedName, error) {
	found := map[apitypes.NamespacedName]bool{}
	chunked := client.HasLabels{ReconcilerName + "/" + types.LabelKeySuffixInventoryOwnerId}
	err := pages(ctx, s.options.Client, namespace, chunked, func() client.ObjectList {
		page := &metav1.PartialObjectMetadataList{}
		page.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("SecretList"))
		return page
	}, func(page client.ObjectList) {
		if list, ok := page.(*metav1.PartialObjectMetadataList); ok {
			for _, secret := range list.Items {
				name, ok := strings.CutPrefix(secret.Annotations[ReconcilerName+"/"+types.AnnotationKeySuffixOwnerId], OwnerID(secret.Namespace, ""))
				if ok {
					found[apitypes.NamespacedName{Namespace: secret.Namespace, Name: name}] = true
				}
			}
		}
	})
	if err != nil {
		return nil, fmt.Errorf("listing what is kept of releases: %w", err)
	}
	return slices.SortedFunc(maps.Keys(found), func(a, b apitypes.NamespacedName) int { return strings.Compare(a.String(), b.String()) }), nil
}

// HasParts reports whether there are chunks of a release, whether there is a record or not.
func (s *Store) HasParts(ctx context.Context, namespace, name string) (bool, error) {
	found, err := s.chunks(namespace, name).List(ctx)
	if err != nil {
		return false, fmt.Errorf("looking for parts of a record of release %s/%s: %w", namespace, name, err)
	}
	return len(found) > 0, nil
}

// AncestorLeft reports whether there is a record of the ancestor beside ours.
func (s *Store) AncestorLeft(ctx context.Context, release *Release) (bool, error) {
	if release.stored.uid == "" {
		return false, nil
	}
	configMap := &metav1.PartialObjectMetadata{}
	configMap.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("ConfigMap"))
	err := s.options.Client.Get(ctx, client.ObjectKey{Namespace: release.Namespace, Name: ancestorPrefix + release.Name}, configMap)
	if client.IgnoreNotFound(err) != nil {
		return false, fmt.Errorf("looking for ConfigMap %s/%s: %w", release.Namespace, ancestorPrefix+release.Name, err)
	}
	return err == nil, nil
}

// FinishTakeOver removes the record of the ancestor if it is the one that the record of the release has replaced, and it has not changed
// since.
func (s *Store) FinishTakeOver(ctx context.Context, release *Release) error {
	seen := release.stored.index.TakenOver
	if seen == nil {
		return fmt.Errorf("ConfigMap %s/%s was written after release %s was migrated; make sure that the earlier version of clm is no longer used for it, "+
			"and delete the ConfigMap, with its finalizer %s", release.Namespace, ancestorPrefix+release.Name, release, ancestorFinalizer)
	}
	return s.ancestry.remove(ctx, release.Namespace, release.Name, seen)
}

// HeldLock is the lock of a release as it was found.
type HeldLock struct {
	// Release is namespace and name of the release.
	Release apitypes.NamespacedName
	// Holder is the process that has the lock.
	Holder string
	// Renewed is when the holder has renewed it last, by his clock.
	Renewed time.Time
	// Validity is how long the lock lasts that is not renewed.
	Validity time.Duration
	// Dead means that the lock was not renewed for several times as long as it lasts.
	Dead bool

	uid             apitypes.UID
	resourceVersion string
}

// deadAfter is how many times as long as it lasts a lock was not renewed of which it is certain that it will not be any more. Clocks differ.
const deadAfter = 4

// Locks lists the locks of a namespace, or of all namespaces if it is empty.
func (s *Store) Locks(ctx context.Context, namespace string) ([]HeldLock, error) {
	list := &coordinationv1.LeaseList{}
	if err := s.options.Client.List(ctx, list, client.InNamespace(namespace)); err != nil {
		return nil, fmt.Errorf("listing locks: %w", err)
	}
	var locks []HeldLock
	for i := range list.Items {
		lease := &list.Items[i]
		name, ours := strings.CutPrefix(lease.Name, prefix)
		if !ours || lease.Annotations[lockAnnotation] == "" || holderOf(lease) == "" {
			continue
		}
		validity := validity(lease, defaultValidity)
		renewed := acquiredAt(lease)
		if lease.Spec.RenewTime != nil {
			renewed = lease.Spec.RenewTime.Time
		}
		locks = append(locks, HeldLock{
			Release: apitypes.NamespacedName{Namespace: lease.Namespace, Name: name}, Holder: holderOf(lease), Renewed: renewed, Validity: validity,
			Dead: s.options.Clock.Since(renewed) > deadAfter*validity, uid: lease.UID, resourceVersion: lease.ResourceVersion,
		})
	}
	return locks, nil
}

// RemoveLock removes a lock if it has not changed since it was listed.
func (s *Store) RemoveLock(ctx context.Context, lock HeldLock) error {
	leases, err := coordinationclient.NewForConfigAndClient(s.options.Client.Config(), s.options.Client.HttpClient())
	if err != nil {
		return fmt.Errorf("removing the lock of release %s: %w", lock.Release, err)
	}
	err = leases.Leases(lock.Release.Namespace).Delete(ctx, prefix+lock.Release.Name, metav1.DeleteOptions{
		Preconditions: &metav1.Preconditions{UID: &lock.uid, ResourceVersion: &lock.resourceVersion},
	})
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("removing the lock of release %s: %w", lock.Release, err)
	}
	return nil
}
