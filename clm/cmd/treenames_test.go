// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"regexp"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestNamesOfATree prints the objects of a release as kubectl does, also if they are not in the namespace of the command, and none that is gone or belongs to others.
func TestNamesOfATree(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.must("apply", "web", p.file("app.yaml", configMap("a", "1")+configMap("gone", "1")+configMap("stolen", "1")+job("done", "purge-order", "1")+`---
apiVersion: apps/v1
kind: Deployment
metadata: {name: server}
spec:
  selector: {matchLabels: {app: server}}
  template: {metadata: {labels: {app: server}}, spec: {containers: [{name: main, image: example.com/none}]}}
`))
	p.remove(configMapKind, "gone")
	p.as("somebody", configMapKind, "stolen", p.mark("other"))
	got := p.clm("tree", "web", "-o", "name")
	p.expect(got, 0)
	names := regexp.MustCompile(`server(-[0-9a-z]+)+`).ReplaceAllString(got.stdout, "server-POD")
	if diff := cmp.Diff("configmap/a\ndeployment.apps/server\nreplicaset.apps/server-POD\npod/server-POD\n", names); diff != "" {
		t.Error(diff)
	}
	p.as("somebody", configMapKind, "stolen", p.mark("web"))
	p.must("delete", "web")
}
