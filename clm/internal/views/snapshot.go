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

	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/component-operator/runtime/clm/internal/live"
	"github.com/component-operator/runtime/clm/internal/releases"
	"github.com/component-operator/runtime/clm/internal/runner"
	"github.com/component-operator/runtime/internal/display"
	"github.com/component-operator/runtime/pkg/component"
	"github.com/component-operator/runtime/pkg/objectset/v1alpha1"
	"github.com/component-operator/runtime/pkg/reconciler"
	"github.com/component-operator/runtime/pkg/status"
	"github.com/component-operator/runtime/pkg/types"
)

// Target is what a Snapshot shows: a release, a component, or a set or a deployment of sets.
type Target struct {
	// Mapping of the type; nil for a release.
	Mapping *meta.RESTMapping
	// Namespace is empty for cluster-scoped components.
	Namespace, Name string
}

// Snapshot is the state of a release, of a component, or of a set or a deployment of sets, at one moment.
type Snapshot struct {
	Target Target
	// Release is the record; nil if the target is no release, or does not exist.
	Release *releases.Release
	// Holder is the process that works on the release; nil if there is none, or if the release is neither being applied
	// nor deleted.
	Holder *releases.Holder
	// Silent means that the holder seems to be dead, because it has not renewed the lock for too long.
	Silent bool
	// Component is nil if the target is none, or does not exist.
	Component *Component
	// Sets is nil if the target is no set and no deployment, or does not exist.
	Sets *ObjectSets
	// Trees are the objects of the current set, or of all sets that are not archived.
	Trees []SetTree
	// Dependents in the order of their waves; those of all Trees.
	Dependents []*display.Node
	// Events are those about the dependents and what they own, those of each of the Trees sorted by time; only if they were
	// requested.
	Events []live.Event
	// Notes describe what is missing because the user may not read it.
	Notes []display.Note

	// deadline is the time after which the snapshot may be outdated although no watch reports a change; zero if none.
	deadline time.Duration
	// inspections say how to read the dependents: those of a release or a component, or of each set.
	inspections []inspection
	allSets     bool
}

// inspection has the options for package live to read the dependents of a target, or the objects of a set.
type inspection struct {
	name string       // of the set
	set  v1alpha1.Set // nil if the target is no set and no deployment
	live.Options
}

// looking reads the dependents of an inspection.
type looking func(ctx context.Context, of inspection) (*live.Report, error)

// Exists reports whether the target exists.
func (s *Snapshot) Exists() bool { return s.Release != nil || s.Component != nil || s.Sets != nil }

// Failed reports whether the target needs somebody to act.
func (s *Snapshot) Failed() bool {
	switch {
	case s.Release != nil:
		return s.Release.State == releases.StateFailed
	case s.Component != nil:
		return s.Component.is(component.ConditionTypeStalled)
	default:
		return s.Sets != nil && s.Sets.isTrue(v1alpha1.DeploymentStalled)
	}
}

// Look reads a snapshot of a release. Reasons why dependents are not ready take further requests. If the release does
// not exist, it returns an empty snapshot.
func Look(ctx context.Context, c *runner.Connection, namespace, name string, reasons live.Reasons) (*Snapshot, error) {
	return LookAt(ctx, c, Following{Target: Target{Namespace: namespace, Name: name}, Reasons: reasons})
}

// LookAt reads a snapshot of the target of a Following. If it does not exist, the snapshot is empty.
func LookAt(ctx context.Context, c *runner.Connection, following Following) (*Snapshot, error) {
	return lookAt(ctx, c, following, func(ctx context.Context, of inspection) (*live.Report, error) { return live.Tree(ctx, of.Options) })
}

