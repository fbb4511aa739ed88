// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package live

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestStreamsAreBounded(t *testing.T) {
	t.Parallel()
	var problems []string
	f := &logFollower{logReader: &logReader{LogOptions: LogOptions{Problem: func(text string) { problems = append(problems, text) }}}}
	f.known.begun = map[run]bool{}
	for i := range maxStreams {
		if !f.begin(run{pod: fmt.Sprint(i)}) {
			t.Fatalf("stream %d is refused", i)
		}
	}
	if f.begin(run{pod: "0"}) {
		t.Error("expected a log not to be followed twice")
	}
	for range 2 {
		if f.begin(run{pod: "more", container: "main"}) {
			t.Error("expected one stream too many to be refused")
		}
	}
	if len(problems) != 1 || !strings.HasPrefix(problems[0], "more/main and others are not followed: ") {
		t.Errorf("expected to be told once what is not followed, got %q", problems)
	}
	f.end()
	if !f.begin(run{pod: "more", container: "main"}) {
		t.Error("expected another stream to be followed after one has ended")
	}
}

func TestEachLine(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		reason, text string
		want         []string
	}{
		{"nothing was written", "", nil},
		{"empty lines are lines", "a\n\nb\n", []string{"a", "", "b"}},
		{"the last line may lack its end", "a\r\nb", []string{"a", "b"}},
	} {
		var got []string
		if err := eachLine(strings.NewReader(test.text), func(line []byte) { got = append(got, string(line)) }); err != nil {
			t.Errorf("%s: %v", test.reason, err)
		}
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.reason, diff)
		}
	}
}

func TestSplitTime(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		reason, line, text string
		at                 time.Time
	}{
		{"a line with its time", "2026-01-01T00:00:00.5Z a b", "a b", time.Date(2026, 1, 1, 0, 0, 0, 500_000_000, time.UTC)},
		{"an empty one", "2026-01-01T00:00:00Z ", "", time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)},
		{"what some runtimes write about themselves", "failed to open the log", "failed to open the log", time.Time{}},
	} {
		at, text := splitTime([]byte(test.line))
		if !at.Equal(test.at) || string(text) != test.text {
			t.Errorf("%s: got %v and %q", test.reason, at, text)
		}
	}
}
