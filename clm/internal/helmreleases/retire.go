// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package helmreleases

import (
	"context"
	"errors"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// ErrChanged is the error if Helm has changed a release since it was read.
var ErrChanged = errors.New("was changed with Helm")

// Confirm returns ErrChanged if Helm has changed the release since it was read. Records that were deleted since do not
// count.
func (r *Release) Confirm(ctx context.Context, clnt client.Reader) error {
	found, err := list(ctx, clnt, r.Namespace, r.Name)
	if err != nil {
		return fmt.Errorf("reading Helm's records of release %s: %w", r, err)
	}
	versions := map[string]string{}
	for _, record := range r.records() {
		versions[string(record.uid)] = record.version
	}
	for _, each := range found {
		if versions[string(each.uid)] != each.version {
			return fmt.Errorf("release %s %w in the meantime: %s %s", r, ErrChanged, each.kind, each.name)
		}
	}
	return nil
}

// Retire deletes the records that were found, also those that cannot be read, newest first, so that Helm does not know
// the release any more. It deletes nothing if Helm has changed the release before; if Helm changes it at the same time,
// it may have deleted some, and the error is ErrChanged. If it fails, some may be left; then the release can be read
// and retired again.
func (r *Release) Retire(ctx context.Context, clnt client.Client) error {
	if err := r.Confirm(ctx, clnt); err != nil {
		return err
	}
	for _, record := range slices.Backward(r.records()) {
		object := &metav1.PartialObjectMetadata{}
		object.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind(record.kind))
		object.SetNamespace(r.Namespace)
		object.SetName(record.name)
		err := clnt.Delete(ctx, object, client.Preconditions{UID: &record.uid, ResourceVersion: &record.version})
		if apierrors.IsConflict(err) {
			return fmt.Errorf("release %s %w in the meantime: %s", r, ErrChanged, record.Record())
		}
		if client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("deleting Helm's record in %s %s/%s: %w", record.kind, r.Namespace, record.name, err)
		}
	}
	return nil
}

// Danger says what may happen to the objects of a release that was adopted, and of which Helm still has a record.
const Danger = "helm upgrade changes the objects, and helm uninstall before Helm 4.3 deletes them, whoever owns them."

// RetireCommand is the command that deletes the record of an adopted release.
func (r *Release) RetireCommand() string {
	return fmt.Sprintf("clm adopt %s --from-helm --delete-helm-record -n %s", r.Name, r.Namespace)
}