// lookAt reads the record, then the dependents, and then the lock.
func lookAt(ctx context.Context, c *runner.Connection, following Following, look looking) (*Snapshot, error) {
	for {
		snapshot := &Snapshot{Target: following.Target, allSets: following.AllSets}
		if err := snapshot.find(ctx, c); err != nil || !snapshot.Exists() {
			return snapshot, err
		}
		for i := range snapshot.inspections {
			snapshot.inspections[i].Reasons, snapshot.inspections[i].Events = following.Reasons, following.Events
		}
		if err := snapshot.read(ctx, look); err != nil {
			return nil, err
		}
		if release := snapshot.Release; release != nil && (release.State == releases.StateApplying || release.State == releases.StateDeleting) {
			var err error
			if snapshot.Holder, err = c.Records().Holder(ctx, release.Namespace, release.Name); err != nil {
				return nil, err
			}
			snapshot.checkHolder(time.Now())
		}
		if !snapshot.Abandoned() {
			return snapshot, nil
		}
		// The process that worked on the release may have ended while the release was read.
		if unchanged, err := c.Records().Unchanged(ctx, snapshot.Release); err != nil || unchanged {
			return snapshot, err
		}
	}
}

// find reads the record of the target, if that exists.
func (s *Snapshot) find(ctx context.Context, c *runner.Connection) (err error) {
	target := s.Target
	_, isSets := target.sets()
	switch {
	case isSets:
		if s.Sets, err = LookAtObjects(ctx, c.Client(), target); err != nil || s.Sets == nil {
			return err
		}
		return s.inspectSets(c)
	case target.Mapping != nil:
		if s.Component, err = lookAtComponent(ctx, c, target); s.Component != nil && s.Component.Cluster == "" {
			s.inspections = []inspection{{Options: s.Component.inspection(c)}}
		}
	default:
		if s.Release, err = c.Records().Get(ctx, target.Namespace, target.Name); err != nil {
			s.Release = nil
			if errors.Is(err, releases.ErrNotFound) {
				return nil
			}
			return err
		}
		s.inspections = []inspection{{Options: Inspection(c, s.Release, s.Release.Inventory)}}
	}
	return err
}

// inspectSets finds out how to read the objects of the current set, or of all that are not archived.
func (s *Snapshot) inspectSets(c *runner.Connection) error {
	sets := s.Sets.active()
	if !s.allSets {
		sets = sets[:min(len(sets), 1)]
	}
	for _, set := range sets {
		options, err := s.Sets.inspection(c.Client(), set)
		if err != nil {
			return fmt.Errorf("set %s: %w", set.GetName(), err)
		}
		s.inspections = append(s.inspections, inspection{name: set.GetName(), set: set, Options: options})
	}
	return nil
}

// Inspect returns the options for package live to read the dependents of a target; those of the current set of a
// deployment. The error says if the target does not exist.
func Inspect(ctx context.Context, c *runner.Connection, target Target) (live.Options, error) {
	found := &Snapshot{Target: target}
	err := found.find(ctx, c)
	switch {
	case err != nil:
		return live.Options{}, err
	case !found.Exists():
		return live.Options{}, target.Absent(ctx, c)
	case found.Sets != nil && len(found.Sets.Sets) == 0:
		return live.Options{}, fmt.Errorf("%s has no sets yet", found.Sets.Target)
	case found.Component != nil && found.Component.Cluster != "":
		return live.Options{}, releases.Refused("%s: the dependents are in another cluster: %s", display.ObjectOf(found.Component.Object), found.Component.Cluster)
	}
	if found.Sets != nil {
		return found.Sets.inspection(c.Client(), found.Sets.Sets[0])
	}
	return found.inspections[0].Options, nil
}

// Absent returns the error for a target that does not exist.
func (t Target) Absent(ctx context.Context, c *runner.Connection) error {
	if t.Mapping == nil {
		return c.Absent(ctx, t.Namespace, t.Name)
	}
	return fmt.Errorf("%s does not exist", t)
}

// String returns the kind of a component, or "release", the namespace if there is one, and the name.
func (t Target) String() string {
	kind, name := "release", t.Name
	if t.Mapping != nil {
		kind = t.Mapping.GroupVersionKind.Kind
	}
	if t.Namespace != "" {
		name = t.Namespace + "/" + name
	}
	return kind + " " + name
}

// Command returns a command line of clm about the target.
func (t Target) Command(name string) string {
	text := "clm " + name + " "
	if t.Mapping != nil {
		text += t.Mapping.Resource.GroupResource().String() + "/"
	}
	text += t.Name
	if t.Namespace != "" {
		text += " -n " + t.Namespace
	}
	return text
}

