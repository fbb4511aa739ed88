// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"regexp"
	"strings"
	"testing"

	"github.com/component-operator/runtime/internal/testenv"
)

// TestDemo runs the demo, which checks its own claims.
func TestDemo(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	err := play(t.Context(), testenv.Config(t), &screen{out: &out})
	t.Log("\n" + out.String())
	if err != nil {
		t.Fatal(err)
	}
	last := regexp.MustCompile(`\ndemo: ok  24 objects, \d+ requests, \d+\.\d s\n$`)
	if !last.MatchString(out.String()) {
		t.Errorf("the last line is not one like %s", last)
	}
	if strings.ContainsAny(out.String(), "\x1b\r") {
		t.Error("there are control characters in plain output")
	}
}
