// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package views

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/component-operator/runtime/clm/internal/live"
	"github.com/component-operator/runtime/clm/internal/releases"
	"github.com/component-operator/runtime/clm/internal/runner"
	"github.com/component-operator/runtime/internal/display"
	"github.com/component-operator/runtime/pkg/reconciler"
	"github.com/component-operator/runtime/pkg/status"
	"github.com/component-operator/runtime/pkg/types"
)

// Snapshot is the state of a release at one moment.
type Snapshot struct {
	// Release is the record; nil if the release does not exist.
	Release *releases.Release
	// Holder is the process that works on the release; nil if there is none, or if the release is neither being applied
	// nor deleted.
	Holder *releases.Holder
	// Silent means that the holder seems to be dead, because it has not renewed the lock for too long.
	Silent bool
	// Dependents in the order of their waves.
	Dependents []*display.Node
	// Notes describe what is missing because the user may not read it.
	Notes []display.Note

	deadline time.Duration
}

// Look reads a snapshot of a release. Reasons why dependents are not ready take further requests. If the release does
// not exist, it returns an empty snapshot.
func Look(ctx context.Context, c *runner.Connection, namespace, name string, reasons live.Reasons) (*Snapshot, error) {
	for {
		snapshot, err := look(ctx, c, namespace, name, reasons)
		if err != nil || !snapshot.Abandoned() {
			return snapshot, err
		}
		// The process that worked on the release may have ended while the release was read.
		if unchanged, err := c.Records().Unchanged(ctx, snapshot.Release); err != nil || unchanged {
			return snapshot, err
		}
	}
}

// look reads the record, the dependents and the lock, one after the other.
func look(ctx context.Context, c *runner.Connection, namespace, name string, reasons live.Reasons) (*Snapshot, error) {
	release, err := c.Records().Get(ctx, namespace, name)
	if errors.Is(err, releases.ErrNotFound) {
		return &Snapshot{}, nil
	}
	if err != nil {
		return nil, err
	}
	snapshot := &Snapshot{Release: release}
	options := Inspection(c, release, release.Inventory)
	options.Reasons = reasons
	report, err := live.Tree(ctx, options)
	if err != nil {
		return nil, err
	}
	snapshot.Notes, snapshot.deadline = report.Notes, report.Deadline
	snapshot.takeDependents(report.Nodes)
	if release.State == releases.StateApplying || release.State == releases.StateDeleting {
		if snapshot.Holder, err = c.Records().Holder(ctx, namespace, name); err != nil {
			return nil, err
		}
		snapshot.checkHolder(time.Now())
	}
	return snapshot, nil
}

// checkHolder decides whether the holder of the lock seems to be dead. If not, the next look is due when the lock
// expires.
func (s *Snapshot) checkHolder(now time.Time) {
	if s.Holder == nil {
		return
	}
	// Clocks differ.
	s.Silent = now.Sub(s.Holder.Renewed) > 2*s.Holder.Validity
	if !s.Silent && (s.deadline == 0 || s.Holder.Validity < s.deadline) {
		s.deadline = s.Holder.Validity
	}
}

// takeDependents sets the states of the dependents, and sorts them.
func (s *Snapshot) takeDependents(nodes []*display.Node) {
	for _, node := range nodes {
		lostLabel := s.confirmOwner(node)
		recognizeFinished(node)
		node.State = stateOf(node)
		if s.Release.State == releases.StateDeleting {
			node.State, node.Wave = stateInDeletion(node, lostLabel), node.Item.DeleteOrder
		}
	}
	display.Sort(nodes)
	s.Dependents = nodes
}

// confirmOwner sets the status of a dependent that does not have the label of the release. It reports whether the
// object is still a dependent.
func (s *Snapshot) confirmOwner(node *display.Node) (lostLabel bool) {
	if node.Live == nil {
		return false
	}
	owner := releases.OwnerOf(node.Live)
	if id := releases.OwnerID(s.Release.Namespace, s.Release.Name); !owner.Is(id) {
		node.Status, node.Message = display.StatusStolen, owner.Loss(id, node.Item)
	}
	return owner.LostLabel(node.Item)
}

