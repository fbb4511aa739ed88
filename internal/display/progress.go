// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package display

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/component-operator/runtime/pkg/inventory"
	"github.com/component-operator/runtime/pkg/status"
)

// Printer shows an operation. Its methods may be called from several goroutines; none blocks on anything but the
// output, whose errors are ignored: an operation must not fail because its output has no reader.
type Printer interface {
	// Update shows the current state. The caller may change the state afterwards. After Finish it does nothing.
	Update(state Progress)
	// Finish replaces the view by the outcome of the operation. It must be called exactly once, also after a failure.
	Finish(outcome Outcome)
}

// Silent is a printer that shows nothing.
type Silent struct{}

// Update does nothing.
func (Silent) Update(Progress) {}

// Finish does nothing.
func (Silent) Finish(Outcome) {}

// Outcome is the result of an operation.
type Outcome struct {
	// Done means that everything was done. Otherwise the objects that are not ready are listed.
	Done bool
	// Summary is one line, such as "release default/web is ready".
	Summary string
	// Next is advice about what to do next; may be empty or have several lines.
	Next string
	// Notes are further lines: warnings and changes by the API server, and changes by other clients.
	Notes []string
}

// Mode is how an operation is shown.
type Mode int

const (
	// ModeAuto is ModeLive on a terminal, and ModePlain elsewhere, on dumb terminals, and if the environment variable
	// CI has a value other than false and 0.
	ModeAuto Mode = iota
	// ModeLive redraws a view on a terminal, and replaces it by a summary at the end.
	ModeLive
	// ModePlain writes a line for each change.
	ModePlain
	// ModeJSON writes an event as one line of JSON for each change.
	ModeJSON
)

// PrinterOptions are for NewPrinter.
type PrinterOptions struct {
	// Out is written to. Required.
	Out io.Writer
	// Mode defaults to ModeAuto.
	Mode Mode
	// Color defaults to ColorAuto. ModeJSON ignores it.
	Color Color
	// Size returns the present size of the terminal. Defaults to asking the terminal behind Out.
	Size func() (columns, rows int)
}

// NewPrinter returns a printer for one operation.
func NewPrinter(options PrinterOptions) Printer {
	if options.Size == nil {
		options.Size = func() (int, int) { return Size(options.Out) }
	}
	style := options.Color.Style(options.Out)
	switch {
	case options.Mode == ModeJSON:
		encoder := json.NewEncoder(options.Out)
		encoder.SetEscapeHTML(false)
		return &paced{show: &events{encoder: encoder, said: history{objects: map[Object]Dependent{}}}, forgets: true}
	case options.Mode == ModeLive || options.Mode == ModeAuto && IsAttended(options.Out):
		return &paced{show: &live{out: options.Out, size: options.Size, style: style, screen: NewScreen(options.Out)}}
	default:
		return &paced{show: &plain{out: options.Out, style: style, said: history{objects: map[Object]Dependent{}}, waits: map[Object]*waiting{}}}
	}
}

// show shows an operation in one mode. Its methods are not called concurrently.
type show interface {
	// take shows the present moment. It returns the time after which it must be called again even if nothing changes;
	// zero means never.
	take(present moment) (pause time.Duration)
	// finish replaces the view by the outcome.
	finish(present moment, outcome Outcome)
}

// moment is the progress of an operation at one time.
type moment struct {
	state        Progress
	started, now time.Time
}

// paced is the printer of all modes. It forwards updates to a show, and calls that again when its pause is over.
type paced struct {
	mu      sync.Mutex
	show    show
	forgets bool // means that the show takes objects only once, so that they need not be kept
	present moment
	ended   bool
	timer   *time.Timer // calls wake; nil if it was never needed
}

// Update implements Printer.
func (p *paced) Update(state Progress) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.forgets {
		state.Objects = slices.Clone(state.Objects)
	}
	p.present.state = state
	p.advance()
	if p.forgets {
		p.present.state.Objects = nil
	}
}

// wake is called by timers, also by those that were replaced while they fired.
func (p *paced) wake() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.advance()
}

