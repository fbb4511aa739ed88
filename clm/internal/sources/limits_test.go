// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package sources_test

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/component-operator/runtime/clm/internal/sources"
)

// endless has as many bytes as one wants.
type endless struct{}

func (endless) Read(into []byte) (int, error) {
	for i := range into {
		into[i] = '\n'
	}
	return len(into), nil
}

// TestLargeInput: no input fills the memory.
func TestLargeInput(t *testing.T) {
	t.Parallel()
	root := files{"values.yaml": "", "large.yaml": "", "grows.yaml": configMap("a", "a: &a "+strings.Repeat("x", 1<<10), "b: ["+strings.Repeat("*a, ", 100)+"]")}.write(t)
	// Files with gaps take no room.
	for _, name := range []string{"values.yaml", "large.yaml"} {
		if err := os.Truncate(filepath.Join(root, name), 64<<20+1); err != nil {
			t.Fatal(err)
		}
	}
	for _, test := range []struct {
		reason, reference string
		options           sources.Options
		want              string
	}{
		{"standard input that does not end", "-", sources.Options{Stdin: io.LimitReader(endless{}, 65<<20)}, "it is larger than 64 MiB"},
		{"a file", "large.yaml", sources.Options{}, "large.yaml: it is larger than 64 MiB"},
		{"values", "grows.yaml", sources.Options{ValuesFiles: []string{"values.yaml"}}, "values.yaml: it is larger than 64 MiB"},
		{"many documents", "-", sources.Options{Stdin: strings.NewReader(strings.Repeat(configMap("a", "b: c")+"---\n", 500_000))}, "at most 3145728 are allowed"},
		{"a text that aliases repeat", "grows.yaml", sources.Options{}, "with its aliases replaced, it has more than"},
	} {
		_, err := load(t, root, test.options, test.reference)
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: want an error with %q, got %v", test.reason, test.want, err)
		}
	}
}
