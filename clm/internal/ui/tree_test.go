// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package ui

import (
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/component-operator/runtime/clm/internal/releases"
	"github.com/component-operator/runtime/clm/internal/views"
	"github.com/component-operator/runtime/internal/display"
	"github.com/component-operator/runtime/pkg/inventory"
	"github.com/component-operator/runtime/pkg/status"
)

var now = time.Date(2026, 1, 2, 3, 4, 0, 0, time.UTC)

// release returns a snapshot of a release whose current revision was recorded a minute ago.
func release(nodes ...*display.Node) *views.Snapshot {
	return &views.Snapshot{
		Target:     views.Target{Namespace: "demo", Name: "web"},
		Release:    &releases.Release{Namespace: "demo", Name: "web", State: releases.StateApplying, Revisions: []releases.Revision{{Number: 1, Created: now.Add(-time.Minute)}}},
		Dependents: nodes,
	}
}

// object returns a dependent that was applied so many seconds after the revision was recorded.
func object(name string, wave int, state display.State, applied int) *display.Node {
	at := metav1.NewTime(now.Add(-time.Minute + time.Duration(applied)*time.Second))
	node := &display.Node{
		Dependent: display.Dependent{Object: display.Object{APIVersion: "v1", Kind: "ConfigMap", Namespace: "demo", Name: name}, Wave: wave, State: state, Status: status.CurrentStatus},
		Item:      &inventory.Item{LastAppliedAt: &at},
	}
	if state.IsProblem() {
		node.Status, node.Message = status.InProgressStatus, "not yet"
	}
	return node
}

// TestTreeFolds checks that a page about 10,000 dependents lists few of them, and those first that need attention.
func TestTreeFolds(t *testing.T) {
	t.Parallel()
	var nodes []*display.Node
	for i := range 10000 {
		wave, state := i/2500, display.StateReady
		switch {
		case wave == 1 && i%100 == 0:
			state = display.StateUnready
		case wave > 1:
			state = display.StatePending
		}
		nodes = append(nodes, object(fmt.Sprintf("part-%04d", i), wave, state, 0))
	}
	view := treeOf(release(nodes...), url.Values{"other": {"x"}}, now)
	rows := 0
	var got []string
	for _, wave := range view.Waves {
		for _, group := range wave.Groups {
			rows += len(group.Rows)
			got = append(got, fmt.Sprintf("%s, %s: %d and %d more, %s; %s, open %t, %d of %d", wave.Label, group.State, len(group.Rows), group.More, group.Link, wave.Blocked, wave.Open, wave.Done, wave.All))
		}
	}
	const blocked = "waits for wave 1: ConfigMap demo/part-2500 is not ready"
	want := []string{
		"wave 0, ready: 20 and 2480 more, ?more..0.ready=220&other=x; , open false, 2500 of 2500",
		"wave 1, unready: 20 and 5 more, ?more..1.unready=220&other=x; , open true, 2475 of 2500",
		"wave 1, ready: 20 and 2455 more, ?more..1.ready=220&other=x; , open true, 2475 of 2500",
		"wave 2, pending: 20 and 2480 more, ?more..2.pending=220&other=x; " + blocked + ", open false, 0 of 2500",
		"wave 3, pending: 20 and 2480 more, ?more..3.pending=220&other=x; " + blocked + ", open false, 0 of 2500",
	}
	if diff := cmp.Diff(want, got); diff != "" || rows != 100 {
		t.Errorf("%d rows, unexpected groups (-want +got):\n%s", rows, diff)
	}
	if diff := cmp.Diff(&cause{Object: "ConfigMap demo/part-2500", Text: "InProgress: not yet", More: 24}, view.Cause); diff != "" {
		t.Errorf("unexpected cause (-want +got):\n%s", diff)
	}
	longer := treeOf(release(nodes...), url.Values{"more..1.unready": {"220"}}, now)
	if group := longer.Waves[1].Groups[0]; len(group.Rows) != 25 || group.More != 0 || group.Link != "" {
		t.Errorf("after the link, there are %d rows and %d more", len(group.Rows), group.More)
	}
}

// TestTimeline has objects that became ready at once, later, not yet, and at a time that is not known.
func TestTimeline(t *testing.T) {
	t.Parallel()
	since := func(node *display.Node, seconds int) *display.Node {
		node.Live = &unstructured.Unstructured{Object: map[string]any{"status": map[string]any{"conditions": []any{
			map[string]any{"type": "Available", "status": "True", "lastTransitionTime": now.Add(-time.Minute + time.Duration(seconds)*time.Second).Format(time.RFC3339)},
			map[string]any{"type": "Other", "status": "False", "lastTransitionTime": now.Format(time.RFC3339)},
		}}}}
		return node
	}
	view := timelineOf(release(
		object("at-once", 0, display.StateReady, 1), since(object("later", 0, display.StateReady, 2), 30), since(object("rolling", 0, display.StateReady, 3), -100),
		object("before", 0, display.StateReady, -10), object("waiting", 1, display.StateUnready, 31),
	), now)
	var got []string
	for _, band := range view.Bands {
		for _, bar := range band.Bars {
			got = append(got, fmt.Sprintf("%s: %s, %d to %d", band.Label, bar.Text, bar.X-nameWidth, bar.X-nameWidth+bar.Width))
		}
	}
	want := []string{
		"wave 0: ConfigMap demo/at-once: applied +1s, ready after 0s, 10 to 13",
		"wave 0: ConfigMap demo/later: applied +2s, ready after 28s, 21 to 320",
		"wave 0: ConfigMap demo/rolling: applied +3s, ready; since when is not known, 32 to 35",
		"wave 1: ConfigMap demo/waiting: applied +31s, not ready for 29s, 330 to 640",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("unexpected bars (-want +got):\n%s", diff)
	}
	var many []*display.Node
	for i := range 100 {
		many = append(many, object(fmt.Sprint(i), 0, display.StateReady, 1))
	}
	if view := timelineOf(release(many...), now); len(view.Bands[0].Bars) != pageSize || view.Bands[0].More != 80 {
		t.Errorf("%d bars, and %d more", len(view.Bands[0].Bars), view.Bands[0].More)
	}
}

func TestSharesText(t *testing.T) {
	t.Parallel()
	const key = "-----BEGIN KEY-----\nabcdefghijkl\n-----END KEY-----\n"
	for _, test := range []struct {
		reason, value, secret string
		want                  bool
	}{
		{"they are equal", "1234", "1234", true},
		{"a blank at the end", "hunter2-hunter2\n", "hunter2-hunter2", true},
		{"the secret has the value", "hunter2-hunter2", "user=hunter2-hunter2", true},
		{"the value has the secret", "postgres://u:hunter2-hunter2@db", "hunter2-hunter2", true},
		{"lines are indented", key, "a:\n  key: |\n    " + strings.ReplaceAll(key, "\n", "\n    "), true},
		{"in JSON", `ab"cd-efgh`, `{"password":"ab\"cd-efgh"}`, true},
		{"too short to be found in others", "true", "a=true", false},
		{"nothing in common", "visible-text", "hunter2-hunter2", false},
		{"empty", "", "", false},
	} {
		if got := sharesText(test.value, test.secret); got != test.want {
			t.Errorf("%s: got %t", test.reason, got)
		}
	}
}
