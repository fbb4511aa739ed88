// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package observe

import (
	"context"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// TestSettledKnowsWhoTakesOver asks in the moment when the feed of the whole cluster has failed and not reported it yet.
func TestSettledKnowsWhoTakesOver(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel() // so that no feed begins
	k := &kind{cache: &Cache{}, ctx: ctx, namespaces: map[string]int{"place": 1}, feeds: map[string]*feed{}, changed: make(chan struct{})}
	failed := newFeed(k, "")
	failed.state, failed.err = feedBroken, apierrors.NewForbidden(schema.GroupResource{Resource: "configmaps"}, "", nil)
	k.feeds[""] = failed
	if err := k.awaitFeeds(t.Context()); err != nil {
		t.Fatal(err)
	}
	if k.feeds["place"] == nil {
		t.Error("nobody was told to look at the namespace, and that was taken for settled")
	}
}
