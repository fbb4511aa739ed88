// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package kustomize

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"github.com/go-git/go-git/v5/plumbing/format/gitignore"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/yaml"

	"github.com/component-operator/runtime/internal/manifest"
)

const (
	configFile = ".component-config.yaml"
	ignoreFile = ".component-ignore"
)

// settings is the content of the configuration file of a kustomization.
type settings struct {
	Templating             *bool           `json:"templating"`
	TemplateSuffix         *string         `json:"templateSuffix"`
	LeftTemplateDelimiter  *string         `json:"leftTemplateDelimiter"`
	RightTemplateDelimiter *string         `json:"rightTemplateDelimiter"`
	IncludedFiles          []string        `json:"includedFiles"`
	IncludedKustomizations []string        `json:"includedKustomizations"`
	Values                 json.RawMessage `json:"values"`
}

// config is the configuration of one kustomization with all defaults applied.
type config struct {
	templating             bool
	suffix                 string
	left, right            string
	includedFiles          []string
	includedKustomizations []string
	values                 map[string]any
}

// readConfig lays the configuration file of a folder, if it has one, over the options.
func readConfig(source *source, folder string, options Options) (config, error) {
	var given settings
	raw, err := source.read(path.Join(folder, configFile))
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return config{}, err
	default:
		if err := manifest.CheckSingle(raw); err != nil {
			return config{}, fmt.Errorf("parsing %s: %w", configFile, err)
		}
		if err := yaml.UnmarshalStrict(raw, &given); err != nil {
			return config{}, fmt.Errorf("parsing %s: %w", configFile, err)
		}
	}

	result := config{
		templating:             !options.DisableTemplating || given.asksForTemplates(),
		suffix:                 first(given.TemplateSuffix, options.TemplateSuffix),
		left:                   first(given.LeftTemplateDelimiter, options.LeftTemplateDelimiter),
		right:                  first(given.RightTemplateDelimiter, options.RightTemplateDelimiter),
		includedFiles:          given.IncludedFiles,
		includedKustomizations: given.IncludedKustomizations,
	}
	if given.Templating != nil {
		result.templating = *given.Templating
	}
	if len(given.Values) > 0 {
		// This decoder keeps integers.
		if err := utiljson.Unmarshal(given.Values, &result.values); err != nil {
			return config{}, fmt.Errorf("parsing %s: values is not a map: %w", configFile, err)
		}
	}
	return result, nil
}

// asksForTemplates reports whether a setting has a meaning only with templates.
func (s settings) asksForTemplates() bool {
	return s.TemplateSuffix != nil || s.LeftTemplateDelimiter != nil || s.RightTemplateDelimiter != nil || len(s.Values) > 0
}

func first(values ...*string) string {
	for _, value := range values {
		if value != nil {
			return *value
		}
	}
	return ""
}

// ignoreRules say which files of a folder are left out.
type ignoreRules struct{ matcher gitignore.Matcher }

func readIgnoreRules(source *source, folder string) (ignoreRules, error) {
	raw, err := source.read(path.Join(folder, ignoreFile))
	if errors.Is(err, fs.ErrNotExist) {
		return ignoreRules{}, nil
	}
	if err != nil {
		return ignoreRules{}, err
	}
	var patterns []gitignore.Pattern
	for line := range strings.Lines(string(raw)) {
		line = strings.TrimRight(line, "\r\n")
		if strings.TrimSpace(line) != "" && !strings.HasPrefix(line, "#") {
			patterns = append(patterns, gitignore.ParsePattern(line, nil))
		}
	}
	return ignoreRules{gitignore.NewMatcher(patterns)}, nil
}

// match takes a path relative to the folder. Files in an ignored folder are ignored, whatever other rules say.
func (r ignoreRules) match(name string) bool {
	if r.matcher == nil {
		return false
	}
	segments := strings.Split(name, "/")
	for i := range segments {
		if isFolder := i+1 < len(segments); r.matcher.Match(segments[:i+1], isFolder) {
			return true
		}
	}
	return false
}
