// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package display_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/component-operator/runtime/internal/display"
)

func TestEnumerate(t *testing.T) {
	t.Parallel()
	for want, texts := range map[string][]string{"": nil, "a, b": {"a", "b"}, "a, b, and 2 more": {"a", "b", "c", "d"}} {
		if got := display.Enumerate(texts, 2); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// TestFrames lists a plan with long names at the widths that terminals have. No line may be wider, and no reason or
// refusal may be cut.
func TestFramesOfDiffs(t *testing.T) {
	t.Parallel()
	const release = "monitoring-kube-prometheus-stack-of-the-platform-team" // 53 characters
	changes := []display.Change{
		{Object: "CustomResourceDefinition verticalpodautoscalercheckpoints.autoscaling.k8s.io", Action: display.ActionCreate, Reason: "does not exist"},
		{Object: "Job " + release + "-admission-create", Action: display.ActionRepeat, Reason: "the owner changed"},
		{Object: "ConfigMap kube-system/" + release + "-dashboard", Action: display.ActionUpdate, Reason: "the manifest changed", Local: true},
		{Object: "Deployment " + release + "-operator1", Action: display.ActionUpdate, Reason: "the manifest changed"},
		{Object: "Deployment web", Action: display.ActionRecreate, Reason: "the manifest changed"},
		{Object: "Prometheus " + release, Action: display.ActionAdopt, Reason: "already exists and has another owner, clm.cs.sap.com/observability/" + release},
		{Object: "Service " + release + "-alertmanager", Action: display.ActionCreate, Refusal: "already exists and has another owner, clm.cs.sap.com/observability/" + release +
			", but its adoption policy is if-unowned"},
		{Object: "Service 映像を取得する-" + release, Action: display.ActionUpdate, Reason: "the manifest changed", Notes: []string{
			"unknown field \"spec.sessionAffinityConfiguration\", which the API server drops", "映像を取得できません。映像を取得できません。映像を取得できません。映像を取得できません。映像を取得できません。",
		}},
		{Object: "Secret " + release + "-tls"},
		{Object: "Job " + release + "-admission-patch", Action: display.ActionRepeat, Reason: "does not exist"},
		{Object: "ConfigMap " + release + "-grafana-overview", Action: display.ActionDelete, Reason: "is no longer in the manifests"},
	}
	for _, width := range []int{0, 80} {
		var out bytes.Buffer
		if err := display.WriteDiff(&out, changes, display.DiffOptions{Limit: width}); err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(out.String()) {
			if cells := display.Width(strings.TrimSuffix(line, "\n")); cells > width && width > 0 {
				t.Errorf("want %d cells at most, got %d: %s", width, cells, line)
			}
		}
		golden(t, fmt.Sprintf("list-%d.txt", width), out.String())
	}
}
