// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package fieldset_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/component-operator/runtime/internal/fieldset"
)

const contested = `apiVersion: apps/v1
kind: Deployment
metadata: {name: NAME, labels: {a: ours}}
spec:
  replicas: 1
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers:
      - {name: main, image: example.com/a, args: [a, b], ports: [{containerPort: 80, name: http}], env: [{name: A, value: ours}, {name: B, value: ours}]}
      - {name: side, image: example.com/side}
`

// TestTakings compares what the API server takes from others with what is known without it.
func TestTakings(t *testing.T) {
	t.Parallel()
	s := newSubject(t, contested)
	s.apply()
	s.them(`metadata: {labels: {a: theirs, b: theirs}}
spec: {template: {spec: {containers: [{name: main, args: [c], ports: [{containerPort: 80, name: other}], env: [{name: A, value: ours}, {name: B, value: theirs}, {name: C, value: theirs}]}]}}}
`)
	s.merge(`{"spec":{"replicas":3}}`)
	before := s.get()
	would, err := fieldset.WouldTake(before.Object, s.manifest.Object, before.GetManagedFields(), us)
	if err != nil {
		t.Fatal(err)
	}
	taken, err := fieldset.Taken(before.GetManagedFields(), s.apply().GetManagedFields(), us)
	if err != nil {
		t.Fatal(err)
	}
	texts := func(takings []fieldset.Taking) []string {
		var all []string
		for _, taking := range takings {
			all = append(all, taking.Path.String()+" "+taking.Manager)
		}
		return all
	}
	if diff := cmp.Diff(texts(taken), texts(would)); diff != "" {
		t.Errorf("(-server +computed):\n%s", diff)
	}
	want := []string{
		".metadata.labels.a them", ".spec.replicas kubectl-edit", `.spec.template.spec.containers[name="main"].args them`,
		`.spec.template.spec.containers[name="main"].env[name="B"].value them`, `.spec.template.spec.containers[name="main"].ports[containerPort=80,protocol="TCP"].name them`,
	}
	if diff := cmp.Diff(want, texts(taken)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
