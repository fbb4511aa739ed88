// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package project

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var small = Tree{
	"a.txt":         []byte("a"),
	"folder/run.sh": []byte("#!/bin/sh"),
}

// listing returns the paths and modes of everything below a folder.
func listing(t *testing.T, folder string) []string {
	t.Helper()
	var found []string
	err := filepath.WalkDir(folder, func(path string, entry os.DirEntry, err error) error {
		if err != nil || path == folder {
			return err
		}
		info, err := entry.Info()
		found = append(found, info.Mode().String()+" "+strings.TrimPrefix(path, folder+"/"))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func succeed(context.Context, string) error { return nil }

func TestFill(t *testing.T) {
	t.Parallel()
	for name, prepare := range map[string]func(path string) error{
		"a folder that does not exist, in one that does not": func(string) error { return nil },
		"an empty folder": func(path string) error { return os.MkdirAll(path, 0o755) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			root := t.TempDir()
			path := filepath.Join(root, "parent", "project")
			if err := prepare(path); err != nil {
				t.Fatal(err)
			}
			destination, err := NewDestination(path)
			if err != nil {
				t.Fatal(err)
			}
			if err := Fill(t.Context(), destination, small, succeed); err != nil {
				t.Fatal(err)
			}
			want := []string{
				"drwxr-xr-x parent", "drwxr-xr-x parent/project", "-rw-r--r-- parent/project/a.txt",
				"drwxr-xr-x parent/project/folder", "-rwxr-xr-x parent/project/folder/run.sh",
			}
			if diff := cmp.Diff(want, listing(t, root)); diff != "" {
				t.Errorf("unexpected files:\n%s", diff)
			}
		})
	}
}

// TestNothingIsHalfMade lets the work end in different ways before the project is complete.
func TestNothingIsHalfMade(t *testing.T) {
	t.Parallel()
	failure := errors.New("it failed")
	for name, row := range map[string]struct {
		process func(cancel context.CancelFunc, path string) error
		want    error
	}{
		"a step fails": {func(context.CancelFunc, string) error { return failure }, failure},
		"interrupted":  {func(cancel context.CancelFunc, _ string) error { cancel(); return nil }, context.Canceled},
		"a file of the same name turned up": {func(_ context.CancelFunc, path string) error {
			return os.WriteFile(filepath.Join(path, "folder"), nil, 0o600)
		}, nil},
		"the folder was replaced by the user": {func(_ context.CancelFunc, path string) error {
			return errors.Join(os.Remove(path), os.WriteFile(path, nil, 0o600))
		}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			root := t.TempDir()
			path := filepath.Join(root, "project")
			if err := os.Mkdir(path, 0o755); err != nil {
				t.Fatal(err)
			}
			destination, err := NewDestination(path)
			if err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			var before []string
			err = Fill(ctx, destination, small, func(_ context.Context, temporary string) error {
				if diff := cmp.Diff([]string{"-rw-r--r-- a.txt", "drwxr-xr-x folder", "-rwxr-xr-x folder/run.sh"}, listing(t, temporary)); diff != "" {
					t.Errorf("unexpected files in the temporary folder:\n%s", diff)
				}
				if err := row.process(cancel, path); err != nil {
					return err
				}
				before = listing(t, path)
				return nil
			})
			if err == nil || row.want != nil && !errors.Is(err, row.want) {
				t.Errorf("want the error %v, got %v", row.want, err)
			}
			if diff := cmp.Diff(before, listing(t, path)); diff != "" {
				t.Errorf("the destination has changed:\n%s", diff)
			}
			if left, err := filepath.Glob(filepath.Join(root, ".project.scaffold-*")); err != nil || len(left) > 0 {
				t.Errorf("the temporary folder is left: %v, %v", left, err)
			}
		})
	}
}

func TestDestinationsThatAreRefused(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	file := filepath.Join(folder, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{folder: "must be empty, but has file", file: "must be a folder that is empty or does not exist"} {
		if _, err := NewDestination(path); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: want an error with %q, got %v", path, want, err)
		}
	}
}
