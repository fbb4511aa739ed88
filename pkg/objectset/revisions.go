// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package objectset

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/utils/ptr"

	"github.com/component-operator/runtime/pkg/component"
	"github.com/component-operator/runtime/pkg/objectset/v1alpha1"
)

// deploymentDecision contains the next writes for a deployment.
type deploymentDecision struct {
	// RollBackTo is the set to copy the spec from, to the template, in a write that also removes spec.rollbackTo. All
	// other writes must wait for it. Nil if there is none.
	RollBackTo v1alpha1.Set
	// Adopt are sets of the series without a controller. All other writes must wait for them, unless they cannot be
	// adopted; see [revisions.Decide].
	Adopt []v1alpha1.Set
	// Release are sets whose ownership must end, because the deployment is deleted without them.
	Release []v1alpha1.Set
	// Create is a set to create, without an owner. Nil if there is none.
	Create v1alpha1.Set
	// Change are changes of sets.
	Change []setChange
	// Delete are sets to delete.
	Delete []v1alpha1.Set
	// Done means that a deployment that is being deleted no longer has sets.
	Done bool
}

// setChange is a change of a set.
type setChange struct {
	Set  v1alpha1.Set
	Want setSettings
}

// revisions are the sets of a deployment. Their methods make the decisions of the deployment, without requests and
// without changing anything.
//
// The revisions of a deployment are the sets that it controls. The newest of them, by spec.revision, is the current
// one. If the template would not produce that one, or it is archived, a new one is created. So a set is never
// reactivated: returning to earlier content creates another set.
//
// The deployment controls the lifecycle state of its sets, with one exception: a set that a user has archived stays
// archived.
//
//	deployment   set                                                            current set        state
//	any          archived                                                       any                Archived
//	paused       any                                                            any                Paused
//	active       the current one                                                -                  Active
//	active       an earlier one                                                 has succeeded      Archived
//	active       an earlier one that is paused, and has nothing left            has not            Archived
//	active       an earlier one that has nothing left                           has not            Paused
//	active       an earlier one that was never rolled out completely            has not            Paused
//	active       any other earlier one                                          has not            Active
//
// "has succeeded" means that the set has the condition Succeeded, and is available now. An earlier set that was rolled
// out continues to correct the objects that it still has, until the current one has succeeded. A set that was not
// rolled out must not continue: its objects belong to outdated content. "has nothing left" means that later sets have
// adopted all objects that were applied. This is certain only for a paused set: any other may be writing.
//
// When the deployment is deleted, the sets are deleted from the oldest to the newest, and the newer ones are paused
// meanwhile: as a set adopts phase by phase, an older set still has the objects of later phases.
type revisions struct {
	deployment v1alpha1.Deployment
	// own are the sets that it controls, the newest first. series are all sets of its series, including those with
	// another controller.
	own, series []v1alpha1.Set
	// names are the names of all sets in the namespace.
	names map[string]bool
	// isCurrent reports whether the template would produce the newest set.
	isCurrent bool
}

// revisionsOf finds the revisions of a deployment among all sets of the kind in its namespace.
func revisionsOf(deployment v1alpha1.Deployment, sets []v1alpha1.Set) revisions {
	r := revisions{deployment: deployment, names: map[string]bool{}}
	for _, set := range sets {
		r.names[set.GetName()] = true
		if metav1.IsControlledBy(set, deployment) {
			r.own = append(r.own, set)
		}
		if set.GetLabels()[v1alpha1.LabelRevisionsOf] == deployment.GetName() {
			r.series = append(r.series, set)
		}
	}
	slices.SortFunc(r.own, func(a, b v1alpha1.Set) int {
		byRevision := cmp.Compare(b.GetSetSpec().Revision, a.GetSetSpec().Revision)
		return cmp.Or(byRevision, b.GetCreationTimestamp().Compare(a.GetCreationTimestamp().Time), strings.Compare(b.GetName(), a.GetName()))
	})
	r.isCurrent = r.hasCurrent()
	return r
}

// Current returns the newest set; nil if there is none.
func (r revisions) Current() v1alpha1.Set {
	if len(r.own) == 0 {
		return nil
	}
	return r.own[0]
}

