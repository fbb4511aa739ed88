// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package concepts_test

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/component-operator/runtime/pkg/resources/concepts"
	"github.com/component-operator/runtime/pkg/resources/feature"
)

// gate is a gate that explains nothing.
type gate struct {
	enabled bool
	err     error
}

func (g gate) Enabled() (bool, error) { return g.enabled, g.err }

func TestStateOfMutation(t *testing.T) {
	t.Parallel()
	constraint, err := feature.Semver(">= 2")
	if err != nil {
		t.Fatal(err)
	}
	in := func(version string) feature.Gate {
		return feature.NewVersionGate(version, []feature.VersionConstraint{constraint})
	}
	for _, tc := range []struct {
		reason string
		gate   feature.Gate
		want   concepts.MutationState
	}{
		{"no gate", nil, concepts.MutationState{Enabled: true, Why: "on: there is no gate"}},
		{"a gate that explains", in("2.1.0"), concepts.MutationState{Enabled: true, Why: "on: version 2.1.0 is >= 2"}},
		{"a gate that is off", in("1.0.0"), concepts.MutationState{Why: "off: version 1.0.0 is not >= 2"}},
		{"a gate that is on", gate{enabled: true}, concepts.MutationState{Enabled: true, Why: "on"}},
		{"a gate that is off, and does not explain", gate{}, concepts.MutationState{Why: "off"}},
		{"a gate that fails", gate{enabled: true, err: errors.New("no idea")}, concepts.MutationState{Why: "cannot tell: no idea"}},
	} {
		tc.want.Name = "a"
		if diff := cmp.Diff(tc.want, concepts.StateOfMutation("a", tc.gate)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
		}
	}
}
