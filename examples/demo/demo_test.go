// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"regexp"
	"strings"
	"testing"

	"github.com/component-operator/runtime/pkg/sandbox"
)

// TestDemo runs the demo, which checks its own claims. It has a cluster of its own, because it installs and removes a
// definition that other tests need.
func TestDemo(t *testing.T) {
	t.Parallel()
	cluster, err := sandbox.Start(t.Context(), sandbox.Options{Log: t.Output()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := cluster.Stop(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	})
	var out strings.Builder
	err = play(t.Context(), cluster.Config(), &screen{out: &out})
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
