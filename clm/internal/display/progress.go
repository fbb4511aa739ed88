// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package display

import (
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/duration"
	"k8s.io/utils/clock"
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
