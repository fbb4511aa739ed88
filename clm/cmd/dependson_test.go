// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"strings"
	"testing"

	"github.com/component-operator/runtime/internal/testenv"
)

// TestDependsOn has a release wait for another one, which cannot be deleted before it.
func TestDependsOn(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	web, db := p.file("web.yaml", configMap("web", "1")), p.file("db.yaml", configMap("db", "1"))
	p.expect(p.clm("plan", "web", web, "--depends-on", "db"), 0, "note: a release on which it depends is not ready: release db does not exist\n")
	p.expect(p.clm("apply", "web", web, "--depends-on", "db", "--timeout", "1ms"), exitNotReady, "release PLACE/web was not applied: it depends on release db: ")
	if p.configMap("web") != nil {
		t.Error("the release was applied before the one on which it depends")
	}
	var output testenv.Output
	_, end := p.follow(&output, "apply", "web", web, "--depends-on", "db", "--yes")
	expectIn(t, &output, "waiting until the release exists")
	p.must("apply", "db", db)
	if code := end(); code != 0 || p.configMap("web") == nil || !strings.Contains(output.String(), "release "+p.namespace+"/web, revision 1, is ready") {
		t.Errorf("got %d:\n%s", code, output.String())
	}

	// It is remembered, and is part of the revision.
	p.must("apply", "web", p.file("web.yaml", configMap("web", "2")))
	p.expect(p.clm("apply", "db", db, "--depends-on", "web"), exitRefused, "a release must not depend on itself: db -> web -> db")
	p.expect(p.clm("apply", "web", web, "--depends-on", "web"), exitRefused, "a release must not depend on itself: web -> web")
	p.expect(p.clm("apply", "web", web, "--depends-on", "no name"), 1, `flag --depends-on: invalid release name "no name"`)
	p.expect(p.clm("delete", "db"), exitRefused, "release PLACE/db cannot be deleted: these releases depend on it: web; delete them first, or ignore that: clm delete db -n PLACE --ignore-needed-by")

	p.must("apply", "web", web, "--depends-on=")
	p.must("apply", "db", db, "--depends-on", "web")
	p.expect(p.clm("rollback", "web", "1"), exitRefused, "a release must not depend on itself: web -> db -> web")
	p.must("apply", "db", db, "--depends-on=")
	p.must("delete", "db")
	p.must("apply", "db", db)
	p.must("rollback", "web", "1")
	p.expect(p.clm("delete", "db"), exitRefused, "these releases depend on it: web")
	p.must("delete", "db", "--ignore-needed-by")
	p.ends([]string{"status", "web"}, 0, "Depends on: db\n")
	p.must("delete", "web")
}