// Decide returns the next writes. Unless adopts is set, no set is adopted. The error is the reason why no set is
// created: spec.rollbackTo or spec.selector is refused, or there is no higher revision.
func (r revisions) Decide(adopts bool) (deploymentDecision, error) {
	switch {
	case r.deployment.GetDeletionTimestamp() != nil:
		return r.teardown(), nil
	case r.deployment.GetDeploymentSpec().Paused:
		return deploymentDecision{Change: r.changes()}, nil
	}
	if orphans := r.orphans(); adopts && len(orphans) > 0 {
		return deploymentDecision{Adopt: orphans}, nil // one of them may be the newest, or the one to roll back to
	}
	decision := deploymentDecision{Change: r.changes()}
	if err := r.checkSelector(); err != nil {
		return decision, err
	}
	if target := r.deployment.GetDeploymentSpec().RollbackTo; target != nil {
		set, err := r.RollbackTarget(target.Revision)
		if err != nil {
			return decision, err
		}
		return deploymentDecision{RollBackTo: set}, nil
	}
	var err error
	if r.isCurrent {
		decision.Delete = r.surplus()
	} else {
		decision.Create, err = r.next()
	}
	return decision, err
}

// checkSelector refuses a selector that does not match the labels of the template, as Kubernetes does for Deployments.
func (r revisions) checkSelector() error {
	declared := r.deployment.GetDeploymentSpec().Selector
	if declared == nil {
		return nil
	}
	selector, err := metav1.LabelSelectorAsSelector(declared)
	if err != nil {
		return fmt.Errorf("spec.selector: %w", err)
	}
	if own := labels.Set(r.deployment.NewSet().GetLabels()); !selector.Matches(own) {
		return fmt.Errorf("spec.selector: invalid value %q; must match spec.template.metadata.labels, which are %q", metav1.FormatLabelSelector(declared), own)
	}
	return nil
}

// hasCurrent reports whether the template would produce the newest set: the set has that content, or was made from this
// template and changed by the API server. If two sets have the highest revision, neither is current: they cannot adopt
// each other's objects.
func (r revisions) hasCurrent() bool {
	current := r.Current()
	switch {
	case current == nil, isArchived(current), current.GetDeletionTimestamp() != nil:
		return false
	case len(r.own) > 1 && r.own[1].GetSetSpec().Revision == current.GetSetSpec().Revision:
		return false
	default:
		return r.deployment.Makes(current) || current.GetAnnotations()[v1alpha1.AnnotationTemplateDigest] == v1alpha1.TemplateDigest(r.deployment)
	}
}

// orphans returns the sets of the series without a controller that have an allowed revision.
func (r revisions) orphans() []v1alpha1.Set {
	var found []v1alpha1.Set
	for _, set := range r.series {
		if metav1.GetControllerOfNoCopy(set) == nil && set.GetDeletionTimestamp() == nil && set.GetSetSpec().Revision <= v1alpha1.MaxRevision {
			found = append(found, set)
		}
	}
	return found
}

// next returns the set to create from the template. Its revision is higher than the last one and that of any set of the
// series, and its name is free. If there is no such revision, the error names the set with the highest one.
func (r revisions) next() (v1alpha1.Set, error) {
	set, revision, holder := r.deployment.NewSet(), lastRevision(r.deployment), ""
	for _, other := range slices.Concat(r.own, r.series) {
		if others := other.GetSetSpec().Revision; others > revision {
			revision, holder = others, other.GetName()
		}
	}
	if revision >= v1alpha1.MaxRevision {
		return nil, fmt.Errorf("no set is created, because its revision would have to be higher than that of set %s, %d; must be at most %d", holder, revision, v1alpha1.MaxRevision)
	}
	revision++
	name := func() string { return fmt.Sprintf("%s-%d", r.deployment.GetName(), revision) }
	for r.names[name()] && revision < v1alpha1.MaxRevision {
		revision++
	}
	set.SetName(name())
	set.GetSetSpec().Revision = revision
	set.SetAnnotations(with(set.GetAnnotations(), v1alpha1.AnnotationTemplateDigest, v1alpha1.TemplateDigest(r.deployment)))
	r.currentSettings(settingsOf(set)).ApplyTo(set)
	return set, nil
}

// lastRevision returns the highest revision of a deployment so far, from its status. If no higher one would be allowed,
// it returns 0: then only the sets count, and deleting the one with that revision is enough.
func lastRevision(deployment v1alpha1.Deployment) int64 {
	if last := deployment.GetDeploymentStatus().Revision; last < v1alpha1.MaxRevision {
		return last
	}
	return 0
}

