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
	"sync"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/clm/internal/releases"
	"github.com/component-operator/runtime/clm/internal/runner"
	"github.com/component-operator/runtime/internal/clients"
	"github.com/component-operator/runtime/internal/display"
	"github.com/component-operator/runtime/internal/fieldset"
	"github.com/component-operator/runtime/internal/observe"
	"github.com/component-operator/runtime/pkg/cluster"
	"github.com/component-operator/runtime/pkg/reconciler"
)

// remains are the traces of a release that has no record.
type remains struct {
	// marked is the number of objects whose marks count as evidence, doubtful the number of all others with its mark;
	// elsewhere is the namespace of one of the latter.
	marked, doubtful int
	elsewhere        string
	// parts means that there are parts of the record.
	parts bool
}

// examineLost looks for releases that have traces but no record.
func (e *examination) examineLost(ctx context.Context) error {
	found, err := e.remains(ctx)
	if err != nil {
		return err
	}
	for release, left := range found {
		namespace, name, _ := strings.Cut(release, "/")
		finding := Finding{
			Kind: FindingLost, Release: release, Message: fmt.Sprintf("there is no record of the release, but its mark is on %s", display.Count(left.marked, "object")),
			Remedy: "a record with these objects, but without revisions, will be created",
			Advice: fmt.Sprintf("then: clm apply %s SOURCE... -n %s, or clm delete %s -n %s", name, namespace, name, namespace),
		}
		switch {
		case left.marked == 0 && left.parts:
			finding.Message = "there is no record of the release and no object with its mark, but there are parts of a record"
			finding.Remedy, finding.Advice = "these parts will be removed", ""
		case left.marked == 0:
			finding.Message = fmt.Sprintf(
				"there is no record of the release, but its mark is on %s in other namespaces; that proves nothing, because any user with write access there can set it",
				display.Count(left.doubtful, "object"))
			finding.Advice, finding.Remedy = trustAdvice(namespace, name, left.elsewhere), ""
		}
		err := e.connection.Client().Get(ctx, client.ObjectKey{Name: namespace}, &corev1.Namespace{})
		if apierrors.IsNotFound(err) {
			finding.Message += "; its namespace no longer exists"
			finding.Remedy = ""
			finding.Advice = fmt.Sprintf("to delete them: kubectl create namespace %[2]s; clm doctor %[1]s -n %[2]s --fix; clm delete %[1]s -n %[2]s", name, namespace)
		} else if err := e.denied(err); err != nil {
			return fmt.Errorf("reading namespace %s: %w", namespace, err)
		}
		e.add(finding)
	}
	return nil
}

// trustAdvice describes how to accept marks outside of the namespaces of a release as evidence.
func trustAdvice(namespace, name, elsewhere string) string {
	return fmt.Sprintf("if the mark is genuine: clm doctor %s -n %s --fix --trust-namespace %s", name, namespace, elsewhere)
}

// remains finds the traces of releases that have no record, by namespace and name of the release.
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
		if left := of(release); seen.Namespace == "" || seen.Namespace == namespace || slices.Contains(e.Trusted, seen.Namespace) {
			left.marked++
		} else {
			left.doubtful++
			left.elsewhere = cmp.Or(left.elsewhere, seen.Namespace)
		}
	}
	names, err := e.connection.Records().Remains(ctx, e.Namespace)
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

// lost reports whether the examination covers the release, and found no record of it.
func (e *examination) lost(release string) bool {
	namespace, name, _ := strings.Cut(release, "/")
	isMeant := (e.Namespace == "" || e.Namespace == namespace) && (e.Name == "" || e.Name == name)
	return isMeant && e.recorded[release] == nil && !e.unread[release]
}

// examineIntact compares the intact records with the cluster, one after the other.
func (e *examination) examineIntact(ctx context.Context) error {
	for _, name := range e.intact {
		release, err := e.connection.Records().Get(ctx, name.Namespace, name.Name)
		if err != nil {
			e.note("%s", err)
			continue
		}
		if err := e.examineRelease(ctx, release); err != nil {
			return err
		}
	}
	return nil
}

func (e *examination) examineRelease(ctx context.Context, release *releases.Release) error {
	e.examineNamespace(release)
	known := map[display.Key]bool{}
	for _, item := range release.Inventory {
		known[display.KeyOf(item)] = true
		if err := e.examineItem(ctx, release, item); err != nil {
			return err
		}
	}
	for _, hook := range release.HookInventory {
		known[display.KeyOf(hook)] = true
	}
	owner := releases.OwnerID(release.Namespace, release.Name)
	for _, found := range e.found {
		if found.OwnerID() != owner || found.copied || known[display.KeyOf(found)] {
			continue
		}
		if err := e.examineUnrecorded(ctx, release, found); err != nil {
			return err
		}
	}
	return nil
}

