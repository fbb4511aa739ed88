// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package sources

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/component-operator/runtime/internal/helm"
)

// input reads files, and standard input at most once.
type input struct {
	stdin io.Reader
	// used reports whether standard input was read.
	used bool
}

// file reads a file, or standard input. It does not wait for the writer of a pipe after the context has ended.
func (i *input) file(ctx context.Context, name string) ([]byte, error) {
	if name != stdinReference {
		return await(ctx, func() ([]byte, error) { return os.ReadFile(name) })
	}
	switch {
	case i.stdin == nil:
		return nil, errors.New("there is no standard input")
	case i.used:
		return nil, errors.New("standard input can be read only once; use a file for the other")
	}
	i.used = true
	return await(ctx, func() ([]byte, error) { return io.ReadAll(i.stdin) })
}

// await returns the result of a function, or the error of the context if that ends first.
func await(ctx context.Context, read func() ([]byte, error)) ([]byte, error) {
	type outcome struct {
		content []byte
		err     error
	}
	outcomes := make(chan outcome, 1)
	go func() {
		content, err := read()
		outcomes <- outcome{content, err}
	}()
	select {
	case o := <-outcomes:
		return o.content, o.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// loadValues merges values as Helm does.
func loadValues(ctx context.Context, input *input, options Options) (map[string]any, error) {
	return helm.MergeValues(helm.ValuesInput{
		Files:     options.ValuesFiles,
		Set:       options.Set,
		SetString: options.SetString,
		SetFile:   options.SetFile,
		Read: func(name string) ([]byte, error) {
			if strings.Contains(name, "://") {
				return nil, fmt.Errorf("values must be in a local file; %s is not one", name)
			}
			return input.file(ctx, name)
		},
	})
}