func (p *paced) advance() {
	if p.ended {
		return
	}
	if p.timer != nil {
		p.timer.Stop()
	}
	p.present.now = time.Now()
	if p.present.started.IsZero() {
		p.present.started = p.present.now
	}
	if pause := p.show.take(p.present); pause > 0 {
		p.timer = time.AfterFunc(pause, p.wake)
	}
}

// Finish implements Printer.
func (p *paced) Finish(outcome Outcome) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ended {
		return
	}
	p.ended = true
	p.present.now = time.Now()
	p.show.finish(p.present, outcome)
}

// Progress is the progress of an operation at one moment.
type Progress struct {
	// Operation is the name of the operation: apply, rollback, heal, delete, test, adopt, orphan, move, wait.
	Operation string
	// Release is namespace and name.
	Release string
	// Revision of the release; 0 if the operation creates none.
	Revision int64
	// Objects are all dependents in the order of their waves, including those that were deleted or orphaned meanwhile.
	Objects []Dependent
	// Phase describes the current activity: "waiting for the lock held by ...", "applying wave 2 of 5".
	Phase string
	// Writing means that objects were written since the phase began.
	Writing bool
	// Message is further information, such as an error that is being retried; may be empty.
	Message string
}

// title names the operation.
func (s Progress) title() string {
	title := strings.TrimSpace(s.Operation + " " + s.Release)
	if s.Revision != 0 {
		title += " revision " + strconv.FormatInt(s.Revision, 10)
	}
	return title
}

// namesIn returns names of the dependents for room cells; see NewNames.
func namesIn(state Progress, room int) *Names {
	namespace, _, _ := strings.Cut(state.Release, "/")
	names := NewNames(room, namespace)
	for _, object := range state.Objects {
		names.Include(object)
	}
	return names
}

// because returns why a dependent waits or has failed, to append to its label, which it does not repeat.
func because(d Dependent) string {
	reason := Clean(d.Message)
	rest, repeats := strings.CutPrefix(reason, d.Label())
	if reason == "" || repeats && (rest == "" || strings.HasPrefix(rest, ": ") || strings.HasPrefix(rest, " (")) {
		return rest
	}
	return ": " + reason
}

// maxUnready is the maximum number of unready objects that the outcome lists; it counts the others.
const maxUnready = 20

// summaryOfProgress is the summary for people at the end.
type summaryOfProgress struct {
	moment
	outcome Outcome
	style   Style
	// width is the maximum width of lines; zero means no limit.
	width int
}

// writeOutcome writes the summary line, preceded by the unready objects, and followed by notes and advice.
func writeOutcome(out io.Writer, s summaryOfProgress) {
	var b strings.Builder
	mark := s.style.Green("✓")
	if !s.outcome.Done {
		mark = s.style.Red("✗")
		s.writeUnready(&b)
	}
	result := mark + " " + Clean(s.outcome.Summary)
	if details := s.details(); details != "" {
		result += s.style.Faint(" (" + details + ")")
	}
	WriteWrapped(&b, "", result, s.width)
	for _, note := range s.outcome.Notes {
		WriteWrapped(&b, "", s.style.Yellow("note:")+" "+Clean(note), s.width)
	}
	if s.outcome.Next != "" {
		b.WriteString(strings.TrimSuffix(s.outcome.Next, "\n") + "\n")
	}
	_, _ = io.WriteString(out, b.String())
}

func (s summaryOfProgress) writeUnready(b *strings.Builder) {
	unready := problems(s.state.Objects)
	names := namesIn(s.state, s.width)
	for _, object := range unready[:min(len(unready), maxUnready)] {
		text := fmt.Sprintf("%s %s: %s", mark(object, s.style), Clean(names.Of(object)), object.Label())
		if age := Age(object.Since, s.now); age != "" {
			text += " for " + age
		}
		WriteWrapped(b, "  ", text+because(object), s.width)
	}
	if more := len(unready) - maxUnready; more > 0 {
		fmt.Fprintf(b, "  … and %d more\n", more)
	}
}

