// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package remote

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"helm.sh/helm/v3/pkg/cli"
	"helm.sh/helm/v3/pkg/getter"
	"helm.sh/helm/v3/pkg/helmpath"
	"helm.sh/helm/v3/pkg/repo"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/component-operator/runtime/internal/manifest"
)

// Repository is an entry of Helm's repositories.yaml.
type Repository = repo.Entry

// Repositories returns the entries of Helm's repositories.yaml, or those with the given names. The error may be an
// UnknownRepositoryError.
func Repositories(names ...string) ([]*Repository, error) {
	content, err := readRepositories(cli.New().RepositoryConfig)
	if err != nil || len(names) == 0 {
		return content.Repositories, err
	}
	found := make([]*Repository, len(names))
	for i, name := range names {
		if found[i], err = repositoryOf(name, content.Repositories); err != nil {
			return nil, err
		}
	}
	return found, nil
}

// readRepositories reads a file that need not exist.
func readRepositories(file string) (*repo.File, error) {
	content, err := repo.LoadFile(file)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return repo.NewFile(), nil
	case err != nil:
		return content, fmt.Errorf("reading the repositories of Helm in %s: %w", file, err)
	}
	content.Repositories = slices.DeleteFunc(content.Repositories, func(entry *Repository) bool { return entry == nil })
	return content, nil
}

// AddRepository adds a repository to Helm's repositories.yaml, and its index to Helm's cache. It fails if the repository
// does not respond with an index, or, unless replace is set, if there is a different one with its name.
func AddRepository(ctx context.Context, added Repository, plainHTTP, replace bool) error {
	if !named.MatchString(added.Name + "/chart") {
		return fmt.Errorf("%q is not a valid name of a repository; must not begin with a dot, and must not contain blanks, slashes, colons or @", added.Name)
	}
	return changeRepositories(ctx, func(known *repo.File) error {
		if present := known.Get(added.Name); present != nil && *present != added && !replace {
			return fmt.Errorf("there is a repository %s already, with another URL or other options; to replace it: --force-update", added.Name)
		}
		known.Update(&added)
		return UpdateIndex(ctx, &added, plainHTTP)
	})
}

// UpdateIndex fetches the index of a repository into Helm's cache.
func UpdateIndex(ctx context.Context, of *Repository, plainHTTP bool) error {
	address, err := urlOf(of)
	if err != nil {
		return err
	}
	const limit = 2 * time.Minute // as in Helm, others may wait for the lock
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	f, err := newFetcher(ctx, address, Options{PlainHTTP: plainHTTP}.withRepository(of))
	if err != nil {
		return err
	}
	defer f.client.CloseIdleConnections()
	helms := repo.ChartRepository{Config: of, Client: indexGetter{ctx, f}, CachePath: cli.New().RepositoryCache}
	if _, err := helms.DownloadIndexFile(); err != nil {
		return fmt.Errorf("fetching the index of repository %s: %w", of.Name, err)
	}
	return nil
}

// indexGetter makes Helm fetch an index by a fetcher.
type indexGetter struct {
	ctx     context.Context //nolint:containedctx // it serves one fetch
	fetcher *fetcher
}

// Get implements Helm's interface.
func (g indexGetter) Get(address string, _ ...getter.Option) (*bytes.Buffer, error) {
	parsed, err := url.Parse(address)
	if err != nil {
		return nil, err
	}
	file, err := g.fetcher.get(g.ctx, parsed)
	return bytes.NewBuffer(file.Content), errors.Join(err, manifest.CheckSize(file.Content))
}

// RemoveRepositories removes repositories from Helm's repositories.yaml, and their indexes from Helm's cache. If one of
// them does not exist, it removes none.
func RemoveRepositories(ctx context.Context, names []string) error {
	return changeRepositories(ctx, func(known *repo.File) error {
		if _, err := Repositories(names...); err != nil {
			return err
		}
		for _, name := range names {
			known.Remove(name)
			for _, file := range []string{helmpath.CacheIndexFile(name), helmpath.CacheChartsFile(name)} {
				_ = os.Remove(filepath.Join(cli.New().RepositoryCache, file)) // there may be none
			}
		}
		return nil
	})
}

// changeRepositories changes Helm's repositories.yaml, unless the change returns an error. Meanwhile, it has the lock
// that "helm repo add" uses, for which it waits as long as Helm does.
func changeRepositories(ctx context.Context, change func(known *repo.File) error) error {
	const pause, limit = 100 * time.Millisecond, 30 * time.Second
	file := cli.New().RepositoryConfig
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return err
	}
	lock, err := os.OpenFile(strings.TrimSuffix(file, filepath.Ext(file))+".lock", os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	defer lock.Close()
	waiting, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	if err := wait.PollUntilContextCancel(waiting, pause, true, func(context.Context) (bool, error) { return tryLock(lock) }); err != nil {
		return fmt.Errorf("locking %s, which other processes of clm or helm may use: %w", lock.Name(), err)
	}
	known, err := readRepositories(file)
	if err == nil {
		err = change(known)
	}
	if err != nil {
		return err
	}
	if resolved, err := filepath.EvalSymlinks(file); err == nil {
		file = resolved
	}
	// A process that dies meanwhile leaves the former file.
	next := file + ".new"
	return cmp.Or(known.WriteFile(next, 0o600), os.Rename(next, file))
}
