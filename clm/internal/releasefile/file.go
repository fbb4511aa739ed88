// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package releasefile

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	yamlv3 "go.yaml.in/yaml/v3"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"sigs.k8s.io/yaml"

	"github.com/component-operator/runtime/clm/internal/releases"
	"github.com/component-operator/runtime/internal/helm/remote"
	"github.com/component-operator/runtime/internal/texts"
	"github.com/component-operator/runtime/pkg/manifests"
)

// Kind and APIVersion of a file. Both may be missing.
const (
	Kind       = "Releases"
	APIVersion = releases.ReconcilerName + "/v1alpha1"
)

// FileLabel is the label of releases with the name of their file and its environment.
const FileLabel = releases.ReconcilerName + "/file"

// EnvironmentVariable is the variable with the name of the chosen environment; empty if none was chosen.
const EnvironmentVariable = "ENVIRONMENT"

// File lists releases that are applied together.
type File struct {
	APIVersion string `json:"apiVersion,omitempty"`
	Kind       string `json:"kind,omitempty"`
	// Name is recorded with the releases, so that those that are not in the file any more are found. It is a DNS label.
	Name string `json:"name"`
	// Defaults are for all releases.
	Defaults Settings `json:"defaults,omitzero"`
	// Environments are alternatives, one of which may be chosen.
	Environments map[string]Environment `json:"environments,omitempty"`
	Releases     []Release              `json:"releases"`
}

// Environment is one of several alternatives, such as test and production.
type Environment struct {
	Settings `json:",inline"`

	// Variables can be used in the file. They win over those of the process.
	Variables map[string]string `json:"variables,omitempty"`
}

// Settings of a release win over those of the environment, and these over the defaults.
type Settings struct {
	// Context is the context of the kubeconfig. Defaults to that of the command line.
	Context string `json:"context,omitempty"`
	// Namespace defaults to that of the command line.
	Namespace string `json:"namespace,omitempty"`
	// CreateNamespace creates the namespace if it does not exist. Defaults to false.
	CreateNamespace *bool `json:"createNamespace,omitempty"`
	// ValuesFiles and Values are merged: the files first, those of the defaults before those of the environment and the
	// release, and then the values in the same order.
	ValuesFiles []string       `json:"valuesFiles,omitempty"`
	Values      map[string]any `json:"values,omitempty"`
	// Labels are merged. They replace those that the release has.
	Labels map[string]string `json:"labels,omitempty"`
	// Timeout is how long to wait until the release is ready. Defaults to that of the command line.
	Timeout *metav1.Duration `json:"timeout,omitempty"`
}

// Release is one release of a file.
type Release struct {
	Settings `json:",inline"`

	Name string `json:"name"`
	// Sources are those of clm apply. Relative paths begin at the folder of the file.
	Sources []string `json:"sources"`
	// Version of charts whose references have none. Defaults to the latest one.
	Version string `json:"version,omitempty"`
	// DependsOn are releases of the file that must be ready first: NAME, or NAMESPACE/NAME.
	DependsOn []string `json:"dependsOn,omitempty"`
	// Environments are those in which there is the release. Defaults to all.
	Environments []string `json:"environments,omitempty"`
}

// Member is a release of a file with all settings.
type Member struct {
	Release

	// Needs are the indexes of the members that must be ready first.
	Needs []int
	// Recorded are those of them in the same namespace, for releases.Revision.DependsOn.
	Recorded []string
	// Inherits means that the release has no values of its own, so its sources need not take those of the file.
	Inherits bool
}

// String returns namespace and name, preceded by the context if the file has one.
func (m Member) String() string {
	return strings.TrimPrefix(m.Context+":", ":") + m.Namespace + "/" + m.Name
}

// Options select what to read.
type Options struct {
	// Environment is the chosen one; empty for none.
	Environment string
	// Context is the one of releases without one.
	Context string
	// Namespace returns that of releases without one, by their context. Required.
	Namespace func(context string) (string, error)
	// Getenv returns an environment variable. Required.
	Getenv func(name string) (string, bool)
}

