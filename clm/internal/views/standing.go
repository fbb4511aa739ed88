// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package views

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/component-operator/runtime/clm/internal/connection"
	"github.com/component-operator/runtime/clm/internal/inspect"
	"github.com/component-operator/runtime/clm/internal/objects"
	"github.com/component-operator/runtime/clm/internal/ownership"
	"github.com/component-operator/runtime/clm/internal/releases"
	"github.com/component-operator/runtime/pkg/reconciler"
	"github.com/component-operator/runtime/pkg/status"
	"github.com/component-operator/runtime/pkg/types"
)

// Standing is how a release stands at one moment.
type Standing struct {
	// Release is what is recorded; nil if there is no such release.
	Release *releases.Release
	// Holder is who works on the release; nil if nobody does, or if it is neither being applied nor deleted.
	Holder *releases.Holder
	// Silent is true if the holder has not renewed the lock for so long that it seems to be dead.
	Silent bool
	// Dependents in the order in which they are worked upon.
	Dependents []Dependent
	// Notes say what is missing because the user may not read it.
	Notes []inspect.Note

	deadline time.Duration
}

// Dependent is one object of a release.
type Dependent struct {
	*inspect.Node

	// Item is what is recorded of it.
	Item *reconciler.InventoryItem
	// Wave is the apply order, or the delete order if the release is being deleted.
	Wave int
	// Place is what the above means.
	Place Place
}

// Place is where a dependent is on its way.
type Place string

const (
	// PlacePending means that its turn has not come.
	PlacePending Place = "pending"
	// PlaceUnready means that it is not ready yet, or not gone yet, or was lost, be it to another owner.
	PlaceUnready Place = "unready"
	// PlaceFailed means that it will not become ready by itself.
	PlaceFailed Place = "failed"
	// PlaceReady means that it is as it should be.
	PlaceReady Place = "ready"
	// PlaceCompleted means that it has served its purpose and was removed.
	PlaceCompleted Place = "completed"
	// PlaceStays means that it stays although the release is being deleted.
	PlaceStays Place = "stays"
	// PlaceGone means that it was not wanted any more, and is gone.
	PlaceGone Place = "gone"
)

// Places are all places, in the order in which they are told.
var Places = []Place{PlaceReady, PlaceCompleted, PlaceGone, PlaceStays, PlaceUnready, PlaceFailed, PlacePending}

// Look finds out how a release stands. The reasons why dependents are not ready take further requests and can be left out. That there is no such
// release is no error.
func Look(ctx context.Context, c *connection.Connection, namespace, name string, skipReasons bool) (*Standing, error) {
	for {
		standing, err := look(ctx, c, namespace, name, skipReasons)
		if err != nil || !standing.Abandoned() {
			return standing, err
		}
		// Whoever worked on the release may have ended while it was read.
		if unchanged, err := c.Records().Unchanged(ctx, standing.Release); err != nil || unchanged {
			return standing, err
		}
	}
}

// look reads the record, the dependents, and who works on the release, one after the other.
func look(ctx context.Context, c *connection.Connection, namespace, name string, skipReasons bool) (*Standing, error) {
	release, err := c.Records().Get(ctx, namespace, name)
	if errors.Is(err, releases.ErrNotFound) {
		return &Standing{}, nil
	}
	if err != nil {
		return nil, err
	}
	standing := &Standing{Release: release}
	options := Inspection(c, release, release.Inventory)
	options.SkipReasons = skipReasons
	report, err := inspect.Tree(ctx, options)
	if err != nil {
		return nil, err
	}
	standing.Notes, standing.deadline = report.Notes, report.Deadline
	standing.place(report.Nodes)
	if release.State == releases.StateApplying || release.State == releases.StateDeleting {
		if standing.Holder, err = c.Records().Holder(ctx, namespace, name); err != nil {
			return nil, err
		}
		standing.listen(c.Clock().Now())
	}
	return standing, nil
}

