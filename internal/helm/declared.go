// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package helm

import (
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/Masterminds/semver/v3"
	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chart/loader"
)

// Dependency is a dependency that a chart declares, or a chart in its folder charts that it does not declare.
type Dependency struct {
	// Name of the dependency, and the name by which the chart refers to it instead; that is empty if there is none.
	Name, Alias string
	// Version is the range of versions that Chart.yaml allows; empty if the dependency is not declared.
	Version string
	// Repository is the URL, or the name after "@" or "alias:"; empty for charts that are kept in folder charts.
	Repository string
	// Locked is the version in Chart.lock; empty if that does not list the dependency.
	Locked string
	// Found are the versions in folder charts.
	Found []string
	// Problem says what is wrong; empty if nothing is.
	Problem string
}

// Dependencies returns what a chart declares, in the order of Chart.yaml, and then what is in folder charts beside
// that. The path is that of Load; other than there, dependencies may be missing. It fails if the chart, or a chart in
// it, cannot be read.
func Dependencies(fsys fs.FS, path string) (name string, dependencies []Dependency, err error) {
	files, err := readFiles(fsys, path)
	if err != nil {
		return "", nil, fmt.Errorf("reading chart %s: %w", path, err)
	}
	parsed, err := loader.LoadFiles(files)
	if err != nil {
		return "", nil, fmt.Errorf("reading chart %s: %w", path, err)
	}
	sortDependencies(parsed)
	for _, declared := range parsed.Metadata.Dependencies {
		dependencies = append(dependencies, describe(parsed, declared))
	}
	for _, present := range parsed.Dependencies() {
		if !declares(parsed, present.Name()) {
			dependencies = append(dependencies, Dependency{Name: present.Name(), Found: []string{present.Metadata.Version}})
		}
	}
	return parsed.Name(), dependencies, nil
}

func describe(parsed *chart.Chart, declared *chart.Dependency) Dependency {
	dependency := Dependency{Name: declared.Name, Alias: declared.Alias, Version: declared.Version, Repository: declared.Repository}
	if parsed.Lock != nil {
		for _, locked := range parsed.Lock.Dependencies {
			if locked.Name == declared.Name && (dependency.Locked == "" || Satisfies(locked.Version, declared.Version)) {
				dependency.Locked = locked.Version
			}
		}
	}
	for _, present := range parsed.Dependencies() {
		if present.Name() == declared.Name && !slices.Contains(dependency.Found, present.Metadata.Version) {
			dependency.Found = append(dependency.Found, present.Metadata.Version)
		}
	}
	dependency.Problem = dependency.problem(parsed.Lock != nil)
	return dependency
}

func (d Dependency) problem(hasLock bool) string {
	fits := slices.ContainsFunc(d.Found, func(version string) bool { return Satisfies(version, d.Version) })
	switch {
	case len(d.Found) == 0:
		return "missing"
	case !fits:
		return "wrong version"
	case hasLock && !Satisfies(d.Locked, d.Version) && d.Locked != d.Version:
		return "Chart.lock is out of date"
	case d.Locked != "" && d.Repository != "" && !slices.Contains(d.Found, d.Locked):
		return "not the locked version"
	default:
		return ""
	}
}

// Versions returns the versions in folder charts as a text; empty if there are none.
func (d Dependency) Versions() string { return strings.Join(d.Found, ", ") }

// Satisfies reports whether a version is in a range. An invalid range has no versions, an empty one has all.
func Satisfies(version, wanted string) bool {
	parsed, err := semver.NewVersion(version)
	if err != nil {
		return false
	}
	if wanted == "" {
		return true
	}
	constraint, err := semver.NewConstraint(wanted)
	return err == nil && constraint.Check(parsed)
}