// currentSettings returns the settings of the current set. It keeps a change cause if the deployment has none.
func (r revisions) currentSettings(has setSettings) setSettings {
	spec := r.deployment.GetDeploymentSpec()
	want := setSettings{Lifecycle: v1alpha1.LifecycleStateActive, Deadline: spec.ProgressDeadlineSeconds, Series: r.deployment.GetName()}
	want.ChangeCause = cmp.Or(r.deployment.GetAnnotations()[v1alpha1.AnnotationChangeCause], has.ChangeCause)
	if spec.Paused {
		want.Lifecycle = v1alpha1.LifecycleStatePaused
	}
	return want
}

// changes returns the changes of existing sets.
func (r revisions) changes() []setChange {
	var found []setChange
	for i, set := range r.own {
		has := settingsOf(set)
		want := has
		if i == 0 && r.isCurrent {
			want = r.currentSettings(has)
		}
		want.Series, want.Lifecycle = r.deployment.GetName(), r.lifecycle(i)
		if want != has {
			found = append(found, setChange{Set: set, Want: want})
		}
	}
	return found
}

// lifecycle returns the desired state of a set; see the table at revisions.
func (r revisions) lifecycle(i int) v1alpha1.LifecycleState {
	set, isNewest := r.own[i], i == 0 && r.isCurrent
	switch {
	case isArchived(set), set.GetDeletionTimestamp() != nil:
		return lifecycleOf(set)
	case r.deployment.GetDeploymentSpec().Paused:
		return v1alpha1.LifecycleStatePaused
	case isNewest:
		return v1alpha1.LifecycleStateActive
	case r.isCurrent && (hasSucceeded(r.own[0]) || isPaused(set) && hasNothingLeft(set)):
		return v1alpha1.LifecycleStateArchived
	case hasNothingLeft(set), !wasRolledOut(set):
		return v1alpha1.LifecycleStatePaused
	default:
		return v1alpha1.LifecycleStateActive
	}
}

// surplus returns the oldest archived sets beyond the history limit. Sets that still have objects do not count.
func (r revisions) surplus() []v1alpha1.Set {
	kept, limit := 0, int(ptr.Deref(r.deployment.GetDeploymentSpec().RevisionHistoryLimit, 10))
	var found []v1alpha1.Set
	for _, set := range r.own[1:] {
		switch {
		case !isOver(set) || set.GetDeletionTimestamp() != nil:
		case kept < limit:
			kept++
		default:
			found = append(found, set)
		}
	}
	return found
}

// teardown decides for a deployment that is being deleted: archived sets and the oldest other one are deleted, and the
// rest is paused.
func (r revisions) teardown() deploymentDecision {
	decision := deploymentDecision{Done: len(r.own) == 0}
	if slices.Contains(r.deployment.GetFinalizers(), metav1.FinalizerOrphanDependents) {
		// The garbage collector does the same, but misses sets that it has not seen yet.
		return deploymentDecision{Release: r.own}
	}
	oldest := true
	for _, set := range slices.Backward(r.own) {
		switch {
		case isOver(set):
			decision.Delete = append(decision.Delete, set)
		case oldest:
			oldest = false
			decision.Delete = append(decision.Delete, set)
		case lifecycleOf(set) == v1alpha1.LifecycleStateActive:
			want := settingsOf(set)
			want.Lifecycle = v1alpha1.LifecycleStatePaused
			decision.Change = append(decision.Change, setChange{Set: set, Want: want})
		}
	}
	decision.Delete = slices.DeleteFunc(decision.Delete, func(set v1alpha1.Set) bool { return set.GetDeletionTimestamp() != nil })
	return decision
}

// RollbackTarget returns the set to roll back to. Revision 0 means the latest one before the current one that has
// succeeded.
func (r revisions) RollbackTarget(revision int64) (v1alpha1.Set, error) {
	var allowed []string
	for i, set := range r.own {
		own := set.GetSetSpec().Revision
		if revision == 0 && everSucceeded(set) && (i > 0 || !r.isCurrent) || revision > 0 && revision == own {
			return set, nil
		}
		if own > 0 {
			allowed = append(allowed, fmt.Sprint(own))
		}
	}
	if revision == 0 {
		return nil, fmt.Errorf("spec.rollbackTo: no set before the current one has succeeded; spec.rollbackTo.revision must be one of: %s", strings.Join(allowed, ", "))
	}
	return nil, fmt.Errorf("spec.rollbackTo.revision: invalid value %d; must be one of: %s", revision, strings.Join(allowed, ", "))
}

