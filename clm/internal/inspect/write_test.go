// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package inspect_test

import (
	"bytes"
	"encoding/json"
	"testing"
	"time"

	testingclock "k8s.io/utils/clock/testing"

	"github.com/component-operator/runtime/clm/internal/inspect"
	"github.com/component-operator/runtime/pkg/status"
)

// picture is a release as it may look at night. The clock stands at the time that it returns.
func picture() ([]*inspect.Node, time.Time) {
	now := time.Date(2026, 3, 1, 2, 30, 0, 0, time.UTC)
	ago := func(d time.Duration) time.Time { return now.Add(-d) }
	object := func(apiVersion, kind, namespace, name string) inspect.Object {
		return inspect.Object{APIVersion: apiVersion, Kind: kind, Namespace: namespace, Name: name}
	}
	pod := func(name string, why ...inspect.Reason) *inspect.Node {
		node := &inspect.Node{
			Object: object("v1", "Pod", "demo", name), Status: status.CurrentStatus, Message: "ready", Created: ago(3 * time.Hour), Why: why,
		}
		if len(why) > 0 {
			node.Status, node.Message = status.FailedStatus, "Ready is False (ContainersNotReady): containers with unready status: [main]"
		}
		return node
	}
	crash := inspect.Reason{Source: inspect.SourceContainer, Text: "container main: CrashLoopBackOff, restarted 41 times; exited with code 1", Since: ago(95 * time.Second)}
	log := inspect.Reason{Source: inspect.SourceLog, Text: "container main wrote last: cannot connect to the database at db.demo.svc:5432: connection refused"}
	probe := inspect.Reason{Source: inspect.SourceEvent, Text: "Unhealthy: Readiness probe failed", Since: ago(26 * time.Hour), Count: 123}
	later := crash
	later.Since = ago(5 * time.Second)
	return []*inspect.Node{
		{
			Object: object("v1", "Namespace", "", "demo"), Status: status.TerminatingStatus, Message: "being deleted", Created: ago(400 * 24 * time.Hour),
			Why: []inspect.Reason{{Source: inspect.SourceStatus, Text: "is being deleted", Since: now.Add(30 * time.Second)}},
		}, {
			Object: object("apps/v1", "Deployment", "demo", "web"), Status: status.InProgressStatus, Message: "1/3 replicas available", Created: ago(50 * time.Hour),
			Children: []*inspect.Node{{
				Object: object("apps/v1", "ReplicaSet", "demo", "web-5d4f"), Status: status.InProgressStatus, Message: "1/3 replicas available", Created: ago(3 * time.Hour),
				Children: []*inspect.Node{pod("web-5d4f-a"), pod("web-5d4f-b", crash, log, probe), pod("web-5d4f-c", later, log)},
			}, {
				Object: object("apps/v1", "ReplicaSet", "demo", "web-6e5a"), Status: status.CurrentStatus, Message: "größer als 大", Created: ago(50 * time.Hour),
			}},
		}, {
			Object: object("example.io/v1", "Widget", "demo", "gone"), Status: status.NotFoundStatus, Message: "does not exist", Missing: true, ApplyOrder: 2,
		},
	}, now
}

func TestWrite(t *testing.T) {
	t.Parallel()
	nodes, now := picture()
	for _, test := range []struct {
		file    string
		options inspect.WriteOptions
	}{
		{"write-plain.txt", inspect.WriteOptions{}},
		{"write-why.txt", inspect.WriteOptions{Why: true}},
		{"write-narrow.txt", inspect.WriteOptions{Why: true, Width: 80}},
		{"write-tiny.txt", inspect.WriteOptions{Why: true, Width: 20}},
		{"write-flat.txt", inspect.WriteOptions{Why: true, Flat: true, Width: 120}},
		{"write-color.txt", inspect.WriteOptions{Why: true, Color: true, Width: 80}},
	} {
		var out bytes.Buffer
		test.options.Clock = testingclock.NewFakePassiveClock(now)
		if err := inspect.Write(&out, nodes, test.options); err != nil {
			t.Fatal(err)
		}
		golden(t, test.file, out.String())
	}
}

func TestNodesAsJSON(t *testing.T) {
	t.Parallel()
	nodes, _ := picture()
	content, err := json.MarshalIndent(&inspect.Report{
		Nodes: nodes, Notes: []inspect.Note{{Verb: "list", Resource: "events", Namespace: "demo"}},
	}, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "report.json", string(content)+"\n")
}
