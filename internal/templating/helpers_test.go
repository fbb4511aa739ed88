// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package templating_test

import (
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/component-operator/runtime/internal/templating"
)

// render renders a text as the only file of a set.
func render(t *testing.T, text string, data any) (string, error) {
	t.Helper()
	set, err := templating.Parse([]templating.File{{Name: "a.yaml", Text: text}}, templating.Options{})
	if err != nil {
		return "", err
	}
	return execute(t, set, "a.yaml", data)
}

func execute(t *testing.T, set *templating.Set, name string, data any) (string, error) {
	t.Helper()
	renderer, err := set.Renderer(nil)
	if err != nil {
		t.Fatal(err)
	}
	return renderer.Render(name, data)
}

// check compares an outcome; want is the text, or, with the prefix "error: ", a part of the error.
func check(t *testing.T, got string, err error, want string) {
	t.Helper()
	if part, ok := strings.CutPrefix(want, "error: "); ok {
		if err == nil || !strings.Contains(err.Error(), part) {
			t.Errorf("got %q and error %v, want an error with %q", got, err, part)
		}
		return
	}
	if err != nil || got != want {
		t.Errorf("got %q and error %v, want %q", got, err, want)
	}
}

// TestMain fails if a test leaves a goroutine behind.
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }
