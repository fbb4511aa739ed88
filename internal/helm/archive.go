// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package helm

import (
	"bytes"
	"errors"
	"fmt"
	"path"
	"slices"

	"helm.sh/helm/v3/pkg/chart/loader"

	"github.com/component-operator/runtime/internal/manifest"
)

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
