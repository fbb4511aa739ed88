// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package display

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/util/duration"
	"k8s.io/utils/clock"

	"github.com/component-operator/runtime/pkg/reconciler"
	"github.com/component-operator/runtime/pkg/status"
)

// Printer shows an operation. Its methods may be called from several goroutines; none blocks on anything but the
// output, whose errors are ignored: an operation must not fail because its output has no reader.
type Printer interface {
	// Update takes the present state, and keeps nothing of it that the caller could change. After Finish it does
	// nothing.
	Update(state Progress)
	// Finish takes the view away and says how the operation ended. It must be called, also after a failure; once.
	Finish(outcome Outcome)
}

// Silent is a printer that shows nothing.
type Silent struct{}

// Update does nothing.
func (Silent) Update(Progress) {}

// Finish does nothing.
func (Silent) Finish(Outcome) {}

// Outcome is how an operation ended.
type Outcome struct {
	// Done means that everything was done. Otherwise what is not ready is listed.
	Done bool
	// Summary is one line, such as "release default/web is ready".
	Summary string
	// Next says what can be done now; may be empty, and have several lines.
	Next string
	// Notes are what else should be known: what the API server warned about or changed, and what others changed. One
	// line each.
	Notes []string
}

// Mode is how an operation is shown.
type Mode int

const (
	// ModeAuto is ModeLive on a terminal, and ModePlain elsewhere, on dumb terminals, and if the environment variable
	// CI has a value other than false and 0.
	ModeAuto Mode = iota
	// ModeLive redraws a view on a terminal, which gives way to a summary at the end.
	ModeLive
	// ModePlain writes a line for each thing that changes.
	ModePlain
	// ModeJSON writes an event per line. See the documentation of the package.
	ModeJSON
	// ModeQuiet writes the outcome only.
	ModeQuiet
)

// PrinterOptions are for NewPrinter. The zero value is what people expect.
type PrinterOptions struct {
	// Out defaults to standard error.
	Out io.Writer
	// Mode defaults to ModeAuto.
	Mode Mode
	// Color defaults to ColorAuto. It does not concern ModeJSON.
	Color Color
	// Clock defaults to the real time.
	Clock clock.WithDelayedExecution
	// Size returns the present size of the terminal. Defaults to asking the terminal behind Out.
	Size func() (columns, rows int)
}

// NewPrinter returns a printer for one operation.
func NewPrinter(options PrinterOptions) Printer {
	if options.Out == nil {
		options.Out = os.Stderr
	}
	if options.Clock == nil {
		options.Clock = clock.RealClock{}
	}
	if options.Size == nil {
		options.Size = func() (int, int) { return Size(options.Out) }
	}
	if options.Mode == ModeAuto {
		options.Mode = ModePlain
		if IsAttended(options.Out) {
			options.Mode = ModeLive
		}
	}
	style := options.Color.Style(options.Out)
	switch options.Mode {
	case ModeLive:
		return newLive(options, style)
	case ModeJSON:
		return newEvents(options)
	case ModeAuto, ModePlain, ModeQuiet:
	}
	return &plain{out: options.Out, clock: options.Clock, style: style, quiet: options.Mode == ModeQuiet}
}

