// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package generation

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/go-logr/logr/funcr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

func TestCatch(t *testing.T) {
	t.Parallel()
	var lines []string
	log := funcr.New(func(_, line string) { lines = append(lines, line) }, funcr.Options{})
	count := 0
	c := &Catcher{Count: func() { count++ }}
	run := func(work func()) error {
		return c.Run(log, func() error {
			work()
			return nil
		})
	}
	mistakes := func() { panic("a mistake") }
	var list []string
	broken := strings.Repeat("(", 1)
	index := 3
	refusal := apierrors.NewInvalid(schema.GroupKind{Kind: "Thing"}, "a", field.ErrorList{field.Invalid(field.NewPath("data").Key("x"), "secret", "is wrong")})
	for _, test := range []struct {
		reason string
		work   func()
		want   string
		// lines is the number of lines of the log after it.
		lines int
	}{
		{"nothing happens", func() {}, "", 0},
		{"a panic", mistakes, `^panic: a mistake \(generation/panics_test\.go:\d+\)$`, 1},
		{"the same one", mistakes, `^panic: a mistake \(generation/panics_test\.go:\d+\)$`, 1},
		{"an index out of range", func() { _ = list[index] }, `^panic: runtime error: index out of range \[3\] with length 0 \(generation/panics_test\.go:\d+\)$`, 2},
		{"a pointer that is nil", func() { none().Place = "" }, `^panic: runtime error: invalid memory address or nil pointer dereference \(`, 3},
		{"a panic in the standard library", func() { regexp.MustCompile(broken) }, `^panic: regexp: .* \(generation/panics_test\.go:\d+\)$`, 4},
		{"an error as value", func() { panic(errors.New("wrapped")) }, `^panic: wrapped \(`, 5},
		{"an answer that quotes a value", func() { panic(refusal) }, `^panic: .*data\[x\]: Invalid value: \*\*\*.* \(`, 6},
	} {
		err := run(test.work)
		got := ""
		if err != nil {
			got = err.Error()
		}
		if test.want == "" && err != nil || !regexp.MustCompile(test.want).MatchString(got) {
			t.Errorf("%s: want %q, got %q", test.reason, test.want, got)
		}
		if Is(err) != (err != nil) || Is(fmt.Errorf("around: %w", err)) != (err != nil) {
			t.Errorf("%s: want an error that is recognised, got %v", test.reason, err)
		}
		if len(lines) != test.lines {
			t.Errorf("%s: want %d lines of the log, got %d", test.reason, test.lines, len(lines))
		}
	}
	if text := strings.Join(lines, ""); strings.Contains(text, "secret") {
		t.Errorf("want no value in the log, got %s", text)
	}
	if count != 7 {
		t.Errorf("want 7 panics to be counted, got %d", count)
	}
	if !strings.Contains(lines[0], "TestCatch") {
		t.Errorf("want the stack in the log, got %s", lines[0])
	}
}

func none() *Error { return nil }
