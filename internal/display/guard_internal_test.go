// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package display

import (
	"bytes"
	"testing"
)

func TestGuard(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		reason string
		texts  []string
		want   string
	}{
		{"lines, tabs and characters of all scripts stay", []string{"a\tGröße\n映 👩\u200d💻\n"}, "a\tGröße\n映 👩\u200d💻\n"},
		{"so do the colours of text", []string{"\x1b[31mred\x1b[0m\x1b[1;92mbold\x1b[m"}, "\x1b[31mred\x1b[0m\x1b[1;92mbold\x1b[m"},
		{"what would hide text does not", []string{"\x1b[8mx\x1b[30;40my"}, `\x1b[8mx\x1b[30;40my`},
		{"nor do other control sequences", []string{"\x1b[2J\x1b]0;title\x07\x1bPx\u009b1A"}, `\x1b[2J\x1b]0;title\a\x1bPx\u009b1A`},
		{"line breaks of Windows stay, others that go back do not", []string{"a\r\nb\rc\bd"}, "a\nb\\rc\\bd"},
		{"a text that pretends to run the other way", []string{"a\u202eb\u2066c"}, `a\u202eb\u2066c`},
		{"bytes that are no text, such as the control characters of old terminals", []string{"a\x9b2Jb\xff"}, `a\x9b2Jb\xff`},
		{"a character in several parts", []string{"\xe6", "\x98", "\xa0!"}, "映!"},
		{"a part of a character that does not end", []string{"\xe6\x98", "x"}, `\xe6\x98x`},
	} {
		var out bytes.Buffer
		guarded := &guard{out: &out}
		for _, text := range test.texts {
			if n, err := guarded.Write([]byte(text)); n != len(text) || err != nil {
				t.Errorf("%s: wrote %d of %d bytes, %v", test.reason, n, len(text), err)
			}
		}
		if got := out.String(); got != test.want {
			t.Errorf("%s: got %q, want %q", test.reason, got, test.want)
		}
	}
	var out bytes.Buffer
	if Guard(&out) != &out {
		t.Error("want what is no terminal to get exact texts")
	}
}

// TestGuardedScreen: a view moves the cursor, its lines do not.
func TestGuardedScreen(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	NewScreen(&guard{out: &out}).Show([]string{"\x1b[32mready\x1b[0m", "a\x1b[2Jb\nc"}, 10, 5)
	if got, want := out.String(), "\r\x1b[32mready\x1b[0m\x1b[K\r\n"+`a\x1b[2Jb`[:8]+"…\x1b[K\r\n\x1b[J"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
