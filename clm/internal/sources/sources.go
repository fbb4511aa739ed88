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

	"github.com/component-operator/runtime/clm/internal/releases"
	"github.com/component-operator/runtime/internal/display"
	internalhelm "github.com/component-operator/runtime/internal/helm"
	"github.com/component-operator/runtime/internal/helm/remote"
	"github.com/component-operator/runtime/pkg/manifests"
)

// The kinds of sources.
const (
	// Chart is a Helm chart.
	Chart = "chart"
	// Kustomization is a folder that Kustomize builds.
	Kustomization = "kustomization"
	// Manifests are objects that are used as they are.
	Manifests = "manifests"
)

// stdinReference stands for standard input.
const stdinReference = "-"

// Options control how sources are loaded. The zero value is for sources without values.
type Options struct {
	// ValuesFiles are YAML files with values; later files override earlier ones. "-" is standard input. Defaults to
	// none.
	ValuesFiles []string
	// Values override those of files. Defaults to none.
	Values map[string]any
	// OptionalValues allows values that no source takes. Defaults to false.
	OptionalValues bool
	// SetJSON, Set, SetString, SetFile and SetLiteral are values in the notation of Helm's flags with these names. They
	// override values of files, each in this order. Default to none.
	SetJSON, Set, SetString, SetFile, SetLiteral []string
	// Stdin is read at most once, for the reference or the file "-". Defaults to none: such a reference or file is an
	// error.
	Stdin io.Reader
	// Template treats the files of all folders other than charts as templates of a kustomization. Defaults to false:
	// only files of folders whose .component-config.yaml asks for it are templates.
	Template bool
	// Unrestricted lets kustomizations read files outside of their folders, and lets charts and kustomizations follow
	// symbolic links out of their folders. Defaults to false: the author of the sources may not be allowed to read all
	// files on this machine.
	Unrestricted bool
	// Remote has the options for fetching remote sources. Its version applies to all references without a version; it
	// is an error if there are none.
	Remote remote.Options
	// Namespace is that of the release, for the policy about signatures. Defaults to none: entries of the policy that are
	// about a namespace do not apply.
	Namespace string
	// PolicyRules set annotations on the objects of the sources. Defaults to none.
	PolicyRules []manifests.PolicyRule
	// Hooks are the tools whose annotations for hooks and waves are honored, separately for charts and other sources.
	// Helm's hooks are always honored in charts. Defaults to none.
	Hooks []string
	// PostRenderer is a command with its arguments. It runs once for each rendering of each chart. It reads all objects
	// of the chart, including hooks, as YAML documents from standard input, and writes the objects to use instead to
	// standard output. It is an error if there is no chart. Defaults to none.
	PostRenderer []string
	// SkipDefinitions leaves out the CustomResourceDefinitions in the folders crds of charts, as Helm does. Defaults to
	// false.
	SkipDefinitions bool
	// KeepCharts makes Set.Charts return the charts even if there are no values. Defaults to false.
	KeepCharts bool

	postRenderer postRenderer
	// fetched is the folder to which a source was fetched, which a kustomization must not leave; empty for local ones.
	fetched string
}

// Set is a set of loaded sources. It is safe for concurrent use.
type Set struct {
	members []member
	values  map[string]any
	hooks   []manifests.HookTool
	rules   *manifests.PolicyRulesObjectTransformer
	// chartHooks and otherHooks convert the annotations of other tools in charts and in other sources; nil if they are
	// not honored. Helm's hooks are always honored in charts.
	chartHooks, otherHooks *manifests.HookTransformer
}

// Load loads the sources of the references, and the values. It fails if there are values, but no source that takes any.
func Load(ctx context.Context, references []string, options Options) (*Set, error) {
	if len(references) == 0 {
		return nil, errors.New("no source was given")
	}
	input := &input{stdin: options.Stdin}
	set := &Set{}
	var err error
	if set.values, err = loadValues(ctx, input, options); err != nil {
		return nil, err
	}
	options.KeepCharts = options.KeepCharts || len(set.values) > 0 // for UnknownValues
	if len(options.PostRenderer) > 0 {
		if options.postRenderer, err = newPostRenderer(ctx, options.PostRenderer); err != nil {
			return nil, err
		}
	}
	for _, reference := range references {
		if reference == "" {
			return nil, errors.New("a source is empty; must be a file, a directory, a chart reference, or - for standard input")
		}
		loaded, err := load(ctx, reference, input, options)
		if err != nil {
			return nil, fmt.Errorf("loading %s: %w", displayed(reference), err)
		}
		set.members = append(set.members, loaded)
	}
	if err := set.checkUse(options); err != nil {
		return nil, err
	}
	if set.rules, err = manifests.NewPolicyRulesObjectTransformer(options.PolicyRules); err != nil {
		return nil, fmt.Errorf("checking policy rules: %w", err)
	}
	return set.WithHooks(options.Hooks)
}

// checkUse refuses options that no source uses.
func (s *Set) checkUse(options Options) error {
	if len(s.values) > 0 && !options.OptionalValues && !slices.ContainsFunc(s.members, func(m member) bool { return m.takesValues }) {
		return errors.New("values are given, but no source takes any: " +
			"only charts and kustomizations with --template take values")
	}
	if options.Remote.Version != "" && !slices.ContainsFunc(s.members, func(m member) bool { return m.takesVersion }) {
		return fmt.Errorf("version %s is given, but each source has a version or takes none", options.Remote.Version)
	}
	if len(options.PostRenderer) > 0 && !slices.ContainsFunc(s.members, func(m member) bool { return m.Kind == Chart }) {
		return errors.New("a post-renderer is given, but no source is a chart: it changes the rendered objects of charts only")
	}
	return nil
}

