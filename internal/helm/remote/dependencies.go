// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package remote

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/cli"
	"helm.sh/helm/v3/pkg/downloader"
	"sigs.k8s.io/yaml"

	"github.com/component-operator/runtime/internal/helm"
)

// DependencyOptions say how to fetch dependencies. The zero value works for everything that is public.
type DependencyOptions struct {
	// SkipRefresh uses the indexes of repositories in Helm's cache. Defaults to false: they are fetched.
	SkipRefresh bool
	// Verify demands that the signature of each chart is valid. Defaults to false.
	Verify bool
	// Keyring is the file with the public keys for Verify.
	Keyring string
	// PlainHTTP allows repositories without encryption, and uses it for registries. Defaults to false.
	PlainHTTP bool
	// CAFile is a PEM file with certificate authorities for registries, and for repositories without one in
	// repositories.yaml. Defaults to none.
	CAFile string
}

// BuildDependencies fetches the versions of Chart.lock, or does what UpdateDependencies does if there is no such file.
// It returns warnings for people. It fails if Chart.lock does not fit Chart.yaml, and if afterwards a dependency is
// missing or has another version.
func BuildDependencies(ctx context.Context, folder string, options DependencyOptions) (warnings []string, err error) {
	return run(ctx, folder, options, (*downloader.Manager).Build)
}

// UpdateDependencies fetches the newest versions that Chart.yaml allows, and writes Chart.lock. For results, see
// BuildDependencies.
func UpdateDependencies(ctx context.Context, folder string, options DependencyOptions) (warnings []string, err error) {
	return run(ctx, folder, options, (*downloader.Manager).Update)
}

func run(ctx context.Context, folder string, options DependencyOptions, do func(*downloader.Manager) error) ([]string, error) {
	if err := checkFolder(folder); err != nil {
		return nil, err
	}
	_, declared, err := helm.Dependencies(nil, folder)
	if err != nil {
		return nil, err
	}
	if err := confirmUndeclared(folder, declared); err != nil {
		return nil, err
	}
	settings := cli.New()
	repositories, err := repositoriesFor(declared, settings.RepositoryConfig, options)
	if err != nil {
		return nil, err
	}
	defer repositories.remove()
	registry, err := NewRegistryClient(ctx, Options{PlainHTTP: options.PlainHTTP, CAFile: options.CAFile})
	if err != nil {
		return nil, err
	}
	var said bytes.Buffer
	manager := &downloader.Manager{
		Out: &said, ChartPath: folder, SkipUpdate: options.SkipRefresh, Keyring: options.Keyring,
		Getters: getters(ctx, settings, repositories, options), RegistryClient: registry,
		RepositoryConfig: repositories.file, RepositoryCache: settings.RepositoryCache,
	}
	if options.Verify {
		manager.Verify = downloader.VerifyAlways
	}
	err = do(manager)
	warnings := warningsIn(said.String())
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case err != nil && strings.Contains(err.Error(), "is out of sync with"):
		return nil, fmt.Errorf("the file Chart.lock does not match the dependencies in Chart.yaml; to update it: clm dependency update %s", folder)
	case err != nil:
		return nil, errors.Join(append([]error{err}, asErrors(warnings)...)...)
	}
	return warnings, check(folder)
}

// checkFolder refuses what the library would refuse with other words.
func checkFolder(folder string) error {
	info, err := os.Stat(folder)
	if err != nil {
		return err
	}
	if !info.IsDir() {
		return fmt.Errorf("%s is not a folder; dependencies can be put only into a chart that is not packaged", folder)
	}
	if _, err := os.Stat(filepath.Join(folder, chartutil.ChartfileName)); errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s is not the folder of a chart: it has no %s", folder, chartutil.ChartfileName)
	}
	return nil
}

// check looks at the result: the library only mentions files that it cannot replace.
func check(folder string) error {
	_, found, err := helm.Dependencies(nil, folder)
	if err != nil {
		return err
	}
	// A chart may be declared several times, with other versions and aliases.
	declarations := map[string]int{}
	for _, dependency := range found {
		declarations[dependency.Name]++
	}
	var problems []string
	for _, dependency := range found {
		switch {
		case dependency.Problem != "":
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

// warningsIn picks the lines that say that something did not work. The reason follows in a line of its own.
func warningsIn(said string) []string {
	var warnings []string
	lines := strings.Split(said, "\n")
	for i, line := range lines {
		switch {
		case strings.Contains(line, "Unable to get an update"):
			line = strings.TrimPrefix(line, "...")
			if i+1 < len(lines) {
				line += " " + strings.TrimSpace(lines[i+1])
			}
		case strings.HasPrefix(line, "WARNING: "), strings.HasSuffix(line, "(Skipping)"):
		default:
			continue
		}
		warnings = append(warnings, line)
	}
	return warnings
}

func asErrors(texts []string) []error {
	var all []error
	for _, text := range texts {
		all = append(all, errors.New(text))
	}
	return all
}

// confirmUndeclared refuses a folder with packaged charts that neither Chart.yaml nor Chart.lock declares: Helm's
// library would delete them without a word.
func confirmUndeclared(folder string, declared []helm.Dependency) error {
	packages, err := filepath.Glob(filepath.Join(folder, "charts", "*.tgz"))
	if err != nil || len(packages) == 0 {
		return err
	}
	known := map[string]bool{}
	for _, dependency := range declared {
		if dependency.Version != "" || dependency.Repository != "" {
			known[dependency.Name] = true
		}
	}
	if err := addLocked(folder, known); err != nil {
		return err
	}
	for _, path := range packages {
		name, _, err := helm.Dependencies(os.DirFS(filepath.Dir(path)), filepath.Base(path))
		if err != nil {
			return err
		}
		if !known[name] {
			return fmt.Errorf("%s is not a dependency in Chart.yaml, and would be deleted; declare %s without a repository, unpack it, or delete it", path, name)
		}
	}
	return nil
}

// addLocked adds the names in Chart.lock, if there is one: a former dependency may be deleted.
func addLocked(folder string, known map[string]bool) error {
	raw, err := os.ReadFile(filepath.Join(folder, "Chart.lock"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	lock := chart.Lock{}
	if err == nil {
		err = yaml.Unmarshal(raw, &lock)
	}
	if err != nil {
		return fmt.Errorf("reading Chart.lock: %w", err)
	}
	for _, dependency := range lock.Dependencies {
		known[dependency.Name] = true
	}
	return nil
}
