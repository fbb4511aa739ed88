// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package helm

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

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
// with comments that name their files, and its hooks. They are sorted by file, as Render does. Within a file, hooks
// come last, and the others are in the order in which Helm has installed them. Definitions of the crds folders are not
// part of what Helm records.
func ParseRecorded(manifest string, hooks []RecordedHook) ([]Object, error) {
	var objects []Object
	add := func(file string, document []byte, number int) error {
		source := file + documentInSource + strconv.Itoa(number)
		found, err := parseDocument(document)
		if err != nil {
			return fmt.Errorf("parsing %s: %w", source, err)
		}
		for _, object := range found {
			objects = append(objects, Object{Unstructured: object, Source: source})
		}
		return nil
	}
	for i, document := range splitDocuments([]byte(manifest)) {
		if err := add(cmp.Or(fileOf(document), "manifest"), document, i+1); err != nil {
			return nil, err
		}
	}
	for _, hook := range hooks {
		for i, document := range splitDocuments([]byte(hook.Manifest)) {
			if err := add(hook.Path, document, i+1); err != nil {
				return nil, err
			}
		}
	}
	slices.SortStableFunc(objects, func(a, b Object) int { return cmp.Compare(a.File(), b.File()) })
	return objects, nil
}

// fileOf returns the file that the first line of a document names; empty if it names none.
func fileOf(document []byte) string {
	line, _, _ := bytes.Cut(document, []byte("\n"))
	file, ok := strings.CutPrefix(string(line), sourceComment)
	if !ok {
		return ""
	}
	return strings.TrimSpace(file)
}