// listen finds out whether whoever has the lock seems to be dead. Whether somebody who is alive will be, shows when the lock has not been renewed.
func (s *Standing) listen(now time.Time) {
	if s.Holder == nil {
		return
	}
	// Clocks differ.
	s.Silent = now.Sub(s.Holder.Renewed) > 2*s.Holder.Validity
	if !s.Silent && (s.deadline == 0 || s.Holder.Validity < s.deadline) {
		s.deadline = s.Holder.Validity
	}
}

// place finds out where the dependents are on their way.
func (s *Standing) place(nodes []*inspect.Node) {
	items := map[string]*reconciler.InventoryItem{}
	for _, item := range s.Release.Inventory {
		items[objects.Text(item)] = item
	}
	deleting := s.Release.State == releases.StateDeleting
	for _, node := range nodes {
		d := Dependent{Node: node, Item: items[node.Object.String()], Wave: node.ApplyOrder}
		if d.Item == nil {
			continue
		}
		lostLabel := s.confirmOwner(d)
		recognizeFinished(d.Item, node)
		d.Place = placeOf(d.Item, node)
		if deleting {
			d.Place, d.Wave = placeInDeletion(d.Item, node, lostLabel), d.Item.DeleteOrder
		}
		s.Dependents = append(s.Dependents, d)
	}
	slices.SortStableFunc(s.Dependents, func(a, b Dependent) int { return cmp.Compare(a.Wave, b.Wave) })
}

// confirmOwner notes that a dependent which was found does not have the label of the release, and reports whether it is one nevertheless.
func (s *Standing) confirmOwner(d Dependent) (lostLabel bool) {
	owner := ownership.NewMark(d.Label(ownership.Label), d.Annotation(ownership.Annotation), d.UID())
	if id := releases.OwnerID(s.Release.Namespace, s.Release.Name); d.Exists() && !owner.Is(id) {
		d.Status, d.Message = inspect.Stolen, owner.Loss(id, d.Item)
	}
	return owner.LostLabel(d.Item)
}

// recognizeFinished notes that a Job which was complete may remove itself.
func recognizeFinished(item *reconciler.InventoryItem, node *inspect.Node) {
	if item.Phase == reconciler.PhaseReady && node.Missing && node.Status == status.NotFoundStatus && objects.IsJob(item) {
		node.Status, node.Message = inspect.Completed, "has finished, and is gone"
	}
}

const (
	digestKey     = releases.ReconcilerName + "/" + types.AnnotationKeySuffixDigest
	purgeOrderKey = releases.ReconcilerName + "/" + types.AnnotationKeySuffixPurgeOrder
)

func placeOf(item *reconciler.InventoryItem, node *inspect.Node) Place {
	switch item.Phase {
	case reconciler.PhaseCompleted:
		return PlaceCompleted
	case reconciler.PhaseFailed:
		return PlaceFailed
	case reconciler.PhaseDeleting, reconciler.PhaseCompleting, reconciler.PhaseScheduledForDeletion, reconciler.PhaseScheduledForCompletion:
		return leaving(node)
	case reconciler.PhaseScheduledForApplication:
		// How far it came is recorded later. What is there may not yet be what it is to become.
		if item.Digest == "" || node.Annotation(digestKey) != item.Digest {
			return PlacePending
		}
	case reconciler.PhaseCreating, reconciler.PhaseUpdating, reconciler.PhaseReady:
	}
	switch node.Status {
	case status.CurrentStatus, inspect.Completed:
		return PlaceReady
	case status.FailedStatus:
		return PlaceFailed
	case status.InProgressStatus, status.TerminatingStatus, status.NotFoundStatus, status.UnknownStatus, inspect.Stolen:
	}
	return PlaceUnready
}

func placeInDeletion(item *reconciler.InventoryItem, node *inspect.Node, lostLabel bool) Place {
	switch {
	case item.Phase == reconciler.PhaseCompleted:
		return PlaceCompleted
	case node.Status == inspect.Stolen && !lostLabel || item.DeletePolicy == reconciler.DeletePolicyOrphan || item.DeletePolicy == reconciler.DeletePolicyOrphanOnDelete:
		return PlaceStays
	default:
		return leaving(node)
	}
}