// Load reads a file. The name is that of the file, followed by the environment, such as shop.prod. The members are in
// the order of the file; each comes after those that it needs. Errors name the release and the field.
func Load(path string, options Options) (name string, members []Member, err error) {
	content, err := os.ReadFile(path)
	if err != nil {
		return "", nil, err
	}
	file, err := parse(content, options)
	if err != nil {
		return "", nil, fmt.Errorf("reading %s: %w", path, err)
	}
	name = file.Name
	if options.Environment != "" {
		name += "." + options.Environment
	}
	if members, err = file.members(filepath.Dir(path), name, options); err != nil {
		return "", nil, fmt.Errorf("reading %s: %w", path, err)
	}
	return name, members, nil
}

// parse replaces variables, and decodes a file strictly.
func parse(content []byte, options Options) (*File, error) {
	var document, second yamlv3.Node
	decoder := yamlv3.NewDecoder(bytes.NewReader(content))
	if err := decoder.Decode(&document); err != nil {
		return nil, err
	}
	if err := decoder.Decode(&second); !errors.Is(err, io.EOF) {
		return nil, errors.New("it has several documents; must be one")
	}
	variables, err := options.choose(&document)
	if err == nil {
		err = expand(&document, "", func(name string) (string, bool) {
			if value, ok := variables[name]; ok {
				return value, true
			}
			return options.getenv(name)
		})
	}
	if err != nil {
		return nil, err
	}
	expanded, err := yamlv3.Marshal(&document)
	if err != nil {
		return nil, err
	}
	file := &File{}
	if err := yaml.UnmarshalStrict(expanded, file); err != nil {
		return nil, errors.New(strings.TrimPrefix(strings.ReplaceAll(err.Error(), "error unmarshaling JSON: while decoding JSON: json: ", ""), "error converting YAML to JSON: "))
	}
	return file, file.check()
}

// getenv returns a variable of the process, or the name of the environment.
func (o Options) getenv(name string) (string, bool) {
	if name == EnvironmentVariable {
		return o.Environment, true
	}
	return o.Getenv(name)
}

// choose returns the variables of the chosen environment. It removes the content of all others from the document.
func (o Options) choose(document *yamlv3.Node) (map[string]string, error) {
	environments := valueOf(valueOf(document, ""), "environments")
	var names []string
	var chosen *yamlv3.Node
	for i := 0; environments != nil && i+1 < len(environments.Content); i += 2 {
		name := environments.Content[i].Value
		names = append(names, name)
		if name == o.Environment {
			chosen = environments.Content[i+1]
		} else {
			environments.Content[i+1] = &yamlv3.Node{Kind: yamlv3.MappingNode}
		}
	}
	if o.Environment != "" && chosen == nil {
		return nil, fmt.Errorf("there is no environment %q; there are: %s", o.Environment, listed(names))
	}
	variables := map[string]string{}
	given := valueOf(chosen, "variables")
	if given == nil {
		return variables, nil
	}
	if err := expand(given, "", o.getenv); err != nil {
		return nil, err
	}
	err := given.Decode(&variables)
	given.Content = nil // they are not expanded again
	return variables, err
}

// valueOf returns the value of a key in a mapping, or, without a key, the content of a document; nil if there is none.
func valueOf(node *yamlv3.Node, key string) *yamlv3.Node {
	switch {
	case node == nil:
	case node.Kind == yamlv3.DocumentNode && key == "" && len(node.Content) > 0:
		return node.Content[0]
	case node.Kind == yamlv3.MappingNode:
		for i := 0; i+1 < len(node.Content); i += 2 {
			if node.Content[i].Value == key {
				return node.Content[i+1]
			}
		}
	}
	return nil
}

// variable matches a variable in a text, or an escaped dollar sign.
var variable = regexp.MustCompile(`\$\$\{|\$\{([^}]*)\}`)

// typed matches the texts that helm --set also takes for something else than a text.
var typed = regexp.MustCompile(`^(true|false|null|0|-?[1-9][0-9]*)$`)

