// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package display_test

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/component-operator/runtime/internal/display"
	"github.com/component-operator/runtime/pkg/inventory"
	"github.com/component-operator/runtime/pkg/status"
)

// play shows the states one after the other, each twice, and then the outcome. Meanwhile, the time stands still.
func play(t *testing.T, mode display.Mode, color display.Color, outcome display.Outcome, states ...display.Progress) string {
	t.Helper()
	var out bytes.Buffer
	synctest.Test(t, func(*testing.T) {
		printer := display.NewPrinter(display.PrinterOptions{Out: &out, Mode: mode, Color: color})
		for _, state := range states {
			printer.Update(state)
			printer.Update(state)
		}
		printer.Finish(outcome)
	})
	return out.String()
}

// course is an apply as it proceeds.
func course() []display.Progress {
	states := []display.Progress{scene(), scene(), scene(), scene(), scene()}
	states[0].Phase = "waiting for the lock held by somebody"
	for i := range states[0].Objects {
		o := &states[0].Objects[i]
		o.Verb, o.Message, o.State = "", "", ""
		if i > 0 {
			o.Phase = inventory.PhaseScheduledForApplication
		}
		settle(o)
	}
	states[1].Objects[4].Message, states[1].Objects[4].State = "", ""
	settle(&states[1].Objects[4])
	states[2].Objects[3].Message = "2/3 replicas available"
	states[2].Message = "retrying: connection\nrefused"
	states[3].Objects[3].Phase, states[3].Objects[3].Message, states[3].Objects[3].Status = inventory.PhaseReady, "", status.CurrentStatus
	settle(&states[3].Objects[3])
	states[4].Objects[3] = states[3].Objects[3]
	states[4].Phase = "applying wave 3 of 4"
	states[4].Objects[4] = object("batch/v1 Job default/migrate", 1, inventory.PhaseCompleted, did(inventory.VerbUpdated))
	states[4].Objects[6] = object("example.com/v1 Widget default/front", 2, inventory.PhaseCreating, did(inventory.VerbCreated), wait("no condition yet", 0))
	return states
}

func TestPlain(t *testing.T) {
	t.Parallel()
	got := play(t, display.ModePlain, display.ColorAuto, display.Outcome{Summary: "timed out after 5m", Next: "Look closer with: clm status shop\n"}, course()...)
	expect(t, "a line for each change, and none for what was ready before or has not had its turn", got, `
apply default/shop revision 3: waiting for the lock held by somebody
apply default/shop revision 3: applying wave 2 of 4
ConfigMap default/settings: updated
Secret default/keys: created
Deployment default/web: created
Job default/migrate: updated
Service default/web: created
apply default/shop revision 3: retrying: connection refused
Job default/migrate: failed: job has reached its backoff limit
Deployment default/web: ready
apply default/shop revision 3: applying wave 3 of 4
Job default/migrate: completed
Widget.example.com default/front: created
  ▸ Widget.example.com default/front: creating for 0s: no condition yet
✗ timed out after 5m (4 created, 2 updated, 1 unchanged, 1 pending, 0s)
Look closer with: clm status shop
`)
}

// TestPlainPatience tells why an object waits when it has waited for a second, and later reasons not more often.
func TestPlainPatience(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		printer := display.NewPrinter(display.PrinterOptions{Out: &out, Mode: display.ModePlain})
		for _, step := range []struct {
			reason, wait string
			phase        inventory.Phase
			pause        time.Duration
			want         string
		}{
			{"it may pass at once", "not observed yet", inventory.PhaseCreating, 500 * time.Millisecond, ""},
			{"it did, but the object goes on waiting", "0/3 available", inventory.PhaseCreating, 600 * time.Millisecond, "Deployment default/web: waiting: 0/3 available\n"},
			{"what is known is not told again", "0/3 available", inventory.PhaseCreating, time.Minute, ""},
			{"reasons come one after the other", "1/3 available", inventory.PhaseCreating, 900 * time.Millisecond, ""},
			{"only the last one counts", "2/3 available", inventory.PhaseCreating, time.Minute, "Deployment default/web: waiting: 2/3 available\n"},
			{"a reason has come", "1/3 available", inventory.PhaseCreating, 500 * time.Millisecond, ""},
			{"and gone", "2/3 available", inventory.PhaseCreating, time.Minute, ""},
			{"one more", "1/3 available", inventory.PhaseCreating, 900 * time.Millisecond, ""},
			{"it waits no more", "", inventory.PhaseReady, time.Minute, "Deployment default/web: ready\n"},
			{"it goes at once", "", inventory.PhaseDeleting, 0, "Deployment default/web: deleting\n"},
			{"and something holds it", "finalizers: hold", inventory.PhaseDeleting, time.Minute, "Deployment default/web: deleting: finalizers: hold\n"},
		} {
			printer.Update(display.Progress{Objects: []display.Dependent{object("apps/v1 Deployment default/web", 0, step.phase, wait(step.wait, 0))}})
			time.Sleep(step.pause)
			synctest.Wait()
			expect(t, step.reason, out.String(), step.want)
			out.Reset()
		}
		printer.Finish(display.Outcome{Done: true, Summary: "done"})
	})
}