// Progress is how an operation stands at one moment.
type Progress struct {
	// Operation is what is being done: apply, rollback, heal, delete, test, adopt, orphan, move, wait.
	Operation string
	// Release is namespace and name.
	Release string
	// Revision of the release; 0 if the operation makes none.
	Revision int64
	// Objects are all dependents in the order of their waves, including those that are deleted or released meanwhile.
	Objects []Dependent
	// Phase says what is going on: "waiting for the lock held by ...", "applying wave 2 of 5".
	Phase string
	// Writing means that objects have been written since the operation waited for what the phase says.
	Writing bool
	// Message says what else should be known now, such as an error that is being retried; may be empty.
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

// namesIn returns the names of the dependents for a terminal in which a name has that many cells.
func namesIn(state Progress, room int) *Names {
	namespace, _, _ := strings.Cut(state.Release, "/")
	names := NewNames(room, namespace)
	for _, object := range state.Objects {
		names.Include(object)
	}
	return names
}

// word is what programs are told of a state.
func word(state State) string {
	switch {
	case state == StateUnready:
		return "unready"
	case state.IsDone():
		return "done"
	default:
		return string(state)
	}
}

// because is why a dependent waits or has failed, to follow upon the label, which it does not repeat.
func because(d Dependent) string {
	reason := Clean(d.Message)
	rest, repeats := strings.CutPrefix(reason, d.Label())
	if reason == "" || repeats && (rest == "" || strings.HasPrefix(rest, ": ") || strings.HasPrefix(rest, " (")) {
		return rest
	}
	return ": " + reason
}

// maxUnready is how many objects that are not ready the outcome names; the others are counted.
const maxUnready = 20

// summary is what is said at the end, to people.
type summaryOfProgress struct {
	state        Progress
	outcome      Outcome
	started, now time.Time
	style        Style
	// width is the limit of lines; zero means that there is none.
	width int
}

// writeOutcome writes one line, preceded by what is not ready, and followed by what can be done.
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

// details counts what was done, and says how long it took.
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

// problems returns what is neither done nor to come, failures first.
func problems(list []Dependent) []Dependent {
	var failed, others []Dependent
	for _, d := range list {
		switch {
		case d.State == StateFailed:
			failed = append(failed, d)
		case d.State.IsProblem():
			others = append(others, d)
		}
	}
	return slices.Concat(failed, others)
}

func mark(object Dependent, style Style) string {
	if object.State == StateFailed {
		return style.Red("✗")
	}
	return style.Yellow("▸")
}

// plain writes a line for each thing that changes, or if it is quiet the outcome only.
type plain struct {
	out   io.Writer
	clock clock.WithDelayedExecution
	style Style
	quiet bool

	mu      sync.Mutex
	started time.Time
	ended   bool
	state   Progress
	said    history
	waits   map[Object]*waiting
	// timer is set for the first of the reasons that are due.
	timer clock.Timer
}

// waiting is what was said about an object that waits.
type waiting struct {
	// reason is the one that was said last.
	reason string
	// due is when it is time to say the present one; zero if there is no need to.
	due time.Time
	// pause is how long to wait before the next one is said. It grows, because some reasons change all the time.
	pause time.Duration
}

const (
	// patience is how long an object has to wait until the reason is worth a line: most of them pass at once.
	patience = time.Second
	// maxPatience is how long another reason of the same object has to wait at most.
	maxPatience = 30 * time.Second
)

func (p *plain) Update(state Progress) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ended {
		return
	}
	now := p.clock.Now()
	if p.started.IsZero() {
		p.started = now
	}
	state.Objects = slices.Clone(state.Objects)
	p.state = state
	if p.quiet {
		return
	}
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
		p.await(change.after, now)
	}
	_, _ = io.WriteString(p.out, b.String())
	p.schedule(now)
}

// await has the reason told why an object waits, if it is still waiting then.
func (p *plain) await(object Dependent, now time.Time) {
	if object.State != StateUnready || object.Message == "" {
		delete(p.waits, object.Object)
		return
	}
	if p.waits == nil {
		p.waits = map[Object]*waiting{}
	}
	if p.waits[object.Object] == nil {
		p.waits[object.Object] = &waiting{pause: patience}
	}
	if w := p.waits[object.Object]; w.due.IsZero() && w.reason != object.Message {
		w.due = now.Add(w.pause)
	}
}

// schedule sets the timer.
func (p *plain) schedule(now time.Time) {
	if p.timer != nil {
		p.timer.Stop()
		p.timer = nil
	}
	var next time.Time
	for _, w := range p.waits {
		if !w.due.IsZero() && (next.IsZero() || w.due.Before(next)) {
			next = w.due
		}
	}
	if !next.IsZero() {
		p.timer = p.clock.AfterFunc(next.Sub(now), p.tell)
	}
}

// tell says why objects wait that have done so for a while.
func (p *plain) tell() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ended {
		return
	}
	now := p.clock.Now()
	var b strings.Builder
	for _, object := range p.state.Objects {
		w := p.waits[object.Object]
		if w == nil || w.due.IsZero() || now.Before(w.due) {
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
		fmt.Fprintf(&b, "%s: %s: %s\n", Clean(object.String()), p.style.Yellow(label), Clean(object.Message))
	}
	_, _ = io.WriteString(p.out, b.String())
	p.schedule(now)
}