// expand replaces ${NAME} in all texts below a key; $${ stands for ${. A text without quotes may become a number or a
// boolean, as with helm --set.
func expand(node *yamlv3.Node, key string, get func(name string) (string, bool)) error {
	var failure error
	if node.Kind == yamlv3.ScalarNode && strings.Contains(node.Value, "${") {
		node.Value = variable.ReplaceAllStringFunc(node.Value, func(found string) string {
			if found == "$${" {
				return "${"
			}
			name := strings.TrimSuffix(strings.TrimPrefix(found, "${"), "}")
			value, known := get(name)
			if !known {
				failure = cmp.Or(failure, fmt.Errorf("line %d: the variable %s is not set; to write ${ itself: $${", node.Line, name))
			}
			return value
		})
		switch {
		case node.Style != 0:
		case typed.MatchString(node.Value):
			node.Tag = ""
		default:
			node.Style = yamlv3.DoubleQuotedStyle
		}
		if node.Value == "" && (key == "context" || key == "namespace") {
			// Otherwise, the present one would be used.
			failure = cmp.Or(failure, fmt.Errorf("line %d: the %s is empty, because a variable is", node.Line, key))
		}
	}
	for i, child := range node.Content {
		below := ""
		if node.Kind == yamlv3.MappingNode && i%2 == 1 {
			below = node.Content[i-1].Value
		}
		if err := expand(child, below, get); err != nil {
			return err
		}
	}
	return failure
}

// check refuses what no environment makes valid.
func (f *File) check() error {
	if version := cmp.Or(f.APIVersion, APIVersion); version != APIVersion {
		return fmt.Errorf("apiVersion: %q is not known; must be %s", version, APIVersion)
	}
	if kind := cmp.Or(f.Kind, Kind); kind != Kind {
		return fmt.Errorf("kind: %q is not known; must be %s", kind, Kind)
	}
	for _, name := range slices.Concat([]string{f.Name}, slices.Sorted(maps.Keys(f.Environments))) {
		const most = 30 // both fit into a label
		if problems := validation.IsDNS1123Label(name); len(problems) > 0 || len(name) > most {
			return fmt.Errorf("name: %q is not a valid name of a file or an environment; must have at most %d lowercase letters, digits and dashes", name, most)
		}
	}
	for i, release := range f.Releases {
		at := fmt.Sprintf("releases[%d]", i)
		if err := releases.ValidateName(release.Name); err != nil {
			return fmt.Errorf("%s: name: %w", at, err)
		}
		at += " " + release.Name
		if len(release.Sources) == 0 || slices.Contains(release.Sources, "") {
			return fmt.Errorf("%s: sources: a source is missing; must be a file, a directory or a chart reference", at)
		}
		if slices.Contains(release.Sources, "-") {
			return fmt.Errorf("%s: sources: standard input cannot be a source in a file", at)
		}
		for _, name := range release.Environments {
			if _, known := f.Environments[name]; !known {
				return fmt.Errorf("%s: environments: there is no environment %q; there are: %s", at, name, listed(slices.Sorted(maps.Keys(f.Environments))))
			}
		}
	}
	return nil
}

// members returns the releases of the chosen environment, completed and sorted.
func (f *File) members(folder, name string, options Options) ([]Member, error) {
	var members []Member
	for _, release := range f.Releases {
		if len(release.Environments) > 0 && !slices.Contains(release.Environments, options.Environment) {
			continue
		}
		member := Member{Inherits: len(release.Values)+len(release.ValuesFiles) == 0}
		release.Settings = f.Defaults.under(f.Environments[options.Environment].Settings).under(release.Settings)
		if err := release.complete(options); err != nil {
			return nil, fmt.Errorf("release %s: %w", release.Name, err)
		}
		release.Labels[FileLabel] = name
		for i, source := range release.Sources {
			release.Sources[i] = within(folder, source)
		}
		for i, file := range release.ValuesFiles {
			release.ValuesFiles[i] = absolute(folder, file)
		}
		member.Release = release
		if slices.ContainsFunc(members, func(other Member) bool {
			return cmp.Or(other.Context, options.Context) == cmp.Or(member.Context, options.Context) && other.Namespace == member.Namespace && other.Name == member.Name
		}) {
			return nil, fmt.Errorf("release %s is in the file twice; names must differ within a namespace", member)
		}
		members = append(members, member)
	}
	if len(members) == 0 {
		return nil, errors.New("there are no releases in it, or none in this environment")
	}
	return sorted(members)
}

