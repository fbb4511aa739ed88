// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"path/filepath"
	"testing"
)

// TestGeneratedOnceStays is about what the hooks of an installation have generated, such as a password: neither the
// takeover from Helm nor the loss of the record generates it again.
func TestGeneratedOnceStays(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	dir := t.TempDir()
	p.write(filepath.Join(dir, "Chart.yaml"), "{apiVersion: v2, name: once, version: 1.0.0}")
	p.write(filepath.Join(dir, "templates", "all.yaml"), `
{apiVersion: v1, kind: ConfigMap, metadata: {name: password, annotations: {helm.sh/hook: pre-install}}, data: {value: {{ randAlphaNum 12 }}}}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: app}, data: {value: "1"}}
`)
	p.theirs("password", "app")
	before := p.uids("password", "app")
	p.must("apply", "web", dir)
	p.expectValues(map[string]string{"password": "theirs", "app": "1"})

	p.loseIndex("web")
	p.must("doctor", "web", "--fix", "-y")
	p.must("apply", "web", dir)
	p.expectValues(map[string]string{"password": "theirs", "app": "1"})
	for name, uid := range p.uids("password", "app") {
		if uid != before[name] {
			t.Errorf("%s was recreated", name)
		}
	}
	p.must("delete", "web")
}
