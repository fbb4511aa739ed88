// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package remote

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/repo"
	"sigs.k8s.io/yaml"

	"github.com/component-operator/runtime/internal/helm"
)

// DependencyOptions configure how dependencies are fetched. The zero value works for everything that is public.
type DependencyOptions struct {
	// Signatures are demands for all charts except for those in folders. Defaults to none.
	Signatures []Demand
	// PlainHTTP allows unencrypted repositories, and uses plain HTTP for registries. Defaults to false.
	PlainHTTP bool
	// CAFile is a PEM file with certificate authorities for registries, and for repositories without one in
	// repositories.yaml. Defaults to none.
	CAFile string
}

// BuildDependencies fetches the versions in Chart.lock; without that file, it is UpdateDependencies. It fails if
// Chart.lock does not match Chart.yaml, or if a dependency is missing or has another version afterwards.
func BuildDependencies(ctx context.Context, folder string, options DependencyOptions) error {
	b, err := newBuild(folder, options)
	if err != nil {
		return err
	}
	if b.parsed.Lock == nil {
		return b.update(ctx)
	}
	if b.digest(b.parsed.Lock.Dependencies) != b.parsed.Lock.Digest {
		return fmt.Errorf("the file Chart.lock does not match the dependencies in Chart.yaml; to update it: clm dependency update %s", folder)
	}
	_, archives, err := b.fetch(ctx, b.parsed.Lock.Dependencies)
	if err != nil {
		return err
	}
	return b.replace(archives)
}

// UpdateDependencies fetches the newest versions that Chart.yaml allows, and writes Chart.lock. It fails if a
// dependency is missing or has another version afterwards.
func UpdateDependencies(ctx context.Context, folder string, options DependencyOptions) error {
	b, err := newBuild(folder, options)
	if err != nil {
		return err
	}
	return b.update(ctx)
}

// build fetches the dependencies of a chart into its folder.
type build struct {
	folder  string
	parsed  *chart.Chart
	known   []*repo.Entry
	options DependencyOptions
}

func newBuild(folder string, options DependencyOptions) (*build, error) {
	if info, err := os.Stat(folder); err != nil {
		return nil, err
	} else if !info.IsDir() {
		return nil, fmt.Errorf("%s is not a folder; dependencies can be put only into a chart that is not packaged", folder)
	}
	if isChart, err := chartutil.IsChartDir(folder); !isChart {
		return nil, fmt.Errorf("%s is not the folder of a chart: %w", folder, err)
	}
	if _, _, err := helm.Dependencies(nil, folder); err != nil { // it has limits that the loader lacks
		return nil, err
	}
	parsed, err := loader.LoadDir(folder)
	if err != nil {
		return nil, err
	}
	known, err := Repositories()
	if err != nil {
		return nil, err
	}
	b := &build{folder: folder, parsed: parsed, known: known, options: options}
	for _, declared := range parsed.Metadata.Dependencies {
		if declared.Repository, err = b.resolve(declared.Repository); err != nil {
			return nil, fmt.Errorf("dependency %s: %w", declared.Name, err)
		}
	}
	return b, nil
}

// resolve returns the URL of a repository that may be given by name.
func (b *build) resolve(repository string) (string, error) {
	name, isName := strings.CutPrefix(repository, "@")
	if !isName {
		name, isName = strings.CutPrefix(repository, "alias:")
	}
	if !isName {
		return repository, nil
	}
	entry, err := repositoryOf(name, b.known)
	if err != nil {
		return "", err
	}
	return entry.URL, nil
}

// digest returns the digest that Helm stores in Chart.lock.
func (b *build) digest(locked []*chart.Dependency) string {
	text, err := json.Marshal([][]*chart.Dependency{b.parsed.Metadata.Dependencies, locked})
	if err != nil {
		return ""
	}
	sum := sha256.Sum256(text)
	return "sha256:" + hex.EncodeToString(sum[:])
}

func (b *build) update(ctx context.Context) error {
	locked, archives, err := b.fetch(ctx, b.parsed.Metadata.Dependencies)
	if err != nil {
		return err
	}
	if err := b.replace(archives); err != nil || len(locked) == 0 {
		return err
	}
	text, err := yaml.Marshal(chart.Lock{Generated: time.Now(), Digest: b.digest(locked), Dependencies: locked})
	if err != nil {
		return fmt.Errorf("encoding Chart.lock: %w", err)
	}
	name := "Chart.lock"
	if b.parsed.Metadata.APIVersion == chart.APIVersionV1 {
		name = "requirements.lock"
	}
	temporary := filepath.Join(b.folder, name+".new") // to replace a link, not what it leads to
	return errors.Join(os.WriteFile(temporary, text, 0o644), os.Rename(temporary, filepath.Join(b.folder, name)))
}

