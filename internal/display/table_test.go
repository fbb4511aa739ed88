// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package display_test

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/component-operator/runtime/internal/display"
	"github.com/component-operator/runtime/pkg/status"
)

// picture is a release as it may look at night, at the time that it returns.
func picture() ([]*display.Node, time.Time) {
	now := time.Date(2026, 3, 1, 2, 30, 0, 0, time.UTC)
	ago := func(d time.Duration) time.Time { return now.Add(-d) }
	object := func(apiVersion, kind, namespace, name string) display.Object {
		return display.Object{APIVersion: apiVersion, Kind: kind, Namespace: namespace, Name: name}
	}
	stands := func(object display.Object, found status.Status, message string) display.Dependent {
		return display.Dependent{Object: object, Status: found, Message: message}
	}
	pod := func(name string, why ...display.Reason) *display.Node {
		node := &display.Node{
			Dependent: stands(object("v1", "Pod", "demo", name), status.CurrentStatus, "ready"), Created: ago(3 * time.Hour), Why: why,
		}
		if len(why) > 0 {
			node.Status, node.Message = status.FailedStatus, "Ready is False (ContainersNotReady): containers with unready status: [main]"
		}
		return node
	}
	crash := display.Reason{Source: display.SourceContainer, Text: "container main: CrashLoopBackOff, restarted 41 times; exited with code 1", Since: ago(95 * time.Second)}
	log := display.Reason{Source: display.SourceLog, Text: "last log line of container main: cannot connect to the database at db.demo.svc:5432: connection refused"}
	probe := display.Reason{Source: display.SourceEvent, Text: "Unhealthy: Readiness probe failed", Since: ago(26 * time.Hour), Count: 123}
	later := crash
	later.Since = ago(5 * time.Second)
	return []*display.Node{
		{
			Dependent: stands(object("v1", "Namespace", "", "demo"), status.TerminatingStatus, "being deleted"), Created: ago(400 * 24 * time.Hour),
			Why: []display.Reason{{Source: display.SourceStatus, Text: "is being deleted", Since: now.Add(30 * time.Second)}},
		}, {
			Dependent: stands(object("apps/v1", "Deployment", "demo", "web"), status.InProgressStatus, "1/3 replicas available"), Created: ago(50 * time.Hour),
			Children: []*display.Node{{
				Dependent: stands(object("apps/v1", "ReplicaSet", "demo", "web-5d4f"), status.InProgressStatus, "1/3 replicas available"), Created: ago(3 * time.Hour),
				Children: []*display.Node{pod("web-5d4f-a"), pod("web-5d4f-b", crash, log, probe), pod("web-5d4f-c", later, log)},
			}, {
				Dependent: stands(object("apps/v1", "ReplicaSet", "demo", "web-6e5a"), status.CurrentStatus, "größer als 大"), Created: ago(50 * time.Hour),
			}},
		}, {
			Dependent: stands(object("example.io/v1", "Widget", "demo", "gone"), status.NotFoundStatus, "does not exist"), Missing: true, ApplyOrder: 2,
		},
	}, now
}

var update = flag.Bool("update", false, "write the files of testdata")

// golden compares with a file of testdata.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := "testdata/" + name
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", path, diff)
	}
}

func TestWrite(t *testing.T) {
	t.Parallel()
	nodes, now := picture()
	for _, test := range []struct {
		file    string
		options display.WriteOptions
	}{
		{"write-plain.txt", display.WriteOptions{}},
		{"write-why.txt", display.WriteOptions{Why: true}},
		{"write-tiny.txt", display.WriteOptions{Why: true, Width: 20}},
		{"write-flat.txt", display.WriteOptions{Why: true, Flat: true, Width: 120}},
		{"write-color.txt", display.WriteOptions{Why: true, Color: true, Width: 80}},
	} {
		var out bytes.Buffer
		test.options.Now = now
		if err := display.Write(&out, nodes, test.options); err != nil {
			t.Fatal(err)
		}
		golden(t, test.file, out.String())
	}
}

