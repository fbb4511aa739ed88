// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package objectset

import (
	"github.com/component-operator/runtime/pkg/component"
	"github.com/component-operator/runtime/pkg/objectset/v1alpha1"
)

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

// isAvailable reports whether a set is available. The content of a set never changes, so what was seen before the last
// change of its settings holds.
func isAvailable(set v1alpha1.Set) bool {
	found, _ := set.GetStatus().GetCondition(v1alpha1.ConditionTypeAvailable)
	return found.Status == component.ConditionTrue
}

// isOver reports whether a set is archived, and has no objects any more.
func isOver(set v1alpha1.Set) bool {
	return isTrue(set, v1alpha1.ConditionTypeArchived)
}

// everSucceeded reports whether a set has ever succeeded. That stays, whatever generation it was.
func everSucceeded(set v1alpha1.Set) bool {
	found, _ := set.GetStatus().GetCondition(v1alpha1.ConditionTypeSucceeded)
	return found.Status == component.ConditionTrue
}

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