// complete sets the namespace, and refuses invalid settings.
func (r *Release) complete(options Options) (err error) {
	if r.Namespace == "" {
		if r.Namespace, err = options.Namespace(r.Context); err != nil {
			return err
		}
	}
	if problems := validation.IsDNS1123Label(r.Namespace); len(problems) > 0 {
		return fmt.Errorf("namespace: %q is not a valid namespace name: %s", r.Namespace, strings.Join(problems, ", "))
	}
	if r.Timeout != nil && r.Timeout.Duration < 0 {
		return fmt.Errorf("timeout: %s is negative; 0 means no limit", r.Timeout.Duration)
	}
	if err := checkLabels(r.Labels); err != nil {
		return fmt.Errorf("labels: %w", err)
	}
	return nil
}

// under returns these settings with others laid over them.
func (s Settings) under(over Settings) Settings {
	s.Context, s.Namespace = cmp.Or(over.Context, s.Context), cmp.Or(over.Namespace, s.Namespace)
	s.CreateNamespace, s.Timeout = cmp.Or(over.CreateNamespace, s.CreateNamespace), cmp.Or(over.Timeout, s.Timeout)
	s.ValuesFiles = slices.Concat(s.ValuesFiles, over.ValuesFiles)
	s.Values = manifests.MergeMaps(s.Values, over.Values)
	merged := map[string]string{}
	maps.Copy(merged, s.Labels)
	maps.Copy(merged, over.Labels)
	s.Labels = merged
	return s
}

// within returns a source relative to the folder. References to other machines, and REPO/CHART, stay as they are.
func within(folder, source string) string {
	local := absolute(folder, source)
	if _, err := os.Stat(local); err == nil {
		return local
	}
	if reference, err := remote.Find(source); err != nil || reference != nil {
		return source
	}
	return local
}

func absolute(folder, path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(folder, path)
}

// checkLabels refuses what is no label, and labels that clm sets.
func checkLabels(labels map[string]string) error {
	for _, key := range slices.Sorted(maps.Keys(labels)) {
		if problems := slices.Concat(validation.IsQualifiedName(key), validation.IsValidLabelValue(labels[key])); len(problems) > 0 {
			return fmt.Errorf("%s=%s is not a valid label: %s", key, labels[key], strings.Join(problems, ", "))
		}
		if releases.IsReserved(key) {
			return fmt.Errorf("%s is a label that clm sets itself", key)
		}
	}
	return nil
}

// sorted resolves what members depend on, and returns each after what it needs.
func sorted(members []Member) ([]Member, error) {
	var order []Member
	place := map[string]int{} // in the order; -1 while it is being visited
	var visit func(member Member) error
	visit = func(member Member) error {
		if at, known := place[member.String()]; known && at < 0 {
			return fmt.Errorf("release %s: dependsOn: it depends on itself, through others", member)
		} else if known {
			return nil
		}
		place[member.String()] = -1
		for _, name := range member.DependsOn {
			needed, err := find(members, member, name)
			if err == nil {
				err = visit(needed)
			}
			if err != nil {
				return err
			}
			member.Needs = append(member.Needs, place[needed.String()])
			if needed.Namespace == member.Namespace && needed.Context == member.Context {
				member.Recorded = append(member.Recorded, needed.Name)
			}
		}
		place[member.String()] = len(order)
		order = append(order, member)
		return nil
	}
	for _, member := range members {
		if err := visit(member); err != nil {
			return nil, err
		}
	}
	return order, nil
}

// find returns the member that another one depends on. Without a namespace, it is in the same one, or the only one of
// that name.
func find(members []Member, from Member, name string) (Member, error) {
	var named, all []Member
	for _, member := range members {
		text := member.Namespace + "/" + member.Name
		switch {
		case name == text && member.Context == from.Context, name == member.Name && member.Namespace == from.Namespace && member.Context == from.Context:
			return member, nil
		case name == text, name == member.Name:
			named = append(named, member)
		}
		all = append(all, member)
	}
	if len(named) == 1 {
		return named[0], nil
	}
	var known []string
	for _, member := range all {
		known = append(known, member.Name)
	}
	err := fmt.Errorf("release %s: dependsOn: there is no release %q in the file", from, name)
	if len(named) > 1 {
		err = fmt.Errorf("release %s: dependsOn: there are several releases %q in the file; must be NAMESPACE/NAME", from, name)
	}
	if nearest := texts.Nearest(name, known); nearest != "" && len(named) == 0 {
		err = fmt.Errorf("%w; did you mean %s?", err, nearest)
	}
	return Member{}, err
}

func listed(names []string) string { return cmp.Or(strings.Join(names, ", "), "none") }
