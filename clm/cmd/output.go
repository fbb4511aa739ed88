// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"cmp"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/printers"

	"github.com/component-operator/runtime/clm/internal/display"
	"github.com/component-operator/runtime/clm/internal/releases"
	"github.com/component-operator/runtime/pkg/types"
)

// outputVersion is the apiVersion of what commands print for programs. Fields may be added to it; none changes its
// meaning.
const outputVersion = releases.ReconcilerName + "/v1alpha1"

// output prints what a command has found: a table to people, and objects to programs.
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

// forPeople reports whether a table is wanted.
func (o output) forPeople() bool { return *o.flags.OutputFormat == "" }

// print writes one object.
func (o output) print(out io.Writer, kind string, namespace, name string, content map[string]any) error {
	return o.write(out, resource(kind, namespace, name, content))
}

// printList writes objects made by resource as a list.
func (o output) printList(out io.Writer, objects []*unstructured.Unstructured) error {
	list := &unstructured.UnstructuredList{Object: map[string]any{"apiVersion": "v1", "kind": "List"}}
	for _, object := range objects {
		list.Items = append(list.Items, *object)
	}
	return o.write(out, list)
}

func (o output) write(out io.Writer, object runtime.Object) error {
	if single, ok := object.(*unstructured.Unstructured); ok && single.IsList() {
		// The printer of names knows lists only as such.
		list, err := single.ToList()
		if err != nil {
			return fmt.Errorf("printing a list: %w", err)
		}
		object = list
	}
	printer, err := o.printer()
	if err != nil {
		return fmt.Errorf("flag --output: %w", err)
	}
	return printer.PrintObj(object, out)
}

// resource gives a content the form of a Kubernetes object, so that programs treat it like any other.
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

// writeWrapped writes a text behind the indentation. On a terminal it is wrapped between words.
func writeWrapped(out io.Writer, indent, text string) {
	lines := []string{text}
	if limit := display.Limit(out); limit > 0 {
		lines = display.WrapHanging(text, limit-len(indent))
	}
	for _, line := range lines {
		fmt.Fprintln(out, indent+line)
	}
}

// namesFor returns the names of objects in a list that is written to out. The namespace is that of the release.
func namesFor[O types.ObjectKey](out io.Writer, namespace string, objects []O) *display.Names {
	names := display.NewNames(display.Limit(out), namespace)
	for _, object := range objects {
		names.Include(object)
	}
	return names
}

// age is how long ago something was, as kubectl writes it.
func age(since, now time.Time) string { return cmp.Or(display.Age(since, now), "<unknown>") }

// timestamp is how programs are told of a time.
func timestamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }

// addTexts adds those texts to a content that are not empty.
func addTexts(content map[string]any, texts map[string]string) {
	for name, text := range texts {
		if text != "" {
			content[name] = text
		}
	}
}

// objectContent denotes an object to programs.
func objectContent(object types.ObjectKey) map[string]any {
	o := display.ObjectOf(object)
	content := map[string]any{"apiVersion": o.APIVersion, "kind": o.Kind, "name": o.Name}
	addTexts(content, map[string]string{"namespace": o.Namespace})
	return content
}
