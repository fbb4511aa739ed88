// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package threeway

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// MergeFiles merges the changes of both sides with "git merge-file". Lines that both sides changed are between conflict markers, and are counted.
func MergeFiles(ctx context.Context, then, now, current []byte) (merged []byte, conflicts int, err error) {
	folder, err := os.MkdirTemp("", "scaffold-merge-")
	if err != nil {
		return nil, 0, fmt.Errorf("merging: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(folder)) }()
	for name, content := range map[string][]byte{"then": then, "now": now, "current": current} {
		if err := os.WriteFile(filepath.Join(folder, name), content, 0o600); err != nil {
			return nil, 0, fmt.Errorf("merging: %w", err)
		}
	}
	command := exec.CommandContext(ctx, "git", "merge-file", "-p", "-L", "yours", "-L", "scaffolded then", "-L", "scaffolded now", "current", "then", "now")
	command.Dir = folder
	var output, problem bytes.Buffer
	command.Stdout, command.Stderr = &output, &problem
	err = command.Run()
	// Its exit code is the number of conflicts, at most 127; errors are negative numbers.
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) && exit.ExitCode() > 0 && exit.ExitCode() <= 127 {
		return output.Bytes(), exit.ExitCode(), nil
	}
	if err != nil {
		return nil, 0, fmt.Errorf("merging with git: %w %s", err, bytes.TrimSpace(problem.Bytes()))
	}
	return output.Bytes(), 0, nil
}
