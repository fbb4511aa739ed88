// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/component-operator/runtime/internal/requests"
)

func TestGapsOf(t *testing.T) {
	t.Parallel()
	start := time.Unix(0, 0)
	write := func(name string, sent, answered int) requests.Request {
		at := func(ms int) time.Time { return start.Add(time.Duration(ms) * time.Millisecond) }
		return requests.Request{Method: "PATCH", Resource: "configmaps", Name: name, Sent: at(sent), Answered: at(answered)}
	}
	for _, tc := range []struct {
		reason string
		sent   []requests.Request
		want   []time.Duration
		err    string
	}{
		{
			reason: "from the last response to the first write, whatever their order",
			sent:   []requests.Request{write("a-1", 1, 30), write("a-0", 0, 20), write("a-3", 45, 50), write("a-2", 35, 60), {Method: "PATCH", Resource: "bundles"}},
			want:   []time.Duration{5 * time.Millisecond},
		},
		{reason: "a wave begins too early", sent: []requests.Request{write("a-0", 0, 30), write("a-1", 0, 20), write("a-2", 25, 60)}, err: "part 1 did not follow part 0"},
		{reason: "a wave is missing", sent: []requests.Request{write("a-0", 0, 30)}, err: "part 1 did not follow part 0"},
		{reason: "an object of somebody else", sent: []requests.Request{write("a-4", 0, 30)}, err: "finding the part of a-4: it is none of the dependents"},
	} {
		t.Run(tc.reason, func(t *testing.T) {
			t.Parallel()
			got, err := gapsOf(tc.sent, 4, 2)
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("gaps (-want +got):\n%s", diff)
			}
			if (err != nil || tc.err != "") && (err == nil || err.Error() != tc.err) {
				t.Errorf("got error %v, want %q", err, tc.err)
			}
		})
	}
}
