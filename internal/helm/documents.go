// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package helm

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/internal/concurrent"
	"github.com/component-operator/runtime/internal/manifest"
	"github.com/component-operator/runtime/internal/templating"
	"github.com/component-operator/runtime/pkg/types"
)

// helmAnnotationPrefix is the prefix of all of Helm's annotations.
const helmAnnotationPrefix = "helm.sh/"

// documentInSource separates the name of a file from the number of the document in it.
const documentInSource = ", document "

// document is one document of a rendered file.
type document struct {
	source  string // names it
	content []byte
}

// documentsOf returns the documents of a rendered file, in their order.
func documentsOf(name string, content []byte) []document {
	var all []document
	for i, text := range splitDocuments(content) {
		all = append(all, document{source: sourceOf(name, i), content: text})
	}
	return all
}

// sourceOf names a document of a file, given its index from 0.
func sourceOf(file string, document int) string {
	return file + documentInSource + strconv.Itoa(document+1)
}

// parseDocuments returns the objects of documents, in order. It returns the error of the first invalid document.
func parseDocuments(all []document) ([]Object, error) {
	parsed := make([][]*unstructured.Unstructured, len(all))
	failures := make([]error, len(all))
	concurrent.Do(len(all), func(i int) { parsed[i], failures[i] = parseDocument(all[i].content) })
	var objects []Object
	for i, found := range parsed {
		if failures[i] != nil {
			return nil, fmt.Errorf("parsing %s: %w", all[i].source, failures[i])
		}
		for _, object := range found {
			objects = append(objects, Object{Unstructured: object, Source: all[i].source})
		}
	}
	return objects, nil
}

func parseDocument(document []byte) ([]*unstructured.Unstructured, error) {
	content, err := manifest.Decode(document)
	if err != nil {
		return nil, err
	}
	return manifest.Objects(content, inherit)
}

// inherit copies the Helm annotations of a list to an item that has none of its own.
func inherit(list, item *unstructured.Unstructured) {
	inherited := list.GetAnnotations()
	maps.DeleteFunc(inherited, func(key string, _ string) bool { return !isHelms(key) })
	annotations := item.GetAnnotations()
	if len(inherited) > 0 && !slices.ContainsFunc(slices.Collect(maps.Keys(annotations)), isHelms) {
		item.SetAnnotations(labels.Merge(annotations, inherited))
	}
}

func isHelms(annotation string) bool { return strings.HasPrefix(annotation, helmAnnotationPrefix) }

// blanks are the characters that the SDK treats as blanks around separators.
const blanks = "\t\n\f\r "

var (
	separator = []byte("---")
	// nextDocument ends a document.
	nextDocument = []byte("\n---")
)

// splitDocuments splits a rendered file exactly like the SDK's releaseutil.SplitManifests, which is several times
// slower. A separator at the start of a line ends a document, regardless of the rest of the line; empty documents are
// left out. Documents are parts of the content where possible.
func splitDocuments(content []byte) [][]byte {
	rest := bytes.TrimSpace(slices.Clip(content))
	if after, ok := bytes.CutPrefix(rest, separator); ok {
		rest = bytes.TrimLeft(after, blanks)
	}
	var documents [][]byte
	for {
		document, after, found := bytes.Cut(rest, nextDocument)
		if found {
			document = bytes.TrimRight(document, blanks)
		}
		if len(document) > 0 {
			documents = append(documents, withLineBreak(bytes.TrimSpace(document)))
		}
		if !found {
			return documents
		}
		rest = bytes.TrimLeft(after, blanks)
	}
}

// withLineBreak restores the final line break like the SDK does, because a block scalar may end there.
func withLineBreak(document []byte) []byte {
	if size := len(document); size < cap(document) && document[:size+1][size] == '\n' {
		return document[: size+1 : size+1]
	}
	return append(slices.Clip(document), '\n')
}

// MaxOutput is the limit for all files of a rendered chart together, in bytes.
const MaxOutput = templating.MaxOutput

// postRendererName is the source of objects that a post-renderer returned.
const postRendererName = "output of the post-renderer"

