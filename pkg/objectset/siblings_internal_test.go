// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package objectset

import (
	"fmt"
	"slices"
	"testing"

	"github.com/component-operator/runtime/pkg/component"
	"github.com/component-operator/runtime/pkg/objectset/v1alpha1"
	"github.com/component-operator/runtime/pkg/reconciler"
)

// TestRelations is about what the set b is to the set a, and a to b.
func TestRelations(t *testing.T) {
	t.Parallel()
	type sets map[string]*v1alpha1.ObjectSet
	series := func(s sets, name, series string, revision int64) {
		s[name].Labels = map[string]string{v1alpha1.LabelRevisionsOf: series}
		s[name].Spec.Revision = revision
	}
	previous := func(s sets, name string, names ...string) {
		for _, other := range names {
			s[name].Spec.Previous = append(s[name].Spec.Previous, v1alpha1.PreviousReference{Name: other})
		}
	}
	for _, tc := range []struct {
		reason string
		change func(sets)
		bToA   reconciler.Relation
		aToB   reconciler.Relation
	}{
		{"nothing in common", func(sets) {}, "", ""},
		{"revisions without a label", func(s sets) { s["a"].Spec.Revision, s["b"].Spec.Revision = 1, 2 }, "", ""},
		{"an empty label", func(s sets) { series(s, "a", "", 1); series(s, "b", "", 2) }, "", ""},
		{"other labels", func(s sets) { series(s, "a", "x", 1); series(s, "b", "y", 2) }, "", ""},
		{"a later revision", func(s sets) { series(s, "a", "x", 1); series(s, "b", "x", 2) }, reconciler.RelationNewer, reconciler.RelationOlder},
		{"the same revision", func(s sets) { series(s, "a", "x", 2); series(s, "b", "x", 2) }, "", ""},
		{"previous", func(s sets) { previous(s, "b", "a") }, reconciler.RelationNewer, reconciler.RelationOlder},
		{"previous, against the revisions", func(s sets) { previous(s, "b", "a"); series(s, "a", "x", 2); series(s, "b", "x", 1) }, reconciler.RelationNewer, reconciler.RelationOlder},
		{"previous by way of another", func(s sets) { previous(s, "b", "c"); previous(s, "c", "a") }, reconciler.RelationNewer, reconciler.RelationOlder},
		{"previous by way of one that is gone", func(s sets) { previous(s, "b", "gone"); previous(s, "c", "a") }, "", ""},
		{"each other", func(s sets) { previous(s, "b", "a"); previous(s, "a", "b") }, "", ""},
		{"a circle", func(s sets) { previous(s, "a", "b"); previous(s, "b", "c"); previous(s, "c", "a") }, "", ""},
		{"a circle beside", func(s sets) { previous(s, "b", "c", "a"); previous(s, "c", "c", "b") }, reconciler.RelationNewer, reconciler.RelationOlder},
		{"archived, with objects", func(s sets) {
			series(s, "a", "x", 1)
			series(s, "b", "x", 2)
			s["b"].Status.Conditions = []component.Condition{{Type: v1alpha1.ConditionTypeArchived, Status: component.ConditionFalse}}
		}, reconciler.RelationNewer, reconciler.RelationOlder},
		{"archived, without objects", func(s sets) {
			series(s, "a", "x", 1)
			series(s, "b", "x", 2)
			s["b"].Status.Conditions = []component.Condition{{Type: v1alpha1.ConditionTypeArchived, Status: component.ConditionTrue}}
		}, "", reconciler.RelationOlder},
		{"archived before, and active again", func(s sets) {
			series(s, "a", "x", 1)
			series(s, "b", "x", 2)
			s["b"].Generation = 2
			s["b"].Status.Conditions = []component.Condition{{Type: v1alpha1.ConditionTypeArchived, Status: component.ConditionTrue, ObservedGeneration: 1}}
		}, reconciler.RelationNewer, reconciler.RelationOlder},
	} {
		all, known := sets{}, []v1alpha1.Set{}
		for _, name := range []string{"a", "b", "c"} {
			all[name] = &v1alpha1.ObjectSet{}
			all[name].Name = name
			known = append(known, all[name])
		}
		tc.change(all)
		if got := relativesOf(t, all["a"], known).relation(all["b"]); got != tc.bToA {
			t.Errorf("%s: b is %q to a, want %q", tc.reason, got, tc.bToA)
		}
		if got := relativesOf(t, all["b"], known).relation(all["a"]); got != tc.aToB {
			t.Errorf("%s: a is %q to b, want %q", tc.reason, got, tc.aToB)
		}
	}
}

// relativesOf returns the relatives of a set, without a cache.
func relativesOf(t *testing.T, self v1alpha1.Set, sets []v1alpha1.Set) family {
	t.Helper()
	asked := 0
	found, err := newFamily(self, sets, func(name string) (names []string, err error) {
		if asked++; asked > maxRelatives {
			t.Errorf("the sets that name one as previous are looked up %d times", asked)
		}
		for _, set := range sets {
			if slices.Contains(previousOf(set), name) {
				names = append(names, set.GetName())
			}
		}
		return names, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// TestManyRelatives has sets that name 64 others each.
func TestManyRelatives(t *testing.T) {
	t.Parallel()
	const count = 2000
	known := make([]v1alpha1.Set, count)
	for i := range known {
		set := &v1alpha1.ObjectSet{}
		set.Name = fmt.Sprint(i)
		for k := range 64 {
			set.Spec.Previous = append(set.Spec.Previous, v1alpha1.PreviousReference{Name: fmt.Sprint((i + k + 1) % count)})
		}
		known[i] = set
	}
	innocent := &v1alpha1.ObjectSet{}
	innocent.Name, innocent.Spec.Previous = "b", []v1alpha1.PreviousReference{{Name: "a"}}
	before := &v1alpha1.ObjectSet{}
	before.Name = "a"
	known = append(known, innocent, before)
	if relations := relativesOf(t, innocent, known); relations.relation(before) != reconciler.RelationOlder || len(relations.older)+len(relations.newer) != 1 {
		t.Errorf("the relations of a set depend on sets that it has nothing to do with: %v", relations.older)
	}
	if relations := relativesOf(t, known[0], known); len(relations.older) != maxRelatives || len(relations.newer) != maxRelatives {
		t.Errorf("expected %d older and newer sets, got %d and %d", maxRelatives, len(relations.older), len(relations.newer))
	}
}