// lifecycleOf returns the lifecycle state of a set.
func lifecycleOf(set v1alpha1.Set) v1alpha1.LifecycleState {
	return v1alpha1.LifecycleState(set.GetSetSpec().GetPresence())
}

func isArchived(set v1alpha1.Set) bool {
	return lifecycleOf(set) == v1alpha1.LifecycleStateArchived
}

// condition returns a condition of a set for its current generation, or an empty one.
func condition(set v1alpha1.Set, name component.ConditionType) component.Condition {
	found, ok := set.GetStatus().GetCondition(name)
	if !ok || found.ObservedGeneration != set.GetGeneration() {
		return component.Condition{}
	}
	return found
}

func isTrue(set v1alpha1.Set, name component.ConditionType) bool {
	return condition(set, name).Status == component.ConditionTrue
}

// wasTrue reports whether a condition of a set is true, for any generation.
func wasTrue(set v1alpha1.Set, name component.ConditionType) bool {
	found, _ := set.GetStatus().GetCondition(name)
	return found.Status == component.ConditionTrue
}

// isAvailable reports whether a set is available. The content of a set never changes, so an observation from before a
// change of its settings remains valid.
func isAvailable(set v1alpha1.Set) bool { return wasTrue(set, v1alpha1.ConditionTypeAvailable) }

// isOver reports whether a set is archived, and no longer has objects.
func isOver(set v1alpha1.Set) bool {
	return isTrue(set, v1alpha1.ConditionTypeArchived)
}

// everSucceeded reports whether a set has ever succeeded, in any generation.
func everSucceeded(set v1alpha1.Set) bool { return wasTrue(set, v1alpha1.ConditionTypeSucceeded) }

// hasSucceeded reports whether a set has succeeded, and is available now.
func hasSucceeded(set v1alpha1.Set) bool {
	return everSucceeded(set) && isAvailable(set)
}

// totalOf returns the sum of phases.
func totalOf(phases []v1alpha1.PhaseStatus) (total v1alpha1.PhaseStatus) {
	for _, phase := range phases {
		total.Objects += phase.Objects
		total.Applied += phase.Applied
		total.Available += phase.Available
		total.Progressed += phase.Progressed
	}
	return total
}

// wasRolledOut reports whether all objects of a set were applied.
func wasRolledOut(set v1alpha1.Set) bool {
	total := totalOf(set.GetSetStatus().Phases)
	return everSucceeded(set) || len(set.GetSetStatus().Phases) > 0 && total.Applied+total.Progressed >= total.Objects
}

// hasNothingLeft reports whether later sets have adopted all applied objects of a set, according to its status.
func hasNothingLeft(set v1alpha1.Set) bool {
	return len(set.GetSetStatus().Phases) > 0 && totalOf(set.GetSetStatus().Phases).Applied == 0
}

// isPaused reports whether a set is paused and its status confirms it. Then the set writes nothing.
func isPaused(set v1alpha1.Set) bool {
	return lifecycleOf(set) == v1alpha1.LifecycleStatePaused && isTrue(set, v1alpha1.ConditionTypePaused)
}

// setSettings are the properties of its sets that a deployment controls, besides their content: the lifecycle state,
// the progress deadline in seconds, the series, and the change cause.
type setSettings struct {
	Lifecycle   v1alpha1.LifecycleState
	Deadline    int32
	Series      string
	ChangeCause string
}

// settingsOf returns the settings of a set.
func settingsOf(set v1alpha1.Set) setSettings {
	return setSettings{
		Lifecycle: lifecycleOf(set), Deadline: set.GetSetSpec().ProgressDeadlineSeconds,
		Series: set.GetLabels()[v1alpha1.LabelRevisionsOf], ChangeCause: set.GetAnnotations()[v1alpha1.AnnotationChangeCause],
	}
}

// ApplyTo gives a set the settings.
func (s setSettings) ApplyTo(set v1alpha1.Set) {
	spec := set.GetSetSpec()
	spec.LifecycleState, spec.ProgressDeadlineSeconds = s.Lifecycle, s.Deadline
	set.SetLabels(with(set.GetLabels(), v1alpha1.LabelRevisionsOf, s.Series))
	set.SetAnnotations(with(set.GetAnnotations(), v1alpha1.AnnotationChangeCause, s.ChangeCause))
}

// with returns a copy of a map with an entry; without it if the value is empty.
func with(entries map[string]string, key, value string) map[string]string {
	result := labels.Merge(entries, labels.Set{key: value})
	if value == "" {
		delete(result, key)
	}
	return result
}
