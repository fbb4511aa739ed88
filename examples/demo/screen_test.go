// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestScreen(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason          string
		terminal, color bool
		width           int
		want            string
	}{
		"Plain": {
			reason: "without a terminal there are lines, and no progress",
			want:   "\n1. Begin\n   a line\nok a proof\n\nthe end\n",
		},
		"Terminal": {
			reason:   "progress takes one line at most and makes room for what comes",
			terminal: true, width: 12,
			want: "\n1. Begin\n" + eraseLine + "   waiting…" + eraseLine + "   a line\n✓  a proof\n\nthe end\n",
		},
		"Color": {
			reason:   "colors are added where there is a terminal that may have them",
			terminal: true, color: true, width: 80,
			want: "\n" + bold + "1. Begin" + reset + "\n" + eraseLine + faint + "   waiting for more" + reset + eraseLine +
				"   a line\n" + green + "✓ " + reset + " a proof\n\n" + bold + "the end" + reset + "\n",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var out strings.Builder
			s := &screen{out: &out, terminal: tc.terminal, color: tc.color, width: tc.width}
			s.Act(1, "Begin")
			s.Progress("waiting\n for more")
			s.Progress("waiting for more")
			s.Line("a %s", "line")
			s.Proof("a %s", "proof")
			s.End("the %s", "end")
			if diff := cmp.Diff(tc.want, out.String()); diff != "" {
				t.Errorf("%s: (-want +got)\n%s", tc.reason, diff)
			}
		})
	}
}

// TestNewScreenOnFile checks that a file is not taken for a terminal.
func TestNewScreenOnFile(t *testing.T) {
	t.Parallel()
	file, err := os.CreateTemp(t.TempDir(), "")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if s := newScreen(file, os.Getenv); s.terminal || s.color {
		t.Errorf("a file counts as terminal: %v, with colors: %v", s.terminal, s.color)
	}
}
