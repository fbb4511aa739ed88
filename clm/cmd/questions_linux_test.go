// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// dialogue is a question that a command asks on a terminal.
type dialogue struct {
	command string
	// prepare makes what the command is going to change.
	prepare func(p *place)
	// asked is the question; PLACE stands for the namespace.
	asked string
	// state is what the command changes, in words, and want is what it is after the answer yes.
	state func(p *place) string
	want  string
}

// allDialogues are the questions of all commands but clm apply, which has a test of its own.
func allDialogues() map[string]dialogue {
	owners := func(names ...string) func(p *place) string {
		return func(p *place) string {
			var texts []string
			for _, name := range names {
				texts = append(texts, name+" of "+p.owner(name))
			}
			return strings.Join(texts, ", ")
		}
	}
	value := func(p *place) string { return p.configMap("a")["value"] }
	shop := func(p *place) { p.must("apply", "shop", p.file("shop.yaml", manifestOf("one", "two"))) }
	return map[string]dialogue{
		"delete": {
			command: "delete web", asked: "Delete release PLACE/web?",
			prepare: func(p *place) {
				p.must("apply", "web", p.file("app.yaml", manifestOf("one")+job("after", "deletion-hook", "post-delete")+
					"---\n{apiVersion: v1, kind: ConfigMap, metadata: {name: two, annotations: {clm.cs.sap.com/delete-policy: orphan}}}"))
			},
			state: owners("one", "two"), want: "one of none, two of ",
		},
		"rollback": {
			command: "rollback web", asked: "Roll back release PLACE/web?",
			prepare: func(p *place) {
				p.must("apply", "web", p.file("app.yaml", configMap("a", "1")))
				p.must("apply", "web", p.file("app.yaml", configMap("a", "2")))
			},
			state: value, want: "1",
		},
		"adopt": {
			command: "adopt web cm/one", asked: "Change release PLACE/web?",
			prepare: func(p *place) {
				shop(p)
				p.clm("apply", "web", p.file("app.yaml", manifestOf("one")))
			},
			state: owners("one"), want: "one of web",
		},
		"orphan": {
			command: "orphan shop cm/one", asked: "Change release PLACE/shop?",
			prepare: shop,
			state:   owners("one", "two"), want: "one of , two of shop",
		},
		"move": {
			command: "move cm/one --from shop --to web", asked: "Move 1 object from release PLACE/shop to release PLACE/web?",
			prepare: func(p *place) {
				shop(p)
				p.must("apply", "web", p.file("app.yaml", manifestOf("three")))
			},
			state: owners("one", "two"), want: "one of web, two of shop",
		},
		"doctor": {
			command: "doctor --fix", asked: "Repair what can be repaired (1 of 1)?",
			prepare: func(p *place) {
				shop(p)
				p.create(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "extra"}})
				p.as("somebody", configMapKind, "extra", p.mark("shop"))
			},
			state: func(p *place) string { return strings.Join(p.findings(), ", ") },
		},
		"heal": {
			command: "drift web --heal", asked: "Heal release PLACE/web?",
			prepare: func(p *place) {
				p.must("apply", "web", p.file("app.yaml", configMap("a", "1")))
				p.change("a", "2")
			},
			state: value, want: "1",
		},
	}
}

// TestQuestions answers each question with no and with yes, and one with nothing.
func TestQuestions(t *testing.T) {
	t.Parallel()
	for name, q := range allDialogues() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t)
			q.prepare(p)
			asked := strings.ReplaceAll(q.asked, "PLACE", p.namespace) + " [y/N] "
			before := p.versions()
			answers := []string{"n\n"}
			if name == "delete" {
				answers = append(answers, "\n")
			}
			for _, answer := range answers {
				command, screen := p.startOnTerminal(t, nil, strings.Fields(q.command)...)
				screen.resize(t, 250, 40)
				screen.expect(t, asked)
				screen.enter(t, answer)
				expectExit(t, command, screen, exitRefused)
				screen.expect(t, "not confirmed; nothing was done")
				if diff := cmp.Diff(before, p.versions()); diff != "" {
					t.Errorf("something was done (-before +after):\n%s", diff)
				}
				if answer == "n\n" {
					expectGolden(t, "questions/"+name+".txt", p.stable(screen.frame()))
				}
			}
			command, screen := p.startOnTerminal(t, nil, strings.Fields(q.command)...)
			screen.expect(t, asked)
			screen.enter(t, "y\n")
			expectExit(t, command, screen, 0)
			if got := q.state(p); got != q.want {
				t.Errorf("want %q, got %q", q.want, got)
			}
		})
	}
}