// recognizeFinished corrects the status of a Job that was complete and has removed itself.
func recognizeFinished(node *display.Node) {
	if node.Phase == reconciler.PhaseReady && node.Missing && node.Status == status.NotFoundStatus && display.IsJob(node) {
		node.Status, node.Message = display.StatusCompleted, "has finished, and is gone"
		if node.Item.Status != status.CurrentStatus {
			node.Message += "; no process has waited for it, so that its outcome is not known"
		}
	}
}

const (
	digestKey     = releases.ReconcilerName + "/" + types.AnnotationKeySuffixDigest
	purgeOrderKey = releases.ReconcilerName + "/" + types.AnnotationKeySuffixPurgeOrder
)

// stateOf returns the state of a dependent of a release that is not being deleted.
func stateOf(node *display.Node) display.State {
	switch node.Phase {
	case reconciler.PhaseCompleted:
		return display.StateCompleted
	case reconciler.PhaseFailed:
		return display.StateFailed
	case reconciler.PhaseKept:
		return display.StateStays
	case reconciler.PhaseDeleting, reconciler.PhaseCompleting, reconciler.PhaseScheduledForDeletion, reconciler.PhaseScheduledForCompletion:
		return leaving(node)
	case reconciler.PhaseScheduledForApplication:
		// The phase is recorded after the write, so the object may still have its earlier content.
		if node.Item.Digest == "" || node.Annotation(digestKey) != node.Item.Digest {
			return display.StatePending
		}
	case reconciler.PhaseCreating, reconciler.PhaseUpdating, reconciler.PhaseReady:
	}
	switch node.Status {
	case status.CurrentStatus, display.StatusCompleted:
		return display.StateReady
	case status.FailedStatus:
		return display.StateFailed
	case status.InProgressStatus, status.TerminatingStatus, status.NotFoundStatus, status.UnknownStatus, display.StatusStolen:
	}
	return display.StateUnready
}

// stateInDeletion returns the state of a dependent of a release that is being deleted.
func stateInDeletion(node *display.Node, lostLabel bool) display.State {
	policy := node.Item.DeletePolicy
	switch {
	case node.Phase == reconciler.PhaseCompleted:
		return display.StateCompleted
	case node.Status == display.StatusStolen && !lostLabel || policy == reconciler.DeletePolicyOrphan || policy == reconciler.DeletePolicyOrphanOnDelete:
		return display.StateStays
	default:
		return leaving(node)
	}
}

// leaving returns the state of an object that must be gone.
func leaving(node *display.Node) display.State {
	switch {
	case node.Missing:
		return display.StateGone
	case node.Status == status.TerminatingStatus:
		return display.StateUnready
	default:
		return display.StatePending
	}
}

// Ready reports whether the release was applied successfully, and all its dependents are ready now. It is also ready if
// the process that applied it did not wait for that, but left nothing to be done.
func (s *Snapshot) Ready() bool {
	if s.Release == nil || s.Release.State != releases.StateReady && !s.Complete() {
		return false
	}
	return !slices.ContainsFunc(s.Dependents, func(d *display.Node) bool {
		return counts(d) && (d.State == display.StatePending || d.State.IsProblem())
	})
}

// StateDegraded means that the release was applied successfully, but not all dependents are ready now. It is never
// recorded.
const StateDegraded releases.State = "Degraded"

// State returns the recorded state of the release, StateDegraded, or StateReady if it has become ready although no
// process has waited for that.
func (s *Snapshot) State() releases.State {
	switch ready := s.Ready(); {
	case s.Release.State == releases.StateReady && !ready:
		return StateDegraded
	case s.Release.State == releases.StateApplying && ready:
		return releases.StateReady
	default:
		return s.Release.State
	}
}

// counts reports whether a release is ready only if an object is. On-failure hooks, perhaps of an earlier revision, do
// not count.
func counts(d *display.Node) bool {
	hook, _ := types.SplitOrder(d.ApplyOrder)
	return hook != types.ApplyHookOnFailure
}

// Abandoned reports whether the record has the release as being applied or deleted, and no process seems to work on it.
func (s *Snapshot) Abandoned() bool {
	if s.Release == nil || s.Holder != nil && !s.Silent {
		return false
	}
	return s.Release.State == releases.StateApplying || s.Release.State == releases.StateDeleting
}

// Complete reports whether a release is applied completely, although it is recorded as being applied and no process
// works on it: all objects are written, and none is left to be deleted.
func (s *Snapshot) Complete() bool {
	return s.Abandoned() && s.Release.State == releases.StateApplying && s.nothingLeft()
}

