// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package manifest_test

import (
	"strings"
	"testing"

	"github.com/component-operator/runtime/internal/manifest"
)

func TestLimits(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		reason, text string
		json, yaml   int
	}{
		{"a scalar is part of what it is in", `1`, 0, 0},
		{"objects and lists count, and what follows the first value in them", `{"a":[1,2],"b":{}}`, 5, 5},
		{"strings are no values in JSON", `["a,[{", "\",{", "\\",1]`, 4, 9},
		{"nor is what follows a quote that does not end", `["a,,,`, 1, 4},
		{"lines and marks of blocks count in YAML", "a: 1\nb:\n- - x\n- ? y\n", 0, 9},
	} {
		t.Run(test.reason, func(t *testing.T) {
			t.Parallel()
			for name, check := range map[string]struct {
				count func(int, ...[]byte) error
				want  int
			}{"JSON": {manifest.CheckJSON, test.json}, "YAML": {manifest.CheckYAML, test.yaml}} {
				if err := check.count(check.want, []byte(test.text)); err != nil {
					t.Errorf("%s: %v", name, err)
				}
				if err := check.count(check.want-1, []byte(test.text)); err == nil {
					t.Errorf("%s: want an error for a limit of %d values", name, check.want-1)
				}
			}
		})
	}
	if err := manifest.CheckJSON(3, []byte("[1,2]"), []byte("[1,2]")); err == nil || !strings.Contains(err.Error(), "it has 4 values; must be at most 3") {
		t.Errorf("want texts to count together, got %v", err)
	}
}
