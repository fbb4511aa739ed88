// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package executor

import (
	"fmt"
	"strings"

	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/component-operator/runtime/internal/redact"
)

// FieldTexts lists fields, at most six entries.
func FieldTexts(paths []fieldpath.Path) string {
	texts := make([]string, 0, len(paths))
	for i, path := range paths {
		if i == 5 && len(paths) > 6 {
			texts = append(texts, fmt.Sprintf("and %d more", len(paths)-i))
			break
		}
		texts = append(texts, fieldText(path))
	}
	return strings.Join(texts, ", ")
}

// fieldText returns a path. Elements of sets are values, which may be secret, except those in the metadata.
func fieldText(path fieldpath.Path) string {
	if len(path) > 0 && path[0].FieldName != nil && *path[0].FieldName == "metadata" {
		return path.String()
	}
	text := ""
	for _, element := range path {
		if element.Value != nil {
			text += "[=" + redact.Mark + "]"
			continue
		}
		text += fieldpath.Path{element}.String()
	}
	return text
}