// BecameReady reports whether all objects of the current revision are ready now, even if no process waited until then.
func (s *Snapshot) BecameReady() bool {
	if s.Release == nil || s.Holder != nil && !s.Silent || s.Release.State == releases.StateDeleting || !s.nothingLeft() {
		return false
	}
	return !slices.ContainsFunc(s.Dependents, func(d *display.Node) bool { return counts(d) && d.State.IsProblem() })
}

// Acknowledgment describes how to record that all objects of a failed revision have become ready since; empty if they
// have not.
func (s *Snapshot) Acknowledgment() string {
	if s.Release == nil || s.Release.State != releases.StateFailed || !s.BecameReady() || s.Release.Current().State != releases.RevisionFailed {
		return ""
	}
	if s.Release.Current().Rollback {
		return fmt.Sprintf("to record that: clm rollback %s -n %s", s.Release.Name, s.Release.Namespace)
	}
	return fmt.Sprintf("to record that, apply the same sources again, which also corrects drift: clm apply %s SOURCE... -n %s", s.Release.Name, s.Release.Namespace)
}

// nothingLeft reports whether all objects of the current revision are written, and none is left to be deleted.
func (s *Snapshot) nothingLeft() bool {
	if s.Release.Current() == nil {
		return false
	}
	return !slices.ContainsFunc(s.Dependents, func(d *display.Node) bool {
		switch d.Phase {
		case reconciler.PhaseScheduledForDeletion, reconciler.PhaseDeleting, reconciler.PhaseScheduledForCompletion, reconciler.PhaseCompleting:
			return d.State != display.StateGone
		case reconciler.PhaseScheduledForApplication, reconciler.PhaseCreating, reconciler.PhaseUpdating, reconciler.PhaseReady,
			reconciler.PhaseFailed, reconciler.PhaseKept, reconciler.PhaseCompleted:
		}
		return counts(d) && (d.State == display.StatePending || d.Annotation(purgeOrderKey) != "")
	})
}

// Problems returns the dependents that are not ready although their turn has come: first those of unknown age, then
// from oldest to newest.
func (s *Snapshot) Problems() []*display.Node {
	found := slices.DeleteFunc(slices.Clone(s.Dependents), func(d *display.Node) bool { return !d.State.IsProblem() })
	slices.SortStableFunc(found, func(a, b *display.Node) int { return sinceOf(a).Compare(sinceOf(b)) })
	return found
}

// sinceOf returns the start of the oldest reason why a dependent is not ready. Without reasons, it returns the time of
// creation.
func sinceOf(dependent *display.Node) time.Time {
	var oldest time.Time
	dependent.Walk(func(node *display.Node) {
		for _, reason := range node.Why {
			if !reason.Since.IsZero() && (oldest.IsZero() || reason.Since.Before(oldest)) {
				oldest = reason.Since
			}
		}
	})
	return cmp.Or(oldest, dependent.Created)
}

// Inspection returns the options for package live to read dependents of a release.
func Inspection(c *runner.Connection, release *releases.Release, items []*reconciler.InventoryItem) live.Options {
	return runner.Inspection(c, releases.OwnerID(release.Namespace, release.Name), items)
}

// Unready reports on the dependents and deletion hooks that are not ready according to the error of an operation. It
// returns nil for errors other than NotReadyError.
func Unready(ctx context.Context, c *runner.Connection, release *releases.Release, err error) (*live.Report, error) {
	notReady, found := errors.AsType[*releases.NotReadyError](err)
	if !found {
		return nil, nil
	}
	items := runner.Noticed(slices.Concat(release.Inventory, release.HookInventory), notReady.Waits)
	items = items[:min(len(items), live.MaxExplained)]
	if len(items) == 0 {
		return nil, nil
	}
	report, err := live.Tree(ctx, Inspection(c, release, items))
	if err != nil {
		return nil, err
	}
	// The operation may have waited for a ready object because of other objects, such as the instances of a type. The
	// error has named these.
	report.Nodes = slices.DeleteFunc(report.Nodes, func(node *display.Node) bool { return node.Status == status.CurrentStatus })
	if len(report.Nodes) == 0 {
		return nil, nil
	}
	return report, nil
}
