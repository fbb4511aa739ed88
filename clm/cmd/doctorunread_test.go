// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"strings"
	"testing"
)

// TestDoctorOfARecordThatIsTooNew must not call lost what this clm merely cannot read.
func TestDoctorOfARecordThatIsTooNew(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.must("apply", "web", p.file("app.yaml", configMap("a", "1")))
	const tooNew = "eyJ2ZXJzaW9uIjo5OX0=" // {"version":99}
	p.as("somebody", secretKind, "clm.web", `{"data":{"release":"`+tooNew+`"}}`)
	p.expectFindings(nil)
	if got := p.must("doctor"); !strings.Contains(got.stdout, "please use a newer one") {
		t.Errorf("want to be told why, got %s", got.stdout)
	}
}