// examineUnrecorded adds a finding about an object with the mark of a release that has not recorded it.
func (e *examination) examineUnrecorded(ctx context.Context, release *releases.Release, found markedObject) error {
	finding := Finding{
		Kind: FindingUnrecorded, Release: release.String(), Object: &found.Object,
		Message: "it has the owner label of the release, but is not in its record",
		Remedy:  "it will be added to the record; the next clm apply will delete it if the release does not render it",
		Advice:  "to keep it: remove its label " + releases.ReconcilerName + "/owner-id",
	}
	within, err := e.evidenceNamespaces(ctx, release)
	if err := e.denied(err); err != nil {
		return err
	}
	if !within.Has(found.Namespace) {
		finding.Message += ", nor anything else in that namespace; that proves nothing, because any user with write access there can set the mark"
		finding.Advice, finding.Remedy = trustAdvice(release.Namespace, release.Name, found.Namespace), ""
	}
	e.add(finding)
	return nil
}

// examineItem checks whether a recorded object exists and has the mark of the release.
func (e *examination) examineItem(ctx context.Context, release *releases.Release, item *reconciler.InventoryItem) error {
	if !isExpected(item) {
		return nil
	}
	id := releases.OwnerID(release.Namespace, release.Name)
	owner, exists, served := e.byKey[display.KeyOf(item)].OwnerMark, true, true
	if owner.IsMissing() {
		var err error
		if owner, err = releases.ReadOwner(ctx, e.connection.Client(), item); apierrors.IsNotFound(err) || cluster.IsNoMatch(err) {
			exists, served = false, !cluster.IsNoMatch(err)
		} else if err != nil {
			return e.denied(err)
		}
	}
	if exists && owner.Is(id) {
		return nil
	}
	object := display.ObjectOf(item)
	finding := Finding{Kind: FindingStolen, Release: release.String(), Object: &object, Message: "it is in the record, but " + owner.Loss(id, item)}
	correct := fmt.Sprintf("clm drift %s --correct -n %s", release.Name, release.Namespace)
	orphan := fmt.Sprintf("clm orphan %s %s -n %s", release.Name, object.Argument(), release.Namespace)
	switch {
	case !exists:
		finding.Kind, finding.Message, finding.Advice = FindingGone, "it is in the record, but does not exist", "to restore it: "+correct
		if !served {
			finding.Message += ", because its type is not served"
			finding.Advice = "when the type is served again, " + finding.Advice + "; to do without it, apply sources that do not have it"
		}
	case owner.IsMissing():
		finding.Advice = fmt.Sprintf("to restore the label: %s; to keep it even if the release is deleted: %s", correct, orphan)
	default:
		finding.Advice = fmt.Sprintf("to adopt it again: clm adopt %s %s -n %s; to leave it to others: %s", release.Name, object.Argument(), release.Namespace, orphan)
	}
	e.add(finding)
	return nil
}

// isExpected reports whether a recorded object should be in the cluster. A Job may remove itself after it has finished.
// The next operation removes redundant items from the inventory if their objects are gone.
func isExpected(item *reconciler.InventoryItem) bool {
	switch item.Phase {
	case reconciler.PhaseCompleted, reconciler.PhaseCompleting, reconciler.PhaseScheduledForCompletion, reconciler.PhaseScheduledForDeletion, reconciler.PhaseDeleting:
		return false
	case reconciler.PhaseScheduledForApplication, reconciler.PhaseFailed:
		return item.UID != ""
	case reconciler.PhaseCreating, reconciler.PhaseUpdating, reconciler.PhaseReady, reconciler.PhaseKept:
	}
	return !display.IsJob(item)
}

// shownOutside bounds how many objects a finding names.
const shownOutside = 5

// examineNamespace checks whether the namespace of a release is being deleted and waits for the record.
func (e *examination) examineNamespace(release *releases.Release) {
	if !release.Awaited() {
		return
	}
	reason := "it has deletion hooks, or its deletion has begun"
	if beyond := release.Beyond(); len(beyond) > 0 {
		reason = "these objects are not in the namespace, and would be left behind: " + display.Enumerate(display.Map(beyond, display.Text), shownOutside)
	}
	e.add(Finding{
		Kind: FindingStuck, Release: release.String(),
		Message: "its namespace is being deleted, and is waiting for the record of the release to be deleted: " + reason,
		Advice:  fmt.Sprintf("to delete these, and then the namespace: clm delete %s -n %s", release.Name, release.Namespace),
	})
}

