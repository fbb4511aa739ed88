// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package helm

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"testing/fstest"

	"helm.sh/helm/v3/pkg/chart/loader"
)

// zipped compresses a part of an archive. Compressed parts one after the other are compressed parts together.
func zipped(t testing.TB, part []byte) string {
	t.Helper()
	var buffer bytes.Buffer
	zipper := gzip.NewWriter(&buffer)
	if _, err := zipper.Write(part); errors.Join(err, zipper.Close()) != nil {
		t.Fatal(err)
	}
	return buffer.String()
}

// tarred returns a file in an archive, without the end of the archive.
func tarred(t testing.TB, header tar.Header, content string) []byte {
	t.Helper()
	var buffer bytes.Buffer
	writer := tar.NewWriter(&buffer)
	header.Mode, header.Size = 0o644, int64(len(content))
	if err := errors.Join(writer.WriteHeader(&header), write(writer, content), writer.Flush()); err != nil {
		t.Fatal(err)
	}
	return buffer.Bytes()
}

// packaged returns a packaged chart with the parts, which are compressed.
func packaged(t testing.TB, parts ...string) string {
	t.Helper()
	return zipped(t, tarred(t, tar.Header{Name: "minimal/Chart.yaml"}, minimal["Chart.yaml"])) + strings.Join(parts, "") + zipped(t, make([]byte, 1024))
}

// bomb is YAML with a text that aliases repeat.
func bomb(size, aliases int) string {
	return "a: &a " + strings.Repeat("x", size) + "\nb: [" + strings.Repeat("*a,", aliases) + "]\n"
}

// maxUnpackedInTest is the size of unpacked charts while hostile ones are tried: Helm's own, of 100 MiB, takes minutes.
const maxUnpackedInTest = 8 << 20

// hostileArchives are small charts that unpack to much more than is allowed, or would be unpacked without an end.
func hostileArchives(t testing.TB) map[string]string {
	t.Helper()
	block := zipped(t, tarred(t, tar.Header{Name: "minimal/files/a"}, strings.Repeat("\x00", 1<<20)))
	large := packaged(t, strings.Repeat(block, 7)) // what one archive may have
	charts, windows := "", ""
	for i := range 15 {
		charts += zipped(t, tarred(t, tar.Header{Name: fmt.Sprintf("minimal/charts/%d.tgz", i)}, large))
		windows += zipped(t, tarred(t, tar.Header{Name: fmt.Sprintf(`minimal\charts\%d.tgz`, i)}, large))
	}
	deep := packaged(t)
	for range maxNesting + 1 {
		deep = packaged(t, zipped(t, tarred(t, tar.Header{Name: "minimal/charts/a.tgz"}, deep)))
	}
	return map[string]string{
		"charts in it":           packaged(t, charts),
		"charts in a chart":      packaged(t, zipped(t, tarred(t, tar.Header{Name: "minimal/charts/b.tgz"}, packaged(t, charts)))),
		"charts from Windows":    packaged(t, windows),
		"charts in each other":   deep,
		"aliases in values.yaml": packaged(t, zipped(t, tarred(t, tar.Header{Name: "minimal/values.yaml"}, bomb(1<<20, 1200)))),
		"aliases in Chart.yaml":  packaged(t, zipped(t, tarred(t, tar.Header{Name: "minimal/charts/a/Chart.yaml"}, bomb(1<<20, 1200)))),
	}
}

// maxAllocated is more than loading any chart of that size allocates.
const maxAllocated = 200 << 20

// loadHostile loads a packaged chart, and fails if that takes too much memory.
func loadHostile(t *testing.T, archive string) error {
	t.Helper()
	fsys := fstest.MapFS{"chart.tgz": &fstest.MapFile{Data: []byte(archive)}}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, err := Load(fsys, "chart.tgz")
	runtime.ReadMemStats(&after)
	if allocated := after.TotalAlloc - before.TotalAlloc; allocated > maxAllocated {
		t.Errorf("want at most %d bytes to be allocated, got %d", maxAllocated, allocated)
	}
	return err
}

//nolint:paralleltest // it measures what is allocated
func TestHostileArchives(t *testing.T) {
	defer func(limit int64) { loader.MaxDecompressedChartSize = limit }(loader.MaxDecompressedChartSize)
	loader.MaxDecompressedChartSize = maxUnpackedInTest
	wanted := map[string]string{
		"charts in each other":   "is a packaged chart within 10 others; at most 10 are allowed",
		"aliases in values.yaml": "with its aliases replaced, it has more than",
		"aliases in Chart.yaml":  "with its aliases replaced, it has more than",
	}
	for name, archive := range hostileArchives(t) {
		want := wanted[name]
		if want == "" {
			want = "the chart is too large: with all charts in it, it may have at most 8388608 bytes when it is unpacked"
		}
		if err := loadHostile(t, archive); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: want an error with %q, got %v", name, want, err)
		}
	}
	nested := packaged(t)
	for range maxNesting {
		nested = packaged(t, zipped(t, tarred(t, tar.Header{Name: "minimal/charts/a.tgz"}, nested)))
	}
	if err := loadHostile(t, nested); err != nil {
		t.Errorf("want real charts to be loaded, got %v", err)
	}
}

// TestHostileFolders: symbolic links let a file be in a folder many times, and a folder may have packaged charts.
func TestHostileFolders(t *testing.T) {
	t.Parallel()
	linked := t.TempDir()
	writeFiles(t, linked, files{"Chart.yaml": metadata("linked"), "files/5/a": strings.Repeat("\x00", 4<<20)})
	for i := range 5 {
		folder := filepath.Join(linked, "files", fmt.Sprint(i))
		if err := os.MkdirAll(folder, 0o700); err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"a", "b"} {
			if err := os.Symlink(fmt.Sprintf("../%d", i+1), filepath.Join(folder, name)); err != nil {
				t.Fatal(err)
			}
		}
	}
	values, charts := t.TempDir(), t.TempDir()
	writeFiles(t, values, files{"Chart.yaml": metadata("values"), "values.yaml": bomb(1<<16, 1000)})
	writeFiles(t, charts, files{"Chart.yaml": metadata("charts"), "charts/a.tgz": packaged(t, zipped(t, tarred(t, tar.Header{Name: "a/values.yaml"}, bomb(1<<16, 1000))))})
	for folder, want := range map[string]string{linked: "the chart is too large: ", values: "with its aliases replaced", charts: "with its aliases replaced"} {
		if _, err := Load(nil, folder); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: want an error with %q, got %v", folder, want, err)
		}
	}
}
