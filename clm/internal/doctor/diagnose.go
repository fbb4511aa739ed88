// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apitypes "k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/duration"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/clm/internal/apply"
	"github.com/component-operator/runtime/clm/internal/dependents"
	"github.com/component-operator/runtime/clm/internal/failures"
	"github.com/component-operator/runtime/clm/internal/ownership"
	"github.com/component-operator/runtime/clm/internal/releases"
	"github.com/component-operator/runtime/clm/internal/transfer"
	"github.com/component-operator/runtime/pkg/cluster"
	"github.com/component-operator/runtime/pkg/reconciler"
	"github.com/component-operator/runtime/pkg/types"
)

// remains are what there is of a release that has no record.
type remains struct {
	// marked is the number of objects with its mark that count, doubtful that of others; elsewhere is the namespace of one of these.
	marked, doubtful int
	elsewhere        string
	// parts means that there are parts of the record.
	parts bool
}

// examineLost looks for releases of which there is something, and no record.
func (e *examination) examineLost(ctx context.Context) error {
	found, err := e.remains(ctx)
	if err != nil {
		return err
	}
	for release, left := range found {
		namespace, name, _ := strings.Cut(release, "/")
		finding := Finding{
			Kind: FindingLost, Release: release, Message: fmt.Sprintf("there is no record of the release, but its mark is on %s", dependents.Count(left.marked, "object")),
			Repair: "a record with these objects, but without revisions, will be created",
			Advice: fmt.Sprintf("then: clm apply %s SOURCE... -n %s, or clm delete %s -n %s", name, namespace, name, namespace),
			repair: e.repairs().restoring(apitypes.NamespacedName{Namespace: namespace, Name: name}),
		}
		switch {
		case left.marked == 0 && left.parts:
			finding.Message = "there is no record of the release and no object with its mark, but there are parts of a record"
			finding.Repair, finding.Advice = "these parts will be removed", ""
		case left.marked == 0:
			finding.Message = fmt.Sprintf(
				"there is no record of the release, but its mark is on %s in other namespaces; that proves nothing, because any user with write access there can set it",
				dependents.Count(left.doubtful, "object"))
			finding.Advice, finding.repair = e.trustAdvice(namespace, name, left.elsewhere), nil
		}
		exists, err := e.namespaceExists(ctx, namespace)
		if err != nil {
			return err
		}
		if !exists {
			finding.Message += "; its namespace no longer exists"
			finding.repair = nil
			finding.Advice = fmt.Sprintf("to delete them: kubectl create namespace %[2]s; clm doctor %[1]s -n %[2]s --fix; clm delete %[1]s -n %[2]s", name, namespace)
		}
		e.add(finding)
	}
	return nil
}

// trustAdvice says how marks count that prove nothing.
func (e *examination) trustAdvice(namespace, name, elsewhere string) string {
	return fmt.Sprintf("if the mark is genuine: clm doctor %s -n %s --fix --trust-namespace %s", name, namespace, elsewhere)
}

// remains looks for what there is of releases that have no record, by namespace and name of these.
func (e *examination) remains(ctx context.Context) (map[string]*remains, error) {
	found := map[string]*remains{}
	of := func(release string) *remains {
		if found[release] == nil {
			found[release] = &remains{}
		}
		return found[release]
	}
	for _, seen := range e.found {
		release := seen.Release()
		if release == "" || seen.copied || !e.lost(release) {
			continue
		}
		namespace, _, _ := strings.Cut(release, "/")
		if left := of(release); seen.Namespace == "" || seen.Namespace == namespace || slices.Contains(e.trusted, seen.Namespace) {
			left.marked++
		} else {
			left.doubtful++
			left.elsewhere = cmp.Or(left.elsewhere, seen.Namespace)
		}
	}
	names, err := e.connection.Records().Remains(ctx, e.namespace)
	if err := e.denied(err); err != nil {
		return nil, err
	}
	for _, name := range names {
		if e.lost(name.String()) {
			of(name.String()).parts = true
		}
	}
	return found, nil
}

// namespaceExists reports whether there is a namespace, as far as that may be known.
func (e *examination) namespaceExists(ctx context.Context, name string) (bool, error) {
	err := e.connection.Client().Get(ctx, client.ObjectKey{Name: name}, &corev1.Namespace{})
	if err := e.denied(client.IgnoreNotFound(err)); err != nil {
		return false, fmt.Errorf("reading namespace %s: %w", name, err)
	}
	return !apierrors.IsNotFound(err), nil
}

