// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package objectset

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/utils/ptr"

	"github.com/component-operator/runtime/pkg/component"
	"github.com/component-operator/runtime/pkg/objectset/v1alpha1"
)

// deploymentDecision is what is to be done for a deployment.
type deploymentDecision struct {
	// RollBackTo is a set whose spec is to be copied to the template, by a write that also removes spec.rollbackTo.
	// Nothing else is to be done before. Nil if there is none.
	RollBackTo v1alpha1.Set
	// Adopt are sets of the series without a controller. Nothing else is to be done before, unless they cannot be
	// adopted; see [revisions.WithoutOrphans].
	Adopt []v1alpha1.Set
	// Release are sets whose ownership is to end, because the deployment is deleted without them.
	Release []v1alpha1.Set
	// Create is a set to create, without an owner. Nil if there is none.
	Create v1alpha1.Set
	// Change are changes of sets.
	Change []setChange
	// Delete are sets to delete.
	Delete []v1alpha1.Set
	// Done reports that a deleted deployment has no sets any more.
	Done bool
}

// setChange is a change of a set.
type setChange struct {
	Set  v1alpha1.Set
	Want setSettings
}

// revisions are the sets of a deployment. Their methods decide what the deployment does with them, without requests and
// without changing anything.
//
// A deployment looks at the sets that it controls, its revisions. The newest of them, by spec.revision, is the current
// one. If the template does not make that one, or it is archived, a new one is needed. So a set is never reactivated:
// returning to an earlier content makes another set.
//
// The lifecycle state of a set belongs to the deployment, but for one thing: a set that somebody has archived stays
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
// out goes on correcting what it still has, until the current one has succeeded. One that was not must not go on: its
// objects belong to outdated content. "has nothing left" means that later sets have adopted all
// objects that were applied. It is certain only of a set that is paused: another one may be writing.
//
// When the deployment is deleted, the sets are deleted from the oldest to the newest, and the newer ones are paused
// meanwhile: as a set adopts phase by phase, what an older one still has comes later in the order of the phases.
type revisions struct {
	deployment v1alpha1.Deployment
	// own are those that it controls, the newest first. Series are all sets of its series, with those that others
	// control.
	own, series []v1alpha1.Set
	// names are those of all sets in the namespace.
	names map[string]bool
	// isCurrent reports that the newest set is the one that the template makes.
	isCurrent  bool
	adoptsNone bool
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

// WithoutOrphans returns revisions that adopt no sets.
func (r revisions) WithoutOrphans() revisions {
	r.adoptsNone = true
	return r
}

// Decide returns what is to be done. The error says why no set is created: because spec.rollbackTo is refused, or
// because there is no higher revision.
func (r revisions) Decide() (deploymentDecision, error) {
	switch {
	case r.deployment.GetDeletionTimestamp() != nil:
		return r.teardown(), nil
	case r.deployment.GetDeploymentSpec().Paused:
		return deploymentDecision{Change: r.changes()}, nil
	}
	if orphans := r.orphans(); len(orphans) > 0 {
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

// hasCurrent reports whether the newest set is the one that the template makes: because it has that content, or was
// made from this template and changed by the API server. revisionsOf two sets with the highest revision, none is: neither can
// adopt what the other has.
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

// orphans are sets of the series without a controller, and with a revision that is allowed.
func (r revisions) orphans() []v1alpha1.Set {
	if r.adoptsNone {
		return nil
	}
	var found []v1alpha1.Set
	for _, set := range r.series {
		if metav1.GetControllerOfNoCopy(set) == nil && set.GetDeletionTimestamp() == nil && set.GetSetSpec().Revision <= v1alpha1.MaxRevision {
			found = append(found, set)
		}
	}
	return found
}

// next returns the set that the template makes. Its revision is higher than that of any set of the series, and such
// that its name is free. The error says that there is no such revision, and which set has the highest one.
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

// lastRevision returns the highest revision that a deployment has had, as its status says. If no higher one would be
// allowed, only the sets count, so that it is enough to delete the one with that revision.
func lastRevision(deployment v1alpha1.Deployment) int64 {
	if last := deployment.GetDeploymentStatus().Revision; last < v1alpha1.MaxRevision {
		return last
	}
	return 0
}

// currentSettings returns the settings of the current set. A change cause is not removed.
func (r revisions) currentSettings(has setSettings) setSettings {
	spec := r.deployment.GetDeploymentSpec()
	want := setSettings{Lifecycle: v1alpha1.LifecycleStateActive, Deadline: spec.ProgressDeadlineSeconds, Series: r.deployment.GetName()}
	want.ChangeCause = cmp.Or(r.deployment.GetAnnotations()[v1alpha1.AnnotationChangeCause], has.ChangeCause)
	if spec.Paused {
		want.Lifecycle = v1alpha1.LifecycleStatePaused
	}
	return want
}

// changes returns how sets have to change.
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

// lifecycle returns the state that a set is to have. The documentation of the package has the table.
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

// surplus returns the oldest of the archived sets beyond the history limit. One that still has objects is not counted.
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

// teardown deletes archived sets, and the oldest of the others. The rest is paused.
func (r revisions) teardown() deploymentDecision {
	decision := deploymentDecision{Done: len(r.own) == 0}
	if slices.Contains(r.deployment.GetFinalizers(), metav1.FinalizerOrphanDependents) {
		// The garbage collector does the same, but overlooks sets of which it has not heard yet.
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

// RollbackTarget returns the set to roll back to. Revision 0 stands for the latest one before the current one that has
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

// condition returns a condition of a set that is about its current generation, or an empty one.
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

// wasTrue reports whether a condition of a set is true, whatever generation it is about.
func wasTrue(set v1alpha1.Set, name component.ConditionType) bool {
	found, _ := set.GetStatus().GetCondition(name)
	return found.Status == component.ConditionTrue
}

// isAvailable reports whether a set is available. The content of a set never changes, so what was seen before the last
// change of its settings holds.
func isAvailable(set v1alpha1.Set) bool { return wasTrue(set, v1alpha1.ConditionTypeAvailable) }

// isOver reports whether a set is archived, and has no objects any more.
func isOver(set v1alpha1.Set) bool {
	return isTrue(set, v1alpha1.ConditionTypeArchived)
}

// everSucceeded reports whether a set has ever succeeded. That stays, whatever generation it was.
func everSucceeded(set v1alpha1.Set) bool { return wasTrue(set, v1alpha1.ConditionTypeSucceeded) }

// hasSucceeded reports whether a set has succeeded, and is available now.
func hasSucceeded(set v1alpha1.Set) bool {
	return everSucceeded(set) && isAvailable(set)
}

// counts adds up what the phases of a set have.
func counts(set v1alpha1.Set) (total v1alpha1.PhaseStatus) {
	for _, phase := range set.GetSetStatus().Phases {
		total.Objects += phase.Objects
		total.Applied += phase.Applied
		total.Progressed += phase.Progressed
	}
	return total
}

// wasRolledOut reports whether all objects of a set were applied.
func wasRolledOut(set v1alpha1.Set) bool {
	total := counts(set)
	return everSucceeded(set) || len(set.GetSetStatus().Phases) > 0 && total.Applied+total.Progressed >= total.Objects
}

// hasNothingLeft reports whether later sets have adopted all objects of a set that were applied, as far as the set has
// seen.
func hasNothingLeft(set v1alpha1.Set) bool {
	return len(set.GetSetStatus().Phases) > 0 && counts(set).Applied == 0
}

// isPaused reports whether a set is paused, and has noticed that. It writes nothing then.
func isPaused(set v1alpha1.Set) bool {
	return lifecycleOf(set) == v1alpha1.LifecycleStatePaused && isTrue(set, v1alpha1.ConditionTypePaused)
}

// setSettings are what a deployment decides about its sets, besides their content: the lifecycle state, the progress
// deadline in seconds, the series, and the change cause.
type setSettings struct {
	Lifecycle   v1alpha1.LifecycleState
	Deadline    int32
	Series      string
	ChangeCause string
}

// settingsOf returns what a set has.
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
	result := map[string]string{}
	maps.Copy(result, entries)
	delete(result, key)
	if value != "" {
		result[key] = value
	}
	return result
}