// markedObject is an object that carries the mark of a release.
type markedObject struct {
	display.Object
	releases.OwnerMark

	copied bool // another client has copied it, with its marks, from an object of a release
}

// sweep finds all objects that carry the mark of a release.
type sweep struct {
	*examination
	selector   labels.Selector
	namespaces []string // where to list types that the user may not list in the whole cluster

	mu        sync.Mutex
	forbidden map[string][]string // types that must not be listed, by where
}

const (
	// sweepers is the number of types that are listed at once.
	sweepers = 8
	// sweepPage is the number of objects per request.
	sweepPage = 500
)

// run lists all types of the server. It notes the types that the user may not list and the groups that do not answer.
func (s *sweep) run(ctx context.Context) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(sweepers)
	silent, err := runner.EachResource(s.connection.Client(), func(gv schema.GroupVersion, resource metav1.APIResource) {
		if slices.Contains(resource.Verbs, "list") {
			group.Go(func() error { return s.resource(ctx, gv, resource) })
		}
	})
	if err := errors.Join(err, group.Wait()); err != nil {
		return err
	}
	for _, version := range silent {
		s.note("%s does not answer, so its objects are unknown", version)
	}
	for where, names := range s.forbidden {
		slices.Sort(names)
		s.note("you are not allowed to list these types%s: %s", where, strings.Join(names, ", "))
	}
	slices.SortFunc(s.found, func(a, b markedObject) int {
		return cmp.Or(cmp.Compare(a.Object.String(), b.Object.String()), cmp.Compare(a.Key().Group, b.Key().Group))
	})
	return nil
}

// resource lists one type, in the whole cluster or else namespace by namespace.
func (s *sweep) resource(ctx context.Context, gv schema.GroupVersion, resource metav1.APIResource) error {
	kind := gv.WithKind(resource.Kind)
	err := s.list(ctx, kind, "")
	name := schema.GroupResource{Group: gv.Group, Resource: resource.Name}.String()
	switch {
	case isUnserved(err):
		return nil
	case !apierrors.IsForbidden(err):
		return err
	}
	var namespaces, looked []string
	if resource.Namespaced {
		namespaces = s.namespaces
	}
	for _, namespace := range namespaces {
		switch err := s.list(ctx, kind, namespace); {
		case err == nil:
			looked = append(looked, namespace)
		case isUnserved(err):
			// For the whole cluster, the server checks permissions first.
			return nil
		case !apierrors.IsForbidden(err):
			return err
		}
	}
	where := ""
	if len(looked) > 0 {
		where = " in namespaces other than " + strings.Join(looked, ", ")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.forbidden[where] = append(s.forbidden[where], name)
	return nil
}

// isUnserved reports whether a type cannot be listed, because it no longer exists, or does not support lists.
func isUnserved(err error) bool {
	return apierrors.IsNotFound(err) || apierrors.IsMethodNotSupported(err)
}

func (s *sweep) list(ctx context.Context, kind schema.GroupVersionKind, namespace string) error {
	err := clients.EachListed(ctx, s.connection.Client(), clients.MetadataOf(kind), sweepPage, func(object *metav1.PartialObjectMetadata) {
		s.take(kind, object)
	}, client.InNamespace(namespace), client.MatchingLabelsSelector{Selector: s.selector})
	if err != nil {
		return fmt.Errorf("listing %s: %w", kind.GroupKind(), err)
	}
	return nil
}

// take adds an object to the found ones.
func (s *sweep) take(kind schema.GroupVersionKind, object *metav1.PartialObjectMetadata) {
	if observe.RecordLabel(object.Labels) != "" {
		// A record is never a dependent, even if it has marks.
		return
	}
	version, name := kind.ToAPIVersionAndKind()
	found := markedObject{
		Object:    display.Object{APIVersion: version, Kind: name, Namespace: object.Namespace, Name: object.Name},
		OwnerMark: releases.OwnerOf(object),
		// For example, EndpointSlices have the labels of their Services.
		copied: object.Annotations[releases.Annotation] == "" || fieldset.IsCopy(object, releases.ReconcilerName),
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.found = append(s.found, found)
}
