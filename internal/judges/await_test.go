// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package judges_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/component-operator/runtime/internal/judges"
	"github.com/component-operator/runtime/pkg/status"
)

// definitions is a reader that knows one CustomResourceDefinition.
type definitions struct {
	client.Reader
	fails error
	reads []string
}

const definition = `{spec: {versions: [
	{name: v1, schema: {openAPIV3Schema: {properties: {status: {properties: {conditions: {type: array}}}}}}},
	{name: v2, schema: {openAPIV3Schema: {properties: {status: {properties: {phase: {type: string}}}}}}},
	{name: v3, schema: {openAPIV3Schema: {x-kubernetes-preserve-unknown-fields: true}}}]}}`

func (d *definitions) Get(_ context.Context, key client.ObjectKey, object client.Object, _ ...client.GetOption) error {
	d.reads = append(d.reads, key.Name)
	if d.fails != nil {
		return d.fails
	}
	if key.Name != "widgets.example.io" {
		return apierrors.NewNotFound(schema.GroupResource{}, key.Name)
	}
	return yaml.Unmarshal([]byte(strings.ReplaceAll(definition, "\t", " ")), &object.(*unstructured.Unstructured).Object)
}

func widgets(version string) schema.GroupVersionKind {
	return schema.GroupVersionKind{Group: "example.io", Version: version, Kind: "Widget"}
}

func TestDefinitions(t *testing.T) {
	t.Parallel()
	server := &definitions{}
	known := judges.NewDefinitions(server)
	if _, isKnown := known.Declares(widgets("v1")); isKnown {
		t.Error("want nothing to be known at first")
	}
	expect := func(gvk schema.GroupVersionKind, want bool, err error) {
		t.Helper()
		if declared, isKnown := known.Declares(gvk); err != nil || !isKnown || declared != want {
			t.Errorf("%s: want %v, got %v, known: %v (%v)", gvk, want, declared, isKnown, err)
		}
	}
	for range 2 {
		for version, want := range map[string]bool{"v1": true, "v2": false, "v3": false, "v4": false} {
			expect(widgets(version), want, known.Recall(t.Context(), widgets(version), "widgets"))
		}
		aggregated := schema.GroupVersionKind{Group: "metrics.example.io", Version: "v1", Kind: "Metric"}
		expect(aggregated, false, known.Recall(t.Context(), aggregated, "metrics"))
	}
	if len(server.reads) != 5 {
		t.Errorf("want one read for each type, got %v", server.reads)
	}
	for _, builtIn := range []schema.GroupVersionKind{
		{Version: "v1", Kind: "Pod"}, {Group: "networking.k8s.io", Version: "v1", Kind: "Ingress"}, {Group: "apiextensions.k8s.io", Version: "v1", Kind: "CustomResourceDefinition"},
	} {
		if expect(builtIn, false, known.Learn(t.Context(), builtIn, "any")); len(server.reads) != 5 {
			t.Errorf("%s: want no read", builtIn)
		}
	}
}

func TestDefinitionsThatCannotBeRead(t *testing.T) {
	t.Parallel()
	server := &definitions{fails: errors.New("broken")}
	known := judges.NewDefinitions(server)
	if _, isKnown := known.Declares(widgets("v1")); isKnown {
		t.Error("want nothing to be known")
	}
	if err := known.Recall(t.Context(), widgets("v1"), "widgets"); err == nil || !strings.Contains(err.Error(), "reading the definition of Widget.example.io: broken") {
		t.Errorf("got %v", err)
	}
	server.fails = nil
	err := known.Recall(t.Context(), widgets("v1"), "widgets")
	if declared, _ := known.Declares(widgets("v1")); err != nil || !declared {
		t.Errorf("want the type to be known after another attempt (%v)", err)
	}
	server.fails = apierrors.NewForbidden(schema.GroupResource{}, "", nil)
	err = known.Learn(t.Context(), widgets("v1"), "widgets")
	if declared, isKnown := known.Declares(widgets("v1")); err != nil || declared || !isKnown {
		t.Errorf("want a forbidden definition to declare nothing (%v)", err)
	}
}

// judge overrules objects that are named after it.
type judge struct{ *status.Analyzer }

func (judge) Overrules(object *unstructured.Unstructured) bool {
	return object.GetName() == "overruled"
}

func TestAwait(t *testing.T) {
	t.Parallel()
	known := judges.NewDefinitions(&definitions{})
	for _, version := range []string{"v1", "v2"} {
		if err := known.Learn(t.Context(), widgets(version), "widgets"); err != nil {
			t.Fatal(err)
		}
	}
	base := judge{status.NewAnalyzer("op.example.com", status.Options{})}
	await := judges.Await(base, known)
	const waits = "its controller has not reported any condition yet"
	for _, row := range []struct {
		reason, version, rest string
		want                  status.Status
		message               string
	}{
		{"there is no status", "v1", "", status.InProgressStatus, waits},
		{"the status is empty", "v1", "status: {}", status.InProgressStatus, waits},
		{"the list is empty", "v1", "status: {conditions: []}", status.InProgressStatus, waits},
		{"something else is reported", "v1", "status: {phase: Running}", status.InProgressStatus, waits},
		{"a condition is reported", "v1", `status: {conditions: [{type: Synced, status: "True"}]}`, status.CurrentStatus, "ready"},
		{"a condition says that it is not ready", "v1", `status: {conditions: [{type: Ready, status: "False", reason: Starting}]}`, status.InProgressStatus, "Ready is False (Starting)"},
		{"a generation is reported", "v1", "status: {observedGeneration: 1}", status.CurrentStatus, "ready"},
		{"another version has no conditions", "v2", "", status.CurrentStatus, "ready"},
		{"the version is not known", "v3", "", status.InProgressStatus, "the definition of its type has not been read yet"},
		{"conditions have defaults", "v1", `status: {conditions: [{type: Accepted, status: Unknown, reason: Pending}]}`, status.InProgressStatus, waits},
		{"it is overruled", "v1", "name: overruled", status.CurrentStatus, "ready"},
	} {
		t.Run(row.reason, func(t *testing.T) {
			t.Parallel()
			content := fmt.Sprintf("{apiVersion: example.io/%s, kind: Widget, metadata: {name: a, generation: 1}, %s}", row.version, row.rest)
			if name, ok := strings.CutPrefix(row.rest, "name: "); ok {
				content = fmt.Sprintf("{apiVersion: example.io/%s, kind: Widget, metadata: {name: %s}}", row.version, name)
			}
			object := &unstructured.Unstructured{}
			if err := yaml.Unmarshal([]byte(content), &object.Object); err != nil {
				t.Fatal(err)
			}
			object.SetGeneration(1)
			if got := await.Judge(integers(object)); got.Status != row.want || got.Message != row.message {
				t.Errorf("got %s, %q", got.Status, got.Message)
			}
		})
	}
	metadata, ok := await.(status.MetadataJudge)
	if !ok || !metadata.JudgesMetadata(schema.GroupKind{Kind: "ConfigMap"}) || metadata.JudgesMetadata(schema.GroupKind{Kind: "Pod"}) || await.Rules() != base.Rules() {
		t.Error("want the rest to be up to the base")
	}
}

// integers makes the generations in an object integers, as they are in objects of a server.
func integers(object *unstructured.Unstructured) *unstructured.Unstructured {
	if observed, found, _ := unstructured.NestedFloat64(object.Object, "status", "observedGeneration"); found {
		_ = unstructured.SetNestedField(object.Object, int64(observed), "status", "observedGeneration")
	}
	return object
}
