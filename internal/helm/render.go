// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package helm

import (
	"bufio"
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/gobwas/glob"
	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/strvals"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/component-operator/runtime/internal/concurrent"
	"github.com/component-operator/runtime/internal/manifest"
	"github.com/component-operator/runtime/internal/templating"
	"github.com/component-operator/runtime/pkg/types"
)

// notesSuffix is the suffix of the file that Helm prints after an installation.
const notesSuffix = "NOTES.txt"

// Release contains the input for rendering a chart.
type Release struct {
	// Name and Namespace become .Release.Name and .Release.Namespace.
	Name      string
	Namespace string
	// Revision becomes .Release.Revision.
	Revision int64
	// Upgrade becomes .Release.IsUpgrade, and its opposite .Release.IsInstall.
	Upgrade bool
	// Values override the defaults of the chart. They are not changed.
	Values map[string]any
	// Capabilities become .Capabilities.
	Capabilities Capabilities
	// Service becomes .Release.Service. Defaults to "Helm".
	Service string
	// PostRenderer, if not nil, gets all objects as a stream of YAML documents, and returns the objects to use instead.
	PostRenderer interface {
		Run(rendered *bytes.Buffer) (*bytes.Buffer, error)
	}
	// Client is called when a template looks up an object for the first time. It must not be nil.
	Client func() (client.Client, error)
}

// Capabilities describe the API server to charts. Their APIVersions are the served API versions and types, in the form
// apps/v1 and apps/v1/Deployment. Render sets HelmVersion.
type Capabilities = chartutil.Capabilities

// KubeVersion is the version of an API server, in the form v1.2.3, and its parts. Some vendors append a "+" to these.
type KubeVersion = chartutil.KubeVersion

// Object is a rendered object.
type Object struct {
	*unstructured.Unstructured
	// Source is the origin of the object, for messages.
	Source string
	// Definition marks objects from crds folders.
	Definition bool
}

// File returns the path of the object's file, beginning with the name of the chart.
func (o Object) File() string {
	file, _, _ := strings.Cut(o.Source, documentInSource)
	return file
}

// Render returns the objects of the chart for a release: first those of the crds folders, then all others, ordered by
// template file and position. The objects of the main chart's crds folder come before those of its dependencies; of
// several equal ones, the first is used. A post-renderer may change all of that.
//
// The context is used for looking up objects; rendering itself cannot be interrupted.
func (c *Chart) Render(ctx context.Context, release Release) ([]Object, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	objects, err := c.render(ctx, release)
	if err != nil {
		return nil, fmt.Errorf("rendering chart %s: %w", c.Name(), err)
	}
	return objects, nil
}

func (c *Chart) render(ctx context.Context, release Release) ([]Object, error) {
	parsed := instance(c.parsed)
	if required := parsed.Metadata.KubeVersion; required != "" && !chartutil.IsCompatibleRange(required, release.Capabilities.KubeVersion.Version) {
		return nil, fmt.Errorf("it requires Kubernetes %s, which version %s does not satisfy", required, release.Capabilities.KubeVersion.Version)
	}
	values, err := renderValues(parsed, release)
	if err != nil {
		return nil, err
	}
	// Templates do not see the definitions.
	var files map[string]string
	var objects []Object
	work := []func() error{
		func() (err error) {
			files, err = newRendering(parsed, values).render(ctx, release.Client)
			return located(err)
		},
		func() (err error) { objects, err = definitions(parsed); return err },
	}
	if err := concurrent.Each(len(work), work, func(_ int, do func() error) error { return do() }); err != nil {
		return nil, err
	}
	reportNotes(ctx, files[path.Join(parsed.Name(), "templates", notesSuffix)])
	var rendered []document
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if !strings.HasSuffix(name, notesSuffix) {
			rendered = append(rendered, documentsOf(name, []byte(files[name]))...)
		}
	}
	found, err := parseDocuments(rendered)
	if err != nil {
		return nil, err
	}
	objects = append(objects, found...)
	if release.PostRenderer == nil {
		return objects, nil
	}
	return postRender(objects, release.PostRenderer.Run)
}

