// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package remote

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/Masterminds/semver/v3"
	"go.yaml.in/yaml/v2"

	"github.com/component-operator/runtime/internal/manifest"
)

// index is the part of a repository's index.yaml that is used.
type index struct {
	Entries map[string][]*entry `yaml:"entries"`
}

// entry is one version of a chart.
type entry struct {
	Version string   `yaml:"version"`
	URLs    []string `yaml:"urls"`
}

// fromRepository fetches a chart by the index of a repository.
func (f *fetcher) fromRepository(ctx context.Context, reference Reference) (File, error) {
	file, err := f.get(ctx, reference.url.JoinPath("index.yaml"))
	if err != nil {
		return File{}, fmt.Errorf("fetching the index of the repository: %w", err)
	}
	var content index
	if err := manifest.CheckSize(file.Content); err != nil {
		return File{}, fmt.Errorf("parsing the index of the repository: %w", err)
	}
	if err := yaml.Unmarshal(file.Content, &content); err != nil {
		return File{}, fmt.Errorf("parsing the index of the repository: %w", err)
	}
	found, err := content.find(reference.chart, reference.version)
	if err != nil {
		return File{}, err
	}
	// Relative URLs are relative to the repository, not to its index.
	base := *reference.url
	base.Path = strings.TrimSuffix(base.Path, "/") + "/"
	target, err := base.Parse(found.URLs[0])
	if err != nil {
		return File{}, fmt.Errorf("version %s of chart %s has the invalid URL %q", found.Version, reference.chart, found.URLs[0])
	}
	if target.Scheme == schemeOCI {
		return f.fromIndexedRegistry(target, found.Version)
	}
	if f.options.originOf(target) == f.options.origin && target.RawQuery == "" {
		// A token in the query of the repository's URL is meant for all its files.
		target.RawQuery = base.RawQuery
	}
	fetched, err := f.get(ctx, target)
	if err != nil {
		return File{}, fmt.Errorf("fetching version %s of chart %s: %w", found.Version, reference.chart, err)
	}
	fetched.version = found.Version
	if f.options.provenance {
		target.Path += ".prov"
		signature, err := f.get(ctx, target)
		if err != nil {
			return File{}, fmt.Errorf("fetching the signature of version %s of chart %s: %w", found.Version, reference.chart, err)
		}
		fetched.provenance = signature.Content
	}
	return fetched, nil
}

// fromIndexedRegistry fetches a chart that is listed in a repository and stored in a registry.
func (f *fetcher) fromIndexedRegistry(target *url.URL, version string) (File, error) {
	reference, err := Parse(target.String())
	if err != nil {
		return File{}, fmt.Errorf("version %s has the invalid URL %s: %w", version, target, err)
	}
	reference.version = version
	return f.pull(reference)
}

// find returns the newest matching version of the chart, which has at least one URL.
func (i index) find(chart, wanted string) (*entry, error) {
	if len(i.Entries) == 0 {
		return nil, errors.New("there are no charts in the index of the repository")
	}
	usable := map[string]*entry{}
	var versions []*semver.Version
	for _, candidate := range i.Entries[chart] {
		if candidate == nil || len(candidate.URLs) == 0 || usable[candidate.Version] != nil {
			continue
		}
		if version, err := semver.NewVersion(candidate.Version); err == nil {
			usable[candidate.Version] = candidate
			versions = append(versions, version)
		}
	}
	if len(versions) == 0 {
		return nil, fmt.Errorf("there is no chart %q in the index of the repository", chart)
	}
	slices.SortStableFunc(versions, func(a, b *semver.Version) int { return b.Compare(a) })
	names := make([]string, len(versions))
	for i, version := range versions {
		names[i] = version.Original()
	}
	found, err := choose(names, wanted)
	if err != nil {
		return nil, fmt.Errorf("chart %q: %w", chart, err)
	}
	return usable[found], nil
}
