// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package helm

import "strings"

const (
	separator = "---"
	// blanks are the characters that the SDK treats as blanks around separators.
	blanks = "\t\n\f\r "
)

// splitDocuments splits a rendered file exactly as the SDK's releaseutil.SplitManifests does, which is several
// times slower. A separator at the start of a line ends a document, whatever follows it; empty documents are left out.
func splitDocuments(content string) []string {
	rest := strings.TrimSpace(content)
	if after, ok := strings.CutPrefix(rest, separator); ok {
		rest = strings.TrimLeft(after, blanks)
	}
	var documents []string
	for {
		document, after, found := strings.Cut(rest, "\n"+separator)
		if found {
			document = strings.TrimRight(document, blanks)
		}
		if document != "" {
			// Restore the final line break, as the SDK does: a block of text may end there.
			documents = append(documents, strings.TrimSpace(document)+"\n")
		}
		if !found {
			return documents
		}
		rest = strings.TrimLeft(after, blanks)
	}
}