func (p *plain) Finish(outcome Outcome) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ended {
		return
	}
	p.ended = true
	if p.timer != nil {
		p.timer.Stop()
	}
	writeOutcome(p.out, summaryOfProgress{state: p.state, outcome: outcome, started: p.started, now: p.clock.Now(), style: p.style})
}

// news returns what is worth a line at once. What was ready all the time, and what has not had its turn, is not.
func (c change) news(style Style) []string {
	var news []string
	if c.acted() {
		news = append(news, style.Green(c.after.Done()))
	}
	if situation := c.situation(style); situation != "" {
		news = append(news, situation)
	}
	return news
}

func (c change) acted() bool {
	return c.after.Verb != "" && c.after.Verb != c.before.Verb
}

// situation is empty if it is the same as before, or said already by what was done.
func (c change) situation(style Style) string {
	was, is := c.before.State, c.after.State
	switch {
	case is == StateFailed && (was != is || c.before.Message != c.after.Message):
		return style.Red(c.after.Label()) + because(c.after)
	case is == StateUnready && isLeaving(c.after) && (was != is || !isLeaving(c.before)):
		return style.Yellow(c.after.Label())
	case is.IsDone() && was.IsProblem() && !c.acted():
		return style.Green(c.after.Label())
	}
	return ""
}

// isLeaving reports whether the object is on its way out.
func isLeaving(d Dependent) bool {
	return d.Phase == reconciler.PhaseDeleting || d.Phase == reconciler.PhaseCompleting
}

// operationEvent says something about the operation.
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

// objectEvent says something about a dependent.
type objectEvent struct {
	Time   string           `json:"time"`
	Type   string           `json:"type"`
	Object Object           `json:"object"`
	Wave   int              `json:"wave"`
	State  string           `json:"state"`
	Phase  reconciler.Phase `json:"phase,omitempty"`
	Status status.Status    `json:"status,omitempty"`
	Verb   reconciler.Verb  `json:"verb,omitempty"`
	Reason string           `json:"reason,omitempty"`
}

// events writes an event per line, for programs.
type events struct {
	clock clock.PassiveClock

	mu      sync.Mutex
	encoder *json.Encoder
	ended   bool
	last    Progress
	said    history
}

func newEvents(options PrinterOptions) *events {
	encoder := json.NewEncoder(options.Out)
	encoder.SetEscapeHTML(false)
	return &events{clock: options.Clock, encoder: encoder}
}

func (e *events) Update(state Progress) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.ended {
		return
	}
	now := e.now()
	phase, message, changes := e.said.advance(state)
	if phase || message {
		e.emit(operationEvent{
			Time: now, Type: "phase", Operation: state.Operation, Release: state.Release, Revision: state.Revision,
			Phase: state.Phase, Message: state.Message,
		})
	}
	for _, change := range changes {
		kind := "object"
		if !change.isNew && isSameButMessage(change.before, change.after) {
			kind = "wait"
		}
		after := change.after
		e.emit(objectEvent{
			Time: now, Type: kind, Object: after.Object, Wave: after.Wave, State: word(after.State),
			Phase: after.Phase, Status: after.Status, Verb: after.Verb, Reason: after.Message,
		})
	}
	state.Objects = nil
	e.last = state
}

func (e *events) Finish(outcome Outcome) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.ended {
		return
	}
	e.ended = true
	kind := "failed"
	if outcome.Done {
		kind = "done"
	}
	e.emit(operationEvent{
		Time: e.now(), Type: kind, Operation: e.last.Operation, Release: e.last.Release, Revision: e.last.Revision,
		Message: e.last.Message, Summary: outcome.Summary, Next: outcome.Next, Notes: outcome.Notes,
	})
}

// emit writes the line at once, so that a reader at the other end of a pipe follows the operation.
func (e *events) emit(event any) { _ = e.encoder.Encode(event) }

func (e *events) now() string { return e.clock.Now().UTC().Format(time.RFC3339Nano) }