// renderValues also removes disabled dependencies from the chart.
func renderValues(parsed *chart.Chart, release Release) (chartutil.Values, error) {
	given, err := manifest.Normalize(release.Values)
	if err != nil {
		return nil, err
	}
	if err := chartutil.ProcessDependenciesWithMerge(parsed, given); err != nil {
		return nil, readable(err)
	}
	options := chartutil.ReleaseOptions{
		Name:      release.Name,
		Namespace: release.Namespace,
		Revision:  int(min(release.Revision, math.MaxInt)),
		IsInstall: !release.Upgrade,
		IsUpgrade: release.Upgrade,
	}
	release.Capabilities.HelmVersion = chartutil.DefaultCapabilities.HelmVersion
	rendered, err := chartutil.ToRenderValues(parsed, given, options, &release.Capabilities)
	if err != nil {
		return nil, readable(err)
	}
	if about, ok := rendered["Release"].(map[string]any); ok && release.Service != "" {
		about["Service"] = release.Service
	}
	return rendered, nil
}

// AllValues returns the given values together with the defaults of the chart and its dependencies, as templates see them.
// It does not change the given ones.
func (c *Chart) AllValues(given map[string]any) (map[string]any, error) {
	rendered, err := renderValues(instance(c.parsed), Release{Values: given, Capabilities: *chartutil.DefaultCapabilities})
	if err != nil {
		return nil, fmt.Errorf("merging the values of chart %s: %w", c.Name(), err)
	}
	return rendered.Table("Values")
}

// definitions returns the objects of the crds folders of the chart and its remaining dependencies, each once: the SDK
// returns a definition several times if a dependency has several names.
func definitions(parsed *chart.Chart) ([]Object, error) {
	var all []document
	for _, file := range parsed.CRDObjects() {
		all = append(all, documentsOf(file.Filename, file.File.Data)...)
	}
	found, err := parseDocuments(all)
	if err != nil {
		return nil, err
	}
	seen := map[types.ObjectID]bool{}
	var objects []Object
	for _, object := range found {
		if id := types.IDOf(object); !seen[id] {
			seen[id] = true
			object.Definition = true
			objects = append(objects, object)
		}
	}
	return objects, nil
}

// rendering contains the templates of a chart and its dependencies. It renders them like Helm's engine, but with the
// limits of package templating: values often come from users who must not exhaust the memory of an operator.
type rendering struct {
	files []templating.File
	// data is the input of each file. The files of a chart share it, and may change it.
	data map[string]chartutil.Values
	// folders are the templates folders of the files' charts.
	folders map[string]string
}

// newRendering takes a prepared chart and its values.
func newRendering(parsed *chart.Chart, values chartutil.Values) *rendering {
	r := &rendering{data: map[string]chartutil.Values{}, folders: map[string]string{}}
	r.add(parsed, values)
	// Of several definitions of the same name, the last one is used. A parent's definition wins over those of its
	// dependencies.
	slices.SortFunc(r.files, func(x, y templating.File) int {
		if depth := strings.Count(y.Name, "/") - strings.Count(x.Name, "/"); depth != 0 {
			return depth
		}
		return strings.Compare(y.Name, x.Name)
	})
	return r
}

// add adds the templates of a chart and returns their data. The given data is that of its parent.
func (r *rendering) add(parsed *chart.Chart, given chartutil.Values) chartutil.Values {
	about := struct {
		chart.Metadata
		IsRoot bool
	}{*parsed.Metadata, parsed.IsRoot()}
	files := chartFiles{}
	for _, file := range parsed.Files {
		files[file.Name] = file.Data
	}
	dependencies := map[string]any{}
	data := chartutil.Values{
		"Chart": about, "Files": files, "Subcharts": dependencies,
		"Release": given["Release"], "Capabilities": given["Capabilities"], "Values": chartutil.Values{},
	}
	if parsed.IsRoot() {
		data["Values"] = given["Values"]
	} else if own, err := given.Table("Values." + parsed.Name()); err == nil {
		data["Values"] = own
	}
	for _, dependency := range parsed.Dependencies() {
		dependencies[dependency.Name()] = map[string]any(r.add(dependency, data))
	}
	library := strings.EqualFold(parsed.Metadata.Type, "library")
	for _, file := range parsed.Templates {
		if file == nil || (library && !isPartial(file.Name)) {
			continue
		}
		name := path.Join(parsed.ChartFullPath(), file.Name)
		if r.data[name] != nil {
			// Of several files of the same name, the last one is used.
			r.files = slices.DeleteFunc(r.files, func(other templating.File) bool { return other.Name == name })
		}
		r.files = append(r.files, templating.File{Name: name, Text: string(file.Data)})
		r.data[name], r.folders[name] = data, path.Join(parsed.ChartFullPath(), "templates")
	}
	return data
}

