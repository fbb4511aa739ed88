// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"context"
	"fmt"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/duration"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/clm/internal/display"
	"github.com/component-operator/runtime/clm/internal/helmreleases"
	"github.com/component-operator/runtime/clm/internal/releases"
)

// examineLocks looks for locks of processes that are dead.
func (e *examination) examineLocks(ctx context.Context) error {
	locks, err := e.connection.Records().Holders(ctx, e.Namespace)
	if err != nil {
		return e.denied(err)
	}
	for _, lock := range locks {
		switch {
		case !e.concerns(lock.Release.String()):
		case lock.Dead:
			age := duration.HumanDuration(max(0, e.connection.Clock().Since(lock.Renewed)))
			e.add(Finding{
				Kind: FindingLock, Release: lock.Release.String(),
				Message: fmt.Sprintf("%s has left a lock, which was last renewed %s ago", lock.Name, age),
				Repair:  "the lock will be removed", Advice: "it does not block other processes",
				repair: func(ctx context.Context) error { return e.connection.Records().RemoveLock(ctx, lock) },
			})
		default:
			left := max(0, lock.Validity-e.connection.Clock().Since(lock.Renewed))
			e.note("%s is changing release %s right now, so the findings may be outdated; its lock lasts another %s", lock.Name, lock.Release, duration.HumanDuration(left))
		}
	}
	return nil
}

// examineHelm looks for releases that are known to both clm and Helm.
func (e *examination) examineHelm(ctx context.Context) error {
	if len(e.intact) == 0 {
		return nil
	}
	names, err := helmreleases.Names(ctx, e.connection.Client(), e.Namespace)
	if err != nil {
		return e.denied(err)
	}
	for _, release := range e.intact {
		if !names[release] {
			continue
		}
		known := helmreleases.Release{Namespace: release.Namespace, Name: release.Name}
		e.add(Finding{
			Kind: FindingHelm, Release: release.String(), Message: "Helm has a record of a release with the same name: " + helmreleases.Danger,
			Advice: "if the release was adopted from it: " + known.RetireCommand(),
		})
	}
	return nil
}

// examineDefinitions looks for types that no release manages, and whose deletion waits for an instance with finalizers.
func (e *examination) examineDefinitions(ctx context.Context) error {
	if e.Namespace != "" {
		return nil
	}
	definitions := &apiextensionsv1.CustomResourceDefinitionList{}
	if err := e.connection.Client().List(ctx, definitions); err != nil {
		return e.denied(fmt.Errorf("listing CustomResourceDefinitions: %w", err))
	}
	for i := range definitions.Items {
		definition := &definitions.Items[i]
		if definition.DeletionTimestamp == nil || !releases.OwnerOf(definition).IsMissing() {
			continue
		}
		left, err := e.instanceOf(ctx, definition)
		if err := e.denied(err); err != nil {
			return err
		}
		if left == nil || len(left.Finalizers) == 0 {
			continue
		}
		instance := display.Object{Kind: definition.Spec.Names.Kind, Namespace: left.Namespace, Name: left.Name}
		e.add(Finding{
			Kind:   FindingStuck,
			Object: &display.Object{APIVersion: apiextensionsv1.SchemeGroupVersion.String(), Kind: "CustomResourceDefinition", Name: definition.Name},
			Message: fmt.Sprintf("it is being deleted, and is waiting for its instances, such as %s, which is waiting for finalizers: %s",
				instance, strings.Join(left.Finalizers, ", ")),
			Advice: "if the operator that removes the finalizers was uninstalled: install it again, delete the components, and then the operator",
		})
	}
	return nil
}

// instanceOf returns an instance of a type; nil if there is none.
func (e *examination) instanceOf(ctx context.Context, definition *apiextensionsv1.CustomResourceDefinition) (*metav1.PartialObjectMetadata, error) {
	served := slices.IndexFunc(definition.Spec.Versions, func(version apiextensionsv1.CustomResourceDefinitionVersion) bool { return version.Served })
	if served < 0 {
		return nil, nil
	}
	instances := &metav1.PartialObjectMetadataList{}
	instances.SetGroupVersionKind(schema.GroupVersionKind{
		Group: definition.Spec.Group, Version: definition.Spec.Versions[served].Name, Kind: definition.Spec.Names.Kind + "List",
	})
	if err := e.connection.Client().List(ctx, instances, client.Limit(1)); err != nil || len(instances.Items) == 0 {
		return nil, client.IgnoreNotFound(err)
	}
	return &instances.Items[0], nil
}

// shownOutside bounds how many objects a finding names.
const shownOutside = 5

// examineNamespace looks whether the namespace of a release is being deleted, and waits for the record.
func (e *examination) examineNamespace(release *releases.Release) {
	if !release.Awaited() {
		return
	}
	reason := "it has deletion hooks, or its deletion has begun"
	if beyond := release.Beyond(); len(beyond) > 0 {
		outside := make([]string, len(beyond))
		for i, item := range beyond {
			outside[i] = display.Text(item)
		}
		reason = "these objects are not in the namespace, and would be left behind: " + display.Enumerate(outside, shownOutside)
	}
	e.add(Finding{
		Kind: FindingStuck, Release: release.String(),
		Message: "its namespace is being deleted, and is waiting for the record of the release to be deleted: " + reason,
		Advice:  fmt.Sprintf("to delete these, and then the namespace: clm delete %s -n %s", release.Name, release.Namespace),
	})
}
