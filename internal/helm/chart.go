// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package helm

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/Masterminds/semver/v3"
	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/ignore"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/component-operator/runtime/internal/manifest"
)

// Chart is a Helm chart in memory. It is immutable and safe for concurrent use.
type Chart struct {
	fingerprint string
	// parsed is copied before rendering, because rendering changes a chart: it removes disabled dependencies, for
	// instance.
	parsed *chart.Chart
}

// Load reads the chart at the given path, which is a folder or a packaged chart (.tgz). It fails if the chart cannot be
// parsed or is a library chart. If declared dependencies are missing in it, the error is a MissingDependenciesError. If
// fsys is nil, the path is one of the operating system; otherwise a leading slash is ignored. Symbolic links are
// followed if the file system does so.
func Load(fsys fs.FS, path string) (*Chart, error) {
	loaded, err := Read(fsys, path)
	if err != nil {
		return nil, err
	}
	var missing *MissingDependenciesError
	if err := checkInstallable(loaded.parsed); errors.As(err, &missing) {
		return nil, fmt.Errorf("reading chart %s: %w; \"clm dependency build\" or \"helm dependency build\" puts them there", path, err)
	} else if err != nil {
		return nil, fmt.Errorf("reading chart %s: %w", path, err)
	}
	return loaded, nil
}

// parse reads a chart that may be incomplete.
func parse(fsys fs.FS, path string) (*chart.Chart, []*loader.BufferedFile, error) {
	files, err := unpack(fsys, path)
	if err == nil {
		err = checkFiles(files)
	}
	if err != nil {
		return nil, nil, fmt.Errorf("reading chart %s: %w", path, err)
	}
	parsed, err := loader.LoadFiles(files)
	if err != nil {
		return nil, nil, fmt.Errorf("reading chart %s: %w", path, err)
	}
	sortDependencies(parsed)
	return parsed, files, nil
}

// Name returns the name of the chart from its metadata.
func (c *Chart) Name() string {
	return c.parsed.Name()
}

// Version returns the version of the chart from its metadata.
func (c *Chart) Version() string {
	return c.parsed.Metadata.Version
}

// AppVersion returns the version of the chart's application; empty if the metadata does not contain it.
func (c *Chart) AppVersion() string {
	return c.parsed.AppVersion()
}

// Fingerprint identifies the content of the chart, including its dependencies.
func (c *Chart) Fingerprint() string {
	return c.fingerprint
}

// instance returns a copy of the chart for rendering. It shares the parts that rendering only reads, such as templates
// and files. Rendering changes the metadata's list of dependencies, the dependencies and the values, and the template
// function sortAlpha sorts a list of strings in place.
func instance(parsed *chart.Chart) *chart.Chart {
	instantiated := *parsed
	metadata := *parsed.Metadata
	instantiated.Metadata = &metadata
	metadata.Keywords = slices.Clone(metadata.Keywords)
	metadata.Sources = slices.Clone(metadata.Sources)
	metadata.Dependencies = slices.Clone(metadata.Dependencies)
	for i, declared := range metadata.Dependencies {
		declaration := *declared
		declaration.Tags = slices.Clone(declared.Tags)
		metadata.Dependencies[i] = &declaration
	}
	instantiated.Values = runtime.DeepCopyJSON(parsed.Values)
	var dependencies []*chart.Chart
	for _, dependency := range parsed.Dependencies() {
		dependencies = append(dependencies, instance(dependency))
	}
	instantiated.SetDependencies(dependencies...)
	return &instantiated
}

// sortDependencies sorts dependencies, because the loader returns them in random order. This matters if a chart
// contains the same dependency twice.
func sortDependencies(parent *chart.Chart) {
	dependencies := slices.Clone(parent.Dependencies())
	slices.SortStableFunc(dependencies, func(a, b *chart.Chart) int {
		return cmp.Or(cmp.Compare(a.Name(), b.Name()), cmp.Compare(a.Metadata.Version, b.Metadata.Version))
	})
	for _, dependency := range dependencies {
		sortDependencies(dependency)
	}
	parent.SetDependencies(dependencies...)
}

func checkInstallable(parsed *chart.Chart) error {
	if kind := parsed.Metadata.Type; kind != "" && kind != "application" {
		return fmt.Errorf("chart %s has type %q; only application charts can be installed", parsed.Name(), parsed.Metadata.Type)
	}
	return checkComplete(parsed)
}

