// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package operation

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

// Severity is the severity of a finding.
type Severity string

const (
	// SeverityInfo is a recommendation.
	SeverityInfo Severity = "info"
	// SeverityWarning is a violation of a rule that probably has no effect.
	SeverityWarning Severity = "warning"
	// SeverityError is a mistake: the chart cannot be applied, or not as its author wants.
	SeverityError Severity = "error"
)

// lintChart examines a chart with values, which it does not change, for a namespace and a version of Kubernetes. It writes
// the files of the chart into a temporary folder, because the linter reads folders only; it does not follow links,
// therefore.
func lintChart(chart *helm.Chart, given map[string]any, namespace, kubeVersion string) ([]Finding, error) {
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
	if err := writeFiles(folder, chart.Files()); err != nil {
		return nil, fmt.Errorf("writing the files of chart %s: %w", chart.Name(), err)
	}
	severities := map[int]Severity{support.WarningSev: SeverityWarning, support.ErrorSev: SeverityError}
	relative := strings.NewReplacer(folder+string(filepath.Separator), "", folder, ".")
	var findings []Finding
	for _, found := range lint.AllWithKubeVersion(folder, normalized, namespace, version).Messages {
		findings = append(findings, Finding{
			Severity: cmp.Or(severities[found.Severity], SeverityInfo), File: path.Join(chart.Name(), relative.Replace(found.Path)), Message: relative.Replace(found.Err.Error()),
		})
	}
	return findings, nil
}

// writeFiles writes files below a folder.
func writeFiles(folder string, files map[string][]byte) error {
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
