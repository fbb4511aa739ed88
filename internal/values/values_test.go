// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package values

import (
	"encoding/json"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestNormalizeNumbers(t *testing.T) {
	t.Parallel()
	for reason, tt := range map[string]struct {
		given, want any
	}{
		"what decoding JSON yields stays": {[]any{int64(1), 1.5}, []any{int64(1), 1.5}},
		"integers of any size":            {[]any{1, int8(-2), uint16(3), uint64(4)}, []any{int64(1), int64(-2), int64(3), int64(4)}},
		"beyond int64":                    {uint64(math.MaxUint64), float64(math.MaxUint64)},
		"the decimal form counts":         {float32(0.1), 0.1},
		"numbers that are texts":          {[]any{json.Number("7"), json.Number("1e3"), json.Number("2.5")}, []any{int64(7), 1000.0, 2.5}},
	} {
		got, err := Normalize(map[string]any{"x": tt.given})
		if err != nil {
			t.Errorf("%s: %v", reason, err)
		}
		if diff := cmp.Diff(map[string]any{"x": tt.want}, got); diff != "" {
			t.Errorf("%s: unexpected values (-want +got):\n%s", reason, diff)
		}
	}
	if _, err := Normalize(map[string]any{"x": []any{json.Number("none")}}); err == nil {
		t.Error("a number that is none is accepted")
	}
}
