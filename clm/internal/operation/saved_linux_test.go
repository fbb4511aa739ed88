// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package operation

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

func TestReplaceFile(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	file, link, pipe := filepath.Join(folder, "file"), filepath.Join(folder, "link"), filepath.Join(folder, "pipe")
	for _, err := range []error{os.WriteFile(file, []byte("old"), 0o644), os.Symlink(file, link), syscall.Mkfifo(pipe, 0o600)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	read := make(chan string)
	go func() {
		content, _ := os.ReadFile(pipe) // an error leaves it empty
		read <- string(content)
	}()
	for _, path := range []string{link, pipe} {
		if err := replaceFile(path, []byte("new")); err != nil {
			t.Errorf("%s: %s", path, err)
		}
	}
	if got := <-read; got != "new" {
		t.Errorf("the pipe has yielded %q", got)
	}
	for path, want := range map[string]os.FileMode{link: os.ModeSymlink, pipe: os.ModeNamedPipe, file: 0} {
		if found, err := os.Lstat(path); err != nil || found.Mode().Type() != want {
			t.Errorf("%s has become something else: %v, %v", path, found, err)
		}
	}
	if found, err := os.Stat(file); err != nil || found.Mode().Perm() != 0o600 {
		t.Errorf("others can read the file: %v, %v", found, err)
	}
}
