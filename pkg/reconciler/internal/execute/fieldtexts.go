// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package execute

import (
	"fmt"
	"strings"

	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/component-operator/runtime/internal/texts"
)

// FieldTexts lists fields, at most six entries. Items of sets are values, which may be secret.
func FieldTexts(paths []fieldpath.Path) string {
	list := make([]string, 0, len(paths))
	for i, path := range paths {
		if i == 5 && len(paths) > 6 {
			list = append(list, fmt.Sprintf("and %d more", len(paths)-i))
			break
		}
		list = append(list, texts.Text(path.String()))
	}
	return strings.Join(list, ", ")
}
