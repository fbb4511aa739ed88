// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package sources

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/component-operator/runtime/internal/helm"
)

// input reads files, and standard input once.
type input struct {
	stdin io.Reader
	// used tells that standard input was read.
	used bool
}

// file reads a file, or standard input.
func (i *input) file(name string) ([]byte, error) {
	if name != stdinReference {
		return os.ReadFile(name)
	}
	switch {
	case i.stdin == nil:
		return nil, errors.New("there is no standard input")
	case i.used:
		return nil, errors.New("standard input can be read only once; use a file for the other")
	}
	i.used = true
	return io.ReadAll(i.stdin)
}

// loadValues merges values as Helm does.
func loadValues(input *input, options Options) (map[string]any, error) {
	return helm.MergeValues(helm.ValuesInput{
		Files:     options.ValuesFiles,
		Set:       options.Set,
		SetString: options.SetString,
		SetFile:   options.SetFile,
		Read: func(name string) ([]byte, error) {
			if strings.Contains(name, "://") {
				return nil, fmt.Errorf("values must be in a local file; %s is none", name)
			}
			return input.file(name)
		},
	})
}
