// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package helm

import (
	"bytes"
	"cmp"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"

	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chartutil"
	"sigs.k8s.io/yaml"
)

// Read is Load for charts that are not rendered: a chart may be a library, and its dependencies may be missing.
func Read(fsys fs.FS, path string) (*Chart, error) {
	parsed, files, err := parse(fsys, path)
	if err != nil {
		return nil, err
	}
	return &Chart{parsed: parsed, fingerprint: fingerprint(files)}, nil
}

// ReadLocal is Read for a path of the operating system. Of a folder, it follows no symbolic links that lead out of it.
func ReadLocal(path string) (*Chart, error) {
	if info, err := os.Stat(path); err != nil || !info.IsDir() {
		return Read(nil, path)
	}
	root, err := os.OpenRoot(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = root.Close() }()
	chart, err := Read(root.FS(), ".")
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return chart, nil
}

// Save packages the chart as the file NAME-VERSION.tgz in a folder, and returns the path of that file. It creates the
// folder if necessary, and replaces the file. The version and the version of the application default to those of the
// chart. If dependencies are missing, the error is a MissingDependenciesError.
func (c *Chart) Save(folder, version, appVersion string) (string, error) {
	if err := checkComplete(c.parsed); err != nil {
		return "", fmt.Errorf("%w; \"clm dependency build\" puts them there", err)
	}
	packaged := instance(c.parsed)
	packaged.Metadata.Version = cmp.Or(version, packaged.Metadata.Version)
	packaged.Metadata.AppVersion = cmp.Or(appVersion, packaged.Metadata.AppVersion)
	return chartutil.Save(packaged, folder)
}

// Show returns a part of the chart as "helm show" prints it: chart, values, readme, crds or all. The text is empty if
// the chart has no such part.
func (c *Chart) Show(part string) (string, error) {
	metadata, err := yaml.Marshal(c.parsed.Metadata)
	if err != nil {
		return "", fmt.Errorf("encoding Chart.yaml: %w", err)
	}
	contents := map[string][][]byte{
		"chart":  {metadata},
		"values": contentOf(c.parsed.Raw, "values.yaml"),
		"readme": contentOf(c.parsed.Files, "readme.md", "readme.txt", "readme"),
	}
	for _, definition := range c.parsed.CRDObjects() {
		contents["crds"] = append(contents["crds"], definition.File.Data)
	}
	var out strings.Builder
	for _, shown := range []string{"chart", "values", "readme", "crds"} {
		texts := contents[shown]
		if part != "all" && part != shown || len(texts) == 0 {
			continue
		}
		if out.Len() > 0 && (shown != "crds" || !bytes.HasPrefix(texts[0], []byte("---"))) {
			out.WriteString("---\n")
		}
		for _, text := range texts {
			fmt.Fprintf(&out, "%s\n", text)
		}
	}
	return out.String(), nil
}

// contentOf returns the content of the first file with one of the names, which are in lower case.
func contentOf(files []*chart.File, names ...string) [][]byte {
	i := slices.IndexFunc(files, func(file *chart.File) bool { return slices.Contains(names, strings.ToLower(file.Name)) })
	if i < 0 {
		return nil
	}
	return [][]byte{files[i].Data}
}
