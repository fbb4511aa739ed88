// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package observe

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

func TestLongestDelay(t *testing.T) {
	t.Parallel()
	forbidden := apierrors.NewForbidden(schema.GroupResource{Resource: "secrets"}, "", errors.New("no"))
	for _, tc := range []struct {
		reason string
		err    error
		long   bool
	}{
		{"the watch ended", nil, false},
		{"a server that was down for long is watched soon after it is back", errors.New("connection refused"), false},
		{"permissions change rarely", fmt.Errorf("failed to list: %w", forbidden), true},
	} {
		if got := longestDelay(tc.err) > time.Minute; got != tc.long {
			t.Errorf("%s: more than a minute: %t", tc.reason, got)
		}
	}
}

// TestWaitingForAListEnds has a server let a watch begin, and never say what there is.
func TestWaitingForAListEnds(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel() // so that no feed begins
	k := &kind{cache: &Cache{}, ctx: ctx, namespaces: map[string]int{}, feeds: map[string]*feed{}, changed: make(chan struct{})}
	f := newFeed(k, "")
	k.feeds[""] = f
	settled := make(chan error)
	go func() { settled <- k.awaitFeeds(t.Context()) }()
	f.overdue()
	if err := <-settled; err != nil {
		t.Fatal(err)
	}
	if mode := k.modeLocked(); mode != "read one by one (the first list takes too long)" {
		t.Errorf("got mode %q", mode)
	}
	if err := (*feedStore)(f).Replace(nil, "1"); err != nil || !f.synced() {
		t.Errorf("a list that comes later is not used: %v", err)
	}
	f.overdue()
	if !f.synced() {
		t.Error("a list that came in time is not used")
	}
}

// TestChangedOwners is about who is told of a change: who has the object, and who had it.
func TestChangedOwners(t *testing.T) {
	t.Parallel()
	key := types.NamespacedName{Namespace: "n", Name: "a"}
	seen := func(owner, version string) *Observation {
		return &Observation{Owner: owner, ResourceVersion: version, Fingerprint: version}
	}
	for _, tc := range []struct {
		reason              string
		known, written, now *Observation
		want                []string
	}{
		{"new", nil, nil, seen("o", "1"), []string{"o"}},
		{"changed", seen("o", "1"), nil, seen("o", "2"), []string{"o"}},
		{"taken by others", seen("o", "1"), nil, seen("p", "2"), []string{"o", "p"}},
		{"our own write", seen("o", "1"), seen("o", "2"), seen("o", "2"), nil},
		{"taken by our own write", seen("o", "1"), seen("p", "2"), seen("p", "2"), []string{"o"}},
		{"an event before our own write", seen("o", "1"), seen("o", "3"), seen("o", "2"), nil},
		{"taken by others before our own write", seen("o", "1"), seen("p", "3"), seen("q", "2"), []string{"o"}},
		{"taken by others after our own write", seen("o", "1"), seen("o", "2"), seen("p", "3"), []string{"o", "p"}},
		{"taken by our own write, and by others after that", seen("o", "1"), seen("p", "2"), seen("q", "3"), []string{"o", "p", "q"}},
		{"gone", seen("o", "1"), nil, nil, []string{"o"}},
	} {
		f := &feed{kind: &kind{cache: &Cache{}}, objects: map[types.NamespacedName]Observation{}, own: map[types.NamespacedName]Observation{}}
		if tc.known != nil {
			f.objects[key] = *tc.known
		}
		if tc.written != nil {
			f.own[key] = *tc.written
		}
		var got []string
		for owner, told := range (*feedStore)(f).change(key, tc.now) {
			if told {
				got = append(got, owner)
			}
		}
		slices.Sort(got)
		if !slices.Equal(got, tc.want) {
			t.Errorf("%s: got %v, want %v", tc.reason, got, tc.want)
		}
	}
}
