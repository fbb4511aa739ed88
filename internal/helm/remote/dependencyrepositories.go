// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package remote

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"helm.sh/helm/v3/pkg/registry"
	"helm.sh/helm/v3/pkg/repo"

	"github.com/component-operator/runtime/internal/helm"
)

// repositories is a file in the form of repositories.yaml that has the repositories of one chart only. Helm's library
// does not say for which of them it fetches a file, so those for HTTP have their identities as user names there, and no
// credentials.
type repositories struct {
	folder, file string
	// entries has the repositories for HTTP by identity, plugins the schemes of all others.
	entries map[string]*repo.Entry
	plugins map[string]bool
}

func (r repositories) remove() { _ = os.RemoveAll(r.folder) }

// add returns the entry for the file.
func (r repositories) add(entry *repo.Entry) *repo.Entry {
	used := *entry
	if scheme, _, _ := strings.Cut(strings.ToLower(entry.URL), ":"); !slices.Contains(httpSchemes, scheme) {
		r.plugins[scheme] = true
		return &used
	}
	used.Username, used.Password, used.PassCredentialsAll = strconv.Itoa(len(r.entries)), "none", true
	used.CertFile, used.KeyFile, used.CAFile = "", "", ""
	r.entries[used.Username] = entry
	return &used
}

// repositoriesFor writes the file for a chart. The caller removes it.
func repositoriesFor(declared []helm.Dependency, config string, options DependencyOptions) (repositories, error) {
	known, err := Repositories(config)
	if err != nil {
		return repositories{}, err
	}
	r := repositories{entries: map[string]*repo.Entry{}, plugins: map[string]bool{}}
	needed := repo.NewFile()
	for _, dependency := range declared {
		entry, err := entryFor(dependency, known)
		if err != nil {
			return repositories{}, err
		}
		if entry != nil && !needed.Has(entry.Name) {
			used := *entry
			used.CAFile = cmp.Or(used.CAFile, options.CAFile)
			needed.Add(r.add(&used))
		}
	}
	if r.folder, err = os.MkdirTemp("", "clm-repositories-"); err != nil {
		return repositories{}, err
	}
	r.file = filepath.Join(r.folder, "repositories.yaml")
	// Those for plugins have passwords.
	if err := needed.WriteFile(r.file, 0o600); err != nil {
		r.remove()
		return repositories{}, err
	}
	return r, nil
}

// entryFor returns the repository of a dependency; nil if it comes from elsewhere.
func entryFor(dependency helm.Dependency, known []*repo.Entry) (*repo.Entry, error) {
	where := dependency.Repository
	if where == "" || strings.HasPrefix(where, "file://") || registry.IsOCI(where) {
		return nil, nil
	}
	name, isName := strings.CutPrefix(where, "@")
	if !isName {
		name, isName = strings.CutPrefix(where, "alias:")
	}
	for _, entry := range known {
		if isName && entry.Name == name || !isName && equalURLs(entry.URL, where) {
			return entry, confirmNoPassword(dependency, entry.URL)
		}
	}
	if isName {
		return nil, fmt.Errorf("dependency %s: %w", dependency.Name, &UnknownRepositoryError{Name: name, Known: Names(known)})
	}
	if err := confirmNoPassword(dependency, where); err != nil {
		return nil, err
	}
	if parsed, err := url.Parse(where); err != nil || parsed.Host == "" {
		return nil, fmt.Errorf("dependency %s: repository %q is not valid; must be https://HOST/PATH, oci://HOST/PATH, file://PATH, or @NAME for a Helm repository",
			dependency.Name, where)
	}
	hash := sha256.Sum256([]byte(where))
	return &repo.Entry{Name: "clm-" + hex.EncodeToString(hash[:]), URL: where}, nil
}

// confirmNoPassword refuses a URL with a user name: messages of Helm's library would show the password.
func confirmNoPassword(dependency helm.Dependency, where string) error {
	parsed, err := url.Parse(where)
	if err == nil && parsed.User == nil || err != nil && !strings.Contains(where, "@") {
		return nil
	}
	return fmt.Errorf("dependency %s: the URL of its repository contains a user name; to set user name and password: helm repo add --username --password",
		dependency.Name)
}

// equalURLs compares as Helm does when it looks for the name of a repository.
func equalURLs(a, b string) bool {
	first, err := url.Parse(a)
	if err != nil {
		return a == b
	}
	second, err := url.Parse(b)
	if err != nil {
		return false
	}
	for _, each := range []*url.URL{first, second} {
		each.Path = path.Clean(cmp.Or(each.Path, "/"))
	}
	return first.String() == second.String()
}
