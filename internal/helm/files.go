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

	"github.com/component-operator/runtime/internal/manifest"
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

// maxNesting is how deep packaged charts may be within packaged charts.
const maxNesting = 10

// decodedFiles are those that Helm's loader decodes, in the chart and in the charts in it.
var decodedFiles = []string{"Chart.yaml", "Chart.lock", "values.yaml", "requirements.yaml", "requirements.lock"}

func readArchive(raw []byte) ([]*loader.BufferedFile, error) {
	if !bytes.HasPrefix(raw, []byte("\x1f\x8b")) {
		return nil, errors.New("it is neither a folder nor a gzip-compressed archive")
	}
	return loader.LoadArchiveFiles(bytes.NewReader(raw))
}

// unpacked counts what the files of a chart and of all charts in it have: Helm's loader has a limit for each archive only.
type unpacked struct {
	left    int
	decoded [][]byte
}

// checkFiles fails if Helm's loader needs much more memory for the files of a chart than for those of any real one.
func checkFiles(files []*loader.BufferedFile) error {
	u := unpacked{left: int(loader.MaxDecompressedChartSize)}
	if err := u.add(files, 0); err != nil {
		return err
	}
	if err := manifest.CheckSize(u.decoded...); err != nil {
		return fmt.Errorf("values.yaml, Chart.yaml and Chart.lock of all charts in it: %w", err)
	}
	return nil
}

func (u *unpacked) add(files []*loader.BufferedFile, depth int) error {
	for _, file := range files {
		if u.left -= len(file.Data); u.left < 0 {
			return fmt.Errorf("the chart is too large: with all charts in it, it may have at most %d bytes when it is unpacked", loader.MaxDecompressedChartSize)
		}
		isPackaged := path.Ext(file.Name) == ".tgz" && path.Base(path.Dir(file.Name)) == "charts"
		switch {
		case slices.Contains(decodedFiles, path.Base(file.Name)):
			u.decoded = append(u.decoded, file.Data)
		case isPackaged && depth == maxNesting:
			return fmt.Errorf("%s is a packaged chart within %d others; at most %d are allowed", file.Name, depth, maxNesting)
		case isPackaged:
			inner, err := readArchive(file.Data)
			if err != nil {
				continue // the loader says what is wrong
			}
			if err := u.add(inner, depth+1); err != nil {
				return fmt.Errorf("%s: %w", file.Name, err)
			}
		}
	}
	return nil
}
