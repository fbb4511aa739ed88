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
	apitypes "k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/clm/internal/dependents"
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
		finding.Advice = "if no controller is left that would remove them, remove them by hand; this skips the cleanup that they protect"
	}
	if slices.Contains(found.finalizers, releases.ReconcilerName) {
		finding.Advice = fmt.Sprintf("to remove the finalizer of clm: clm drift %s --correct -n %s, or clm delete %s -n %s",
			release.Name, release.Namespace, release.Name, release.Namespace)
	}
	e.add(finding)
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