// checkComplete returns a MissingDependenciesError unless the chart has its dependencies.
func checkComplete(parsed *chart.Chart) error {
	var missing []string
	for _, declared := range parsed.Metadata.Dependencies {
		if len(describe(parsed, declared).Found) == 0 {
			missing = append(missing, strings.TrimSpace(declared.Name+" "+declared.Version))
		}
	}
	if len(missing) > 0 {
		return &MissingDependenciesError{Chart: parsed.Name(), Missing: missing}
	}
	return nil
}

// MissingDependenciesError means that a chart does not contain all of its dependencies.
type MissingDependenciesError struct {
	// Chart is the name of the chart.
	Chart string
	// Missing contains the names of the missing dependencies, each with the versions that Chart.yaml allows.
	Missing []string
}

func (e *MissingDependenciesError) Error() string {
	return fmt.Sprintf("chart %s: dependencies declared in Chart.yaml are missing in folder charts: %s", e.Chart, strings.Join(e.Missing, ", "))
}

func fingerprint(files []*loader.BufferedFile) string {
	hash := sha256.New()
	for _, file := range files {
		fmt.Fprintf(hash, "%q %d\n", file.Name, len(file.Data))
		hash.Write(file.Data)
	}
	return hex.EncodeToString(hash.Sum(nil))
}

// Files returns the files of the chart and its dependencies by path. The contents are shared.
func (c *Chart) Files() map[string][]byte {
	files := map[string][]byte{}
	for _, file := range c.parsed.Raw {
		files[file.Name] = file.Data
	}
	return files
}

// Anatomy describes the values of a chart.
type Anatomy struct {
	// Name is the name of the chart, Alias the name that its parent uses instead; empty if there is none.
	Name, Alias string
	// Condition contains the paths of the values, separated by commas, with which its parent switches it on and off.
	Condition string
	// Tags are the keys below the value tags that also switch it.
	Tags []string
	// Values and Schema are the contents of values.yaml and values.schema.json; empty if the chart has no such file.
	Values, Schema []byte
	// Dependencies are the charts in it, except for libraries.
	Dependencies []Anatomy
}

// Anatomy returns the description of the chart's values.
func (c *Chart) Anatomy() Anatomy {
	return anatomyOf(c.parsed)
}

func anatomyOf(parsed *chart.Chart) Anatomy {
	anatomy := Anatomy{Name: parsed.Name(), Schema: parsed.Schema}
	for _, file := range parsed.Raw {
		if file.Name == "values.yaml" {
			anatomy.Values = file.Data
		}
	}
	for _, dependency := range parsed.Dependencies() {
		if dependency.Metadata.Type == "library" {
			continue
		}
		inner := anatomyOf(dependency)
		for _, declared := range parsed.Metadata.Dependencies {
			if declared.Name == dependency.Name() {
				inner.Alias, inner.Condition, inner.Tags = declared.Alias, declared.Condition, declared.Tags
				anatomy.Dependencies = append(anatomy.Dependencies, inner)
			}
		}
		if !declares(parsed, dependency.Name()) {
			anatomy.Dependencies = append(anatomy.Dependencies, inner)
		}
	}
	return anatomy
}

// declares reports whether Chart.yaml lists a dependency. Helm also uses undeclared ones in the charts folder.
func declares(parsed *chart.Chart, name string) bool {
	return slices.ContainsFunc(parsed.Metadata.Dependencies, func(declared *chart.Dependency) bool { return declared.Name == name })
}

// Dependency is a dependency that a chart declares, or an undeclared chart in its charts folder.
type Dependency struct {
	// Name of the dependency, and the alias that the chart uses instead; empty if there is none.
	Name, Alias string
	// Version is the range of versions that Chart.yaml allows; empty if the dependency is not declared.
	Version string
	// Repository is the URL, or the name after "@" or "alias:"; empty for charts that are kept in the charts folder.
	Repository string
	// Locked is the version in Chart.lock; empty if that does not list the dependency.
	Locked string
	// Found are the versions in the charts folder.
	Found []string
	// Problem describes what is wrong; empty if nothing is.
	Problem string
}

