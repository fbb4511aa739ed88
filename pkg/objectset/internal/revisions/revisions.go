// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package revisions

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/utils/ptr"

	"github.com/component-operator/runtime/pkg/objectset/v1alpha1"
)

// Decision is what is to be done for a deployment.
type Decision struct {
	// RollBackTo is a set whose spec is to be copied to the template, by a write that also removes spec.rollbackTo.
	// Nothing else is to be done before. Nil if there is none.
	RollBackTo v1alpha1.Set
	// Adopt are sets of the series without a controller. Nothing else is to be done before, unless they cannot be
	// adopted; see [Revisions.WithoutOrphans].
	Adopt []v1alpha1.Set
	// Release are sets whose ownership is to end, because the deployment is deleted without them.
	Release []v1alpha1.Set
	// Create is a set to create, without an owner. Nil if there is none.
	Create v1alpha1.Set
	// Change are changes of sets.
	Change []Change
	// Delete are sets to delete.
	Delete []v1alpha1.Set
	// Done reports that a deleted deployment has no sets any more.
	Done bool
}

// Change is a change of a set.
type Change struct {
	Set  v1alpha1.Set
	Want Settings
}

// Revisions are the sets of a deployment.
type Revisions struct {
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

// Of finds the revisions of a deployment among all sets of the kind in its namespace.
func Of(deployment v1alpha1.Deployment, sets []v1alpha1.Set) Revisions {
	r := Revisions{deployment: deployment, names: map[string]bool{}}
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

// All returns the sets, the newest first.
func (r Revisions) All() []v1alpha1.Set { return r.own }

// Current returns the newest set; nil if there is none.
func (r Revisions) Current() v1alpha1.Set {
	if len(r.own) == 0 {
		return nil
	}
	return r.own[0]
}

// WithoutOrphans returns revisions that adopt no sets.
func (r Revisions) WithoutOrphans() Revisions {
	r.adoptsNone = true
	return r
}

// Decide returns what is to be done. The error says why no set is created: because spec.rollbackTo is refused, or
// because there is no higher revision.
func (r Revisions) Decide() (Decision, error) {
	switch {
	case r.deployment.GetDeletionTimestamp() != nil:
		return r.teardown(), nil
	case r.deployment.GetDeploymentSpec().Paused:
		return Decision{Change: r.changes()}, nil
	}
	if orphans := r.orphans(); len(orphans) > 0 {
		return Decision{Adopt: orphans}, nil // one of them may be the newest, or the one to roll back to
	}
	decision := Decision{Change: r.changes()}
	if err := r.checkSelector(); err != nil {
		return decision, err
	}
	if target := r.deployment.GetDeploymentSpec().RollbackTo; target != nil {
		set, err := r.RollbackTarget(target.Revision)
		if err != nil {
			return decision, err
		}
		return Decision{RollBackTo: set}, nil
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
func (r Revisions) checkSelector() error {
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
// made from this template and changed by the API server. Of two sets with the highest revision, none is: neither can
// adopt what the other has.
func (r Revisions) hasCurrent() bool {
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
func (r Revisions) orphans() []v1alpha1.Set {
	var found []v1alpha1.Set
	if r.adoptsNone {
		return nil
	}
	for _, set := range r.series {
		if metav1.GetControllerOfNoCopy(set) == nil && set.GetDeletionTimestamp() == nil && set.GetSetSpec().Revision <= v1alpha1.MaxRevision {
			found = append(found, set)
		}
	}
	return found
}

// next returns the set that the template makes. Its revision is higher than that of any set of the series, and such
// that its name is free. The error says that there is no such revision, and which set has the highest one.
func (r Revisions) next() (v1alpha1.Set, error) {
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
func (r Revisions) currentSettings(has Settings) Settings {
	spec := r.deployment.GetDeploymentSpec()
	want := Settings{Lifecycle: v1alpha1.LifecycleStateActive, Deadline: spec.ProgressDeadlineSeconds, Series: r.deployment.GetName()}
	want.ChangeCause = cmp.Or(r.deployment.GetAnnotations()[v1alpha1.AnnotationChangeCause], has.ChangeCause)
	if spec.Paused {
		want.Lifecycle = v1alpha1.LifecycleStatePaused
	}
	return want
}

// changes returns how sets have to change.
func (r Revisions) changes() []Change {
	var found []Change
	for i, set := range r.own {
		has := settingsOf(set)
		want := has
		if i == 0 && r.isCurrent {
			want = r.currentSettings(has)
		}
		want.Series, want.Lifecycle = r.deployment.GetName(), r.lifecycle(i)
		if want != has {
			found = append(found, Change{Set: set, Want: want})
		}
	}
	return found
}

// lifecycle returns the state that a set is to have. The documentation of the package has the table.
func (r Revisions) lifecycle(i int) v1alpha1.LifecycleState {
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
func (r Revisions) surplus() []v1alpha1.Set {
	kept, limit := 0, int(ptr.Deref(r.deployment.GetDeploymentSpec().RevisionHistoryLimit, 10))
	var found []v1alpha1.Set
	for _, set := range r.own[1:] {
		switch {
		case !IsOver(set) || set.GetDeletionTimestamp() != nil:
		case kept < limit:
			kept++
		default:
			found = append(found, set)
		}
	}
	return found
}

// teardown deletes archived sets, and the oldest of the others. The rest is paused.
func (r Revisions) teardown() Decision {
	decision := Decision{Done: len(r.own) == 0}
	if slices.Contains(r.deployment.GetFinalizers(), metav1.FinalizerOrphanDependents) {
		// The garbage collector does the same, but overlooks sets of which it has not heard yet.
		return Decision{Release: r.own}
	}
	oldest := true
	for _, set := range slices.Backward(r.own) {
		switch {
		case IsOver(set):
			decision.Delete = append(decision.Delete, set)
		case oldest:
			oldest = false
			decision.Delete = append(decision.Delete, set)
		case lifecycleOf(set) == v1alpha1.LifecycleStateActive:
			want := settingsOf(set)
			want.Lifecycle = v1alpha1.LifecycleStatePaused
			decision.Change = append(decision.Change, Change{Set: set, Want: want})
		}
	}
	decision.Delete = slices.DeleteFunc(decision.Delete, func(set v1alpha1.Set) bool { return set.GetDeletionTimestamp() != nil })
	return decision
}

// RollbackTarget returns the set to roll back to. Revision 0 stands for the latest one before the current one that has
// succeeded.
func (r Revisions) RollbackTarget(revision int64) (v1alpha1.Set, error) {
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