// lost reports whether the examination is about the release, and has found no record of it.
func (e *examination) lost(release string) bool {
	return e.recorded[release] == nil && !e.unread[release] && e.concerns(release)
}

// concerns reports whether the examination is about the release.
func (e *examination) concerns(release string) bool {
	namespace, name, _ := strings.Cut(release, "/")
	return (e.namespace == "" || e.namespace == namespace) && (e.name == "" || e.name == name)
}

// examineLocks looks for locks of processes that are dead.
func (e *examination) examineLocks(ctx context.Context) error {
	locks, err := e.connection.Records().Locks(ctx, e.namespace)
	if err != nil {
		return e.denied(err)
	}
	for _, lock := range locks {
		switch {
		case !e.concerns(lock.Release.String()):
		case lock.Dead:
			e.add(Finding{
				Kind: FindingLock, Release: lock.Release.String(),
				Message: fmt.Sprintf("%s has left a lock, which was last renewed %s ago", lock.Holder, e.ago(lock.Renewed)),
				Repair:  "the lock will be removed", Advice: "it does not block other processes",
				repair: func(ctx context.Context) error { return e.connection.Records().RemoveLock(ctx, lock) },
			})
		default:
			left := max(0, lock.Validity-e.connection.Clock().Since(lock.Renewed))
			e.note("%s is changing release %s right now, so the findings may be outdated; its lock lasts another %s", lock.Holder, lock.Release, duration.HumanDuration(left))
		}
	}
	return nil
}

func (e *examination) ago(t time.Time) string {
	return duration.HumanDuration(max(0, e.connection.Clock().Since(t)))
}

// examineRelease compares an intact record with the cluster.
func (e *examination) examineRelease(ctx context.Context, release *releases.Release) error {
	if err := e.examineNamespaces(ctx, release); err != nil {
		return err
	}
	known := map[dependents.Key]bool{}
	for _, item := range release.Inventory {
		known[dependents.KeyOf(item)] = true
		if err := e.examineItem(ctx, release, item); err != nil {
			return err
		}
	}
	for _, hook := range release.HookInventory {
		known[dependents.KeyOf(hook)] = true
	}
	owner := releases.OwnerID(release.Namespace, release.Name)
	for _, found := range e.found {
		if found.OwnerID() != owner || found.copied {
			continue
		}
		if !known[dependents.KeyOf(found)] {
			if err := e.examineUnrecorded(ctx, release, found); err != nil {
				return err
			}
		}
		e.examineDeletion(release, found)
	}
	return e.examineRecord(ctx, release)
}

// examineUnrecorded is about an object with the mark of a release that has not recorded it.
func (e *examination) examineUnrecorded(ctx context.Context, release *releases.Release, found markedObject) error {
	finding := Finding{
		Kind: FindingUnrecorded, Release: release.String(), Object: &found.Object,
		Message: "it has the owner label of the release, but is not in its record",
		Repair:  "it will be added to the record; the next clm apply will delete it if the release does not render it",
		Advice:  "to keep it: remove its label " + releases.ReconcilerName + "/owner-id",
		repair:  e.repairs().recording(apitypes.NamespacedName{Namespace: release.Namespace, Name: release.Name}),
	}
	within, err := evidenceNamespacesOf(ctx, e.connection.Records(), release, e.trusted)
	if err := e.denied(err); err != nil {
		return err
	}
	if !within.has(found.Namespace) {
		finding.Message += ", nor anything else in that namespace; that proves nothing, because any user with write access there can set the mark"
		finding.Advice, finding.repair = e.trustAdvice(release.Namespace, release.Name, found.Namespace), nil
	}
	e.add(finding)
	return nil
}

