// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

// Package feature decides which mutations of a resource apply, based on the deployed version and on conditions.
package feature

import (
	"fmt"
	"slices"
	"strings"

	"github.com/Masterminds/semver/v3"
)

// Gate decides whether a feature is on. A Gate may also be an Explainer.
type Gate interface {
	// Enabled reports whether the feature is on. An error means that the gate cannot decide.
	Enabled() (bool, error)
}

// IsOn reports whether a gate is on; a nil gate is. The error is a *GateError.
func IsOn(gate Gate) (bool, error) {
	if gate == nil {
		return true, nil
	}
	on, err := gate.Enabled()
	if err != nil {
		return false, &GateError{Err: err}
	}
	return on, nil
}

// GateError means that a gate could not decide whether its feature is on. The component is refused until its spec
// changes, unless the gate returned a types.RetriableError.
type GateError struct {
	// Err is the error of the gate.
	Err error
}

// Error returns a text with the error of the gate.
func (e *GateError) Error() string { return "cannot tell whether its feature is on: " + e.Err.Error() }

// Unwrap returns the error of the gate.
func (e *GateError) Unwrap() error { return e.Err }

// Explainer is a Gate that can explain its answer.
type Explainer interface {
	// Why returns the reason why the gate is on or off, or cannot decide.
	Why() string
}

// VersionConstraint decides whether a feature exists in a version. See Semver.
type VersionConstraint interface {
	// Enabled reports whether the version has the feature. It returns an error if it cannot decide, for instance
	// because the version is malformed.
	Enabled(version string) (bool, error)
}

// VersionGate is a Gate that is on if all its conditions are true and all its constraints accept the version.
type VersionGate struct {
	current     string
	constraints []VersionConstraint
	conditions  []bool
}

// NewVersionGate returns a VersionGate for the deployed version. Nil constraints are ignored. Without constraints and
// conditions, the gate is on.
func NewVersionGate(current string, constraints []VersionConstraint) *VersionGate {
	given := slices.DeleteFunc(slices.Clone(constraints), func(constraint VersionConstraint) bool { return constraint == nil })
	return &VersionGate{current: current, constraints: given}
}

// When adds a condition to the gate, and returns the gate.
func (g *VersionGate) When(condition bool) *VersionGate {
	g.conditions = append(g.conditions, condition)
	return g
}

// Enabled reports whether the gate is on. Conditions are checked first; if one of them is false, a malformed version is
// not an error.
func (g *VersionGate) Enabled() (bool, error) {
	condition, constraint, err := g.obstacle()
	return err == nil && condition < 0 && constraint == nil, err
}

// Why returns the first unmet condition or constraint, the error, or why the gate is on.
func (g *VersionGate) Why() string {
	switch condition, constraint, err := g.obstacle(); {
	case err != nil:
		return "cannot tell: " + err.Error()
	case condition >= 0:
		return fmt.Sprintf("off: condition %d of %d is false", condition+1, len(g.conditions))
	case constraint != nil:
		return fmt.Sprintf("off: version %s is not %s", g.current, describe(constraint))
	case len(g.conditions) == 0 && len(g.constraints) == 0:
		return "on: there are no conditions"
	}
	var reasons []string
	if count := len(g.conditions); count > 0 {
		reasons = append(reasons, fmt.Sprintf("%d of %d conditions are true", count, count))
	}
	for _, constraint := range g.constraints {
		reasons = append(reasons, fmt.Sprintf("version %s is %s", g.current, describe(constraint)))
	}
	return "on: " + strings.Join(reasons, ", ")
}

// obstacle returns the index of the first false condition, or else -1 and the first constraint that does not accept the
// version; nil if all accept it.
func (g *VersionGate) obstacle() (condition int, constraint VersionConstraint, err error) {
	if i := slices.Index(g.conditions, false); i >= 0 {
		return i, nil, nil
	}
	for _, constraint := range g.constraints {
		accepted, err := constraint.Enabled(g.current)
		if err != nil {
			return -1, nil, fmt.Errorf("version %q: %w", g.current, err)
		}
		if !accepted {
			return -1, constraint, nil
		}
	}
	return -1, nil, nil
}

// describe returns a text for a constraint.
func describe(constraint VersionConstraint) string {
	if text, ok := constraint.(fmt.Stringer); ok {
		return text.String()
	}
	return fmt.Sprintf("accepted by %T", constraint)
}

// BooleanGate is a Gate with a constant answer.
type BooleanGate bool

// NewBooleanGate returns a Gate with the given answer.
func NewBooleanGate(enabled bool) BooleanGate { return BooleanGate(enabled) }

// Enabled returns the answer.
func (g BooleanGate) Enabled() (bool, error) { return bool(g), nil }

// Why returns the answer as a text.
func (g BooleanGate) Why() string {
	if g {
		return "on: the condition is true"
	}
	return "off: the condition is false"
}

// Mutation is a change of a resource that belongs to a feature. M is the type that records changes, such as
// *deployment.Mutator.
type Mutation[M any] struct {
	// Name identifies the mutation in messages. It should be unique among the mutations of a resource.
	Name string
	// Feature decides whether the mutation applies. Nil means always.
	Feature Gate
	// Mutate records the changes. Required.
	Mutate func(M) error
}

// semverConstraint is a VersionConstraint in the notation of the semver library.
type semverConstraint struct {
	text       string
	constraint *semver.Constraints
}

// Semver returns a VersionConstraint such as ">= 1.4, < 3" for semantic versions, in the notation of
// github.com/Masterminds/semver. Pre-release versions such as "1.4.0-rc.1" are accepted only by constraints with a
// pre-release, such as ">= 1.4.0-0".
func Semver(constraint string) (VersionConstraint, error) {
	parsed, err := semver.NewConstraint(constraint)
	if err != nil {
		return nil, fmt.Errorf("constraint %q: %w; must be a constraint on semantic versions, such as \">= 1.4, < 3\"", constraint, err)
	}
	return semverConstraint{text: constraint, constraint: parsed}, nil
}

// Enabled reports whether the version is accepted. The version may begin with v, and omit minor and patch.
func (c semverConstraint) Enabled(version string) (bool, error) {
	parsed, err := semver.NewVersion(version)
	if err != nil {
		return false, fmt.Errorf("%w; must be a semantic version, such as 1.4.0", err)
	}
	return c.constraint.Check(parsed), nil
}

// String returns the constraint.
func (c semverConstraint) String() string { return c.text }
