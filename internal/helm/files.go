// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package helm

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/ignore"
)

// byteOrderMark is what some editors put in front of UTF-8 text.
var byteOrderMark = []byte{0xEF, 0xBB, 0xBF}

// readFiles returns the files of a chart, those of a folder sorted by name. Names are relative to the chart.
func readFiles(fsys fs.FS, name string) ([]*loader.BufferedFile, error) {
	files, err := unpack(fsys, name)
	if err != nil {
		return nil, err
	}
	return files, checkFiles(files)
}

func unpack(fsys fs.FS, name string) ([]*loader.BufferedFile, error) {
	fsys, name, err := locate(fsys, name)
	if err != nil {
		return nil, err
	}
	info, err := fs.Stat(fsys, name)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		raw, err := fs.ReadFile(fsys, name)
		if err != nil {
			return nil, err
		}
		return readArchive(raw)
	}
	// The SDK can read folders of the operating system only.
	reader := folderReader{fsys: fsys, root: name}
	if reader.rules, err = reader.readRules(); err != nil {
		return nil, err
	}
	if err := reader.read("", []fs.FileInfo{info}); err != nil {
		return nil, err
	}
	slices.SortFunc(reader.files, func(a, b *loader.BufferedFile) int { return strings.Compare(a.Name, b.Name) })
	return reader.files, nil
}

// locate returns a file system and the path of the chart in it.
func locate(fsys fs.FS, name string) (fs.FS, string, error) {
	if fsys == nil {
		// os.DirFS does not accept paths that lead out of it, so root it at the end of the path.
		name = filepath.Clean(name)
		info, err := os.Stat(name)
		if err != nil {
			return nil, "", err
		}
		if info.IsDir() {
			return os.DirFS(name), ".", nil
		}
		return os.DirFS(filepath.Dir(name)), filepath.Base(name), nil
	}
	cleaned := path.Clean(strings.TrimLeft(name, "/"))
	if !fs.ValidPath(cleaned) {
		return nil, "", errors.New("the path leads out of the file system")
	}
	return fsys, cleaned, nil
}

type folderReader struct {
	fsys  fs.FS
	root  string
	rules *ignore.Rules
	files []*loader.BufferedFile
}

func (r *folderReader) readRules() (*ignore.Rules, error) {
	rules := ignore.Empty()
	raw, err := fs.ReadFile(r.fsys, path.Join(r.root, ignore.HelmIgnore))
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return nil, err
	default:
		if rules, err = ignore.Parse(bytes.NewReader(raw)); err != nil {
			return nil, fmt.Errorf("parsing %s: %w", ignore.HelmIgnore, err)
		}
	}
	rules.AddDefaults()
	return rules, nil
}

// read collects the files of a folder, given by its path relative to the chart, and of all folders below. The last of
// parents is the folder itself.
func (r *folderReader) read(folder string, parents []fs.FileInfo) error {
	entries, err := fs.ReadDir(r.fsys, path.Join(r.root, folder))
	if err != nil {
		return err
	}
	for _, entry := range entries {
		name := path.Join(folder, entry.Name())
		// Stat follows symbolic links, contrary to entry.Info.
		info, err := fs.Stat(r.fsys, path.Join(r.root, name))
		if err != nil {
			return err
		}
		if r.rules.Ignore(name, info) {
			continue
		}
		if info.IsDir() {
			if slices.ContainsFunc(parents, func(parent fs.FileInfo) bool { return os.SameFile(parent, info) }) {
				return fmt.Errorf("%s is a symbolic link to a folder that contains it", name)
			}
			if err := r.read(name, append(slices.Clip(parents), info)); err != nil {
				return err
			}
			continue
		}
		if err := r.readFile(name, info); err != nil {
			return err
		}
	}
	return nil
}

func (r *folderReader) readFile(name string, info fs.FileInfo) error {
	if !info.Mode().IsRegular() {
		return fmt.Errorf("%s is not a regular file", name)
	}
	if info.Size() > loader.MaxDecompressedFileSize {
		return fmt.Errorf("%s has %d bytes; must be at most %d", name, info.Size(), loader.MaxDecompressedFileSize)
	}
	data, err := fs.ReadFile(r.fsys, path.Join(r.root, name))
	if err != nil {
		return err
	}
	r.files = append(r.files, &loader.BufferedFile{Name: name, Data: bytes.TrimPrefix(data, byteOrderMark)})
	return nil
}
