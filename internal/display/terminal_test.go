// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package display_test

import (
	"io"
	"os"
	"testing"

	"github.com/component-operator/runtime/internal/display"
)

// TestColor has no parallel tests beside it, because it changes the environment.
func TestColor(t *testing.T) {
	terminal, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Skip("there are no pseudo-terminals:", err)
	}
	defer func() { _ = terminal.Close() }()
	for _, tc := range []struct {
		reason        string
		color         display.Color
		out           io.Writer
		noColor, term string
		want          display.Style
	}{
		{"a terminal", display.ColorAuto, terminal, "", "xterm", true},
		{"a terminal, and NO_COLOR", display.ColorAuto, terminal, "1", "xterm", false},
		{"a dumb terminal", display.ColorAuto, terminal, "", "dumb", false},
		{"no terminal", display.ColorAuto, io.Discard, "", "xterm", false},
		{"the flag says always", display.ColorAlways, io.Discard, "1", "dumb", true},
		{"the flag says never", display.ColorNever, terminal, "", "xterm", false},
	} {
		t.Setenv("NO_COLOR", tc.noColor)
		t.Setenv("TERM", tc.term)
		if got := tc.color.Style(tc.out); got != tc.want {
			t.Errorf("%s: want colours %t, got %t", tc.reason, tc.want, got)
		}
	}
}

func TestText(t *testing.T) {
	t.Parallel()
	cases := []struct {
		reason, text string
		width        int
		want         string
	}{
		{"what fits stays", "web", 3, "web"},
		{"the ellipsis counts", "frontend", 5, "fron…"},
		{"wide characters take two cells", "映像を取得", 6, "映像…"},
		{"a character of several code points is one", "e\u0301e\u0301e\u0301", 2, "e\u0301…"},
		{"colours take none, and end", "\x1b[31mfrontend\x1b[0m", 5, "\x1b[31mfron…\x1b[0m"},
		{"there is no room", "web", 0, ""},
	}
	for _, tc := range cases {
		got := display.Truncate(tc.text, tc.width)
		if got != tc.want {
			t.Errorf("%s: got %q, wanted %q", tc.reason, got, tc.want)
		}
		if width := display.Width(display.Pad(got, tc.width)); width != tc.width {
			t.Errorf("%s: padded to %d cells", tc.reason, width)
		}
	}
}

func TestElide(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		text  string
		width int
		want  string
	}{
		{"web", 3, "web"},
		{"frontend-of-the-shop", 11, "front…-shop"},
		{"frontend-of-the-shop", 10, "front…shop"},
		{"映像を取得する", 8, "映像…る"},
		{"frontend", 2, "f…"},
		{"frontend", 0, ""},
	} {
		if got := display.Elide(tc.text, tc.width); got != tc.want || display.Width(got) > max(tc.width, 0) {
			t.Errorf("%s in %d cells: want %q, got %q", tc.text, tc.width, tc.want, got)
		}
	}
}

func TestClean(t *testing.T) {
	t.Parallel()
	cases := []struct {
		reason, text, want string
	}{
		{"harmless", "Größe 映 👩\u200d💻", "Größe 映 👩\u200d💻"},
		{"one line", "a\r\n\tb\n", "a b"},
		{"commands to the terminal", "\x1b[2J\u009b1A\x07", `\x1b[2J\u009b1A\a`},
		{"bytes that are no text", "a\x9b2J", `a\x9b2J`},
		{"text that pretends to run the other way", "a\u202eb", `a\u202eb`},
	}
	for _, tc := range cases {
		if got := display.Clean(tc.text); got != tc.want {
			t.Errorf("%s: got %q, wanted %q", tc.reason, got, tc.want)
		}
	}
}

func TestCleanLines(t *testing.T) {
	t.Parallel()
	if got, want := display.CleanLines("first\x1b[2J\r\nsecond\a\tthird"), "first\\x1b[2J\nsecond\\a\tthird"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