// isPartial reports whether a file contains only definitions for others.
func isPartial(name string) bool { return strings.HasPrefix(path.Base(name), "_") }

// render returns the output of all files except for partials and, if not requested, notes: some charts fail on purpose
// in their notes, as a message to users of Helm.
func (r *rendering) render(ctx context.Context, getClient func() (client.Client, error)) (map[string]string, error) {
	set, err := templating.Parse(r.files, templating.Options{Library: library, KeepNoValue: true})
	if err != nil {
		return nil, err
	}
	renderer, err := set.Renderer(map[string]any{"lookup": templating.NewLookup(ctx, sync.OnceValues(getClient)).One})
	if err != nil {
		return nil, err
	}
	rendered := map[string]string{}
	for _, file := range r.files {
		if isPartial(file.Name) || !wantsNotes(ctx) && strings.HasSuffix(file.Name, notesSuffix) {
			continue
		}
		if report, ok := ctx.Value(templatesKey{}).(func(string, string)); ok {
			report(file.Name, file.Text)
		}
		data := r.data[file.Name]
		data["Template"] = chartutil.Values{"Name": file.Name, "BasePath": r.folders[file.Name]}
		if rendered[file.Name], err = renderer.Render(file.Name, data); err != nil {
			return nil, err
		}
	}
	return rendered, nil
}

// chartFiles are the files of a chart besides its templates, in the form for templates.
type chartFiles map[string][]byte

// Get returns the content of a file; empty if there is none.
func (f chartFiles) Get(name string) string { return string(f[name]) }

// GetBytes returns the content of a file; empty if there is none.
func (f chartFiles) GetBytes(name string) []byte {
	if content, ok := f[name]; ok {
		return content
	}
	return []byte{}
}

// maxPattern is the maximum length of the pattern of Glob, in bytes.
const maxPattern = 1024

// Glob returns the files whose names match a pattern. An invalid pattern matches all.
func (f chartFiles) Glob(pattern string) (chartFiles, error) {
	if len(pattern) > maxPattern {
		return nil, fmt.Errorf("the pattern has %d bytes; at most %d are allowed", len(pattern), maxPattern)
	}
	matcher, err := glob.Compile(pattern, '/')
	matching := chartFiles{}
	for name, content := range f {
		if err != nil || matcher.Match(name) {
			matching[name] = content
		}
	}
	return matching, nil
}

// AsConfig returns the data of a ConfigMap as YAML.
func (f chartFiles) AsConfig() string {
	return f.data(func(content []byte) string { return string(content) })
}

// AsSecrets returns the data of a Secret as YAML.
func (f chartFiles) AsSecrets() string { return f.data(base64.StdEncoding.EncodeToString) }

func (f chartFiles) data(encode func(content []byte) string) string {
	data := map[string]string{}
	for name, content := range f {
		data[path.Base(name)] = encode(content)
	}
	return toYaml(data)
}

// Lines returns the lines of a file; empty if there is none.
func (f chartFiles) Lines(name string) []string {
	if len(f[name]) == 0 {
		return []string{}
	}
	return strings.Split(strings.TrimSuffix(string(f[name]), "\n"), "\n")
}

