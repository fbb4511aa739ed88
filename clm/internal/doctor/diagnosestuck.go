// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	apitypes "k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/clm/internal/dependents"
	"github.com/component-operator/runtime/clm/internal/ownership"
	"github.com/component-operator/runtime/clm/internal/releases"
)

// patience is how long a deletion may take before it counts as stuck.
const patience = time.Minute

// examineDeletion looks whether the deletion of an object is stuck.
func (e *examination) examineDeletion(release *releases.Release, found markedObject) {
	if found.deleting == nil || e.connection.Clock().Since(found.deleting.Time) < patience {
		return
	}
	finding := Finding{
		Kind: FindingStuck, Release: release.String(), Object: &found.Object,
		Message: fmt.Sprintf("it has been terminating for %s, and has no finalizers; it is waiting for its grace period to end", e.ago(found.deleting.Time)),
	}
	if len(found.finalizers) > 0 {
		finding.Message = fmt.Sprintf("it has been terminating for %s, and is waiting for finalizers: %s",
			e.ago(found.deleting.Time), strings.Join(found.finalizers, ", "))
		finding.Advice = finalizerAdvice
	}
	if slices.Contains(found.finalizers, releases.ReconcilerName) {
		finding.Advice = fmt.Sprintf("to remove the finalizer of clm: clm drift %s --correct -n %s, or clm delete %s -n %s",
			release.Name, release.Namespace, release.Name, release.Namespace)
	}
	e.add(finding)
}

const finalizerAdvice = "if no controller is left that would remove them, remove them by hand; this skips the cleanup that they protect"

// examineDefinitions looks for types that no release manages, and whose deletion is stuck: usually because an operator was uninstalled before its components.
func (e *examination) examineDefinitions(ctx context.Context) error {
	if e.namespace != "" {
		return nil
	}
	definitions := &apiextensionsv1.CustomResourceDefinitionList{}
	if err := e.connection.Client().List(ctx, definitions); err != nil {
		return e.denied(fmt.Errorf("listing CustomResourceDefinitions: %w", err))
	}
	for i := range definitions.Items {
		definition := &definitions.Items[i]
		since := definition.DeletionTimestamp
		if since == nil || e.connection.Clock().Since(since.Time) < patience || !ownership.Of(definition).IsMissing() {
			continue
		}
		finding := Finding{
			Kind: FindingStuck, Object: &dependents.Object{APIVersion: apiextensionsv1.SchemeGroupVersion.String(), Kind: "CustomResourceDefinition", Name: definition.Name},
			Advice: finalizerAdvice + ". For an operator that was uninstalled before its components: install it again, delete the components, and then the operator",
		}
		waits := "finalizers: " + strings.Join(definition.Finalizers, ", ")
		if slices.Contains(definition.Finalizers, apiextensionsv1.CustomResourceCleanupFinalizer) {
			left, err := e.instanceOf(ctx, definition)
			if err := e.denied(err); err != nil {
				return err
			}
			if left != nil {
				instance := dependents.Object{Kind: definition.Spec.Names.Kind, Namespace: left.Namespace, Name: left.Name}
				waits = fmt.Sprintf("its instances, such as %s, which is waiting for finalizers: %s", instance, strings.Join(left.Finalizers, ", "))
			}
		}
		finding.Message = fmt.Sprintf("it has been terminating for %s, and is waiting for %s", e.ago(since.Time), waits)
		e.add(finding)
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

// examineNamespaces looks whether the deletion of a namespace is stuck.
func (e *examination) examineNamespaces(ctx context.Context, release *releases.Release) error {
	if release.Awaited() {
		e.add(Finding{
			Kind: FindingStuck, Release: release.String(),
			Message: "its namespace is being deleted, and is waiting for the record of the release to be deleted: " + awaitedFor(release),
			Advice:  fmt.Sprintf("to delete these, and then the namespace: clm delete %s -n %s", release.Name, release.Namespace),
		})
	}
	for _, name := range namespacesOf(release) {
		if name == release.Namespace && release.Awaited() {
			continue
		}
		namespace := &corev1.Namespace{}
		err := e.connection.Client().Get(ctx, client.ObjectKey{Name: name}, namespace)
		if err := e.denied(client.IgnoreNotFound(err)); err != nil {
			return fmt.Errorf("reading namespace %s: %w", name, err)
		}
		if err == nil && namespace.DeletionTimestamp != nil {
			e.terminating[name] = true
		}
		if err != nil || namespace.DeletionTimestamp == nil || e.connection.Clock().Since(namespace.DeletionTimestamp.Time) < patience {
			continue
		}
		var left []string
		for _, condition := range namespace.Status.Conditions {
			if condition.Status == corev1.ConditionTrue {
				left = append(left, condition.Message)
			}
		}
		e.add(Finding{
			Kind: FindingStuck, Release: release.String(),
			Object:  &dependents.Object{APIVersion: "v1", Kind: "Namespace", Name: name},
			Message: fmt.Sprintf("it has been terminating for %s: %s", e.ago(namespace.DeletionTimestamp.Time), strings.Join(left, "; ")),
		})
	}
	return nil
}

// shownOutside bounds how many objects a finding names.
const shownOutside = 5

// awaitedFor says why the record of a release outlives its namespace.
func awaitedFor(release *releases.Release) string {
	var outside []string
	for _, item := range release.Beyond() {
		outside = append(outside, dependents.Text(item))
	}
	if len(outside) == 0 {
		return "it has deletion hooks, or its deletion has begun"
	}
	return "these objects are not in the namespace, and would be left behind: " + dependents.Enumerate(outside, shownOutside)
}

// examineRecord looks for what is left beside a record.
func (e *examination) examineRecord(ctx context.Context, release *releases.Release) error {
	if !release.Recorded() {
		return nil
	}
	left, err := e.connection.Records().Leftovers(ctx, release)
	if err := e.denied(err); err != nil {
		return err
	}
	name := apitypes.NamespacedName{Namespace: release.Namespace, Name: release.Name}
	if len(left) > 0 {
		e.add(Finding{
			Kind: FindingChunks, Release: release.String(), Message: "the record no longer needs these Secrets: " + strings.Join(left, ", "),
			Repair: "they will be removed", repair: e.repairs().tidying(name),
		})
	}
	ancestor, err := e.connection.Records().AncestorLeft(ctx, release)
	if err := e.denied(err); err != nil {
		return err
	}
	if ancestor {
		e.add(Finding{
			Kind: FindingAncestor, Release: release.String(), Message: "the record of an earlier version of clm still exists, although it has been replaced",
			Repair: "it will be removed, unless it has changed since", repair: e.repairs().takingOver(name),
		})
	}
	return nil
}
