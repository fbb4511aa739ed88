// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package live_test

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/component-operator/runtime/internal/display"
	"github.com/component-operator/runtime/internal/testenv"
	"github.com/component-operator/runtime/pkg/reconciler"
	"github.com/component-operator/runtime/pkg/status"
)

const template = `
    metadata: {labels: {app: NAME}, annotations: {ANNOTATIONS}}
    spec: {containers: [{name: main, image: demo:1}]}
`

// workload returns the manifest of a workload of one replica.
func workload(kind, name, annotations string) string {
	text := `
apiVersion: apps/v1
kind: KIND
metadata: {name: NAME}
spec:
  selector: {matchLabels: {app: NAME}}
  template:` + template
	return strings.NewReplacer("KIND", kind, "NAME", name, "ANNOTATIONS", annotations).Replace(text)
}

const (
	neverReady = `sandbox.component-operator.io/never-ready: "true"`
	fail       = `sandbox.component-operator.io/fail: "true"`
)

func TestTreeOfWorkloads(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.create(workload("Deployment", "web", "") + `
---
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: db}
spec:
  selector: {matchLabels: {app: db}}
  template:
    metadata: {labels: {app: db}}
    spec: {containers: [{name: main, image: demo:1}]}
  volumeClaimTemplates:
  - metadata: {name: data}
    spec: {accessModes: [ReadWriteOnce], storageClassName: none, resources: {requests: {storage: 1Gi}}}
---` + workload("DaemonSet", "agent", "") + `
---
apiVersion: batch/v1
kind: Job
metadata: {name: migrate}
spec: {template: {spec: {restartPolicy: Never, containers: [{name: main, image: demo:1}]}}}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: settings}
---
apiVersion: v1
kind: Secret
metadata: {name: token}
stringData: {token: secret}
`)
	// Objects without an owner are not shown.
	w.createForeign(workload("Deployment", "other", "") + `
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: data-db-x}
spec: {accessModes: [ReadWriteOnce], storageClassName: none, resources: {requests: {storage: 1Gi}}}
`)
	missing := w.record(testenv.Object(t, `{apiVersion: v1, kind: ConfigMap, metadata: {name: lost, namespace: `+w.namespace+`}}`))
	missing.ApplyOrder = 1
	planned := w.record(testenv.Object(t, `{apiVersion: v1, kind: ConfigMap, metadata: {name: planned, namespace: `+w.namespace+`}}`))
	planned.ApplyOrder, planned.Phase = 1, reconciler.PhaseScheduledForApplication
	hook := w.record(testenv.Object(t, `{apiVersion: batch/v1, kind: Job, metadata: {name: hook, namespace: `+w.namespace+`}}`))
	hook.Phase = reconciler.PhaseCompleted
	w.record(testenv.Object(t, `{apiVersion: nobody.example.io/v1, kind: Thing, metadata: {name: thing, namespace: `+w.namespace+`}}`)).ApplyOrder = 1

	w.golden("workloads.txt", display.WriteOptions{}, "1/1 replicas available", "1/1 pods available", "Current          completed\n└─ Pod migrate", "unbound immediate", "PersistentVolumeClaim data-db-0")
	if notes := w.tree().Notes; notes != nil {
		t.Errorf("got notes for a user who may do everything: %v", notes)
	}
}

func TestRequests(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	var documents []string
	for _, name := range []string{"a", "b", "c", "d", "e", "f"} {
		documents = append(documents, workload("Deployment", name, ""), `{apiVersion: v1, kind: ConfigMap, metadata: {name: `+name+`}}`)
	}
	w.create(strings.Join(documents, "\n---\n"))
	testenv.Eventually(t, func() (bool, string) {
		report := w.tree()
		for _, node := range report.Nodes {
			if node.Status != status.CurrentStatus {
				return false, node.Message
			}
		}
		return true, ""
	})
	w.requests.Reset()
	w.tree()
	// Deployments, ConfigMaps, ReplicaSets, Pods, claims.
	if w.requests.Len() != 5 || w.requests.Count(testenv.Request.IsWrite) != 0 {
		t.Errorf("expected one list for each of 5 kinds, whatever the number of objects, got:\n%s", w.requests)
	}

	gone := &corev1.ConfigMap{}
	gone.Namespace, gone.Name = w.namespace, "a"
	if err := w.client.Delete(t.Context(), gone); err != nil {
		t.Fatal(err)
	}
	w.requests.Reset()
	w.tree()
	if w.requests.Len() != 5 {
		t.Errorf("expected a list of everything to prove that an object is gone, got:\n%s", w.requests)
	}
}

func TestCustomResource(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	group := testenv.UniqueName(t) + ".example.io"
	w.createForeign(`
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.` + group + `}
spec:
  group: ` + group + `
  scope: Namespaced
  names: {kind: Widget, plural: widgets}
  versions:
  - {name: v1, served: true, storage: true, subresources: {status: {}}, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}
`)
	manifest := testenv.Object(t, `{apiVersion: `+group+`/v1, kind: Widget, metadata: {name: one, namespace: `+w.namespace+`}}`)
	testenv.Eventually(t, func() (bool, string) {
		if err := w.client.Create(t.Context(), manifest); err != nil {
			return false, err.Error()
		}
		return true, ""
	})
	w.record(manifest)
	manifest.Object["status"] = map[string]any{"conditions": []any{
		map[string]any{"type": "Ready", "status": "False", "reason": "Waiting", "message": "the database is missing", "lastTransitionTime": "2026-01-01T00:00:00Z"},
		map[string]any{"type": "DatabaseReady", "status": "False", "reason": "NoSecret", "message": "secret db not found", "lastTransitionTime": "2026-01-01T00:00:00Z"},
	}}
	if err := w.client.Status().Update(t.Context(), manifest); err != nil {
		t.Fatal(err)
	}
	w.create(`{apiVersion: v1, kind: ConfigMap, metadata: {name: settings}}`)
	owners := `ownerReferences: [{apiVersion: ` + group + `/v1, kind: Widget, name: one, uid: ` + string(manifest.GetUID()) + `}]`
	w.createForeign(strings.ReplaceAll(workload("Deployment", "engine", ""), "metadata: {name: engine}", "metadata: {name: engine, "+owners+"}") + `
---
apiVersion: v1
kind: ConfigMap
metadata: {name: made, ` + owners + `}
`)
	w.hidden = append(w.hidden, group, "example.io")
	w.golden("custom.txt", display.WriteOptions{Why: true}, "Pod engine-", "1/1 replicas available")
}
