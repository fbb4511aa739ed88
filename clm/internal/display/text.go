// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package display

import (
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/component-operator/runtime/pkg/reconciler"
)

// Count says how many there are of something whose plural ends with an s.
func Count(count int, unit string) string {
	if count == 1 {
		return "1 " + unit
	}
	return fmt.Sprintf("%d %ss", count, unit)
}

// Age says how long ago something was, as kubectl does; empty for a time that is not known. Clocks differ, and a
// deletion may be due in the future; it then has no age.
func Age(since, now time.Time) string {
	if since.IsZero() {
		return ""
	}
	return duration.HumanDuration(max(now.Sub(since), 0))
}

// Kept names the items of objects that are kept although they are not declared any more; empty if there are none.
func Kept(items []*reconciler.InventoryItem) string {
	var kept []string
	for _, item := range items {
		if item.Phase == reconciler.PhaseKept {
			kept = append(kept, Text(item))
		}
	}
	return Enumerate(kept, maxKept)
}

// maxKept is how many of them are named.
const maxKept = 10

// Enumerate lists texts in one line, up to a limit, and counts the others.
func Enumerate(texts []string, limit int) string {
	if more := len(texts) - limit; more > 0 {
		texts = append(texts[:limit:limit], fmt.Sprintf("and %d more", more))
	}
	return strings.Join(texts, ", ")
}
