// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package helm

import (
	"bytes"
	"slices"
)

// blanks are the characters that the SDK treats as blanks around separators.
const blanks = "\t\n\f\r "

var (
	separator = []byte("---")
	// nextDocument ends a document.
	nextDocument = []byte("\n---")
)

// splitDocuments splits a rendered file exactly as the SDK's releaseutil.SplitManifests does, which is several
// times slower. A separator at the start of a line ends a document, whatever follows it; empty documents are left out.
// Documents are parts of the content where possible.
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

// withLineBreak restores the final line break, as the SDK does: a block of text may end there.
func withLineBreak(document []byte) []byte {
	if size := len(document); size < cap(document) && document[:size+1][size] == '\n' {
		return document[: size+1 : size+1]
	}
	return append(slices.Clip(document), '\n')
}
