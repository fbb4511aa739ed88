// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package releasefile

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/component-operator/runtime/internal/helm"
)

// helmfile is what is read of a file of helmfile.
type helmfile struct {
	Repositories []struct {
		Name string `json:"name"`
		URL  string `json:"url"`
		OCI  bool   `json:"oci"`
	} `json:"repositories"`
	HelmDefaults map[string]any `json:"helmDefaults"`
	Environments map[string]struct {
		Values      []any  `json:"values"`
		KubeContext string `json:"kubeContext"`
	} `json:"environments"`
	Releases []map[string]any `json:"releases"`
}

// Convert reads a file of helmfile. The notes name what is not converted. Files with templates are refused.
func Convert(path string) (file *File, notes []string, err error) {
	content, err := os.ReadFile(path)
	if err != nil {
		return nil, nil, err
	}
	if strings.Contains(string(content), "{{") {
		return nil, nil, fmt.Errorf("reading %s: it has templates, and only a file without any can be converted; helmfile writes one: helmfile build > FILE", path)
	}
	var given helmfile
	var all map[string]any
	if err := errors.Join(yaml.Unmarshal(content, &given), yaml.Unmarshal(content, &all)); err != nil {
		return nil, nil, fmt.Errorf("reading %s: %w", path, err)
	}
	name, _, _ := strings.Cut(filepath.Base(path), ".")
	c := &conversion{helmfile: given, file: &File{APIVersion: APIVersion, Kind: Kind, Name: name}}
	c.drop("", all, "repositories", "helmDefaults", "environments", "releases")
	c.defaults()
	for i, release := range given.Releases {
		if err := c.release(fmt.Sprintf("releases[%d]", i), release); err != nil {
			return nil, nil, fmt.Errorf("reading %s: %w", path, err)
		}
	}
	return c.file, c.notes, nil
}

// conversion is a file that is being converted.
type conversion struct {
	helmfile

	file  *File
	notes []string
}

// drop notes the fields of an object that are not among the converted ones.
func (c *conversion) drop(at string, object map[string]any, converted ...string) {
	for _, field := range slices.Sorted(maps.Keys(object)) {
		if !slices.Contains(converted, field) {
			c.notes = append(c.notes, strings.TrimPrefix(at+": ", ": ")+field+" is not converted")
		}
	}
}

func (c *conversion) defaults() {
	c.drop("helmDefaults", c.HelmDefaults, "kubeContext", "createNamespace", "timeout", "wait", "waitForJobs")
	settings := settingsOf(c.HelmDefaults)
	c.file.Defaults = settings
	for name, given := range c.Environments {
		if c.file.Environments == nil {
			c.file.Environments = map[string]Environment{}
		}
		c.file.Environments[name] = Environment{Settings: Settings{Context: given.KubeContext}}
		if len(given.Values) > 0 {
			c.notes = append(c.notes, fmt.Sprintf("environments.%s: values are not converted: they are for templates", name))
		}
	}
}

// settingsOf returns the settings that helmDefaults and releases have in common.
func settingsOf(given map[string]any) Settings {
	settings := Settings{Context: textOf(given["kubeContext"])}
	if create, ok := given["createNamespace"].(bool); ok {
		settings.CreateNamespace = &create
	}
	if seconds, ok := given["timeout"].(float64); ok {
		settings.Timeout = &metav1.Duration{Duration: time.Duration(seconds) * time.Second}
	}
	return settings
}

func textOf(value any) string {
	text, _ := value.(string)
	return text
}

func (c *conversion) release(at string, given map[string]any) error {
	at += " " + textOf(given["name"])
	if installed, ok := given["installed"].(bool); ok && !installed {
		c.notes = append(c.notes, at+": it is not installed, and left out")
		return nil
	}
	c.drop(at, given, "name", "namespace", "chart", "version", "values", "set", "needs", "labels", "installed", "kubeContext", "createNamespace", "timeout", "wait", "waitForJobs")
	release := Release{Settings: settingsOf(given), Name: textOf(given["name"]), Version: textOf(given["version"]), Sources: []string{c.source(textOf(given["chart"]))}}
	release.Namespace = textOf(given["namespace"])
	var files, assignments []string
	inline := map[string]any{}
	for _, item := range listOf(given["values"]) {
		switch item := item.(type) {
		case string:
			files = append(files, item)
			if len(inline) > 0 {
				c.notes = append(c.notes, at+": values in the file win over "+item+", which comes after them")
			}
		case map[string]any:
			inline = Settings{Values: inline}.under(Settings{Values: item}).Values
		}
	}
	for _, item := range listOf(given["set"]) {
		set, _ := item.(map[string]any)
		if set["name"] == nil || set["value"] == nil {
			c.notes = append(c.notes, at+": set has an item without name and value, which is not converted")
			continue
		}
		assignments = append(assignments, fmt.Sprintf("%v=%s", set["name"], strings.ReplaceAll(fmt.Sprint(set["value"]), ",", `\,`)))
	}
	values, err := helm.MergeValues(helm.ValuesInput{Given: inline, Set: assignments})
	if err != nil {
		return fmt.Errorf("%s: %w", at, err)
	}
	if release.ValuesFiles = files; len(values) > 0 {
		release.Values = values
	}
	for key, value := range asMap(given["labels"]) {
		if release.Labels == nil {
			release.Labels = map[string]string{}
		}
		release.Labels[key] = fmt.Sprint(value)
	}
	for _, need := range listOf(given["needs"]) {
		// A need may begin with a context.
		parts := strings.Split(textOf(need), "/")
		release.DependsOn = append(release.DependsOn, strings.Join(parts[max(0, len(parts)-2):], "/"))
	}
	c.file.Releases = append(c.file.Releases, release)
	return nil
}

// source returns the reference of a chart, with the URL of its repository.
func (c *conversion) source(chart string) string {
	name, rest, _ := strings.Cut(chart, "/")
	for _, repository := range c.Repositories {
		switch {
		case repository.Name != name || rest == "":
		case repository.OCI:
			return "oci://" + strings.TrimSuffix(repository.URL, "/") + "/" + rest
		default:
			return cmp.Or(repository.URL, name) + "#" + rest
		}
	}
	return chart
}

func listOf(value any) []any {
	list, _ := value.([]any)
	return list
}

func asMap(value any) map[string]any {
	object, _ := value.(map[string]any)
	return object
}
