// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package observe

import (
	"context"
	"testing"
)

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
	if err := f.Replace(nil, "1"); err != nil || !f.synced() {
		t.Errorf("a list that comes later is not used: %v", err)
	}
	f.overdue()
	if !f.synced() {
		t.Error("a list that came in time is not used")
	}
}
