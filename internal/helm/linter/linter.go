// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

// Package linter examines charts with the linter of Helm's SDK.
package linter

import (
	"cmp"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strings"

	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/lint"
	"helm.sh/helm/v3/pkg/lint/support"

	"github.com/component-operator/runtime/internal/helm"
	"github.com/component-operator/runtime/internal/manifest"
)

// Severity is the severity of a message.
type Severity string

const (
	// Info is a recommendation.
	Info Severity = "info"
	// Warning is a violation of a rule that probably has no effect.
	Warning Severity = "warning"
	// Error is a mistake: the chart cannot be applied, or not as its author intends.
	Error Severity = "error"
)

// severities are those of Helm that are not only information.
var severities = map[int]Severity{support.ErrorSev: Error, support.WarningSev: Warning}

// Message reports a problem of a chart.
type Message struct {
	Severity Severity
	// Path of the file or folder relative to the chart; empty for the whole chart.
	Path string
	// Text may have several lines.
	Text string
}

// Lint checks a chart with the given values, which it does not change, for a namespace and a version of Kubernetes. It
// writes the files of the chart into a temporary folder, because the linter reads only folders and does not follow
// links.
func Lint(chart *helm.Chart, given map[string]any, namespace, kubeVersion string) (messages []Message, err error) {
	version, err := chartutil.ParseKubeVersion(kubeVersion)
	if err != nil {
		return nil, fmt.Errorf("invalid version of Kubernetes %q: %w", kubeVersion, err)
	}
	normalized, err := manifest.Normalize(given)
	if err != nil {
		return nil, err
	}
	parent, err := os.MkdirTemp("", "clm-lint-")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(parent) }()
	folder := filepath.Join(parent, "chart")
	if err := write(folder, chart.Files()); err != nil {
		return nil, fmt.Errorf("writing the files of chart %s: %w", chart.Name(), err)
	}
	for _, found := range lint.AllWithKubeVersion(folder, normalized, namespace, version).Messages {
		relative := func(text string) string {
			return strings.ReplaceAll(strings.ReplaceAll(text, folder+string(filepath.Separator), ""), folder, ".")
		}
		message := Message{Severity: cmp.Or(severities[found.Severity], Info), Text: relative(found.Err.Error())}
		if message.Path = relative(found.Path); message.Path == "." {
			message.Path = ""
		}
		messages = append(messages, message)
	}
	return messages, nil
}

// write writes files below a folder.
func write(folder string, files map[string][]byte) error {
	if err := os.Mkdir(folder, 0o700); err != nil {
		return err
	}
	root, err := os.OpenRoot(folder)
	if err != nil {
		return err
	}
	defer func() { _ = root.Close() }()
	for name, content := range files {
		if err := root.MkdirAll(path.Dir(name), 0o700); err != nil {
			return err
		}
		if err := root.WriteFile(name, content, 0o600); err != nil {
			return err
		}
	}
	return nil
}
