// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package display_test

import (
	"bytes"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/hinshun/vt10x"
	"go.uber.org/goleak"

	"github.com/component-operator/runtime/internal/display"
	"github.com/component-operator/runtime/pkg/inventory"
)

// screen is a terminal as a person sees it, and counts what is sent to it.
type screen struct {
	vt10x.Terminal
	mu            sync.Mutex
	writes        int
	sent          strings.Builder
	columns, rows int
}

func newScreen(columns, rows int) *screen {
	return &screen{Terminal: vt10x.New(vt10x.WithSize(columns, rows)), columns: columns, rows: rows}
}

func (s *screen) Write(text []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.writes++
	s.sent.Write(text)
	// As the driver of a terminal does with what programs write.
	if _, err := s.Terminal.Write(bytes.ReplaceAll(text, []byte("\n"), []byte("\r\n"))); err != nil {
		return 0, err
	}
	return len(text), nil
}

func (s *screen) size() (columns, rows int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.columns, s.rows
}

// take returns what was sent since the last call, and in how many writes.
func (s *screen) take() (text string, writes int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	text, writes = s.sent.String(), s.writes
	s.sent.Reset()
	s.writes = 0
	return text, writes
}

// text is what is seen, without blanks at the ends of lines and empty lines at the end.
func (s *screen) text() string {
	lines := strings.Split(s.String(), "\n")
	for i := range lines {
		lines[i] = strings.TrimRight(lines[i], " ")
	}
	return strings.TrimRight(strings.Join(lines, "\n"), "\n") + "\n"
}

func (s *screen) expect(t *testing.T, reason, want string) {
	t.Helper()
	expect(t, reason, s.text(), want)
}

// expect compares with a text that begins with a line break, for the sake of how it stands in the source.
func expect(t *testing.T, reason, got, want string) {
	t.Helper()
	if diff := cmp.Diff(strings.TrimPrefix(want, "\n"), got); diff != "" {
		t.Errorf("%s: (-want +got)\n%s", reason, diff)
	}
}

// start is when operations start in tests: synctest has chosen it.
var start = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)

// an object of the given text, for example "apps/v1 Deployment default/web".
func object(text string, wave int, phase inventory.Phase, change ...func(*display.Dependent)) display.Dependent {
	words := strings.Fields(text)
	namespace, name, _ := strings.Cut(words[2], "/") // "/name" is cluster-scoped
	o := display.Dependent{
		Object: display.Object{APIVersion: words[0], Kind: words[1], Namespace: namespace, Name: name},
		Wave:   wave, Phase: phase,
	}
	for _, f := range change {
		f(&o)
	}
	settle(&o)
	return o
}

// settle decides on the state of an object again after it was changed. One that has failed stays so until another state
// is set.
func settle(o *display.Dependent) {
	o.State = display.StateInOperation(*o, o.State == display.StateFailed)
}

func wait(reason string, since time.Duration) func(*display.Dependent) {
	return func(o *display.Dependent) { o.Message, o.Since = reason, start.Add(since) }
}

func did(verb inventory.Verb) func(*display.Dependent) {
	return func(o *display.Dependent) { o.Verb = verb }
}

func failed(o *display.Dependent) { o.State = display.StateFailed }

// scene is a release in the middle of being applied.
func scene() display.Progress {
	return display.Progress{
		Operation: "apply", Release: "default/shop", Revision: 3, Phase: "applying wave 2 of 4",
		Objects: []display.Dependent{
			object("v1 Namespace /shop", -1, inventory.PhaseReady),
			object("v1 ConfigMap default/settings", 0, inventory.PhaseReady, did(inventory.VerbUpdated)),
			object("v1 Secret default/keys", 0, inventory.PhaseReady, did(inventory.VerbCreated)),
			object("apps/v1 Deployment default/web", 1, inventory.PhaseCreating, did(inventory.VerbCreated), wait("1/3 replicas available", -12*time.Second)),
			object("batch/v1 Job default/migrate", 1, inventory.PhaseUpdating, did(inventory.VerbUpdated), failed, wait("job has reached its\nbackoff limit", -26*time.Hour)),
			object("v1 Service default/web", 1, inventory.PhaseReady, did(inventory.VerbCreated)),
			object("example.com/v1 Widget default/front", 2, inventory.PhaseScheduledForApplication),
			object("example.com/v1 Widget default/back", 3, inventory.PhaseScheduledForApplication),
		},
	}
}

// TestMain fails if a test leaves a goroutine behind.
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }
