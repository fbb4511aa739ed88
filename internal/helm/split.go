// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package helm

import "strings"

const (
	separator = "---"
	// blanks are what the SDK takes for blanks around separators.
	blanks = "\t\n\f\r "
)

// splitDocuments takes a rendered file apart exactly as the SDK's releaseutil.SplitManifests does, which needs several
// times as long. A separator at the start of a line ends a document, whatever follows it; what is empty is left out.
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
			// As the SDK does, since the line break at the end is cut off: a block of text may end there.
			documents = append(documents, strings.TrimSpace(document)+"\n")
		}
		if !found {
			return documents
		}
		rest = strings.TrimLeft(after, blanks)
	}
}
