// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package gitops

import (
	"fmt"
	"strings"

	"github.com/component-operator/runtime/internal/manifest"
)

const (
	// maxNameLength is that of values of labels, in which controllers such as that of Jobs repeat names.
	maxNameLength = 63
	// nameDigestLength is the length of the end of a generated name, in hexadecimal digits.
	nameDigestLength = 10
)

// PhaseName returns the name of a hook in a phase that is not the first one of its phases, such as "migrate-postsync".
// A name that would be too long is cut, and gets a digest.
func PhaseName(name string, phase Phase) (string, error) {
	suffix := "-" + strings.ToLower(string(phase))
	if len(name)+len(suffix) <= maxNameLength {
		return name + suffix, nil
	}
	sum, err := manifest.Digest(name)
	if err != nil {
		return "", fmt.Errorf("shortening the name %s: %w", name, err)
	}
	return name[:maxNameLength-len(suffix)-nameDigestLength-1] + "-" + sum[:nameDigestLength] + suffix, nil
}

// GeneratedName returns the name of a hook that has none; it begins with a base, which is generateName if the hook has
// that. It is the same whenever the hook is generated for the same revision, so that a repetition does not run the hook
// again, and another one for each owner, in each phase and each revision.
func GeneratedName(hook any, base string, phase Phase, owner, revision string) (string, error) {
	sum, err := manifest.Digest(map[string]any{"manifest": hook, "phase": string(phase), "owner": owner, "revision": revision})
	if err != nil {
		return "", fmt.Errorf("generating a name from %s: %w", base, err)
	}
	return base[:min(len(base), maxNameLength-nameDigestLength)] + sum[:nameDigestLength], nil
}
