// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package helm

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"

	"helm.sh/helm/v3/pkg/chart/loader"

	"github.com/component-operator/runtime/internal/manifest"
)

const (
	// maxNesting is how deep packaged charts may be within packaged charts.
	maxNesting = 10
	// fileOverhead is what an archive needs for a file or folder besides its content.
	fileOverhead = 512
)

// decodedFiles are those that Helm's loader decodes, in the chart and in the charts in it.
var decodedFiles = []string{"Chart.yaml", "Chart.lock", "values.yaml", "requirements.yaml", "requirements.lock"}

var errTooLarge = errors.New("too large")

// CheckArchive fails if Helm's loader needs much more memory for a packaged chart than for any real one: it has limits
// for the contents of each file and archive, but none for names, for the number of files, and for what is in all
// archives together. CheckArchive accepts broken archives, which the loader refuses.
func CheckArchive(raw []byte) error {
	u := newUnpacked()
	if err := u.archive(raw, 0); err != nil {
		return err
	}
	return u.checkDecoded()
}

// unpacked is what a chart and all charts in it consist of.
type unpacked struct {
	// left is how many bytes archives may still have, and contents how many the files in them may: files with gaps take
	// no room in archives.
	left, contents int64
	decoded        [][]byte
}

func newUnpacked() *unpacked {
	return &unpacked{left: loader.MaxDecompressedChartSize, contents: loader.MaxDecompressedChartSize}
}

// file counts the file of a chart, and what is in it if it is a packaged chart.
func (u *unpacked) file(name string, content []byte, depth int) error {
	switch {
	case slices.Contains(decodedFiles, path.Base(name)):
		u.decoded = append(u.decoded, content)
	case isPackagedChart(name):
		if depth >= maxNesting {
			return fmt.Errorf("%s is a packaged chart within %d others; at most %d are allowed", name, depth, maxNesting)
		}
		if err := u.archive(content, depth+1); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}

func isPackagedChart(name string) bool {
	return path.Ext(name) == ".tgz" && path.Base(path.Dir(name)) == "charts"
}

// archive counts the files of a packaged chart.
func (u *unpacked) archive(raw []byte, depth int) error {
	zipped, err := gzip.NewReader(bytes.NewReader(raw))
	if err != nil {
		return nil //nolint:nilerr // the loader says so
	}
	files := tar.NewReader(&countingReader{from: zipped, left: &u.left})
	for {
		header, err := files.Next()
		if err == nil {
			u.contents -= header.Size
		}
		if errors.Is(err, errTooLarge) || u.contents < 0 {
			return tooLarge()
		}
		if err != nil {
			return nil //nolint:nilerr // it is the end, or the loader says what is wrong
		}
		name := path.Clean(strings.ReplaceAll(header.Name, `\`, "/"))
		if !isPackagedChart(name) && !slices.Contains(decodedFiles, path.Base(name)) {
			continue
		}
		content, err := io.ReadAll(files)
		if errors.Is(err, errTooLarge) {
			return tooLarge()
		}
		if err := u.file(name, content, depth); err != nil {
			return err
		}
	}
}

// checkDecoded checks the texts that the loader decodes.
func (u *unpacked) checkDecoded() error {
	if err := manifest.CheckSize(u.decoded...); err != nil {
		return fmt.Errorf("values.yaml, Chart.yaml and Chart.lock of all charts in it: %w", err)
	}
	return nil
}

func tooLarge() error {
	return fmt.Errorf("the chart is too large: with all charts in it, and with %d bytes for each file, it may have at most %d bytes when it is unpacked",
		fileOverhead, loader.MaxDecompressedChartSize)
}

// countingReader fails when nothing is left.
type countingReader struct {
	from io.Reader
	left *int64
}

func (r *countingReader) Read(buffer []byte) (int, error) {
	n, err := r.from.Read(buffer)
	if *r.left -= int64(n); *r.left < 0 {
		return 0, errTooLarge
	}
	return n, err
}