// examineItem looks whether a recorded object is there and has the mark of the release.
func (e *examination) examineItem(ctx context.Context, release *releases.Release, item *reconciler.InventoryItem) error {
	if !isExpected(item) {
		return nil
	}
	id := releases.OwnerID(release.Namespace, release.Name)
	owner, exists, served := e.byKey[dependents.KeyOf(item)].Mark, true, true
	if owner.IsMissing() {
		var err error
		if owner, err = ownership.Read(ctx, e.connection.Client(), item); apierrors.IsNotFound(err) || cluster.IsNoMatch(err) {
			exists, served = false, !cluster.IsNoMatch(err)
		} else if err != nil {
			return e.denied(err)
		}
	}
	finding := Finding{Release: release.String(), Object: new(dependents.ObjectOf(item))}
	unwanted := item.Phase == reconciler.PhaseScheduledForDeletion || item.Phase == reconciler.PhaseDeleting
	switch {
	case exists && owner.Is(id), unwanted:
		// What is not wanted any more, and not there any more, is forgotten by the next operation.
		return nil
	case !exists:
		e.gone(&finding, release, item, served)
	case owner.IsMissing():
		finding.Kind, finding.Message = FindingStolen, "it is in the record, but "+owner.Loss(id, item)
		finding.Advice = fmt.Sprintf("to restore the label: clm drift %[1]s --correct -n %[2]s; to keep it even if the release is deleted: clm orphan %[1]s %[3]s -n %[2]s",
			release.Name, release.Namespace, finding.Object.Argument())
	case owner.OwnerID() == id:
		finding.Kind, finding.Message = FindingStolen, "it is in the record, but "+owner.Loss(id, item)
		finding.Advice = fmt.Sprintf("to adopt it again: clm adopt %s %s -n %s", release.Name, finding.Object.Argument(), release.Namespace)
	default:
		if err := e.stolen(ctx, &finding, release, item, owner); err != nil {
			return err
		}
	}
	e.add(finding)
	return nil
}

// gone completes the finding of an object that does not exist, and whose type may not be served.
func (e *examination) gone(finding *Finding, release *releases.Release, item *reconciler.InventoryItem, served bool) {
	finding.Kind, finding.Message = FindingGone, "it is in the record, but does not exist"
	finding.Advice = fmt.Sprintf("to restore it: clm drift %s --correct -n %s", release.Name, release.Namespace)
	switch {
	case !served:
		finding.Message += ", because its type is not served"
		finding.Advice = "when the type is served again, " + finding.Advice + "; to do without it, apply sources that do not have it"
	case e.terminating[item.Namespace]:
		finding.Message += ", and its namespace is being deleted"
		finding.Advice = "when the namespace exists again, " + finding.Advice
	}
}

// isExpected reports whether a recorded object should be in the cluster. A Job may remove itself after it has finished.
func isExpected(item *reconciler.InventoryItem) bool {
	switch item.Phase {
	case reconciler.PhaseCompleted, reconciler.PhaseCompleting, reconciler.PhaseScheduledForCompletion:
		return false
	case reconciler.PhaseScheduledForApplication, reconciler.PhaseFailed:
		return item.UID != ""
	case reconciler.PhaseScheduledForDeletion, reconciler.PhaseDeleting, reconciler.PhaseCreating, reconciler.PhaseUpdating, reconciler.PhaseReady,
		reconciler.PhaseKept:
	}
	return !dependents.IsJob(item)
}

// stolen completes the finding of an object that has another owner.
func (e *examination) stolen(ctx context.Context, finding *Finding, release *releases.Release, item *reconciler.InventoryItem, owner ownership.Mark) error {
	finding.Kind, finding.Message = FindingStolen, "it is in the record, but "+owner.Loss(releases.OwnerID(release.Namespace, release.Name), item)
	finding.Advice = fmt.Sprintf("to adopt it again: clm adopt %s %s -n %s", release.Name, finding.Object.Argument(), release.Namespace)
	namespace, name, isRelease := strings.Cut(owner.Release(), "/")
	if !isRelease || release.State == releases.StateDeleting {
		return nil
	}
	other := apitypes.NamespacedName{Namespace: namespace, Name: name}
	rendered, err := e.renders(ctx, other, finding.Object)
	if err != nil || !rendered {
		return err
	}
	// As after a move that was interrupted.
	finding.Message += ", which renders it"
	finding.Repair = fmt.Sprintf("it will be removed from the record of release %s; the object itself is not changed", release)
	l := e.lettingGo[release.String()]
	if l == nil {
		l = &lettingGo{release: apitypes.NamespacedName{Namespace: release.Namespace, Name: release.Name}}
		e.lettingGo[release.String()] = l
	}
	l.objects = append(l.objects, *finding.Object)
	finding.repair = e.repairs().lettingGo(l)
	return nil
}

// renders reports whether an object is part of the current revision of a release.
func (e *examination) renders(ctx context.Context, release apitypes.NamespacedName, object types.ObjectKey) (bool, error) {
	plan, err := apply.Current(ctx, e.connection, release.Namespace, release.Name)
	var refused *failures.RefusedError
	var damaged *releases.DamagedError
	if errors.As(err, &refused) || errors.As(err, &damaged) || errors.Is(err, releases.ErrNotFound) {
		return false, nil
	}
	if err != nil {
		return false, e.denied(err)
	}
	return transfer.Renders(e.connection.Client().RESTMapper(), plan, object)
}
