// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package shards

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestOf pins the function: if it changed between two versions of an operator, two replicas would work on the same
// object.
func TestOf(t *testing.T) {
	t.Parallel()
	got := []int{Of("default", "web", 12), Of("default", "api", 12), Of("", "cluster-wide", 12), Of("default", "web", 1), Of("default", "web", 1000)}
	if d := cmp.Diff([]int{8, 4, 0, 0, 284}, got); d != "" {
		t.Errorf("shards (-want +got):\n%s", d)
	}
}

func replicas(count int) []string {
	names := make([]string, count)
	for i := range names {
		names[i] = fmt.Sprintf("replica-%d", i)
	}
	return names
}

func loads(owners []string) map[string]int {
	counts := map[string]int{}
	for _, owner := range owners {
		counts[owner]++
	}
	return counts
}

func TestAssignmentIsFair(t *testing.T) {
	t.Parallel()
	for _, shards := range []int{1, 2, 12, 100} {
		for count := 1; count <= 13; count++ {
			members := replicas(count)
			owners := assign(members, shards)
			if len(owners) != shards || slices.Contains(owners, "") {
				t.Fatalf("%d shards, %d members: a shard is left alone: %v", shards, count, owners)
			}
			counts := loads(owners)
			for _, member := range members {
				if got := counts[member]; got < shards/count || got > (shards+count-1)/count {
					t.Errorf("%d shards, %d members: %s has %d", shards, count, member, got)
				}
			}
		}
	}
	if d := cmp.Diff([]string{"", ""}, assign(nil, 2)); d != "" {
		t.Errorf("without members (-want +got):\n%s", d)
	}
}

// TestFewShardsMove counts what changes hands when a member comes, or goes, against what has to.
func TestFewShardsMove(t *testing.T) {
	t.Parallel()
	const shards = 64
	moved, needed := 0, 0
	for count := 1; count <= 10; count++ {
		before, after := assign(replicas(count), shards), assign(replicas(count+1), shards)
		for i := range shards {
			if before[i] != after[i] {
				moved++
			}
		}
		needed += loads(after)[fmt.Sprintf("replica-%d", count)]
	}
	t.Logf("%d shards moved, %d had to", moved, needed)
	if moved > needed*3/2 {
		t.Errorf("%d shards moved, although only %d had to", moved, needed)
	}
}