// Dependencies returns the dependencies that a chart declares, in the order of Chart.yaml, followed by undeclared ones
// in the charts folder. The path is the same as for Load; unlike there, dependencies may be missing. It fails if the
// chart, or a chart in it, cannot be read.
func Dependencies(fsys fs.FS, path string) (name string, dependencies []Dependency, err error) {
	parsed, _, err := parse(fsys, path)
	if err != nil {
		return "", nil, err
	}
	for _, declared := range parsed.Metadata.Dependencies {
		dependencies = append(dependencies, describe(parsed, declared))
	}
	for _, present := range parsed.Dependencies() {
		if !declares(parsed, present.Name()) {
			dependencies = append(dependencies, Dependency{Name: present.Name(), Found: []string{present.Metadata.Version}})
		}
	}
	return parsed.Name(), dependencies, nil
}

func describe(parsed *chart.Chart, declared *chart.Dependency) Dependency {
	dependency := Dependency{Name: declared.Name, Alias: declared.Alias, Version: declared.Version, Repository: declared.Repository}
	if parsed.Lock != nil {
		for _, locked := range parsed.Lock.Dependencies {
			if locked != nil && locked.Name == declared.Name && (dependency.Locked == "" || Satisfies(locked.Version, declared.Version)) {
				dependency.Locked = locked.Version
			}
		}
	}
	for _, present := range parsed.Dependencies() {
		if present.Name() == declared.Name && !slices.Contains(dependency.Found, present.Metadata.Version) {
			dependency.Found = append(dependency.Found, present.Metadata.Version)
		}
	}
	dependency.Problem = dependency.problem(parsed.Lock != nil)
	return dependency
}

func (d Dependency) problem(hasLock bool) string {
	fits := slices.ContainsFunc(d.Found, func(version string) bool { return Satisfies(version, d.Version) })
	switch {
	case len(d.Found) == 0:
		return "missing"
	case !fits:
		return "wrong version"
	case hasLock && !Satisfies(d.Locked, d.Version) && d.Locked != d.Version:
		return "Chart.lock is out of date"
	case d.Locked != "" && d.Repository != "" && !slices.Contains(d.Found, d.Locked):
		return "not the locked version"
	default:
		return ""
	}
}

// Versions returns the versions in the charts folder as a text; empty if there are none.
func (d Dependency) Versions() string { return strings.Join(d.Found, ", ") }

// Satisfies reports whether a version is in a range. An invalid range contains no version, an empty one all.
func Satisfies(version, wanted string) bool {
	parsed, err := semver.NewVersion(version)
	if err != nil {
		return false
	}
	if wanted == "" {
		return true
	}
	constraint, err := semver.NewConstraint(wanted)
	return err == nil && constraint.Check(parsed)
}

// byteOrderMark is a prefix that some editors add to UTF-8 text.
var byteOrderMark = []byte{0xEF, 0xBB, 0xBF}

// unpack returns the files of a chart, sorted by name if it is a folder. Names are relative to the chart.
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
	// The SDK can only read folders of the operating system.
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
		// os.DirFS does not accept paths that lead out of it, so its root is the end of the path.
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

// read collects the files in and below a folder, which is given by its path relative to the chart. The last of parents
// is the folder itself.
func (r *folderReader) read(folder string, parents []fs.FileInfo) error {
	entries, err := fs.ReadDir(r.fsys, path.Join(r.root, folder))
	if err != nil {
		return err
	}
	for _, entry := range entries {
		name := path.Join(folder, entry.Name())
		// Unlike entry.Info, Stat follows symbolic links.
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

// maxNesting is the maximum depth of packaged charts within packaged charts.
const maxNesting = 10

// decodedFiles are the files that Helm's loader decodes, in the chart and in the charts in it.
var decodedFiles = []string{"Chart.yaml", "Chart.lock", "values.yaml", "requirements.yaml", "requirements.lock"}

func readArchive(raw []byte) ([]*loader.BufferedFile, error) {
	if !bytes.HasPrefix(raw, []byte("\x1f\x8b")) {
		return nil, errors.New("it is neither a folder nor a gzip-compressed archive")
	}
	return loader.LoadArchiveFiles(bytes.NewReader(raw))
}

// unpacked sums up the files of a chart and of all charts in it; Helm's loader only limits each archive.
type unpacked struct {
	left    int
	decoded [][]byte
}

// checkFiles fails if Helm's loader would need much more memory for a chart than for any real one.
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