func TestPlainDeletion(t *testing.T) {
	t.Parallel()
	state := func(objects ...display.Dependent) display.Progress {
		return display.Progress{Operation: "delete", Release: "default/shop", Phase: "deleting", Objects: objects}
	}
	const web, data = "apps/v1 Deployment default/web", "v1 PersistentVolumeClaim default/data"
	got := play(t, display.ModePlain, display.ColorAlways, display.Outcome{Done: true, Summary: "deleted"},
		state(object(web, 0, inventory.PhaseScheduledForDeletion), object(data, 1, inventory.PhaseScheduledForDeletion)),
		state(object(web, 0, inventory.PhaseDeleting), object(data, 1, inventory.PhaseScheduledForDeletion)),
		state(object(web, 0, inventory.PhaseDeleting, wait("finalizers: example.com/hold", 0)), object(data, 1, inventory.PhaseScheduledForDeletion)),
		state(object(web, 0, inventory.PhaseDeleting, did(inventory.VerbDeleted)), object(data, 1, inventory.PhaseScheduledForDeletion, did(inventory.VerbOrphaned))),
	)
	expect(t, "coloured, because that was asked for", strings.ReplaceAll(got, "\x1b", "^"), `
^[1mdelete default/shop^[0m: deleting
Deployment default/web: ^[33mdeleting^[0m
Deployment default/web: ^[32mdeleted^[0m
PersistentVolumeClaim default/data: ^[32morphaned^[0m
^[32m✓^[0m deleted^[2m (1 deleted, 1 orphaned, 0s)^[0m
`)
}

func TestManyUnready(t *testing.T) {
	t.Parallel()
	var state display.Progress
	for range 25 {
		state.Objects = append(state.Objects, object("v1 Pod default/p", 0, inventory.PhaseCreating))
	}
	got := play(t, display.ModePlain, display.ColorAuto, display.Outcome{Summary: "not ready"}, state)
	if lines, more := strings.Count(got, "▸"), strings.Contains(got, "  … and 5 more\n"); lines != 20 || !more {
		t.Errorf("25 objects are not ready, but %d are named:\n%s", lines, got)
	}
}

func TestOperationEvents(t *testing.T) {
	t.Parallel()
	states := course()[1:4]
	// What was done to an object comes with the event that it is done.
	early := states[0]
	early.Objects = slices.Clone(early.Objects)
	early.Objects[1].Verb, early.Objects[1].Unreported = "", true
	got := play(t, display.ModeJSON, display.ColorAlways, display.Outcome{Done: true, Summary: "ready", Next: "<rest>"}, slices.Concat([]display.Progress{early}, states)...)
	for line := range strings.Lines(got) {
		if !json.Valid([]byte(line)) {
			t.Errorf("not JSON: %s", line)
		}
	}
	expect(t, "all objects at first, then what has changed, and whether only the reason has", strings.ReplaceAll(got, `"time":"2000-01-01T00:00:00Z",`, ""), `
{"type":"phase","operation":"apply","release":"default/shop","revision":3,"phase":"applying wave 2 of 4"}
{"type":"object","object":{"apiVersion":"v1","kind":"Namespace","name":"shop"},"wave":-1,"state":"done","phase":"Ready"}
{"type":"object","object":{"apiVersion":"v1","kind":"Secret","namespace":"default","name":"keys"},"wave":0,"state":"done","phase":"Ready","verb":"Created"}
{"type":"object","object":{"apiVersion":"apps/v1","kind":"Deployment","namespace":"default","name":"web"},"wave":1,"state":"unready","phase":"Creating","verb":"Created","reason":"1/3 replicas available"}
{"type":"object","object":{"apiVersion":"batch/v1","kind":"Job","namespace":"default","name":"migrate"},"wave":1,"state":"unready","phase":"Updating","verb":"Updated"}
{"type":"object","object":{"apiVersion":"v1","kind":"Service","namespace":"default","name":"web"},"wave":1,"state":"done","phase":"Ready","verb":"Created"}
{"type":"object","object":{"apiVersion":"example.com/v1","kind":"Widget","namespace":"default","name":"front"},"wave":2,"state":"pending","phase":"ScheduledForApplication"}
{"type":"object","object":{"apiVersion":"example.com/v1","kind":"Widget","namespace":"default","name":"back"},"wave":3,"state":"pending","phase":"ScheduledForApplication"}
{"type":"object","object":{"apiVersion":"v1","kind":"ConfigMap","namespace":"default","name":"settings"},"wave":0,"state":"done","phase":"Ready","verb":"Updated"}
{"type":"phase","operation":"apply","release":"default/shop","revision":3,"phase":"applying wave 2 of 4","message":"retrying: connection\nrefused"}
{"type":"wait","object":{"apiVersion":"apps/v1","kind":"Deployment","namespace":"default","name":"web"},"wave":1,"state":"unready","phase":"Creating","verb":"Created","reason":"2/3 replicas available"}
{"type":"object","object":{"apiVersion":"batch/v1","kind":"Job","namespace":"default","name":"migrate"},"wave":1,"state":"failed","phase":"Updating","verb":"Updated","reason":"job has reached its\nbackoff limit"}
{"type":"phase","operation":"apply","release":"default/shop","revision":3,"phase":"applying wave 2 of 4"}
{"type":"object","object":{"apiVersion":"apps/v1","kind":"Deployment","namespace":"default","name":"web"},"wave":1,"state":"done","phase":"Ready","status":"Current","verb":"Created"}
{"type":"done","operation":"apply","release":"default/shop","revision":3,"summary":"ready","next":"<rest>"}
`)
}
