// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package feature

import (
	"fmt"

	"github.com/Masterminds/semver/v3"
)

// semverConstraint is a VersionConstraint in the notation of the library.
type semverConstraint struct {
	text       string
	constraint *semver.Constraints
}

// Semver returns a VersionConstraint such as ">= 1.4, < 3" for semantic versions, in the notation of
// github.com/Masterminds/semver. As there, versions with a suffix such as "1.4.0-rc.1" are accepted only by constraints
// that have one, such as ">= 1.4.0-0".
func Semver(constraint string) (VersionConstraint, error) {
	parsed, err := semver.NewConstraint(constraint)
	if err != nil {
		return nil, fmt.Errorf("constraint %q: %w; must be a constraint on semantic versions, such as \">= 1.4, < 3\"", constraint, err)
	}
	return semverConstraint{text: constraint, constraint: parsed}, nil
}

// Enabled reports whether the version is accepted. The version may begin with v, and lack minor and patch.
func (c semverConstraint) Enabled(version string) (bool, error) {
	parsed, err := semver.NewVersion(version)
	if err != nil {
		return false, fmt.Errorf("%w; must be a semantic version, such as 1.4.0", err)
	}
	return c.constraint.Check(parsed), nil
}

// String returns the constraint.
func (c semverConstraint) String() string { return c.text }