// postRender returns the objects from the post-renderer. Objects that were definitions before are marked as such.
func postRender(objects []Object, run func(*bytes.Buffer) (*bytes.Buffer, error)) ([]Object, error) {
	var rendered bytes.Buffer
	for _, object := range objects {
		content, err := manifest.Encode(object.Object)
		if err != nil {
			return nil, fmt.Errorf("writing %s: %w", object.Source, err)
		}
		fmt.Fprintf(&rendered, "---\n# Source: %s\n%s", object.File(), content)
	}
	changed, err := run(&rendered)
	if err != nil {
		return nil, fmt.Errorf("post-rendering: %w", err)
	}
	if changed == nil {
		return nil, errors.New("post-rendering: the post-renderer returned nil; to render no objects, return an empty buffer")
	}
	if changed.Len() > MaxOutput {
		return nil, fmt.Errorf("post-rendering: the post-renderer returned %d bytes; at most %d are allowed", changed.Len(), MaxOutput)
	}
	result, err := parseDocuments(documentsOf(postRendererName, changed.Bytes()))
	if err != nil {
		return nil, err
	}
	definitions := map[types.ObjectID]bool{}
	for _, object := range objects {
		if object.Definition {
			definitions[types.IDOf(object)] = true
		}
	}
	for i := range result {
		result[i].Definition = definitions[types.IDOf(result[i])]
	}
	return result, nil
}

type (
	originsKey   struct{}
	notesKey     struct{}
	templatesKey struct{}
)

// WithOrigins makes ReportOrigin call the function for each object of a chart.
func WithOrigins(ctx context.Context, report func(object client.Object, file string)) context.Context {
	return context.WithValue(ctx, originsKey{}, report)
}

// WithNotes makes Chart.Render also render the notes of a chart, and pass them to the function if there are any.
func WithNotes(ctx context.Context, report func(notes string)) context.Context {
	return context.WithValue(ctx, notesKey{}, report)
}

// WithTemplates makes Chart.Render report each template that it renders to the function, by the path that Object.File
// returns, before it does so.
func WithTemplates(ctx context.Context, report func(file, text string)) context.Context {
	return context.WithValue(ctx, templatesKey{}, report)
}

func wantsNotes(ctx context.Context) bool { return ctx.Value(notesKey{}) != nil }

// reportNotes reports the notes of a chart to the function of WithNotes, if the context has one.
func reportNotes(ctx context.Context, notes string) {
	if report, ok := ctx.Value(notesKey{}).(func(string)); ok && strings.TrimSpace(notes) != "" {
		report(notes)
	}
}

// ReportOrigin reports the file of an object to the function of WithOrigins, if the context has one.
func ReportOrigin(ctx context.Context, object client.Object, file string) {
	if report, ok := ctx.Value(originsKey{}).(func(client.Object, string)); ok {
		report(object, file)
	}
}

// sourceComment begins the line with which Helm names the file of a document that it records.
const sourceComment = "# Source: "

// RecordedHook is a hook as Helm records it.
type RecordedHook struct {
	// Path is the file of the hook, beginning with the name of the chart.
	Path string
	// Manifest is the document.
	Manifest string
}

// ParseRecorded returns the objects of a revision that Helm has recorded: those of its manifest, whose documents begin
// with comments that contain their files, and its hooks. Like in Render, they are sorted by file. Within a file, hooks
// come last, and the others are in the order in which Helm has installed them. Helm does not record definitions of the
// crds folders.
func ParseRecorded(manifest string, hooks []RecordedHook) ([]Object, error) {
	var all []document
	for i, content := range splitDocuments([]byte(manifest)) {
		all = append(all, document{source: sourceOf(cmp.Or(fileOf(content), "manifest"), i), content: content})
	}
	for _, hook := range hooks {
		all = append(all, documentsOf(hook.Path, []byte(hook.Manifest))...)
	}
	objects, err := parseDocuments(all)
	slices.SortStableFunc(objects, func(a, b Object) int { return cmp.Compare(a.File(), b.File()) })
	return objects, err
}

// fileOf returns the file in the first line of a document; empty if there is none.
func fileOf(document []byte) string {
	line, _, _ := bytes.Cut(document, []byte("\n"))
	file, ok := strings.CutPrefix(string(line), sourceComment)
	if !ok {
		return ""
	}
	return strings.TrimSpace(file)
}