// longPicture is a release with long names in several namespaces. Two groups have a kind of the same name, and one of
// them is that of a child.
func longPicture() ([]*display.Node, time.Time) {
	now := time.Date(2026, 3, 1, 2, 30, 0, 0, time.UTC)
	node := func(apiVersion, kind, namespace, name string, found status.Status, message string, children ...*display.Node) *display.Node {
		object := display.Object{APIVersion: apiVersion, Kind: kind, Namespace: namespace, Name: name}
		return &display.Node{Dependent: display.Dependent{Object: object, Status: found, Message: message}, Created: now.Add(-47 * time.Minute), Children: children}
	}
	const release = "monitoring-kube-prometheus-stack-of-the-platform-team" // 53 characters
	pod := node("v1", "Pod", "monitoring", release+"-859fddb4f6-6n9pm", status.FailedStatus, "Ready is False (ContainersNotReady): containers with unready status: [prometheus]")
	pod.Why = []display.Reason{{
		Source: display.SourceContainer, Since: now.Add(-95 * time.Second),
		Text: "container main: ImagePullBackOff of registry.example.com/platform/observability/kube-prometheus-stack/prometheus-operator@sha256:" +
			"0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef: not found",
	}}
	return []*display.Node{
		node("apiextensions.k8s.io/v1", "CustomResourceDefinition", "", "verticalpodautoscalercheckpoints.autoscaling.k8s.io", status.CurrentStatus, "ready"),
		node("v1", "ConfigMap", "kube-system", release+"-dashboard", status.CurrentStatus, "ready"),
		node("apps/v1", "Deployment", "monitoring", release+"-operator1", status.InProgressStatus, "0/3 replicas available",
			node("apps/v1", "ReplicaSet", "monitoring", release+"-859fddb4f6", status.InProgressStatus, "0/3 replicas available", pod)),
		node("monitoring.coreos.com/v1", "Prometheus", "monitoring", release, status.NotFoundStatus, "does not exist"),
		node("serving.knative.dev/v1", "Service", "monitoring", "映像を取得する-"+release, status.InProgressStatus, "映像を取得できません。映像を取得できません。映像を取得できません。",
			node("v1", "Service", "monitoring", release+"-private", status.CurrentStatus, "ready")),
	}, now
}

// TestFrames prints a release with long names at the widths that terminals have. No line may be wider.
func TestFrames(t *testing.T) {
	t.Parallel()
	nodes, now := longPicture()
	for _, width := range []int{60, 120} {
		for view, options := range map[string]display.WriteOptions{"tree": {Why: true}, "status": {Why: true, Flat: true}} {
			var out bytes.Buffer
			options.Now, options.Width, options.Namespace = now, width, "monitoring"
			if err := display.Write(&out, nodes, options); err != nil {
				t.Fatal(err)
			}
			for line := range strings.Lines(out.String()) {
				if cells := display.Width(strings.TrimSuffix(line, "\n")); cells > width {
					t.Errorf("%s: want %d cells at most, got %d: %s", view, width, cells, line)
				}
			}
			golden(t, fmt.Sprintf("frame-%s-%d.txt", view, width), out.String())
		}
	}
}

func TestNames(t *testing.T) {
	t.Parallel()
	objects := []display.Object{
		{APIVersion: "example.io/v1", Kind: "Widget", Namespace: "demo", Name: "a"},
		{APIVersion: "networking.k8s.io/v1", Kind: "Ingress", Namespace: "demo", Name: "a"},
		{APIVersion: "traefik.io/v1", Kind: "Ingress", Namespace: "other", Name: "a"},
		{APIVersion: "v1", Kind: "Service", Namespace: "demo", Name: "a"},
		{APIVersion: "serving.knative.dev/v1", Kind: "Service", Namespace: "demo", Name: "a"},
		{APIVersion: "serving.knative.dev/v1beta1", Kind: "Service", Namespace: "demo", Name: "b"},
		{APIVersion: "v1", Kind: "Namespace", Name: "demo"},
	}
	for _, test := range []struct {
		reason string
		limit  int
		want   []string
	}{
		{"programs and logs get full names", 0, []string{
			"Widget.example.io demo/a", "Ingress demo/a", "Ingress.traefik.io other/a", "Service demo/a", "Service.serving.knative.dev demo/a",
			"Service.serving.knative.dev demo/b", "Namespace demo",
		}},
		{"a person sees what tells the objects of a table apart", 80, []string{
			"Widget a", "Ingress.networking.k8s.io a", "Ingress.traefik.io other/a", "Service a", "Service.serving.knative.dev a", "Service.serving.knative.dev b", "Namespace demo",
		}},
	} {
		names := display.NewNames(test.limit, "demo")
		for _, object := range objects {
			names.Include(object)
		}
		var got []string
		for _, object := range objects {
			got = append(got, names.Of(object))
		}
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.reason, diff)
		}
	}
}