// WithHooks returns the same sources with other tools whose hooks and waves are honored; see Options.
func (s *Set) WithHooks(names []string) (*Set, error) {
	set := *s
	set.hooks, set.chartHooks, set.otherHooks = nil, nil, nil
	for _, name := range slices.Compact(slices.Sorted(slices.Values(names))) {
		set.hooks = append(set.hooks, manifests.HookTool(name))
	}
	var err error
	if len(set.hooks) > 0 {
		if set.otherHooks, err = manifests.NewHookTransformer(set.hooks...); err != nil {
			return nil, fmt.Errorf("--hooks: %w", err)
		}
	}
	if slices.Contains(set.hooks, manifests.HookToolArgoCD) {
		set.chartHooks, err = manifests.NewHookTransformer(manifests.HookToolArgoCD)
	}
	return &set, err
}

// Hooks returns the names of the tools whose hooks and waves are honored.
func (s *Set) Hooks() []string {
	return display.Map(s.hooks, func(tool manifests.HookTool) string { return string(tool) })
}

// Sources returns descriptions of the sources, in the order of their references.
func (s *Set) Sources() []releases.Source {
	described := make([]releases.Source, len(s.members))
	for i, m := range s.members {
		described[i] = m.Source
	}
	return described
}

// Charts returns the charts among the sources, in their order; none unless there are values or they were loaded with
// Options.KeepCharts.
func (s *Set) Charts() []*internalhelm.Chart {
	var charts []*internalhelm.Chart
	for _, m := range s.members {
		if m.chart != nil {
			charts = append(charts, m.chart)
		}
	}
	return charts
}

// Values returns a copy of the values, merged as in Helm. They are the parameters of the generators.
func (s *Set) Values() map[string]any {
	return manifests.MergeMaps(nil, s.values)
}

// AllValues returns the values of a revision in a namespace together with the defaults of its charts, which it loads again from where
// they were. It fails if a chart has another version there by now.
func AllValues(ctx context.Context, namespace string, recorded []releases.Source, values map[string]any) (map[string]any, error) {
	all := manifests.MergeMaps(nil, values)
	for _, source := range recorded {
		if source.Kind != Chart {
			continue
		}
		options := Options{KeepCharts: true, Namespace: namespace, Remote: remote.Options{Version: source.Version}}
		pinned := remote.Pinned(source.Reference, source.Digest)
		if pinned != source.Reference {
			options.Remote.Version = ""
		}
		loaded, err := load(ctx, pinned, &input{}, options)
		if err == nil && (loaded.Name != source.Name || loaded.Version != source.Version) {
			err = fmt.Errorf("it is %s %s now; the revision was made from %s %s", loaded.Name, loaded.Version, source.Name, source.Version)
		}
		if err != nil {
			return nil, fmt.Errorf("loading the defaults of chart %s: %w", displayed(source.Reference), err)
		}
		complete, err := loaded.chart.AllValues(values)
		if err != nil {
			return nil, err
		}
		manifests.MergeMapInto(all, complete)
	}
	return all, nil
}

// Over returns the same sources with their values merged into others.
func (s *Set) Over(values map[string]any) *Set {
	set := *s
	set.values = manifests.MergeMaps(values, s.values)
	return &set
}

// SkipsDefinitions reports whether Options.SkipDefinitions was set for a chart.
func (s *Set) SkipsDefinitions() bool {
	return slices.ContainsFunc(s.members, func(m member) bool { return m.skipsDefinitions })
}

// UnknownIn is a value that no source takes.
type UnknownIn struct {
	internalhelm.UnknownValue

	// Chart is the name of the chart that the suggestion is about; the first chart if there is none.
	Chart string
}

// UnknownValues returns the values that no chart takes, sorted by path; see [internalhelm.Chart.UnknownValues]. It returns
// none if a kustomization takes values, because its templates may use any.
func (s *Set) UnknownValues() ([]UnknownIn, error) {
	if slices.ContainsFunc(s.members, func(m member) bool { return m.takesValues && m.Kind == Kustomization }) {
		return nil, nil
	}
	var found []UnknownIn
	for i, chart := range s.Charts() {
		unknown, err := chart.UnknownValues(s.values)
		if err != nil {
			return nil, fmt.Errorf("examining the values for chart %s: %w", chart.Name(), err)
		}
		of := display.Map(unknown, func(value internalhelm.UnknownValue) UnknownIn { return UnknownIn{value, chart.Name()} })
		if i > 0 {
			of = inBoth(found, of)
		}
		found = of
	}
	return found, nil
}

// inBoth returns the values that are unknown, or in an unknown map, in both lists.
func inBoth(a, b []UnknownIn) []UnknownIn {
	var both []UnknownIn
	for _, x := range a {
		for _, y := range b {
			switch {
			case contains(x.Path, y.Path) && (x.Path != y.Path || x.Suggestion == "" && y.Suggestion != ""):
				both = append(both, y)
			case contains(y.Path, x.Path):
				both = append(both, x)
			}
		}
	}
	return both
}

// contains reports whether a path is that of a map, or of a value in it.
func contains(parent, path string) bool {
	rest, ok := strings.CutPrefix(path, parent)
	return ok && (rest == "" || strings.ContainsAny(rest[:1], ".["))
}

// displayed returns a reference as it appears in messages, without passwords.
func displayed(reference string) string {
	if reference == stdinReference {
		return "standard input"
	}
	scheme, rest, _ := strings.Cut(reference, "://")
	authority, _, _ := strings.Cut(rest, "/")
	if i := strings.LastIndex(authority, "@"); i >= 0 && (scheme != "git::ssh" || strings.Contains(authority[:i], ":")) {
		return scheme + "://..." + rest[i:]
	}
	return reference
}
