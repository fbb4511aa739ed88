// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package helm

import (
	"context"
	"encoding/base64"
	"fmt"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/gobwas/glob"
	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chartutil"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/internal/templating"
)

// rendering holds the templates of a chart and its dependencies. It renders them like Helm's engine, but with the
// limits of package templating: values are often written by users who must not use up the memory of an operator.
type rendering struct {
	files []templating.File
	// data is what each file is rendered with. The files of a chart share it, and may change it.
	data map[string]chartutil.Values
	// folders are the template folders of the files' charts.
	folders map[string]string
}

// newRendering takes a prepared chart and its values.
func newRendering(parsed *chart.Chart, values chartutil.Values) *rendering {
	r := &rendering{data: map[string]chartutil.Values{}, folders: map[string]string{}}
	r.add(parsed, values)
	// Of several definitions of the same name, the last one counts. That of a parent wins over those of its
	// dependencies.
	slices.SortFunc(r.files, func(x, y templating.File) int {
		if depth := strings.Count(y.Name, "/") - strings.Count(x.Name, "/"); depth != 0 {
			return depth
		}
		return strings.Compare(y.Name, x.Name)
	})
	return r
}

// add returns the data of a chart's templates. The given data is that of its parent.
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
			// Of several files of the same name, the last one counts.
			r.files = slices.DeleteFunc(r.files, func(other templating.File) bool { return other.Name == name })
		}
		r.files = append(r.files, templating.File{Name: name, Text: string(file.Data)})
		r.data[name], r.folders[name] = data, path.Join(parsed.ChartFullPath(), "templates")
	}
	return data
}

// isPartial reports whether a file only has definitions for others.
func isPartial(name string) bool { return strings.HasPrefix(path.Base(name), "_") }

// render returns the output of all files but partials, and but notes if they are not wanted: charts fail in notes on
// purpose, to speak to users of Helm.
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
		data := r.data[file.Name]
		data["Template"] = chartutil.Values{"Name": file.Name, "BasePath": r.folders[file.Name]}
		if rendered[file.Name], err = renderer.Render(file.Name, data); err != nil {
			return nil, err
		}
	}
	return rendered, nil
}

// chartFiles are the files of a chart besides its templates, as templates see them.
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
