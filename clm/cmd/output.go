// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"reflect"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/printers"

	"github.com/component-operator/runtime/clm/internal/releases"
	"github.com/component-operator/runtime/internal/display"
)

// outputVersion is the apiVersion of output for programs. Fields may be added; existing ones keep their meaning.
const outputVersion = releases.ReconcilerName + "/v1alpha1"

// output prints the result of a command: a table for people, objects for programs.
type output struct {
	flags *genericclioptions.PrintFlags
	// printer is always the same one: it separates the documents of a stream.
	printer func() (printers.ResourcePrinter, error)
}

func newOutput(command *cobra.Command) output {
	flags := genericclioptions.NewPrintFlags("")
	flags.AddFlags(command)
	return output{flags: flags, printer: sync.OnceValues(flags.ToPrinter)}
}

// forPeople reports whether to print a table.
func (o output) forPeople() bool { return *o.flags.OutputFormat == "" }

// printList converts items to resources, and writes these as a list.
func printList[T any](o output, out io.Writer, items []T, form func(i int, item T) *unstructured.Unstructured) error {
	resources := make([]any, len(items))
	for i, item := range items {
		resources[i] = form(i, item).Object
	}
	return o.print(out, listOf(resources))
}

// listOf returns a list in the form of kubectl.
func listOf(items []any) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "List", "items": items}}
}

// print writes a resource, or a list of them.
func (o output) print(out io.Writer, content *unstructured.Unstructured) error {
	content, err := plain(content)
	if err != nil {
		return err
	}
	var object runtime.Object = content
	if content.IsList() {
		// The printer of names recognizes lists only by their Go type.
		if object, err = content.ToList(); err != nil {
			return fmt.Errorf("printing a list: %w", err)
		}
	}
	printer, err := o.printer()
	if err != nil {
		return fmt.Errorf("flag --output: %w", err)
	}
	return printer.PrintObj(object, out)
}

// plain returns the JSON form of a resource.
func plain(resource *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	encoded, err := json.Marshal(resource.Object)
	if err != nil {
		return nil, fmt.Errorf("encoding the result: %w", err)
	}
	result := &unstructured.Unstructured{}
	if err := utiljson.Unmarshal(encoded, &result.Object); err != nil {
		return nil, fmt.Errorf("encoding the result: %w", err)
	}
	return result, nil
}

// resource gives a content the form of a Kubernetes object, so that programs treat it like any other. Values in it may
// be of any type; their JSON forms are printed.
func resource(kind string, namespace, name string, content map[string]any) *unstructured.Unstructured {
	object := &unstructured.Unstructured{Object: content}
	object.SetAPIVersion(outputVersion)
	object.SetKind(kind)
	if namespace != "" {
		object.SetNamespace(namespace)
	}
	object.SetName(name)
	return object
}

// newTable returns a table that fits in the terminal, if the writer is one.
func newTable(out io.Writer, columns ...display.Column) *display.Table {
	return display.NewTable(display.Limit(out), columns...)
}

// writeWrapped writes an indented text. On a terminal it is wrapped between words.
func writeWrapped(out io.Writer, indent, text string) {
	display.WriteWrapped(out, indent, text, display.Limit(out))
}

// timestamp formats a time for programs; empty for the zero time.
func timestamp(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.RFC3339)
}

// addKnown adds the known values to a content: lists that are not empty, and other values that are not zero.
func addKnown(content, known map[string]any) {
	for name, value := range known {
		if v := reflect.ValueOf(value); !v.IsZero() && (v.Kind() != reflect.Slice || v.Len() > 0) {
			content[name] = value
		}
	}
}

// view is output that may change while people look at it.
type view interface {
	// write prints the current state. Lines must fit into the width if it is positive.
	write(out io.Writer, style display.Style, width int) error
	// facts returns the lines to print where nothing can be redrawn. They must not change just because time passes.
	facts() []fact
	// object returns the resource, or the list, for programs.
	object() *unstructured.Unstructured
}

// fact is a line about a subject.
type fact struct {
	subject, text string
}

// viewer shows a view once, or whenever it changes. On a terminal it redraws the view. Elsewhere it prints the first
// view, and then only changes. Programs get an object each time.
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
		// Ages grow.
		v.over.Go(func() { wait.Until(v.redraw, time.Second, v.stop) })
	}
	return v
}

func (v *viewer) redraw() {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.draw()
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

// trouble shows an error that will be retried.
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

// keep stores the first error.
func (v *viewer) keep(err error) { v.err = cmp.Or(v.err, err) }

// close leaves the last view on the terminal, and returns the first error.
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
	v.live.Show(lines, columns, rows)
}

// tell prints the object if it has changed.
func (v *viewer) tell() error {
	object, err := plain(v.current.object())
	if err != nil || v.told != nil && reflect.DeepEqual(object, v.told) {
		return err
	}
	v.told = object
	return v.output.print(v.out, object)
}

// sayNews prints new and changed facts, and the subjects that are gone.
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
