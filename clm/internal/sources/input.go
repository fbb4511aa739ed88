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
		return await(ctx, func() ([]byte, error) {
			opened, err := os.Open(name)
			if err != nil {
				return nil, err
			}
			defer func() { _ = opened.Close() }()
			return readAll(opened)
		})
	}
	switch {
	case i.stdin == nil:
		return nil, errors.New("there is no standard input")
	case i.used:
		return nil, errors.New("standard input can be read only once; use a file for the other")
	}
	i.used = true
	return await(ctx, func() ([]byte, error) { return readAll(i.stdin) })
}

// maxFile is the limit for a file, in bytes: what remote references may load, too.
const maxFile = 64 << 20

// readAll fails if there is too much to read.
func readAll(from io.Reader) ([]byte, error) {
	content, err := io.ReadAll(io.LimitReader(from, maxFile+1))
	if len(content) > maxFile {
		return nil, fmt.Errorf("it is larger than %d MiB", maxFile>>20)
	}
	return content, err
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
