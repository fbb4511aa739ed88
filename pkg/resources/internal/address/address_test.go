// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package address

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/component-operator/runtime/pkg/resources/concepts"
)

func TestConverging(t *testing.T) {
	t.Parallel()
	type point struct{ ip, hostname string }
	for _, row := range []struct {
		why    string
		points []point
		want   concepts.OperationalStatus
	}{
		{"there is no point", nil, concepts.OperationalStatusPending},
		{"a point may lack an address", []point{{}}, concepts.OperationalStatusPending},
		{"an IP", []point{{ip: "192.0.2.1"}}, concepts.OperationalStatusOperational},
		{"a hostname", []point{{hostname: "lb.example.com"}}, concepts.OperationalStatusOperational},
		{"one address is enough", []point{{}, {ip: "2001:db8::1"}}, concepts.OperationalStatusOperational},
	} {
		got := Converging(row.points, func(p point) (string, string) { return p.ip, p.hostname })
		if diff := cmp.Diff(row.want, got.Status); diff != "" {
			t.Errorf("%s: unexpected status (-want +got):\n%s", row.why, diff)
		}
		if got.Reason == "" {
			t.Errorf("%s: there is no reason", row.why)
		}
	}
}
