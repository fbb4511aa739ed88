// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/component-operator/runtime/clm/internal/terminal"
	"github.com/component-operator/runtime/internal/testenv"
)

const (
	// longRelease is as long as names of releases of Helm may be, and longName as long as those of Services.
	longRelease = "monitoring-kube-prometheus-stack-of-the-platform-team"
	longName    = "monitoring-kube-prometheus-stack-of-the-platform-team-operator1"
)

// narrow runs clm in a terminal with so many columns until it ends, or until it asks, which is answered with no. It returns all that it has written.
func (p *place) narrow(t *testing.T, columns uint16, args ...string) string {
	t.Helper()
	screen, device := newTerminal(t)
	screen.resize(t, columns, 40)
	command := p.startOn(t, device, nil, args...)
	testenv.Eventually(t, func() (bool, string) {
		select {
		case <-screen.closed:
			return true, ""
		default:
			return strings.Contains(screen.sent(), "[y/N] "), "want the command to end or to ask:\n" + screen.sent()
		}
	})
	if strings.Contains(screen.sent(), "[y/N] ") {
		screen.enter(t, "n\n")
		screen.expect(t, "nothing was changed")
	}
	_ = command.Wait()
	<-screen.closed
	return screen.sent()
}

// TestNarrowTerminal shows a release with long names in a terminal with 80 columns.
func TestNarrowTerminal(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	other := testenv.Namespace(t)
	crowd := configMap(longName, "VALUE") + strings.Replace(configMap(longName, "1"), "{name:", "{namespace: "+other+", name:", 1) +
		"---\napiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata: {name: verticalpodautoscalercheckpoints.autoscaling.k8s.io." + p.namespace + "}\n" +
		deployment(longName, neverReady, "")
	first, second := p.file("first.yaml", crowd), p.file("second.yaml", strings.Replace(crowd, "VALUE", "2", 1))
	p.expect(p.clm("apply", longRelease, first, "--no-wait"), 0)
	p.eventuallyShows([]string{"status", longRelease}, "1 not ready", "running, but not ready")
	for _, test := range []struct {
		args string
		// want are texts in what is written.
		want []string
	}{
		{"status " + longRelease, []string{"Deployment m", "1 not ready", "running, but not"}},
		{"tree " + longRelease, []string{"ConfigMap …-operator1", "ConfigMap " + other[:3], "└─ ReplicaSet …-operator1-", "…"}},
		{"history " + longRelease, []string{"first.yaml"}},
		{"ls", []string{"Applying"}},
		{"events " + longRelease, []string{"LAST SEEN", "Deployme"}},
		{"plan " + longRelease + " " + second, []string{"~ ConfigMap " + longName, "(update: the manifest changed)", "1 to update, 3 unchanged"}},
		{"apply " + longRelease + " " + second, []string{"~ ConfigMap " + longName, "1 to update, 3 unchanged", "[y/N] n"}},
		{"delete " + longRelease, []string{" objects will be deleted:", "  ConfigMap " + other[:3], "  ConfigMap " + longName, "[y/N] n"}},
		{"doctor " + longRelease, []string{"1 release examined"}},
	} {
		sent := p.narrow(t, 80, strings.Fields(test.args)...)
		for line := range strings.Lines(sent) {
			if cells := terminal.Width(strings.TrimRight(line, "\r\n")); cells > 80 {
				t.Errorf("clm %s: want at most 80 cells in a line, got %d: %q", test.args, cells, line)
			}
		}
		plain := regexp.MustCompile(`\x1b\[[0-9;]*m|[\r\n]`).ReplaceAllString(sent, "")
		for _, want := range test.want {
			if !strings.Contains(plain, want) {
				t.Errorf("clm %s: want %q in\n%s", test.args, want, sent)
			}
		}
		if strings.Contains(sent, "ConfigMap "+p.namespace) {
			t.Errorf("clm %s: want no namespace of the release before names:\n%s", test.args, sent)
		}
	}
	if listed := p.clm("tree", longRelease).stdout; !strings.Contains(listed, fmt.Sprintf("ConfigMap %s/%s ", p.namespace, longName)) || strings.Contains(listed, "…") {
		t.Errorf("want full names where there is no terminal:\n%s", listed)
	}
	p.must("delete", longRelease)
}

// TestNarrowDependencies lists dependencies with long names, ranges and repositories.
func TestNarrowDependencies(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	chart := p.TempDir()
	p.write(filepath.Join(chart, "Chart.yaml"), `
apiVersion: v2
name: web
version: 1.0.0
dependencies:
- {name: `+longName+`, version: ">=1.0.0-0 <2.0.0-0 || >=3.0.0", repository: "https://charts.example.com/of/the/platform/team/stable"}
- {name: db, version: ^1, repository: "https://charts.example.com/of/the/platform/team/stable"}
`)
	for _, columns := range []uint16{60, 120} {
		sent := p.narrow(t, columns, "dependency", "list", chart)
		for line := range strings.Lines(sent) {
			if cells := terminal.Width(strings.TrimRight(line, "\r\n")); cells > int(columns) {
				t.Errorf("want at most %d cells in a line, got %d: %q", columns, cells, line)
			}
		}
		if !strings.Contains(sent, "monit") || !strings.Contains(sent, "tor1") || strings.Count(sent, "missing") != 2 || strings.Contains(sent, "REPOSITORY") != (columns > 60) {
			t.Errorf("want names, what is wrong, and repositories if there is room, got\n%s", sent)
		}
	}
}