// details returns the number of objects for each deed, and the duration.
func (s summaryOfProgress) details() string {
	counts := map[string]int{}
	var unchanged, untouched int
	for _, object := range s.state.Objects {
		switch {
		case object.Verb != "":
			counts[object.Done()]++
		case object.State == StateGone:
		case object.State.IsDone():
			unchanged++
		case object.State == StatePending:
			untouched++
		}
	}
	var details []string
	for _, deed := range slices.Sorted(maps.Keys(counts)) {
		details = append(details, fmt.Sprintf("%d %s", counts[deed], deed))
	}
	if unchanged > 0 {
		details = append(details, fmt.Sprintf("%d unchanged", unchanged))
	}
	if untouched > 0 {
		details = append(details, fmt.Sprintf("%d pending", untouched))
	}
	if !s.started.IsZero() {
		details = append(details, duration.HumanDuration(s.now.Sub(s.started)))
	}
	return strings.Join(details, ", ")
}

// problems returns the failed dependents, followed by those that are not ready.
func problems(list []Dependent) []Dependent {
	var found []Dependent
	for _, state := range []State{StateFailed, StateUnready} {
		for _, d := range list {
			if d.State == state {
				found = append(found, d)
			}
		}
	}
	return found
}

func mark(object Dependent, style Style) string {
	if object.State == StateFailed {
		return style.Red("✗")
	}
	return style.Yellow("▸")
}

// plain writes a line for each change.
type plain struct {
	out   io.Writer
	style Style
	said  history
	waits map[Object]*waiting
}

// waiting is what was printed about an object that waits.
type waiting struct {
	// reason is the last printed reason.
	reason string
	// due is when to print the current reason; zero if it need not be printed.
	due time.Time
	// pause is the time before the next reason is printed. It grows, because some reasons change all the time.
	pause time.Duration
}

const (
	// patience is how long an object waits before its first reason is printed: most become ready quickly.
	patience = time.Second
	// maxPatience is the maximum time before another reason of the same object is printed.
	maxPatience = 30 * time.Second
)

func (p *plain) take(present moment) time.Duration {
	state := present.state
	phase, message, changes := p.said.advance(state)
	var b strings.Builder
	if phase && state.Phase != "" {
		fmt.Fprintf(&b, "%s: %s\n", p.style.Bold(Clean(state.title())), Clean(state.Phase))
	}
	if message && state.Message != "" {
		fmt.Fprintf(&b, "%s: %s\n", p.style.Bold(Clean(state.title())), p.style.Yellow(Clean(state.Message)))
	}
	for _, change := range changes {
		for _, news := range change.news(p.style) {
			fmt.Fprintf(&b, "%s: %s\n", Clean(change.after.String()), news)
		}
		p.await(change.after, present.now)
	}
	pause := p.tell(&b, present)
	_, _ = io.WriteString(p.out, b.String())
	return pause
}

// await schedules the output of the reason why an object waits.
func (p *plain) await(object Dependent, now time.Time) {
	if object.State != StateUnready || object.Message == "" {
		delete(p.waits, object.Object)
		return
	}
	if p.waits[object.Object] == nil {
		p.waits[object.Object] = &waiting{pause: patience}
	}
	if w := p.waits[object.Object]; w.due.IsZero() && w.reason != object.Message {
		w.due = now.Add(w.pause)
	}
}

// tell prints the reasons that are due. It returns the time after which the next one is due; zero means never.
func (p *plain) tell(b *strings.Builder, present moment) (pause time.Duration) {
	for _, object := range present.state.Objects {
		w := p.waits[object.Object]
		if w == nil || w.due.IsZero() {
			continue
		}
		if left := w.due.Sub(present.now); left > 0 {
			pause = min(cmp.Or(pause, left), left)
			continue
		}
		w.due = time.Time{}
		if w.reason == object.Message {
			continue // another one has come and gone meanwhile
		}
		w.reason, w.pause = object.Message, min(2*w.pause, maxPatience)
		label := "waiting"
		if isLeaving(object) {
			label = object.Label()
		}
		fmt.Fprintf(b, "%s: %s: %s\n", Clean(object.String()), p.style.Yellow(label), Clean(object.Message))
	}
	return pause
}