// TestTestsAskNothing, because they change nothing that the release consists of.
func TestTestsAskNothing(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.must("apply", "web", p.file("app.yaml", configMap("a", "1")+
		"---\n{apiVersion: v1, kind: ConfigMap, metadata: {name: check, annotations: {clm.cs.sap.com/release-hook: test}}}\n"))
	command, screen := p.startOnTerminal(t, nil, "test", "web")
	expectExit(t, command, screen, 0)
	screen.expect(t, "1 of 1 tests passed")
	if strings.Contains(screen.sent(), "[y/N]") {
		t.Errorf("want no question:\n%s", screen.frame())
	}
}

// TestFramesOfARollback has the release wait for a gate that was closed after it was applied.
func TestFramesOfARollback(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	for _, text := range []string{"1", "2"} {
		applied := p.background(t.Context(), "apply", "web", p.gated(text))
		p.reachGate()
		p.openGate()
		p.expect(<-applied, 0)
	}
	p.setGate("False")
	command, screen := p.startOnTerminal(t, nil, "rollback", "web")
	screen.resize(t, 150, 40)
	screen.expect(t, "[y/N] ")
	screen.enter(t, "y\n")
	p.expectFrame(t, screen, "the gate is closed", `
y
rollback PLACE/web revision 3: waiting until wave 0 is ready  AGE
  wave -1  ✓ 1 done
  wave 0   ▸ 1 in motion
    ▸ Service PLACE/gate  waiting  AGE  Open is False (Opened)
  wave 1   · 1 to come
`)
	p.openGate()
	expectExit(t, command, screen, 0)
	p.expectFrame(t, screen, "the view gives way to the summary", `
y
✓ release PLACE/web, revision 3, is ready (2 updated, 1 unchanged, AGE)
`)
	p.expectEnds(value("1"), value("1"))
}

// TestFramesOfADeletion interrupts it while an object is held, and goes on with it.
func TestFramesOfADeletion(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.must("apply", "web", p.file("app.yaml", configMap("free", "1")+"---\n{apiVersion: v1, kind: ConfigMap, metadata: {name: held}}\n"+
		"---\n{apiVersion: v1, kind: ConfigMap, metadata: {name: later, annotations: {clm.cs.sap.com/delete-order: '1'}}}\n"))
	p.as("somebody", configMapKind, "held", `{"metadata":{"finalizers":["example.com/hold"]}}`)
	const held = `
y
delete PLACE/web: waiting until wave 0 is gone  AGE
  wave 0  ✓ 1 done  ▸ 1 in motion
    ▸ ConfigMap PLACE/held  deleting  AGE  being deleted: waiting for finalizers: example.com/hold
  wave 1  · 1 to come
`
	command, screen := p.startOnTerminal(t, nil, "delete", "web")
	screen.resize(t, 150, 40)
	screen.expect(t, "[y/N] ")
	screen.enter(t, "y\n")
	p.expectFrame(t, screen, "an object is held", held)
	screen.enter(t, "\x03")
	expectExit(t, command, screen, exitInterrupted)
	screen.expect(t, "Nothing is lost: to go on, do the same again.")
	if p.locked("web") {
		t.Error("the lock was not given back")
	}
	command, screen = p.startOnTerminal(t, nil, "delete", "web")
	screen.resize(t, 150, 40)
	screen.expect(t, "[y/N] ")
	screen.enter(t, "y\n")
	p.expectFrame(t, screen, "what is gone is not counted again", strings.Replace(held, "✓ 1 done  ", "", 1))
	p.as("somebody", configMapKind, "held", `{"metadata":{"finalizers":null}}`)
	expectExit(t, command, screen, 0)
	p.expectFrame(t, screen, "the view gives way to the summary", `
y
✓ release PLACE/web is deleted (2 deleted, AGE)
`)
	p.expectNothing()
}
