// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package operation

import (
	"context"
	"errors"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/clm/internal/releases"
	"github.com/component-operator/runtime/pkg/reconciler"
	"github.com/component-operator/runtime/pkg/types"
)

// lacksNamespace reports whether a request has failed because the namespace does not exist.
func lacksNamespace(err error) bool {
	var status apierrors.APIStatus
	if !apierrors.IsNotFound(err) || !errors.As(err, &status) {
		return false
	}
	details := status.Status().Details
	return details != nil && details.Kind == "namespaces"
}

// isMissing reports whether the namespace of a new release does not exist. Without permission to read it, the answer is
// no.
func isMissing(ctx context.Context, clnt client.Client, release *releases.Release) (bool, error) {
	if release.Recorded() {
		return false, nil
	}
	namespace := &metav1.PartialObjectMetadata{}
	namespace.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Namespace"))
	err := clnt.Get(ctx, client.ObjectKey{Name: release.Namespace}, namespace)
	switch {
	case apierrors.IsNotFound(err):
		return true, nil
	case err != nil && !apierrors.IsForbidden(err):
		return false, fmt.Errorf("reading namespace %s: %w", release.Namespace, err)
	default:
		return false, nil
	}
}

// errMissing is the RefusedError for a release whose namespace does not exist.
func errMissing(namespace string) error {
	return releases.Refused("namespace %s does not exist; to create it: --create-namespace", namespace)
}

// createNamespace creates the namespace of the release if that is wanted. Otherwise it returns a RefusedError.
func createNamespace(ctx context.Context, p *Plan) error {
	name := p.Release.Namespace
	if !p.CreateNamespace {
		return errMissing(name)
	}
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
	if err := p.connection.Client().Create(ctx, namespace, client.FieldOwner(releases.ReconcilerName)); err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("creating namespace %s: %w", name, err)
	}
	return nil
}

// Shown returns the changes of objects, and before them the missing namespaces that would be created although the
// revision does not declare them.
func (p *Plan) Shown() []reconciler.Change {
	missing := slices.Clone(p.exact.Namespaces)
	if p.namespaceMissing && !slices.Contains(missing, p.Release.Namespace) {
		missing = append(missing, p.Release.Namespace)
		slices.Sort(missing)
	}
	var changes []reconciler.Change
	for _, name := range missing {
		if change := creationOf(p, name); !declares(p.Changes, change.Object) {
			changes = append(changes, change)
		}
	}
	return append(changes, p.Changes...)
}

// creationOf returns the change of a missing namespace.
func creationOf(p *Plan, name string) reconciler.Change {
	change := reconciler.Change{Verb: reconciler.VerbCreated, Reason: "is needed by objects; will not be deleted with the release"}
	change.Object.Version, change.Object.Kind, change.Object.Name = "v1", "Namespace", name
	if p.namespaceMissing && name == p.Release.Namespace {
		change.Reason = "is needed by the release; will not be deleted with it"
		if !p.CreateNamespace {
			change.Reason, change.Refusal = "", "does not exist; to create it: --create-namespace"
		}
	}
	return change
}

// declares reports whether an object is among changes.
func declares(changes []reconciler.Change, object types.ObjectKey) bool {
	return slices.ContainsFunc(changes, func(change reconciler.Change) bool { return types.IDOf(change.Object) == types.IDOf(object) })
}