// leaving tells how far an object is on its way out.
func leaving(node *inspect.Node) Place {
	switch {
	case node.Missing:
		return PlaceGone
	case node.Status == status.TerminatingStatus:
		return PlaceUnready
	default:
		return PlacePending
	}
}

// Ready reports whether the release was applied with success, and all of it is ready now. Whoever has applied it need not have waited for that, as
// long as he has left nothing to be done.
func (s *Standing) Ready() bool {
	if s.Release == nil || s.Release.State != releases.StateReady && !s.Complete() {
		return false
	}
	return !slices.ContainsFunc(s.Dependents, func(d Dependent) bool { return d.Place == PlacePending || d.isProblem() })
}

// isProblem reports whether a dependent is not ready although its turn has come.
func (d Dependent) isProblem() bool { return d.Place == PlaceUnready || d.Place == PlaceFailed }

// Abandoned reports whether the release is being applied or deleted, as is recorded, and nobody seems to be working on it.
func (s *Standing) Abandoned() bool {
	if s.Release == nil || s.Holder != nil && !s.Silent {
		return false
	}
	return s.Release.State == releases.StateApplying || s.Release.State == releases.StateDeleting
}

// Complete reports whether nothing is left to be done about a release of which it is recorded that it is being applied, and on which nobody is
// working: all is written, and nothing is to be deleted.
func (s *Standing) Complete() bool {
	return s.Abandoned() && s.Release.State == releases.StateApplying && s.nothingLeft()
}

// BecameReady reports whether all of the current revision is ready now, although nobody has waited for that, or not long enough.
func (s *Standing) BecameReady() bool {
	if s.Release == nil || s.Holder != nil && !s.Silent || s.Release.State == releases.StateDeleting || !s.nothingLeft() {
		return false
	}
	return !slices.ContainsFunc(s.Dependents, Dependent.isProblem)
}

// nothingLeft reports whether all of the current revision is written, and nothing is to be deleted.
func (s *Standing) nothingLeft() bool {
	if s.Release.Current() == nil {
		return false
	}
	return !slices.ContainsFunc(s.Dependents, func(d Dependent) bool {
		switch d.Item.Phase {
		case reconciler.PhaseScheduledForDeletion, reconciler.PhaseDeleting, reconciler.PhaseScheduledForCompletion, reconciler.PhaseCompleting:
			return d.Place != PlaceGone
		case reconciler.PhaseScheduledForApplication, reconciler.PhaseCreating, reconciler.PhaseUpdating, reconciler.PhaseReady,
			reconciler.PhaseFailed, reconciler.PhaseCompleted:
		}
		return d.Place == PlacePending || d.Exists() && d.Annotation(purgeOrderKey) != ""
	})
}

// Problems are the dependents that are not ready although their turn has come: the oldest problem first, after those of which nobody knows how
// old they are.
func (s *Standing) Problems() []Dependent {
	var found []Dependent
	for _, d := range s.Dependents {
		if d.isProblem() {
			found = append(found, d)
		}
	}
	slices.SortStableFunc(found, func(a, b Dependent) int { return a.Since().Compare(b.Since()) })
	return found
}

// Since is when the oldest of the reasons began why a dependent is not ready, or when the dependent was created, if there are none.
func (d Dependent) Since() time.Time {
	oldest := oldestReason(d.Node)
	if oldest.IsZero() {
		return d.Created
	}
	return oldest
}

func oldestReason(node *inspect.Node) time.Time {
	var oldest time.Time
	consider := func(t time.Time) {
		if !t.IsZero() && (oldest.IsZero() || t.Before(oldest)) {
			oldest = t
		}
	}
	for _, reason := range node.Why {
		consider(reason.Since)
	}
	for _, child := range node.Children {
		consider(oldestReason(child))
	}
	return oldest
}
