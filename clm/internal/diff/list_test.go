// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package diff_test

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/component-operator/runtime/clm/internal/diff"
	"github.com/component-operator/runtime/clm/internal/terminal"
)

var update = flag.Bool("update", false, "write the files of testdata")

// TestFrames lists a plan with long names at the widths that terminals have. No line may be wider, and no reason or refusal may be cut.
func TestFrames(t *testing.T) {
	t.Parallel()
	const release = "monitoring-kube-prometheus-stack-of-the-platform-team" // 53 characters
	changes := []diff.Change{
		{Object: "CustomResourceDefinition verticalpodautoscalercheckpoints.autoscaling.k8s.io", Action: diff.ActionCreate, Reason: "does not exist"},
		{Object: "Job " + release + "-admission-create", Action: diff.ActionRepeat, Reason: "the owner changed"},
		{Object: "ConfigMap kube-system/" + release + "-dashboard", Action: diff.ActionUpdate, Reason: "the manifest changed", Local: true},
		{Object: "Deployment " + release + "-operator1", Action: diff.ActionUpdate, Reason: "the manifest changed"},
		{Object: "Deployment web", Action: diff.ActionRecreate, Reason: "the manifest changed"},
		{Object: "Prometheus " + release, Action: diff.ActionAdopt, Reason: "already exists and has another owner, clm.cs.sap.com/observability/" + release},
		{Object: "Service " + release + "-alertmanager", Action: diff.ActionCreate, Refusal: "already exists and has another owner, clm.cs.sap.com/observability/" + release +
			", but its adoption policy is if-unowned"},
		{Object: "Service 映像を取得する-" + release, Action: diff.ActionUpdate, Reason: "the manifest changed", Notes: []string{
			"unknown field \"spec.sessionAffinityConfiguration\", which the API server drops", "映像を取得できません。映像を取得できません。映像を取得できません。映像を取得できません。映像を取得できません。",
		}},
		{Object: "Secret " + release + "-tls"},
		{Object: "Job " + release + "-admission-patch", Action: diff.ActionRepeat, Reason: "does not exist"},
		{Object: "ConfigMap " + release + "-grafana-overview", Action: diff.ActionDelete, Reason: "is no longer in the manifests"},
	}
	for _, width := range []int{0, 80} {
		var out bytes.Buffer
		if err := diff.Write(&out, changes, diff.Options{Limit: width}); err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(out.String()) {
			if cells := terminal.Width(strings.TrimSuffix(line, "\n")); cells > width && width > 0 {
				t.Errorf("want %d cells at most, got %d: %s", width, cells, line)
			}
		}
		path := fmt.Sprintf("testdata/list-%d.txt", width)
		if *update {
			if err := os.WriteFile(path, out.Bytes(), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(want), out.String()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", path, diff)
		}
	}
}
