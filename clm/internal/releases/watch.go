// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package releases

import (
	"context"
	"fmt"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/client-go/metadata"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/clm/internal/listwatch"
	"github.com/component-operator/runtime/internal/apiserver"
)

// Watch calls a function once when the record of a release is watched, whether there is one or not, and then whenever it was created, written or
// removed, until the context ends, which is no error. The function must not block.
func (s *Store) Watch(ctx context.Context, namespace, name string, changed func()) error {
	if err := ValidateName(name); err != nil {
		return err
	}
	objects, err := metadata.NewForConfigAndClient(metadata.ConfigFor(s.options.Client.Config()), s.options.Client.HttpClient())
	if err != nil {
		return fmt.Errorf("setting up a watch: %w", err)
	}
	secrets := objects.Resource(corev1.SchemeGroupVersion.WithResource("secrets")).Namespace(namespace)
	named := apiserver.ListSelection{Fields: fields.OneTermEqualSelector(metav1.ObjectNameField, prefix+name).String()}
	err = listwatch.Objects(ctx, apiserver.ListWatch(secrets, named), func(listwatch.Change) error { changed(); return nil })
	if err != nil {
		return fmt.Errorf("watching Secret %s/%s: %w", namespace, prefix+name, err)
	}
	return nil
}

// Holder is who has the lock of a release.
type Holder struct {
	// Name is that of LockOptions.
	Name string
	// Since is when the lock was taken, Renewed when it was renewed last, both by the clock of the holder.
	Since, Renewed time.Time
	// Validity is how long the lock lasts that is not renewed.
	Validity time.Duration
}

// Holder returns the holder of the lock of a release; nil if there is none, or if the user may not read the lease.
func (s *Store) Holder(ctx context.Context, namespace, name string) (*Holder, error) {
	lease := &coordinationv1.Lease{}
	err := s.options.Client.Get(ctx, client.ObjectKey{Namespace: namespace, Name: prefix + name}, lease)
	switch {
	case apierrors.IsNotFound(err), apierrors.IsForbidden(err):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("reading Lease %s/%s: %w", namespace, prefix+name, err)
	case holderOf(lease) == "":
		return nil, nil
	}
	holder := &Holder{
		Name: holderOf(lease), Since: acquiredAt(lease), Renewed: acquiredAt(lease), Validity: validity(lease, defaultValidity),
	}
	if lease.Spec.RenewTime != nil {
		holder.Renewed = lease.Spec.RenewTime.Time
	}
	return holder, nil
}
