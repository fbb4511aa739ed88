// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"encoding/json"
	"math"
	"strings"
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
	for want, value := range map[string]any{
		"value x.y[1] is 18446744073709551615, and integers are from -9223372036854775808 to 9223372036854775807": uint64(math.MaxUint64),
		"value x.y[1][0] is 18446744073709551615, and integers are from":                                          []uint64{math.MaxUint64},
		"value x.y[1].a is 18446744073709551615, and integers are from":                                           map[string]uint64{"a": math.MaxUint64},
		"value x.y[1] is 99999999999999999999, and integers are from":                                             json.Number("99999999999999999999"),
		"value x.y[1] is NaN, which JSON does not have":                                                           math.NaN(),
		"value x.y[1] has type func(), which has no JSON form: json: unsupported type: func()":                    func() {},
		"value x.y[1] has type []float64, which has no JSON form: json: unsupported value: +Inf":                  []float64{math.Inf(1)},
		"value x.y[1].z has type chan int, which has no JSON form: json: unsupported type: chan int":              map[string]any{"z": make(chan int)},
	} {
		if _, err := Normalize(map[string]any{"x": map[string]any{"y": []any{"a", value}}}); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("want %q, got %v", want, err)
		}
	}
}
