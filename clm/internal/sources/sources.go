// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package sources

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/component-operator/runtime/internal/helm/remote"
	"github.com/component-operator/runtime/pkg/manifests"
)

// Kind says what a source is.
type Kind string

const (
	// Chart is a Helm chart.
	Chart Kind = "chart"
	// Kustomization is a folder that Kustomize builds.
	Kustomization Kind = "kustomization"
	// Manifests are objects that are taken as they are.
	Manifests Kind = "manifests"
)

// stdinReference stands for standard input.
const stdinReference = "-"

// Source describes a source that was loaded.
type Source struct {
	// Reference is what it was loaded by.
	Reference string `json:"reference"`
	Kind      Kind   `json:"kind"`
	// Name, Version and AppVersion are those of a chart, and otherwise empty.
	Name       string `json:"name,omitempty"`
	Version    string `json:"version,omitempty"`
	AppVersion string `json:"appVersion,omitempty"`
}

// Options say how sources are loaded. The zero value is good for sources that need no values.
type Options struct {
	// ValuesFiles are YAML files with values; a later one wins. "-" is standard input. Defaults to none.
	ValuesFiles []string
	// Set, SetString and SetFile are values in the notation of Helm's flags of these names, and win over files. Default to none.
	Set, SetString, SetFile []string
	// Stdin is read at most once, for the reference or the file "-". Defaults to none, which makes these errors.
	Stdin io.Reader
	// Template makes that every folder which is no chart is a kustomization whose files are templates. Defaults to false: only
	// what asks for templates in .component-config.yaml has some.
	Template bool
	// Unrestricted lets kustomizations read files outside of their folders, and charts and kustomizations what symbolic links lead to that
	// point out of their folders. Defaults to false: whoever writes the sources need not be somebody who may read all files here.
	Unrestricted bool
	// Remote says how sources are fetched that are published elsewhere. A version that it demands is for all references that leave it
	// open, and an error if none does.
	Remote remote.Options
	// PolicyRules set annotations on what the sources yield. Defaults to none.
	PolicyRules []manifests.PolicyRule
}

// Set is what was loaded. It is safe for concurrent use.
type Set struct {
	members []member
	values  map[string]any
	// generator has the policy rules applied.
	generator manifests.Generator
}

// Load reads the sources that the references lead to, and the values. It fails if there are values, but no source that takes any.
func Load(ctx context.Context, references []string, options Options) (*Set, error) {
	if len(references) == 0 {
		return nil, errors.New("no source is given")
	}
	input := &input{stdin: options.Stdin}
	set := &Set{}
	var err error
	if set.values, err = loadValues(ctx, input, options); err != nil {
		return nil, err
	}
	for _, reference := range references {
		if reference == "" {
			return nil, errors.New("a source is empty; allowed are files, folders, references to charts, and - for standard input")
		}
		loaded, err := load(ctx, reference, input, options)
		if err != nil {
			return nil, fmt.Errorf("loading %s: %w", displayed(reference), err)
		}
		set.members = append(set.members, loaded)
	}
	if len(set.values) > 0 && !slices.ContainsFunc(set.members, func(m member) bool { return m.takesValues }) {
		return nil, errors.New("values are given, but no source takes any: " +
			"charts do, and kustomizations with templates, but manifests are taken as they are")
	}
	if options.Remote.Version != "" && !slices.ContainsFunc(set.members, func(m member) bool { return m.takesVersion }) {
		return nil, fmt.Errorf("version %s is demanded, but no source leaves its version open", options.Remote.Version)
	}
	rules, err := manifests.NewPolicyRulesObjectTransformer(options.PolicyRules)
	if err != nil {
		return nil, fmt.Errorf("checking policy rules: %w", err)
	}
	set.generator = manifests.NewGenerator(&union{members: set.members}).WithObjectTransformer(rules)
	return set, nil
}

// Sources describes the sources, in the order of their references.
func (s *Set) Sources() []Source {
	described := make([]Source, len(s.members))
	for i, m := range s.members {
		described[i] = m.Source
	}
	return described
}

// Values returns the values, which are the parameters of the generator, as Helm merges them. The caller may change them.
func (s *Set) Values() map[string]any {
	return manifests.MergeMaps(nil, s.values)
}

// Generator returns a generator that yields the objects of all sources, one source after the other, with annotations as the policy
// rules demand. It fails if two sources define the same object. It is pure. See [Set.Generate] for how to call it.
func (s *Set) Generator() manifests.Generator {
	return s.generator
}

// displayed is how messages name a reference. Passwords in it do not belong there, and are not repeated.
func displayed(reference string) string {
	if reference == stdinReference {
		return "standard input"
	}
	scheme, rest, _ := strings.Cut(reference, "://")
	authority, _, _ := strings.Cut(rest, "/")
	if i := strings.LastIndex(authority, "@"); i >= 0 {
		return scheme + "://..." + rest[i:]
	}
	return reference
}
