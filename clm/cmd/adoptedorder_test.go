// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"path/filepath"
	"strings"
	"testing"
)

// TestTheOrderOfHelmIsNoChange adopts a release whose objects Helm has recorded in another order than that in which clm renders them, as it does if they are of several
// kinds. The same chart is no new revision; one that differs is.
func TestTheOrderOfHelmIsNoChange(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.ofHelm("web", "one", "two")
	p.recordHelm("web", helmRevision{1, "deployed", manifestOf("two", "one"), nil})
	p.must("adopt", "web", "--from-helm", "--delete-helm-record")
	chart := filepath.Join(t.TempDir(), "shop")
	p.write(filepath.Join(chart, "Chart.yaml"), "{apiVersion: v2, name: shop, version: 1.0.1}")
	p.write(filepath.Join(chart, "templates", "all.yaml"), manifestOf("one", "two"))
	same := []string{"web", chart, "--set", "number=1"}
	p.expect(p.clm(append([]string{"plan", "--exit-code"}, same...)...), 0)
	p.must(append([]string{"apply"}, same...)...)
	p.expectHistory("Ready")
	p.expect(p.clm("plan", "web", chart, "--set", "number=2", "--exit-code"), exitChanges, "new revision 2")
	p.write(filepath.Join(chart, "templates", "all.yaml"), strings.Replace(manifestOf("one", "two"), "value: one", "value: other", 1))
	p.must(append([]string{"apply"}, same...)...)
	p.expectHistory("Superseded", "Ready")
	// That revision was not made by Helm. It has the order in which it was rendered.
	p.expect(p.clm(append([]string{"plan", "--exit-code"}, same...)...), 0)
	p.must("rollback", "web", "1")
	p.expectHistory("Superseded", "Superseded", "Ready")
	p.write(filepath.Join(chart, "templates", "all.yaml"), manifestOf("one", "two"))
	p.expect(p.clm(append([]string{"plan", "--exit-code"}, same...)...), 0)
	p.must("delete", "web")
	p.expectNothing()
}
