// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package sources

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"time"
)

// postRenderer runs a command that changes the rendered objects of a chart.
type postRenderer func(rendered *bytes.Buffer) (*bytes.Buffer, error)

// Run implements helm.PostRenderer.
func (p postRenderer) Run(rendered *bytes.Buffer) (*bytes.Buffer, error) { return p(rendered) }

// killDelay is how long a command that was killed may keep its output open by processes that it has started.
const killDelay = 5 * time.Second

// newPostRenderer returns a post-renderer for a command and its arguments, which is killed when the context ends. It
// runs in the working folder, with the environment of this process. It fails if there is no such command.
func newPostRenderer(ctx context.Context, command []string) (postRenderer, error) {
	path, err := exec.LookPath(command[0])
	if err != nil {
		return nil, fmt.Errorf("post-renderer: %w", err)
	}
	return func(rendered *bytes.Buffer) (*bytes.Buffer, error) {
		isEmpty := rendered.Len() == 0
		process := exec.CommandContext(ctx, path, command[1:]...)
		process.WaitDelay = killDelay
		var stdout, stderr bytes.Buffer
		process.Stdin, process.Stdout, process.Stderr = rendered, &stdout, &stderr
		err := process.Run()
		said := strings.TrimSpace(stderr.String())
		switch {
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case err != nil && said != "":
			return nil, fmt.Errorf("running %s: %w: %s", path, err, said)
		case err != nil:
			return nil, fmt.Errorf("running %s: %w", path, err)
		case !isEmpty && !hasContent(stdout.String()):
			// A command that has lost its input would otherwise delete the whole release.
			return nil, errors.New(strings.TrimSuffix(fmt.Sprintf("%s has written nothing to standard output, where it has to write all objects: %s", path, said), ": "))
		default:
			return &stdout, nil
		}
	}, nil
}

// hasContent reports whether a stream of YAML documents has more than separators and comments.
func hasContent(text string) bool {
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") && line != "---" {
			return true
		}
	}
	return false
}
