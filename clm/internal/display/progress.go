// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package display

import (
	"io"
	"os"

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