func (p *plain) finish(present moment, outcome Outcome) {
	writeOutcome(p.out, summaryOfProgress{moment: present, outcome: outcome, style: p.style})
}

// news returns what to print at once: what was done, and the new state unless that follows from what was done. It omits
// objects that were ready all the time or whose turn has not come.
func (c change) news(style Style) []string {
	var news []string
	acted := c.after.Verb != "" && c.after.Verb != c.before.Verb
	if acted {
		news = append(news, style.Green(c.after.Done()))
	}
	was, is := c.before.State, c.after.State
	switch {
	case is == StateFailed && (was != is || c.before.Message != c.after.Message):
		news = append(news, style.Red(c.after.Label())+because(c.after))
	case is == StateUnready && isLeaving(c.after) && (was != is || !isLeaving(c.before)):
		news = append(news, style.Yellow(c.after.Label()))
	case is.IsDone() && was.IsProblem() && !acted:
		news = append(news, style.Green(c.after.Label()))
	}
	return news
}

// isLeaving reports whether the object is being deleted or purged.
func isLeaving(d Dependent) bool {
	return d.Phase == inventory.PhaseDeleting || d.Phase == inventory.PhaseCompleting
}

// operationEvent is an event about the operation.
type operationEvent struct {
	Time      string `json:"time"`
	Type      string `json:"type"`
	Operation string `json:"operation,omitempty"`
	Release   string `json:"release,omitempty"`
	Revision  int64  `json:"revision"`
	Phase     string `json:"phase,omitempty"`
	Message   string `json:"message,omitempty"`
	Summary   string `json:"summary,omitempty"`
	Next      string `json:"next,omitempty"`
	// Notes come with the last event.
	Notes []string `json:"notes,omitempty"`
}

// objectEvent is an event about a dependent.
type objectEvent struct {
	Time   string          `json:"time"`
	Type   string          `json:"type"`
	Object Object          `json:"object"`
	Wave   int             `json:"wave"`
	State  string          `json:"state"`
	Phase  inventory.Phase `json:"phase,omitempty"`
	Status status.Status   `json:"status,omitempty"`
	Verb   inventory.Verb  `json:"verb,omitempty"`
	Reason string          `json:"reason,omitempty"`
}

// events writes an event per line, for programs.
type events struct {
	encoder *json.Encoder
	said    history
}

func (e *events) take(present moment) time.Duration {
	state := present.state
	phase, message, changes := e.said.advance(state)
	if phase || message {
		e.emit(operationEvent{
			Time: present.stamp(), Type: "phase", Operation: state.Operation, Release: state.Release, Revision: state.Revision,
			Phase: state.Phase, Message: state.Message,
		})
	}
	for _, change := range changes {
		kind, after := "object", change.after
		if isSameButMessage(change.before, after) {
			kind = "wait"
		}
		word := string(after.State)
		if after.State.IsDone() {
			if after.Unreported {
				// One event will tell both.
				continue
			}
			word = "done"
		}
		e.emit(objectEvent{
			Time: present.stamp(), Type: kind, Object: after.Object, Wave: after.Wave, State: word,
			Phase: after.Phase, Status: after.Status, Verb: after.Verb, Reason: after.Message,
		})
	}
	return 0
}

func (e *events) finish(present moment, outcome Outcome) {
	kind, state := "failed", present.state
	if outcome.Done {
		kind = "done"
	}
	e.emit(operationEvent{
		Time: present.stamp(), Type: kind, Operation: state.Operation, Release: state.Release, Revision: state.Revision,
		Message: state.Message, Summary: outcome.Summary, Next: outcome.Next, Notes: outcome.Notes,
	})
}

// emit writes the line without buffering, so that the reader of a pipe can follow the operation.
func (e *events) emit(event any) { _ = e.encoder.Encode(event) }

func (m moment) stamp() string { return m.now.UTC().Format(time.RFC3339Nano) }