// ValuesInput has the sources of a release's values.
type ValuesInput struct {
	// Files are YAML files. Later files win over earlier ones, and later documents over earlier ones of the same file.
	Files []string
	// Given wins over files.
	Given map[string]any
	// SetJSON, Set, SetString, SetFile and SetLiteral win over them, in this order. Their items have the form
	// path=value; several are separated by commas, except in SetLiteral. In SetJSON, the value is JSON, or the whole item
	// is a JSON object. For SetFile, the value is the name of a file with the content.
	SetJSON, Set, SetString, SetFile, SetLiteral []string
	// Read returns the content of a file. It must not be nil.
	Read func(name string) ([]byte, error)
}

// MergeValues returns the same values as Helm for the same input: maps are merged, everything else is replaced. A null
// stays, because it removes a default of the chart. Whole numbers from files are floats, those from Set are integers.
// The result is never nil.
func MergeValues(input ValuesInput) (map[string]any, error) {
	merged := map[string]any{}
	for _, name := range input.Files {
		content, err := input.Read(name)
		if err != nil {
			return nil, fmt.Errorf("reading values %s: %w", name, err)
		}
		if err := mergeFile(merged, content); err != nil {
			return nil, fmt.Errorf("parsing values %s: %w", name, err)
		}
	}
	given, err := manifest.Normalize(input.Given)
	if err != nil {
		return nil, err
	}
	mergeGiven(merged, given)
	// An assignment may contain a password, so errors contain at most its path.
	read := func(name []rune) (any, error) {
		content, err := input.Read(string(name))
		return string(content), err
	}
	for _, of := range []struct {
		flag        string
		assignments []string
		parse       func(assignment string, into map[string]any) error
	}{
		{"--set-json", input.SetJSON, setJSON},
		{"--set", input.Set, strvals.ParseInto},
		{"--set-string", input.SetString, strvals.ParseIntoString},
		{"--set-file", input.SetFile, func(assignment string, into map[string]any) error {
			return strvals.ParseIntoFile(assignment, into, read)
		}},
		{"--set-literal", input.SetLiteral, strvals.ParseLiteralInto},
	} {
		for _, assignment := range of.assignments {
			if err := of.parse(assignment, merged); err != nil {
				path, _, _ := strings.Cut(assignment, "=")
				return nil, fmt.Errorf("parsing %s %s: %w", of.flag, path, err)
			}
		}
	}
	return merged, nil
}

// setJSON merges a JSON object, or assigns JSON values to paths.
func setJSON(assignment string, into map[string]any) error {
	if !strings.HasPrefix(strings.TrimSpace(assignment), "{") {
		return strvals.ParseJSON(assignment, into)
	}
	var given map[string]any
	if err := json.Unmarshal([]byte(assignment), &given); err != nil {
		return err
	}
	mergeGiven(into, given)
	return nil
}

// AssignStrings sets values by assignments of Helm's flag --set-string. An assignment may contain a password, so errors
// contain at most its path.
func AssignStrings(values map[string]any, assignments []string) error {
	for _, assignment := range assignments {
		if err := strvals.ParseIntoString(assignment, values); err != nil {
			path, _, _ := strings.Cut(assignment, "=")
			return fmt.Errorf("parsing --set-string %s: %w", path, err)
		}
	}
	return nil
}

// mergeFile merges the documents of a file over values, one after the other like Helm 4. It changes values.
func mergeFile(values map[string]any, content []byte) error {
	if err := manifest.CheckSeparated(content); err != nil {
		return err
	}
	// Without a line break at the end, the reader may drop the last line.
	reader := utilyaml.NewYAMLReader(bufio.NewReader(io.MultiReader(bytes.NewReader(content), strings.NewReader("\n"))))
	for {
		document, err := reader.Read()
		if errors.Is(err, io.EOF) {
			return nil
		}
		var given map[string]any
		if err == nil {
			err = yaml.Unmarshal(document, &given)
		}
		if err != nil {
			return err
		}
		mergeGiven(values, given)
	}
}

// mergeGiven merges values over others, which it changes. Unlike for the defaults of a chart, null is a normal value
// here.
func mergeGiven(under, over map[string]any) {
	for key, value := range over {
		below, isMap := under[key].(map[string]any)
		if above, ok := value.(map[string]any); ok && isMap {
			mergeGiven(below, above)
			continue
		}
		under[key] = value
	}
}