// fetch fetches dependencies. It returns them with their exact versions, and the archives by file name.
func (b *build) fetch(ctx context.Context, wanted []*chart.Dependency) (locked []*chart.Dependency, archives map[string][]byte, err error) {
	archives = map[string][]byte{}
	for _, dependency := range wanted {
		found := &chart.Dependency{Name: dependency.Name, Version: dependency.Version, Repository: dependency.Repository}
		locked = append(locked, found)
		if dependency.Repository == "" { // it is in folder charts
			continue
		}
		file, err := b.get(ctx, dependency)
		if err != nil {
			return nil, nil, fmt.Errorf("dependency %s: %w", dependency.Name, err)
		}
		found.Version = file.version
		archives[filepath.Base(dependency.Name+"-"+file.version+".tgz")] = file.Content
	}
	return locked, archives, nil
}

func (b *build) get(ctx context.Context, dependency *chart.Dependency) (File, error) {
	if folder, isFolder := strings.CutPrefix(dependency.Repository, "file://"); isFolder {
		return b.pack(folder, dependency.Version)
	}
	reference, err := Parse(strings.TrimSuffix(dependency.Repository, "/"))
	if err != nil {
		return File{}, fmt.Errorf("its repository is not valid: %w; must be https://HOST/PATH, oci://HOST/PATH, file://PATH, or @NAME for a Helm repository", err)
	}
	if reference.url.Scheme == schemeOCI {
		reference.url = reference.url.JoinPath(dependency.Name)
	} else {
		reference.chart = dependency.Name
	}
	reference.version = dependency.Version
	options := Options{PlainHTTP: b.options.PlainHTTP, CAFile: b.options.CAFile, Signatures: b.options.Signatures}
	i := slices.IndexFunc(b.known, func(entry *repo.Entry) bool {
		return strings.TrimSuffix(entry.URL, "/") == strings.TrimSuffix(dependency.Repository, "/")
	})
	if i >= 0 {
		reference.repository = b.known[i]
		options.CAFile = cmp.Or(b.known[i].CAFile, options.CAFile)
	}
	return reference.Fetch(ctx, options)
}

// pack packages a chart from a folder. Its version must be in the range.
func (b *build) pack(folder, version string) (File, error) {
	if !filepath.IsAbs(folder) {
		folder = filepath.Join(b.folder, folder)
	}
	parsed, err := loader.LoadDir(folder)
	if err != nil {
		return File{}, err
	}
	if !helm.Satisfies(parsed.Metadata.Version, version) {
		return File{}, fmt.Errorf("%s has version %s, which is not %s", folder, parsed.Metadata.Version, version)
	}
	temporary, err := os.MkdirTemp("", "clm-dependency-")
	if err != nil {
		return File{}, err
	}
	defer func() { _ = os.RemoveAll(temporary) }()
	archive, err := chartutil.Save(parsed, temporary)
	if err != nil {
		return File{}, err
	}
	content, err := os.ReadFile(archive)
	return File{Content: content, version: parsed.Metadata.Version}, err
}

// replace writes archives to the charts folder. They replace all packages of declared and locked dependencies.
func (b *build) replace(archives map[string][]byte) error {
	declared := b.parsed.Metadata.Dependencies
	if b.parsed.Lock != nil { // a former dependency goes
		declared = slices.Concat(declared, b.parsed.Lock.Dependencies)
	}
	charts := filepath.Join(b.folder, "charts")
	packages, err := filepath.Glob(filepath.Join(charts, "*.tgz"))
	if err != nil {
		return err
	}
	for _, path := range packages {
		name, _, err := helm.Dependencies(os.DirFS(charts), filepath.Base(path))
		if err != nil {
			return err
		}
		if !slices.ContainsFunc(declared, func(d *chart.Dependency) bool { return d.Name == name && d.Repository != "" }) {
			continue
		}
		if err := os.Remove(path); err != nil {
			return err
		}
	}
	if len(archives) > 0 {
		if err := os.MkdirAll(charts, 0o755); err != nil {
			return err
		}
	}
	for name, content := range archives {
		if err := os.WriteFile(filepath.Join(charts, name), content, 0o644); err != nil {
			return err
		}
	}
	return check(b.folder)
}

// check checks the result, because an unpacked chart may exist besides the packaged one.
func check(folder string) error {
	_, found, err := helm.Dependencies(nil, folder)
	if err != nil {
		return err
	}
	// A chart may be declared several times, with different versions and aliases.
	declarations := map[string]int{}
	for _, dependency := range found {
		declarations[dependency.Name]++
	}
	var problems []string
	for _, dependency := range found {
		switch {
		case dependency.Problem != "" && !strings.Contains(dependency.Problem, "lock"): // Chart.lock is written afterwards
			problems = append(problems, fmt.Sprintf("%s %s: %s", dependency.Name, dependency.Version, dependency.Problem))
		case len(dependency.Found) > declarations[dependency.Name]:
			problems = append(problems, fmt.Sprintf("%s: there are versions %s in folder charts; remove all but one", dependency.Name, dependency.Versions()))
		}
	}
	if len(problems) > 0 {
		return fmt.Errorf("the dependencies in folder charts are not as declared: %s", strings.Join(problems, "; "))
	}
	return nil
}