// read reads the dependents.
func (s *Snapshot) read(ctx context.Context, look looking) error {
	switch {
	case s.Sets != nil:
		return s.readSets(ctx, look)
	case len(s.inspections) == 0:
		s.takeDependents(s.Component.recorded())
		return nil
	}
	report, err := look(ctx, s.inspections[0])
	if err != nil {
		return err
	}
	s.Notes, s.Events, s.deadline = report.Notes, report.Events, report.Deadline
	s.takeDependents(report.Nodes)
	return nil
}

// within moves the deadline up; zero is none.
func (s *Snapshot) within(deadline time.Duration) {
	if deadline > 0 && (s.deadline == 0 || deadline < s.deadline) {
		s.deadline = deadline
	}
}

// readSets reads the objects of the sets.
func (s *Snapshot) readSets(ctx context.Context, look looking) error {
	for _, of := range s.inspections {
		report, err := s.Sets.tree(ctx, of, look)
		if err != nil {
			return fmt.Errorf("set %s: %w", of.set.GetName(), err)
		}
		s.Dependents = append(s.Dependents, report.Nodes...)
		s.within(report.Deadline)
		s.Trees = append(s.Trees, SetTree{Set: of.set, Nodes: report.Nodes})
		s.Events = append(s.Events, report.Events...)
		for _, note := range report.Notes {
			if !slices.Contains(s.Notes, note) {
				s.Notes = append(s.Notes, note)
			}
		}
	}
	return nil
}

// checkHolder decides whether the holder of the lock seems to be dead. If not, the next look is due when the lock
// expires.
func (s *Snapshot) checkHolder(now time.Time) {
	if s.Holder == nil {
		return
	}
	// Clocks differ.
	s.Silent = now.Sub(s.Holder.Renewed) > 2*s.Holder.Validity
	if !s.Silent {
		s.within(s.Holder.Validity)
	}
}

// takeDependents sets the states of the dependents, and sorts them.
func (s *Snapshot) takeDependents(nodes []*display.Node) {
	for _, node := range nodes {
		lostLabel := s.confirmOwner(node)
		recognizeFinished(node)
		node.State = stateOf(node, s.operator())
		if s.isBeingDeleted() {
			node.State, node.Wave = stateInDeletion(node, lostLabel), node.Item.DeleteOrder
		}
	}
	display.Sort(nodes)
	s.Dependents = nodes
}

func (s *Snapshot) isBeingDeleted() bool {
	if s.Release != nil {
		return s.Release.State == releases.StateDeleting
	}
	return s.Component.Object.GetDeletionTimestamp() != nil
}

// operator returns the prefix of the annotations of the dependents.
func (s *Snapshot) operator() string {
	if s.Component != nil {
		return s.Component.operator
	}
	return releases.ReconcilerName
}

// confirmOwner sets the status of a dependent that does not have the label of the release, or belongs to another
// component. It reports whether the object is still a dependent.
func (s *Snapshot) confirmOwner(node *display.Node) (lostLabel bool) {
	if node.Live == nil {
		return false
	}
	if s.Component != nil {
		owner := node.Annotation(s.Component.operator + "/" + types.AnnotationKeySuffixOwnerId)
		if owner != "" && owner != s.Component.id {
			node.Status, node.Message = display.StatusStolen, "belongs to "+owner
		}
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

// stateOf returns the state of a dependent of an owner that is not being deleted.
func stateOf(node *display.Node, operator string) display.State {
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
		if node.Item.Digest == "" || node.Annotation(operator+"/"+types.AnnotationKeySuffixDigest) != node.Item.Digest {
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

// stateInDeletion returns the state of a dependent of an owner that is being deleted.
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
// the process that applied it did not wait for that, but left nothing to be done. A component, a set or a deployment is
// ready if its operator says so about the present generation.
func (s *Snapshot) Ready() bool {
	switch {
	case s.Component != nil:
		return s.Component.Status.ObservedGeneration == s.Component.Object.GetGeneration() && s.Component.is(component.ConditionTypeReady)
	case s.Sets != nil:
		return s.Sets.isReady()
	}
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
		return counts(d) && (d.State == display.StatePending || d.Annotation(releases.ReconcilerName+"/"+types.AnnotationKeySuffixPurgeOrder) != "")
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
