// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"bytes"
	"fmt"
	"io"
	"reflect"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/component-operator/runtime/clm/internal/display"
)

// view is something that changes while people look at it.
type view interface {
	// write prints it as it is now. Lines are to fit into the width, if that is positive.
	write(out io.Writer, style display.Style, width int) error
	// facts are what is told where nothing can be redrawn. They do not change just because time passes.
	facts() []fact
	// object is what programs are told.
	object() (*unstructured.Unstructured, error)
}

// fact is what there is to say about something.
type fact struct {
	subject, text string
}

// viewer shows a view: once, or whenever it has changed. On a terminal it is redrawn; elsewhere the first one is
// printed, and of the others what has changed. Programs get an object each time.
type viewer struct {
	*environment
	output output
	style  display.Style
	notes  map[display.Note]bool
	// live is the screen that is redrawn; nil if there is none.
	live *display.Screen
	stop chan struct{}
	over sync.WaitGroup

	mu      sync.Mutex
	current view
	problem string
	said    map[string]string
	told    *unstructured.Unstructured
	err     error
}

func newViewer(e *environment, printed output, watch bool) *viewer {
	v := &viewer{environment: e, output: printed, style: e.style(e.out), notes: map[display.Note]bool{}, stop: make(chan struct{})}
	if watch && printed.forPeople() && display.IsAttended(e.out) {
		v.live = display.NewScreen(e.out)
		v.over.Go(v.tick)
	}
	return v
}

// tick redraws the view because ages have grown.
func (v *viewer) tick() {
	ticker := time.NewTicker(time.Second)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
			v.mu.Lock()
			v.draw()
			v.mu.Unlock()
		case <-v.stop:
			return
		}
	}
}

func (v *viewer) show(next view, notes []display.Note) {
	v.mu.Lock()
	defer v.mu.Unlock()
	first := v.current == nil
	v.current, v.problem = next, ""
	for _, note := range notes {
		if !v.notes[note] && v.live == nil {
			fmt.Fprintln(v.environment.err, display.Clean(fmt.Sprint(note)))
		}
		v.notes[note] = true
	}
	switch {
	case !v.output.forPeople():
		v.keep(v.tell())
	case v.live != nil:
		v.draw()
	case first:
		v.said = said(next)
		v.keep(next.write(v.out, v.style, display.Limit(v.out)))
	default:
		v.sayNews(next)
	}
}

// trouble tells of an error that is going to be retried.
func (v *viewer) trouble(err error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.problem = err.Error()
	if v.live == nil {
		fmt.Fprintln(v.environment.err, display.Clean(v.problem))
		return
	}
	v.draw()
}

func (v *viewer) keep(err error) {
	if v.err == nil {
		v.err = err
	}
}

// close leaves the last view where it can be read, and returns the first error there was.
func (v *viewer) close() error {
	close(v.stop)
	v.over.Wait()
	if v.live == nil || v.current == nil {
		return v.err
	}
	columns, rows := display.Size(v.out)
	v.live.Clear(columns, rows)
	v.keep(v.current.write(v.out, v.style, columns))
	for note := range v.notes {
		fmt.Fprintln(v.environment.err, display.Clean(fmt.Sprint(note)))
	}
	return v.err
}

// draw shows as much of the view as fits on the screen.
func (v *viewer) draw() {
	if v.current == nil {
		return
	}
	// A line that fills the last column leaves the cursor in limbo, and the line below the view belongs to the cursor.
	columns, rows := display.Size(v.out)
	var text bytes.Buffer
	v.keep(v.current.write(&text, v.style, columns-1))
	lines := strings.Split(strings.TrimSuffix(text.String(), "\n"), "\n")
	if v.problem != "" {
		lines = append(lines, v.style.Yellow(display.Clean(v.problem)))
	}
	if room := max(rows-1, 1); len(lines) > room {
		lines = append(lines[:room-1], v.style.Faint(fmt.Sprintf("… and %d more lines", len(lines)-room+1)))
	}
	for i, line := range lines {
		lines[i] = display.Truncate(line, columns-1)
	}
	v.live.Show(lines, columns, rows)
}

// tell prints the object if it has changed.
func (v *viewer) tell() error {
	object, err := v.current.object()
	if err != nil || v.told != nil && reflect.DeepEqual(object, v.told) {
		return err
	}
	v.told = object
	return v.output.write(v.out, object)
}

// sayNews prints what is new, and of what nothing is said any more.
func (v *viewer) sayNews(next view) {
	before := v.said
	v.said = said(next)
	for _, fact := range next.facts() {
		if before[fact.subject] != fact.text {
			fmt.Fprintf(v.out, "%s: %s\n", display.Clean(fact.subject), display.Clean(fact.text))
			before[fact.subject] = fact.text
		}
	}
	for subject := range before {
		if _, still := v.said[subject]; !still {
			fmt.Fprintf(v.out, "%s: gone\n", display.Clean(subject))
		}
	}
}

func said(v view) map[string]string {
	texts := map[string]string{}
	for _, fact := range v.facts() {
		texts[fact.subject] = fact.text
	}
	return texts
}
