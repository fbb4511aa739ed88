// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package kustomize

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/component-operator/runtime/internal/kustomize"
	"github.com/component-operator/runtime/pkg/manifests"
)

// source reads files and decrypts them, each at most once. Paths are absolute and slash-separated; they begin at the
// top of the file system.
type source struct {
	fsys      fs.FS
	decryptor manifests.Decryptor
	// displayed shortens paths to what the caller passed in.
	displayed func(name string) string
	files     map[string][]byte
	// bounds restrict which files may be read; nil allows all.
	bounds *bounds
}

// newSource also returns the path of the kustomization as a path of the source.
func newSource(fsys fs.FS, name string, decryptor manifests.Decryptor) (*source, string, error) {
	s := &source{fsys: fsys, decryptor: decryptor, files: map[string][]byte{}}
	if fsys != nil {
		s.displayed = func(name string) string { return path.Clean(strings.TrimPrefix(name, "/")) }
		cleaned := path.Clean(strings.TrimLeft(name, "/"))
		if !fs.ValidPath(cleaned) {
			return nil, "", errors.New("the path leads out of the file system")
		}
		return s, path.Join("/", cleaned), nil
	}
	s.displayed = func(name string) string { return name }
	s.fsys = os.DirFS("/")
	absolute, err := filepath.Abs(name)
	if err != nil {
		return nil, "", err
	}
	// The meaning of ../base depends on the real location of the folder.
	if absolute, err = filepath.EvalSymlinks(absolute); err != nil {
		return nil, "", err
	}
	return s, filepath.ToSlash(absolute), nil
}

// relative returns the path in the form of fs.FS.
func relative(name string) string {
	if name = strings.TrimPrefix(name, "/"); name == "" {
		return "."
	}
	return name
}

func (s *source) stat(name string) (fs.FileInfo, error) {
	return fs.Stat(s.fsys, relative(name))
}

// read returns the content of a regular file, which must not be changed.
func (s *source) read(name string) ([]byte, error) {
	if content, ok := s.files[name]; ok {
		return content, nil
	}
	if err := s.bounds.check(name); err != nil {
		return nil, err
	}
	content, err := fs.ReadFile(s.fsys, relative(name))
	if err != nil {
		return nil, err
	}
	if s.decryptor != nil {
		if content, err = s.decryptor.Decrypt(content, s.displayed(name)); err != nil {
			return nil, fmt.Errorf("decrypting %s: %w", s.displayed(name), err)
		}
	}
	s.files[name] = content
	return content, nil
}

// list returns the paths of all files in a folder and below, sorted. Symbolic links are followed, unless they lead out
// of the bounds.
func (s *source) list(folder string) ([]string, error) {
	info, err := s.stat(folder)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		return nil, fmt.Errorf("%s is not a folder", s.displayed(folder))
	}
	return s.listBelow(folder, []fs.FileInfo{info})
}

// listBelow takes the folders on the path, the last of which is the one to list.
func (s *source) listBelow(folder string, parents []fs.FileInfo) ([]string, error) {
	entries, err := fs.ReadDir(s.fsys, relative(folder))
	if err != nil {
		return nil, err
	}
	var found []string
	for _, entry := range entries {
		name := path.Join(folder, entry.Name())
		if entry.Type()&fs.ModeSymlink != 0 && errors.Is(s.bounds.check(name), kustomize.ErrOutside) {
			// Only a reference to it is an error.
			continue
		}
		info, err := s.stat(name)
		if err != nil {
			return nil, err
		}
		switch {
		case info.Mode().IsRegular():
			found = append(found, name)
		case !info.IsDir():
			return nil, fmt.Errorf("%s is not a regular file", s.displayed(name))
		case slices.ContainsFunc(parents, func(parent fs.FileInfo) bool { return os.SameFile(parent, info) }):
			return nil, fmt.Errorf("%s is a symbolic link to a folder that contains it", s.displayed(name))
		default:
			below, err := s.listBelow(name, append(slices.Clip(parents), info))
			if err != nil {
				return nil, err
			}
			found = append(found, below...)
		}
	}
	slices.Sort(found)
	return found, nil
}

// contains reports whether a path is a folder or lies below it.
func contains(folder, name string) bool {
	return name == folder || folder == "/" || strings.HasPrefix(name, folder+"/")
}

// between returns the path from a folder to a file or folder; both are absolute.
func between(folder, name string) string {
	up := ""
	for !contains(folder, name) {
		folder = path.Dir(folder)
		up += "../"
	}
	return path.Clean(up + strings.TrimPrefix(strings.TrimPrefix(name, folder), "/"))
}
