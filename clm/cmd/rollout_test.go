// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/internal/testenv"
)

// TestRollout shows a rollout, pauses it, and retries a component that has failed.
func TestRollout(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	group := p.namespace + ".example.com"
	kind := "things." + group
	p.must("apply", "types", p.file("types.yaml", strings.Replace(thingDefinition, "{type: object}", "{type: object, x-kubernetes-preserve-unknown-fields: true}", 1)))
	p.expect(p.clm("rollout", "status", kind), exitRefused, "there is no rollout of "+kind+": no component has status.rollout")
	for name, content := range map[string]string{
		"a": "state: Ready, rollout: {operator: op.example.com, version: two}, conditions: [{type: RolledOut, status: 'True', reason: Arrived}]",
		"b": "state: Error, rollout: {operator: op.example.com, version: two}, conditions: [{type: RolledOut, status: Unknown, reason: Updating}, {type: Stalled, status: 'True', message: 'port: invalid value'}]",
		"c": "state: Ready, rollout: {operator: op.example.com, version: one}, conditions: [{type: RolledOut, status: 'False', reason: Stopped, message: 'Stopped: b failed'}]",
	} {
		object := testenv.Object(t, fmt.Sprintf("{apiVersion: %s/v1, kind: Thing, metadata: {name: %s}, status: {%s}}", group, name, content))
		p.create(object)
		t.Cleanup(func() { _ = client.IgnoreNotFound(p.client.Delete(context.WithoutCancel(t.Context()), object)) })
	}
	want := kind + ": 3 components, 1 Arrived, 1 Failed, 1 Stopped\n" +
		"NAMESPACE  NAME  STATE  MESSAGE\n" + p.namespace + "  b  Failed  port: invalid value\n" + p.namespace + "  c  Stopped  Stopped: b failed\n"
	if got := p.must("rollout", "status", kind).stdout; strings.Join(strings.Fields(got), " ") != strings.Join(strings.Fields(want), " ") {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
	if got := p.must("rollout", "status", kind, "-o", "json").stdout; !strings.Contains(got, `"reason": "Failed"`) {
		t.Errorf("got %s", got)
	}
	definition := testenv.Object(t, "{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: "+kind+"}}")
	for _, step := range []struct{ verb, said, value string }{{"pause", "paused", "true"}, {"resume", "resumed", ""}} {
		if got := p.must("rollout", step.verb, kind).stdout; got != "rollout of "+kind+": "+step.said+"\n" {
			t.Errorf("got %q", got)
		}
		if err := p.client.Get(t.Context(), client.ObjectKeyFromObject(definition), definition); err != nil {
			t.Fatal(err)
		}
		if got := definition.GetAnnotations()["op.example.com/rollout-paused"]; got != step.value {
			t.Errorf("%s: annotation %q", step.verb, got)
		}
	}
	if got := p.must("rollout", "retry", kind).stdout; got != "things/b in "+p.namespace+": reconciliation requested\n" {
		t.Errorf("got %q", got)
	}
}
