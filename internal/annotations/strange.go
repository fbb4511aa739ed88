// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package annotations

import (
	"fmt"
	"slices"
	"strings"

	"github.com/component-operator/runtime/internal/texts"
	"github.com/component-operator/runtime/pkg/types"
)

// reserved are the suffixes of annotations that manifests need not have: those that the reconciler sets, and those of
// components.
var reserved = []string{
	types.AnnotationKeySuffixOwnerId, types.AnnotationKeySuffixClaimedAt, types.AnnotationKeySuffixDigest,
	types.AnnotationKeySuffixSkipDeletionHooks, types.AnnotationKeySuffixDisableEvents, types.AnnotationKeySuffixAbandonTarget,
	types.AnnotationKeySuffixApproveDeletions, types.AnnotationKeySuffixDeletionApproved, types.AnnotationKeySuffixOrphanDependents,
	types.AnnotationKeySuffixDeletionHooksChecksum, types.AnnotationKeySuffixDeletionRetriedAt, types.AnnotationKeySuffixVersionOf, types.AnnotationKeySuffixKeptFields,
	types.AnnotationKeySuffixReconcileAt,
}

// Strange says which annotations of a manifest are most likely meant for the reconciler, and have no effect: those with
// its prefix, such as "shop.example.io/", whose suffixes are neither known nor the author's own, and those with known
// suffixes whose prefix is almost that of the reconciler.
func Strange(prefix string, values map[string]string, own []string) []string {
	var strange []string
	for key := range values {
		other, suffix, found := strings.Cut(key, "/")
		if !found {
			continue
		}
		other += "/"
		switch {
		case other == prefix && !isKnown(suffix) && !slices.Contains(own, suffix):
			strange = append(strange, fmt.Sprintf("annotation %s is not known, and has no effect%s", key, suggestion(suffix)))
		case other != prefix && isForManifests(suffix) && isMisspelt(other, prefix):
			strange = append(strange, fmt.Sprintf("annotation %s has no effect; did you mean %s%s?", key, prefix, suffix))
		}
	}
	slices.Sort(strange)
	return strange
}

func isKnown(suffix string) bool {
	return isForManifests(suffix) || slices.Contains(reserved, suffix)
}

func isForManifests(suffix string) bool {
	_, isPolicy := policies[suffix]
	_, isOther := others[suffix]
	return isPolicy || isOther
}

// suggestion names the known suffix that was probably meant; empty if there is none.
func suggestion(suffix string) string {
	best, least := "", 3
	for _, known := range Suffixes() {
		if d := texts.Distance(Kebab(suffix), known); d < least {
			best, least = known, d
		}
	}
	if best == "" {
		return ""
	}
	return fmt.Sprintf("; did you mean %s?", best)
}

// isMisspelt reports whether a prefix is almost the wanted one.
func isMisspelt(prefix, wanted string) bool {
	return strings.EqualFold(prefix, wanted) || len(wanted) >= 8 && texts.Distance(prefix, wanted) <= 2
}
