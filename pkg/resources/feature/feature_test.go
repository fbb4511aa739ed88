// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package feature_test

import (
	"strings"
	"testing"

	"github.com/component-operator/runtime/pkg/resources/feature"
)

type acceptsAll struct{}

func (acceptsAll) Enabled(string) (bool, error) { return true, nil }

func semver(tb testing.TB, text string) feature.VersionConstraint {
	tb.Helper()
	constraint, err := feature.Semver(text)
	if err != nil {
		tb.Fatal(err)
	}
	return constraint
}

func TestVersionGate(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		reason      string
		version     string
		constraints []feature.VersionConstraint
		conditions  []bool
		want        bool
		why, err    string
	}{
		{"nothing to check", "1.0.0", nil, nil, true, "on: there are no conditions", ""},
		{"an accepted version", "v1.4", []feature.VersionConstraint{semver(t, ">= 1.4, < 3")}, nil, true, "on: version v1.4 is >= 1.4, < 3", ""},
		{"a version that is too old", "1.3.9", []feature.VersionConstraint{semver(t, ">= 1.4")}, nil, false, "off: version 1.3.9 is not >= 1.4", ""},
		{"a candidate of a release", "1.4.0-rc.1", []feature.VersionConstraint{semver(t, ">= 1.4")}, nil, false, "off: version 1.4.0-rc.1 is not >= 1.4", ""},
		{"a condition that is false", "1.0.0", []feature.VersionConstraint{acceptsAll{}}, []bool{true, false}, false, "off: condition 2 of 2 is false", ""},
		{"conditions and a constraint", "1.0.0", []feature.VersionConstraint{acceptsAll{}}, []bool{true}, true, "on: 1 of 1 conditions are true, version 1.0.0 is accepted by feature_test.acceptsAll", ""},
		{"a false condition saves the malformed version", "latest", []feature.VersionConstraint{semver(t, ">= 1")}, []bool{false}, false, "off: condition 1 of 1 is false", ""},
		{"a malformed version", "latest", []feature.VersionConstraint{semver(t, ">= 1")}, []bool{true}, false, "cannot tell: version", `version "latest": `},
	} {
		gate := feature.NewVersionGate(tc.version, tc.constraints)
		for _, condition := range tc.conditions {
			if gate.When(condition) != gate {
				t.Error("When must return the gate")
			}
		}
		got, err := gate.Enabled()
		if got != tc.want || tc.err == "" && err != nil || tc.err != "" && (err == nil || !strings.Contains(err.Error(), tc.err)) {
			t.Errorf("%s: got %v, %v", tc.reason, got, err)
		}
		if why := gate.Why(); !strings.HasPrefix(why, tc.why) {
			t.Errorf("%s: got %q, want %q", tc.reason, why, tc.why)
		}
	}
}

func TestBooleanGate(t *testing.T) {
	t.Parallel()
	for value, why := range map[bool]string{true: "on: the condition is true", false: "off: the condition is false"} {
		var gate feature.Gate = feature.NewBooleanGate(value)
		got, err := gate.Enabled()
		explainer, ok := gate.(feature.Explainer)
		if got != value || err != nil || !ok || explainer.Why() != why {
			t.Errorf("%v: got %v, %v, %v", value, got, err, explainer)
		}
	}
}

func TestMalformedConstraint(t *testing.T) {
	t.Parallel()
	if _, err := feature.Semver("newer than 2"); err == nil || !strings.Contains(err.Error(), `constraint "newer than 2"`) || !strings.Contains(err.Error(), "must be a constraint on semantic versions") {
		t.Errorf("unexpected error %v", err)
	}
}
