// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package live

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
)

func TestStreamsAreBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var problems []string
		f := newLogFollower(&logReader{LogOptions: LogOptions{Problem: func(text string) { problems = append(problems, text) }}})
		end := make(chan struct{})
		begin := func(run run) bool { return f.begin(run, func() { <-end }) }
		for i := range maxStreams {
			if !begin(run{pod: fmt.Sprint(i)}) {
				t.Fatalf("stream %d is refused", i)
			}
		}
		if begin(run{pod: "0"}) {
			t.Error("expected a log not to be followed twice")
		}
		for range 2 {
			if begin(run{pod: "more", container: "main"}) {
				t.Error("expected one stream too many to be refused")
			}
		}
		if len(problems) != 1 || !strings.HasPrefix(problems[0], "more/main and others are not followed: ") {
			t.Errorf("expected to be told once what is not followed, got %q", problems)
		}
		end <- struct{}{}
		synctest.Wait()
		if !begin(run{pod: "more", container: "main"}) {
			t.Error("expected another stream to be followed after one has ended")
		}
		close(end)
	})
}
